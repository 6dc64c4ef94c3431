package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"longmemory.dev/lm/vault"
)

var ctx = context.Background()

// asset is an approved document with two forms.
func asset(id vault.ID, name, body string) Document {
	return Document{
		Facts: vault.Facts{
			ID: id, Type: vault.TypeSkill, Name: name, Version: 1, Digest: "sha256:00", Status: vault.StatusApproved,
			Visibility: vault.VisibilityProject, Path: "assets/skills/" + string(id), Receipted: true,
		},
		Text:  Text{Name: name, Body: body},
		Forms: [4]Form{0: {Text: body, Tokens: len(body)}, 3: {Text: name, Tokens: len(name)}},
	}
}

// library is a small vault of five assets, four of them approved.
func library() Contents {
	draft := asset("secret-plan", "Secret plan", "Release the kraken, release it now.")
	draft.Facts.Status = vault.StatusDraft
	return Contents{
		Vault:    []byte(`{"commit":"1"}`),
		Problems: []vault.Problem{{Severity: vault.Warning, Path: "assets/x", Line: 3, Column: 1, Field: "owner", Message: "no owner", Mend: "name one"}},
		Documents: []Document{
			asset("tea", "Tea", "How to brew tea: boil water, wait, pour."),
			asset("release-review", "Release review", "Review the release architecture with resolveLoadout before it ships."),
			asset("wiki", "架构", "中文检索 and how the architecture does it."),
			asset("coffee", "Coffee", "How to brew coffee: grind, boil water, pour."),
			draft,
		},
	}
}

func mustBuild(t testing.TB, root string, key Key, c Contents) {
	t.Helper()
	if err := Build(ctx, root, key, c, nil); err != nil {
		t.Fatal(err)
	}
}

func mustOpen(t testing.TB, root string, key Key) *Index {
	t.Helper()
	x, status, err := Open(root, key)
	if err != nil || status != Current {
		t.Fatalf("Open: %s, %v", status, err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func mustMemory(t testing.TB, c Contents) *Index {
	t.Helper()
	x, err := Memory(c)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// key is the key of test snapshot n.
func key(n int) Key { return KeyOf(strconv.Itoa(n), "", "renderer 1", "o200k_base") }

var queries = []string{
	"", "nothing of the kind", "review the release architecture", "brew", "water water boil coffee", "检索", "how", "kraken",
	"resolve loadout", strings.Repeat("release tea architecture ", 50), "a b c d e f g h i j k l m n o p q r s t u v w x y z",
}

// answers is all that an index says, as text.
func answers(t interface{ Fatal(...any) }, x *Index) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %+v\n", x.Vault(), x.Problems())
	for i, f := range x.Facts() {
		fmt.Fprintf(&b, "%+v\n", f)
		for _, mode := range vault.Modes {
			form, err := x.Form(i, mode)
			if err != nil {
				t.Fatal(err)
			}
			tokens, ok := x.FormTokens(i, mode)
			fmt.Fprintf(&b, "%q %d %d %t\n", form.Text, form.Tokens, tokens, ok)
		}
	}
	for _, query := range queries {
		r, err := x.Search(query)
		if err != nil {
			t.Fatal(err)
		}
		for i := range x.Facts() {
			fmt.Fprintf(&b, "%s %v\n", r.Relevance(i), r.Terms(i))
		}
	}
	return b.String()
}

func TestSearch(t *testing.T) {
	x := mustMemory(t, library())
	var ids []vault.ID
	for _, f := range x.Facts() {
		ids = append(ids, f.ID)
	}
	if want := []vault.ID{"coffee", "release-review", "secret-plan", "tea", "wiki"}; !slices.Equal(ids, want) {
		t.Fatalf("order %v, want %v", ids, want)
	}
	r, err := x.Search("Review the release architectures")
	if err != nil {
		t.Fatal(err)
	}
	if r.Relevance(0) != 0 || r.Relevance(2) != 0 || r.Relevance(1) <= r.Relevance(4) || r.Relevance(4) == 0 || r.Relevance(1) > vault.One {
		t.Errorf("relevances %v %v %v %v", r.Relevance(0), r.Relevance(1), r.Relevance(2), r.Relevance(4))
	}
	var got []string
	for _, term := range r.Terms(1) {
		got = append(got, term.Term)
	}
	// review and release tell the same; architecture is in two assets.
	if want := []string{"release", "review", "architecture"}; !slices.Equal(got, want) {
		t.Errorf("terms %v, want %v", got, want)
	}
	if len(r.Terms(0)) != 0 {
		t.Errorf("coffee has terms: %v", r.Terms(0))
	}
}

// Only the terms that tell most are searched for, ties by term.
func TestTellingTerms(t *testing.T) {
	var c Contents
	var words []string
	for i := range 40 {
		words = append(words, fmt.Sprintf("word%c%cx", 'a'+i/26, 'a'+i%26))
	}
	c.Documents = []Document{asset("one", "x", strings.Join(words, " ")), asset("two", "y", words[0])}
	r, err := mustMemory(t, c).Search(strings.Join(words, " ") + " " + words[39] + " unheard")
	if err != nil {
		t.Fatal(err)
	}
	got := r.Terms(0)
	if len(got) != tellingTerms || got[0].Term != words[39] {
		t.Fatalf("%d terms, first %v", len(got), got[0])
	}
	for i, term := range got[1:] {
		if term.Term != words[i+1] { // words[0] is in two assets and tells least
			t.Errorf("term %d is %s, want %s", i+1, term.Term, words[i+1])
		}
	}
}

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
	if err := Derive(ctx, root, key(2), x, library(), nil); err != nil {
		t.Fatal(err)
	}
	if err := Derive(ctx, root, key(3), mustOpen(t, root, key(2)), Contents{}, nil); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, root, key(3))
}

func TestStatus(t *testing.T) {
	root := filepath.Join(t.TempDir(), "index")
	expect := func(k Key, want Status) {
		t.Helper()
		x, got, err := Open(root, k)
		if got != want || (err != nil) != (want == Damaged) || (x != nil) != (want == Current) {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
		if x != nil {
			x.Close()
		}
	}
	expect(key(1), Missing)
	mustBuild(t, root, key(1), library())
	expect(key(1), Current)
	expect(key(2), Stale)

	// An index of another format has the same first and last line.
	old := bytes.Replace(encodeManifest(nil), []byte("lm index 1\n"), []byte("lm index 0\n"), 1)
	body := old[:bytes.Index(old, []byte("sum"))]
	old = fmt.Appendf(slices.Clone(body), "sum %08x\n", (&output{listed: listed{}}).after(body))
	if err := os.WriteFile(filepath.Join(root, string(key(1)), manifestName), old, 0o600); err != nil {
		t.Fatal(err)
	}
	expect(key(1), OldFormat)
	expect(key(2), OldFormat)
	mustBuild(t, root, key(1), library())
	expect(key(1), Current)
	if _, status, err := Open(root, "../elsewhere"); status != Missing || err == nil {
		t.Errorf("a path for a key: %s, %v", status, err)
	}
}

// after is the checksum of p.
func (o *output) after(p []byte) uint32 { o.add(p); return o.checksum }

func TestKey(t *testing.T) {
	seen := map[Key]bool{}
	for _, parts := range [][4]string{{"a"}, {"b"}, {"", "a"}, {"a", "b"}, {"ab"}, {"a", "", "b"}, {"a", "", "", "b"}} {
		k := KeyOf(parts[0], parts[1], parts[2], parts[3])
		if seen[k] || !k.valid() || k != KeyOf(parts[0], parts[1], parts[2], parts[3]) {
			t.Errorf("%q: %s", parts, k)
		}
		seen[k] = true
	}
}

// contents draws a vault of up to ten assets from a small vocabulary, so that
// much is alike.
func contents() *rapid.Generator[Contents] {
	word := rapid.SampledFrom([]string{"release", "review", "tea", "coffee", "brew", "water", "architecture", "boil", "resolveLoadout", "检索", "the", "how"})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(word, 0, 8).Draw(t, "words"), " ")
	})
	document := rapid.Custom(func(t *rapid.T) Document {
		d := asset(vault.ID(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(t, "id")), text.Draw(t, "name"), text.Draw(t, "body"))
		d.Facts.Path = rapid.SampledFrom([]string{"p", "q", "r"}).Draw(t, "path")
		d.Facts.Status = rapid.SampledFrom(vault.Statuses[1:4]).Draw(t, "status")
		d.Facts.Invalid = rapid.IntRange(0, 9).Draw(t, "invalid") == 0
		d.Text.Labels = rapid.SliceOfN(word, 0, 2).Draw(t, "labels")
		return d
	})
	return rapid.Custom(func(t *rapid.T) Contents {
		return Contents{
			Vault: []byte(text.Draw(t, "vault")),
			Documents: rapid.SliceOfNDistinct(document, 0, 12, func(d Document) string {
				return string(d.Facts.ID) + d.Facts.Path
			}).Draw(t, "documents"),
		}
	})
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
				err = Derive(ctx, next, key(step), derived, Contents{Vault: c.Vault, Documents: documents}, nil)
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
		if err := Derive(ctx, root, key(2), base, Contents{Documents: documents}, nil); err == nil {
			t.Errorf("accepted %s", why)
		}
	}
	try("a base that is none", func(d []Document) { d[0].Base = 9 })
	try("one base twice", func(d []Document) { d[0].Base, d[1].Base = 1, 1 })
	try("a base that is not searched", func(d []Document) { d[2].Base, d[2].Facts.Status = 3, vault.StatusApproved })
	if err := Derive(ctx, root, key(2), mustMemory(t, c), c, nil); err == nil {
		t.Error("accepted a base in memory")
	}
	assertTidy(t, root)
}

// Nothing that is not approved may shift a ranking, or show in one.
func TestUnapprovedChangesNoRanking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := contents().Draw(t, "contents")
		with, err := Memory(c)
		if err != nil {
			t.Fatal(err)
		}
		c.Documents = slices.DeleteFunc(slices.Clone(c.Documents), func(d Document) bool { return !d.Facts.Approved() })
		without, err := Memory(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, query := range queries {
			a, err := with.Search(query)
			if err != nil {
				t.Fatal(err)
			}
			b, err := without.Search(query)
			if err != nil {
				t.Fatal(err)
			}
			next := 0
			for i, f := range with.Facts() {
				if !f.Approved() {
					if a.Relevance(i) != 0 || len(a.Terms(i)) != 0 {
						t.Fatalf("%s shows in a ranking", f.ID)
					}
					continue
				}
				if a.Relevance(i) != b.Relevance(next) || !slices.Equal(a.Terms(i), b.Terms(next)) {
					t.Fatalf("%q: %s ranks otherwise", query, f.ID)
				}
				next++
			}
		}
	})
}

func TestExpiredIsSearched(t *testing.T) {
	c := library()
	c.Documents[0].Facts.Expires = time.Unix(1, 0).UTC()
	r, err := mustMemory(t, c).Search("tea")
	if err != nil || r.Relevance(3) == 0 {
		t.Errorf("an expired asset is not ranked: %v", err)
	}
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

// Searching one index from many goroutines is a matter for -race.
func TestConcurrentSearches(t *testing.T) {
	root := t.TempDir()
	c := many(100, 4)
	mustBuild(t, root, key(1), c)
	x := mustOpen(t, root, key(1))
	want := answers(t, x)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if answers(t, x) != want {
				t.Error("answers differ")
			}
		})
	}
	group.Wait()
}

func TestReadOnlyFolder(t *testing.T) {
	root := t.TempDir()
	mustBuild(t, root, key(1), library())
	dirs := []string{filepath.Join(root, string(key(1))), root}
	for _, dir := range dirs {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(dir, 0o700)
	}
	before := listing(t, root)
	x := mustOpen(t, root, key(1))
	if answers(t, x) != answers(t, mustMemory(t, library())) {
		t.Error("a read-only index answers otherwise")
	}
	if after := listing(t, root); !slices.Equal(before, after) {
		t.Errorf("reading changed %v to %v", before, after)
	}
	if os.Geteuid() == 0 {
		return // to whom everything is writable
	}
	if err := Build(ctx, root, key(2), library(), nil); !errors.Is(err, os.ErrPermission) {
		t.Errorf("building in a read-only folder: %v", err)
	}
}

func listing(t *testing.T, root string) (all []string) {
	t.Helper()
	err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			all = append(all, fmt.Sprint(path, info.Size(), info.ModTime(), info.Mode()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
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

// What is given in Contents is not changed, and no slice of it is kept.
func TestContentsStayTheCallers(t *testing.T) {
	c := library()
	before := fmt.Sprintf("%+v", c)
	x := mustMemory(t, c)
	mustBuild(t, t.TempDir(), key(1), c)
	if after := fmt.Sprintf("%+v", c); before != after {
		t.Error("the contents were changed")
	}
	c.Vault[0], c.Problems[0].Path = 'x', "y"
	if !reflect.DeepEqual(x.Vault(), library().Vault) || !reflect.DeepEqual(x.Problems(), library().Problems) {
		t.Error("the index shares memory with the contents")
	}
}

// many is a vault of n assets of random words.
func many(n int, seed uint64) Contents {
	r := rand.New(rand.NewPCG(seed, seed))
	zipf := rand.NewZipf(r, 1.1, 4, 20000)
	words := func(n int) string {
		var b strings.Builder
		for range n {
			w := zipf.Uint64()*2654435761 + 12345
			for range 3 + w%5 {
				b.WriteByte("etaoinshrdlucmfwypvbgk"[w%22])
				w /= 3
			}
			b.WriteByte(' ')
		}
		return b.String()
	}
	c := Contents{Vault: []byte("{}")}
	for i := range n {
		d := asset(vault.ID(fmt.Sprintf("asset-%06d", i)), words(3), words(400))
		d.Facts.Digest = vault.Digest("sha256:" + strings.Repeat(fmt.Sprintf("%08x", r.Uint32()), 8))
		d.Facts.Description = words(20)
		d.Text.Description = d.Facts.Description
		d.Facts.Owner, d.Facts.Teams = "team:core", []string{"core"}
		d.Facts.Modified = time.Unix(1.7e9+int64(i), 0).UTC()
		d.Facts.Bindings = []vault.Binding{{Target: "agent:reviewer", Mode: vault.ModeDirect, Priority: 5000, Enabled: true}}
		c.Documents = append(c.Documents, d)
	}
	return c
}
