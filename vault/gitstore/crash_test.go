package gitstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// writeForEver is a process that commits until it is killed. It says each
// commit on standard output.
func writeForEver(dir, name string) {
	for i := 0; ; i++ {
		h, err := writeOnce(dir, name, i)
		switch {
		case err == nil:
			fmt.Println(h)
		case !errors.Is(err, ErrConflict):
			fmt.Fprintln(os.Stderr, "writer:", err)
			os.Exit(1)
		}
	}
}

// writeOnce changes one file, adds one and removes the one before.
func writeOnce(dir, name string, i int) (Hash, error) {
	r, err := Open(dir)
	if err != nil {
		return "", err
	}
	defer r.Close()
	_, h, err := r.Head()
	if err != nil {
		return "", err
	}
	c := Change{
		Expect:  h,
		Files:   map[string][]byte{"v/" + name: fmt.Appendf(nil, "%d\n%s\n", i, h), fmt.Sprintf("v/new/%s-%.10s", name, h): []byte("new\n")},
		Message: "Write " + name, Name: "Ada", Email: "ada@example.org", When: time.Unix(1_700_000_000, 0),
	}
	old, err := r.Files(h, "v/new", 0, nil)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", err
	}
	for _, f := range old {
		if strings.HasPrefix(f.Path, name+"-") {
			c.Files["v/new/"+f.Path] = nil
		}
	}
	return r.Commit(context.Background(), c)
}

func TestKilledWriterLeavesNothingBehind(t *testing.T) {
	for _, without := range []bool{false, true} {
		t.Run(fmt.Sprintf("without git %t", without), func(t *testing.T) {
			dir := newRepo(t, map[string]string{"v/w": "0\n", "v/keep": "keep\n"})
			said := map[string]bool{}
			for range 12 {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), "GITSTORE_TEST_WRITER="+dir, "GITSTORE_TEST_NAME=w")
				if without {
					cmd.Env = append(cmd.Env, "PATH=/nowhere")
				}
				var out, stderr strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Duration(40+rand.IntN(160)) * time.Millisecond)
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				if stderr.Len() > 0 {
					t.Fatal(stderr.String())
				}
				for _, h := range strings.Fields(out.String()) {
					said[h] = len(h) == 40
				}
				// What is committed is whole at any time.
				runGit(t, dir, "fsck", "--strict", "--no-dangling", "--no-reflogs")
				if rand.IntN(2) == 0 {
					if _, err := open(t, dir).Recover(context.Background()); err != nil {
						t.Fatal(err)
					}
				} else if _, err := writeOnce(dir, "w", -1); err != nil {
					t.Fatal(err)
				}
				sound(t, dir, "")
				if left := mustGlob(t, dir, ".git/index*"); len(left) != 1 {
					t.Errorf("left: %s", left)
				}
			}
			history := runGit(t, dir, "rev-list", "HEAD")
			for h, whole := range said {
				if whole && !strings.Contains(history, h) {
					t.Errorf("commit %s was made and is lost", h)
				}
			}
			if again, err := open(t, dir).Recover(context.Background()); again || err != nil {
				t.Errorf("recovering twice: %t %v", again, err)
			}
		})
	}
}

func TestRecoverFromEachStep(t *testing.T) {
	// A journal and each state between its steps, made by hand.
	type state struct{ indexLock, refLock, work, index, ref bool }
	for i, s := range []state{
		{}, {indexLock: true}, {indexLock: true, refLock: true}, {indexLock: true, refLock: true, work: true},
		{indexLock: true, refLock: true, work: true, index: true},
		{indexLock: true, work: true, index: true, ref: true}, {indexLock: true, work: true, ref: true}, {work: true, ref: true}, {indexLock: true, ref: true},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			dir := newRepo(t, start)
			r := open(t, dir)
			c := change(t, r, map[string]string{"v/a.md": "new\n", "v/b.md": "", "v/n/n.md": "n\n"})
			w := writer{r: r, c: &c}
			if err := w.prepare(); err != nil {
				t.Fatal(err)
			}
			j := w.journal()
			ctx := context.Background()
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(r.lmDir(), 0o777); err != nil {
				t.Fatal(err)
			}
			must(r.saveJournal(j))
			if s.indexLock {
				must(r.takeLock(ctx, r.indexLockPath(), j.indexLock()))
			}
			if s.refLock {
				must(r.takeLock(ctx, r.refPath(j.Ref)+".lock", j.refLock()))
			}
			if s.work {
				must(r.writeAll(w.rules, j))
				write(t, dir, j.temp(0), "half")
			}
			if s.index {
				_, err := r.newIndex(ctx, j)
				must(err)
			}
			if s.ref {
				write(t, dir, ".git/refs/heads/main", string(j.New)+"\n")
			} else {
				for _, log := range r.reflogs(j) {
					must(appendLine(log, j.Reflog))
				}
			}
			write(t, dir, "v/deep/er/c.md", "the user goes on\n")
			done, err := open(t, dir).Recover(ctx)
			if !done || err != nil {
				t.Fatalf("recovered %t, %v", done, err)
			}
			sound(t, dir, " M v/deep/er/c.md")
			want := j.Old
			if s.ref {
				want = j.New
			} else if got := runGit(t, dir, "reflog", "--format=%H"); got != string(j.Old) {
				t.Errorf("the reflog still has %s", got)
			}
			if head(t, r) != want {
				t.Errorf("HEAD is %s, want %s", head(t, r), want)
			}
			if left := mustGlob(t, dir, ".git/index*"); len(left) != 1 {
				t.Errorf("left: %s", left)
			}
		})
	}
}

func TestRecoverKeepsWhatIsNotLms(t *testing.T) {
	dir := newRepo(t, start)
	r := open(t, dir)
	c := change(t, r, map[string]string{"v/a.md": "new\n"})
	w := writer{r: r, c: &c}
	if err := w.prepare(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(r.lmDir(), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := r.saveJournal(w.journal()); err != nil {
		t.Fatal(err)
	}
	write(t, dir, ".git/index.lock", "")
	write(t, dir, ".git/refs/heads/main.lock", "")
	write(t, dir, "v/a.md", "the user's\n")
	if _, err := r.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !isFile(filepath.Join(dir, ".git/index.lock")) || !isFile(filepath.Join(dir, ".git/refs/heads/main.lock")) || read(t, dir, "v/a.md") != "the user's\n" {
		t.Error("somebody else's lock or file is gone")
	}
}

func TestManyWritersBesideGit(t *testing.T) {
	dir := newRepo(t, map[string]string{"mine": "0\n", "v/keep": "keep\n"})
	var mu sync.Mutex
	made := map[Hash]bool{}
	var writers, user sync.WaitGroup
	for n := range 8 {
		writers.Add(1)
		go func() {
			defer writers.Done()
			for i := range 6 {
				h, err := writeOnce(dir, fmt.Sprintf("w%d", n), i)
				if err != nil {
					if !errors.Is(err, ErrConflict) {
						t.Errorf("writer %d: %v", n, err)
					}
					continue
				}
				mu.Lock()
				made[h] = true
				mu.Unlock()
			}
		}()
	}
	stop, mine, raced := make(chan bool), 0, false
	user.Add(1)
	go func() {
		defer user.Done()
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			write(t, dir, "mine", fmt.Sprintf("%d\n", i))
			// Git does not wait for index.lock and says so; the user tries again.
			out, err := exec.Command("git", "-C", dir, "commit", "-q", "-m", "by the user", "mine").CombinedOutput()
			if err == nil {
				mine++
			}
			// See "Not done" in the package comment: Git reads the index before it
			// locks it, and if it loses that race against anybody, another git
			// among them, it leaves the old index behind and says this.
			raced = raced || strings.Contains(string(out), "cannot lock ref")
		}
	}()
	writers.Wait()
	close(stop)
	user.Wait()
	if raced {
		runGit(t, dir, "reset", "-q")
	}
	runGit(t, dir, "commit", "-q", "--allow-empty", "-m", "last", "mine")
	sound(t, dir, "")
	history := runGit(t, dir, "rev-list", "HEAD")
	for h := range made {
		if !strings.Contains(history, string(h)) {
			t.Errorf("commit %s is lost", h)
		}
	}
	if len(made) < 8 || runGit(t, dir, "rev-list", "--count", "--grep=by the user", "HEAD") != fmt.Sprint(mine) {
		t.Errorf("%d commits by lm; %d by the user, of which %s are there", len(made), mine, runGit(t, dir, "rev-list", "--count", "--grep=by the user", "HEAD"))
	}
	// No commit took back what another one did.
	for line := range strings.SplitSeq(runGit(t, dir, "log", "--format=%s", "--name-only", "--diff-filter=M", "--grep=by the user"), "\n") {
		if strings.HasPrefix(line, "v/") {
			t.Errorf("a commit of the user changed %s", line)
		}
	}
	t.Logf("%d commits by lm beside %d by git", len(made), mine)
}

func TestRecoverForAnotherWorkTree(t *testing.T) {
	for _, gone := range []bool{false, true} {
		dir := newRepo(t, start)
		linked := filepath.Join(realDir(t), "linked")
		runGit(t, dir, "worktree", "add", "-q", "-b", "side", linked)
		r := open(t, linked)
		c := change(t, r, map[string]string{"v/a.md": "new\n"})
		w := writer{r: r, c: &c}
		if err := w.prepare(); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(r.lmDir(), 0o777); err != nil {
			t.Fatal(err)
		}
		j := w.journal()
		if err := r.saveJournal(j); err != nil {
			t.Fatal(err)
		}
		if err := r.takeLock(context.Background(), r.indexLockPath(), j.indexLock()); err != nil {
			t.Fatal(err)
		}
		if err := r.writeAll(w.rules, j); err != nil {
			t.Fatal(err)
		}
		write(t, dir, ".git/refs/heads/side", string(j.New)+"\n")
		if gone {
			runGit(t, dir, "worktree", "remove", "--force", linked)
		}
		// The next commit in the main work tree finishes the one in the other.
		commitFiles(t, open(t, dir), map[string]string{"v/b.md": "main\n"})
		sound(t, dir, "")
		if !gone {
			sound(t, linked, "")
			if read(t, linked, "v/a.md") != "new\n" || runGit(t, linked, "rev-parse", "HEAD") != string(j.New) {
				t.Error("the commit of the linked work tree is lost")
			}
		}
	}
}
