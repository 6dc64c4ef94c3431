package gitstore

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// thing finds files named thing below "v", wherever they lie.
var thing = Finder{
	Folder: func(Hash) (string, error) { return "v", nil },
	Below:  []string{"in", "note"},
	Pick: func(_ string, names []string) ([]string, bool) {
		return []string{"thing"}, !slices.Contains(names, "closed")
	},
}

// logged gives the subjects of what Log lists, with the paths found.
func logged(t *testing.T, dir string) string {
	t.Helper()
	r := open(t, dir)
	log, err := r.Log(head(t, r), thing)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range log {
		line := runGit(t, dir, "log", "-1", "--format=%s", string(l.Commit)) + " [" + strings.Join(l.Paths, " ") + "]"
		for _, p := range l.Parents {
			line += " <" + runGit(t, dir, "log", "-1", "--format=%s", string(p))
		}
		if l.Cut {
			line += " cut"
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func TestLog(t *testing.T) {
	h := &history{t: t, dir: newRepo(t, nil)}
	h.commit("a@x", "other", "v/in/other", "w/in/thing")
	h.commit("a@x", "add", "v/in/a/thing", "v/in/b/closed", "v/in/b/thing", "v/in/b/c/thing")
	h.run("a@x", "checkout", "-q", "-b", "side")
	h.commit("b@x", "side", "v/in/a/thing")
	h.run("a@x", "checkout", "-q", "main")
	h.commit("a@x", "elsewhere", "v/in/other", "v/in/b/c/thing")
	h.time -= 1000 // a clock that is wrong
	h.commit("a@x", "early", "v/note")
	h.time += 1000
	h.run("a@x", "merge", "-q", "-m", "merge", "side")
	h.run("a@x", "mv", "v/in/a", "v/in/z")
	h.run("a@x", "commit", "-q", "-m", "move")
	h.commit("a@x", "last", "v/in/other")
	want := `move [in/b/thing in/z/thing note] <merge
merge [in/a/thing in/b/thing note] <side <early
side [in/a/thing in/b/thing] <add
early [in/a/thing in/b/thing note] <add
add [in/a/thing in/b/thing]`
	if got := logged(t, h.dir); got != want {
		t.Errorf("the log is\n%s\nwant\n%s", got, want)
	}

	clone := filepath.Join(realDir(t), "clone")
	runGit(t, h.dir, "clone", "-q", "--depth=2", "file://"+h.dir, clone)
	if got, want := logged(t, clone), "move [in/b/thing in/z/thing note] cut"; got != want {
		t.Errorf("the log of a shallow clone is\n%s\nwant\n%s", got, want)
	}
}

func TestLogOfASideThatWasDropped(t *testing.T) {
	h := &history{t: t, dir: newRepo(t, nil)}
	h.commit("a@x", "add", "v/in/thing")
	h.run("a@x", "checkout", "-q", "-b", "side")
	h.commit("b@x", "side", "v/in/thing")
	h.run("a@x", "checkout", "-q", "main")
	h.commit("a@x", "main", "v/in/thing")
	h.run("a@x", "merge", "-q", "-s", "ours", "-m", "ours", "side")
	if got, want := logged(t, h.dir), "main [in/thing] <add\nadd [in/thing]"; got != want {
		t.Errorf("the log is\n%s\nwant\n%s", got, want)
	}
}

func TestObject(t *testing.T) {
	dir := newRepo(t, map[string]string{"d/a.md": "a\n", "d/e/b.md": "b\n"})
	r := open(t, dir)
	tree, err := r.Subtree(head(t, r), "d")
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[Hash]string{tree: "[a.md=a\n e/b.md=b\n]", BlobID([]byte("a\n")): "[=a\n]"} {
		files, err := r.Object(id, 100)
		var got []string
		for _, f := range files {
			got = append(got, f.Path+"="+string(f.Data))
		}
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("object %s: %q, %v; want %q", id, got, err, want)
		}
	}
	for _, id := range []Hash{"", "x", head(t, r), Hash(strings.Repeat("0", 40))} {
		_, err := r.Object(id, 100)
		wantErr(t, err, ErrNotFound)
	}
}
