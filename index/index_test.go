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
	if want := []string{"release", "review", "architectures"}; !slices.Equal(got, want) {
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
	old := bytes.Replace(encodeManifest(nil), fmt.Appendf(nil, "lm index %d\n", Format), []byte("lm index 0\n"), 1)
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
