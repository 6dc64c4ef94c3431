package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"longmemory.dev/lm/index"
	"longmemory.dev/lm/internal/testvault"
	"longmemory.dev/lm/vault"
)

// tracked is a vault in Git whose files a test changes.
type tracked struct {
	*testing.T
	dir   string
	files map[string]string
	*Vault
}

func track(t *testing.T, files []vault.File) *tracked {
	v := &tracked{T: t, dir: t.TempDir(), files: map[string]string{}}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, f := range files {
		v.files[f.Path] = string(f.Data)
	}
	v.git("init", "-q", "-b", "main")
	v.commitAll()
	return v
}

func (v *tracked) git(args ...string) {
	v.Helper()
	cmd := exec.Command("git", append([]string{"-C", v.dir, "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "gc.auto=0"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		v.Fatalf("git %s: %v\n%s", args, err, out)
	}
}

// commitAll makes the work tree what v.files is, and commits it.
func (v *tracked) commitAll() {
	v.Helper()
	entries, err := os.ReadDir(v.dir)
	if err != nil {
		v.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".git" {
			if err := os.RemoveAll(filepath.Join(v.dir, e.Name())); err != nil {
				v.Fatal(err)
			}
		}
	}
	for name, data := range v.files {
		at := filepath.Join(v.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			v.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(data), 0o644); err != nil {
			v.Fatal(err)
		}
	}
	v.git("add", "-A", "-f")
	v.git("commit", "-q", "--allow-empty", "-m", "change")
	if v.Vault != nil {
		v.Close()
	}
	v.Vault, err = Open(Env{Dir: v.dir, Getenv: os.Getenv, Environ: os.Environ, Now: time.Now})
	if err != nil {
		v.Fatal(err)
	}
	v.Cleanup(v.Close)
}

// said is all that an index answers.
func said(t *testing.T, x *index.Index) map[string]any {
	t.Helper()
	var h header
	if err := json.Unmarshal(x.Vault(), &h); err != nil {
		t.Fatal(err)
	}
	out := map[string]any{"header": h, "facts": x.Facts(), "problems": append([]vault.Problem{}, x.Problems()...)}
	for i, f := range x.Facts() {
		for _, mode := range vault.Modes {
			form, err := x.Form(i, mode)
			if err != nil {
				t.Fatal(err)
			}
			out[fmt.Sprint("form ", f.Path, mode)] = form
		}
	}
	for _, query := range []string{"ka lo mi", "kalo loka edited words of a new asset"} {
		r, err := x.Search(query)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range x.Facts() {
			out[fmt.Sprint(query, f.Path)] = fmt.Sprint(r.Relevance(i), r.Terms(i))
		}
	}
	return out
}

// changes are what can happen to the files of a vault; n picks where.
var changes = map[string]func(files map[string]string, n int){
	"nothing":       func(map[string]string, int) {},
	"vault.yaml":    func(f map[string]string, n int) { f["vault.yaml"] += fmt.Sprintf("# %d\n", n) },
	"edit a body":   func(f map[string]string, n int) { f[pick(f, "assets/", ".md", n)] += "edited words\n" },
	"remove a file": func(f map[string]string, n int) { delete(f, pick(f, "assets/", "", n)) },
	"damage a file": func(f map[string]string, n int) { f[pick(f, "assets/", ".md", n)] = "no keys\n" },
	"add an asset": func(f map[string]string, n int) {
		f[fmt.Sprintf("assets/new/n%d.md", n)] = wiki(fmt.Sprintf("n%d", n), "a new asset\n")
	},
	"add a twin": func(f map[string]string, n int) {
		p := pick(f, "assets/", ".md", n)
		f["assets/twins/"+filepath.Base(p)] = f[p]
	},
	"move a file": func(f map[string]string, n int) {
		p := pick(f, "assets/", ".md", n)
		f["assets/moved/"+filepath.Base(p)] = f[p]
		delete(f, p)
	},
	"remove a receipt": func(f map[string]string, n int) { delete(f, pick(f, "receipts/", ".yaml", n)) },
	"damage a receipt": func(f map[string]string, n int) { f[pick(f, "receipts/", ".yaml", n)] += "x: [\n" },
	"a stray receipt":  func(f map[string]string, n int) { f[fmt.Sprintf("receipts/asset/s%d.txt", n)] = "x" },
	"a receipt of none": func(f map[string]string, n int) {
		f[fmt.Sprintf("receipts/asset/none%d/0001.yaml", n)] = f[pick(f, "receipts/", "0001.yaml", n)]
	},
	"a stray file": func(f map[string]string, n int) { f[fmt.Sprintf("assets/new/s%d.txt", n)] = "x" },
	"a folder that takes the files below": func(f map[string]string, n int) {
		f[filepath.Dir(pick(f, "assets/", ".md", n))+"/asset.yaml"] = "schema: lm.asset/v1\nid: moved\ntype: llm_wiki\nname: n\ndescription: d\nowner: user:alice\n"
	},
	"and gives them up": func(f map[string]string, n int) { delete(f, pick(f, "assets/", "asset.yaml", n)) },
	"a skill": func(f map[string]string, n int) {
		f[fmt.Sprintf("assets/k%d/SKILL.md", n%3)] = "---\nname: k\ndescription: d\n---\nDo it.\n"
	},
	"no skill":      func(f map[string]string, n int) { delete(f, fmt.Sprintf("assets/k%d/SKILL.md", n%3)) },
	"a resource":    func(f map[string]string, n int) { f[fmt.Sprintf("assets/k%d/more/r%d.md", n%3, n)] = "kalo\n" },
	"a hidden file": func(f map[string]string, n int) { f[fmt.Sprintf("assets/_k/n%d.md", n)] = "kalo\n" },
}

func wiki(id, body string) string {
	return "---\nschema: lm.asset/v1\nid: " + id + "\ntype: llm_wiki\nname: New\ndescription: words\nowner: user:alice\nstatus: approved\n---\n" + body
}

// pick is some file, or one of its own name if there is none.
func pick(files map[string]string, prefix, suffix string, n int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		return prefix + "x/none" + suffix
	}
	return all[n%len(all)]
}

// An index that was derived answers like one of all files, whatever changed.
func TestDerivedAnswersAreThoseOfAFreshBuild(t *testing.T) {
	v := track(t, testvault.Files(7, 40))
	random := rand.New(rand.NewPCG(1, 1))
	names := slices.Sorted(maps.Keys(changes))
	derived := 0
	for step := range 3 * len(names) {
		var done []string
		for range 1 + step/len(names) {
			name := names[random.IntN(len(names))]
			if step < len(names) {
				name = names[step] // each by itself first
			}
			changes[name](v.files, random.IntN(1000))
			done = append(done, name)
		}
		v.commitAll()
		at, err := v.trusted(Revision{})
		if err != nil {
			t.Fatal(err)
		}
		x := v.derive(context.Background(), v.indexRoot(), at.Snapshot)
		if x == nil {
			o, err := v.open(context.Background(), at)
			if err != nil {
				t.Fatal(err)
			}
			x = o.Index
		} else {
			derived++
		}
		c, err := v.contents(&at)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := index.Memory(c)
		if err != nil {
			t.Fatal(err)
		}
		got, want := said(t, x), said(t, fresh)
		for key := range want {
			if !reflect.DeepEqual(got[key], want[key]) {
				t.Fatalf("step %d, %v: %s is\n%+v, not\n%+v", step, done, key, got[key], want[key])
			}
		}
		if len(got) != len(want) {
			t.Fatalf("step %d, %v: answers to %d things, not %d", step, done, len(got), len(want))
		}
		x.Close()
		_, _ = index.GC(v.indexRoot(), 2, key(at.Snapshot))
	}
	// Only another vault.yaml asks for all files.
	if least := 3 * len(names) * 3 / 4; derived < least {
		t.Errorf("derived %d of %d, at least %d ought to be", derived, 4*len(names), least)
	}
}

// A pack that comes while an index is built, of a vault where something is missing,
// makes neither the build fail nor the index count as one that looked there.
func TestARepackWhileAnIndexIsBuilt(t *testing.T) {
	v := track(t, testvault.Files(7, 40))
	v.env.Progress = func(done, _ int) {
		if done == 0 {
			return
		}
		v.env.Progress = nil
		v.git("repack", "-adq")
	}
	at, err := v.trusted(Revision{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := v.open(context.Background(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if len(x.lost) == 0 || v.env.Progress != nil {
		t.Fatal("nothing is missing, or nothing was repacked")
	}
	if s, err := v.Index(Revision{}); err != nil || s.Status != string(index.Current) {
		t.Errorf("%+v, %v", s, err)
	}
	if again := v.current(v.indexRoot(), at.Snapshot); again != nil {
		t.Error("the new pack is never looked at")
	}
}
