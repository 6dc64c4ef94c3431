package index

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"longmemory.dev/lm/vault"
)

func TestBuildThenOpen(t *testing.T) {
	root := filepath.Join(t.TempDir(), "not", "there", "yet")
	c := library()
	progressed := 0
	err := Build(ctx, root, key(1), c, func(done, total int) {
		if progressed = done; total != 4 {
			t.Errorf("%d texts to analyse, want 4", total)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if progressed != 4 {
		t.Errorf("progress ended at %d", progressed)
	}
	if want := answers(t, mustMemory(t, c)); answers(t, mustOpen(t, root, key(1))) != want {
		t.Error("an index on disk does not answer like one in memory")
	}
	if info, err := os.Stat(filepath.Join(root, string(key(1)))); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("the folder's mode: %v, %v", info.Mode(), err)
	}
	mustBuild(t, root, key(1), c) // once more changes nothing
	assertTidy(t, root)
}

// assertTidy checks that no builder left anything behind.
func assertTidy(t *testing.T, root string) {
	t.Helper()
	files, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !Key(f.Name()).valid() {
			t.Errorf("left behind: %s", f.Name())
		}
		if _, err := os.Stat(filepath.Join(root, f.Name(), lockName)); err == nil {
			t.Errorf("a lock in %s", f.Name())
		}
	}
}

func TestEmptyVault(t *testing.T) {
	root := t.TempDir()
	mustBuild(t, root, key(1), Contents{})
	x := mustOpen(t, root, key(1))
	if len(x.Facts()) != 0 || answers(t, x) != answers(t, mustMemory(t, Contents{})) {
		t.Error("an empty vault is not empty")
	}
	// And from nothing to something and back.
	if err := derive(ctx, root, key(2), x, library(), nil); err != nil {
		t.Fatal(err)
	}
	if err := derive(ctx, root, key(3), mustOpen(t, root, key(2)), Contents{}, nil); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, root, key(3))
}

// Fresh, derived, automatically derived and in memory: whatever the history and
// the order in which documents come, an index says the same.
func TestSameAnswersHoweverBuilt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp("", "index")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(root)
		var derived *Index
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			c := contents().Draw(t, "contents")
			memory, err := Memory(c)
			if err != nil {
				t.Fatal(err)
			}
			want := answers(t, memory)
			slices.Reverse(c.Documents)

			fresh := filepath.Join(root, "fresh"+strconv.Itoa(step))
			next := filepath.Join(root, "derived")
			if derived == nil {
				err = Build(ctx, next, key(step), c, nil)
			} else {
				documents := sorted(c.Documents)
				for i := range documents {
					inherit(&documents[i], derived, documents[:i])
				}
				err = derive(ctx, next, key(step), derived, Contents{Vault: c.Vault, Documents: documents}, nil)
				derived.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			if derived, _, err = Open(next, key(step)); err != nil {
				t.Fatal(err)
			}
			defer derived.Close()
			if got := answers(t, derived); got != want {
				t.Fatalf("step %d: derived:\n%s\nin memory:\n%s", step, got, want)
			}
			if len(derived.segments) > maxFiles || len(derived.cold) > maxFiles {
				t.Fatalf("%d segments, %d files with forms", len(derived.segments), len(derived.cold))
			}

			if err := Build(ctx, fresh, key(step), c, nil); err != nil {
				t.Fatal(err)
			}
			x, _, err := Open(fresh, key(step))
			if err != nil {
				t.Fatal(err)
			}
			if got := answers(t, x); got != want {
				t.Fatalf("step %d: fresh:\n%s\nin memory:\n%s", step, got, want)
			}
			x.Close()
		}
	})
}

// inherit gives a document its base where one has the same id, text and forms,
// and takes from it what it then need not bring.
func inherit(d *Document, base *Index, before []Document) {
	for place := range base.Facts() {
		taken := slices.ContainsFunc(before, func(b Document) bool { return b.Base == place+1 })
		if taken || base.same.at(place) != d.identify() {
			continue
		}
		if d.Facts.Approved() && !base.Facts()[place].Approved() {
			continue
		}
		d.Base, d.Text, d.Forms = place+1, Text{}, [4]Form{}
		return
	}
}

// Build derives by itself where a near index lies, and says the same.
func TestBuildDerives(t *testing.T) {
	root := t.TempDir()
	c := many(50, 1)
	mustBuild(t, root, key(0), c)
	for step := 1; step <= 30; step++ {
		c.Documents = slices.Clone(c.Documents)
		d := &c.Documents[step%len(c.Documents)]
		d.Text.Body += " changed" + strconv.Itoa(step)
		d.Forms[0].Text = d.Text.Body
		if step%7 == 0 {
			d.Facts.Status = vault.StatusDeprecated
		}
		mustBuild(t, root, key(step), c)
		if answers(t, mustOpen(t, root, key(step))) != answers(t, mustMemory(t, c)) {
			t.Fatalf("step %d differs", step)
		}
	}
	x := mustOpen(t, root, key(30))
	if len(x.segments) < 2 {
		t.Error("nothing was derived")
	}
	if _, err := GC(root, 1, ""); err != nil {
		t.Fatal(err)
	}
	// The files of the removed ones are still its own.
	if answers(t, mustOpen(t, root, key(30))) != answers(t, x) {
		t.Error("an index lost something with its base")
	}
}

func TestDeriveRefuses(t *testing.T) {
	root := t.TempDir()
	c := library()
	mustBuild(t, root, key(1), c)
	base := mustOpen(t, root, key(1))
	try := func(why string, change func(documents []Document)) {
		t.Helper()
		documents := sorted(c.Documents)
		change(documents)
		if err := derive(ctx, root, key(2), base, Contents{Documents: documents}, nil); err == nil {
			t.Errorf("accepted %s", why)
		}
	}
	try("a base that is none", func(d []Document) { d[0].Base = 9 })
	try("one base twice", func(d []Document) { d[0].Base, d[1].Base = 1, 1 })
	try("a base that is not searched", func(d []Document) { d[2].Base, d[2].Facts.Status = 3, vault.StatusApproved })
	if err := derive(ctx, root, key(2), mustMemory(t, c), c, nil); err == nil {
		t.Error("accepted a base in memory")
	}
	assertTidy(t, root)
}

func TestConcurrentBuildersAndReaders(t *testing.T) {
	root := t.TempDir()
	c := many(200, 3)
	want := answers(t, mustMemory(t, c))
	var group sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				x, status, err := Open(root, key(1))
				switch {
				case status == Current:
					if answers(t, x) != want {
						t.Error("a reader saw something else")
					}
					x.Close()
				case err != nil:
					t.Errorf("a reader saw %s: %v", status, err)
				}
			}
		})
	}
	var builders sync.WaitGroup
	for range 10 {
		builders.Go(func() {
			if err := Build(ctx, root, key(1), c, nil); err != nil {
				t.Error(err)
			}
		})
	}
	builders.Wait()
	close(stop)
	group.Wait()
	mustOpen(t, root, key(1))
	assertTidy(t, root)
}

func TestBuildWhereNothingCanBe(t *testing.T) {
	root := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(root, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Build(ctx, root, key(1), library(), nil); err == nil || !strings.HasPrefix(err.Error(), "index: build: ") {
		t.Errorf("building in a file: %v", err)
	}
}

func TestBuildIsCancelled(t *testing.T) {
	root := t.TempDir()
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := Build(cancelled, root, key(1), library(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled build: %v", err)
	}
	assertTidy(t, root)
}

// derive is Derive for who only wants it on disk.
func derive(ctx context.Context, root string, key Key, base *Index, c Contents, progress func(done, total int)) error {
	x, err := Derive(ctx, root, key, base, c, progress)
	if err != nil {
		return err
	}
	return x.Close()
}
