package gitstore

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// history makes commits by different people, a second apart.
type history struct {
	t    *testing.T
	dir  string
	time int
}

func (h *history) run(who string, args ...string) {
	h.t.Helper()
	h.time++
	cmd := exec.Command("git", args...)
	cmd.Dir = h.dir
	stamp := fmt.Sprintf("%d +0000", 1_700_000_000+h.time)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_EMAIL="+who, "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_DATE="+stamp, "GIT_COMMITTER_DATE="+stamp)
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("git %s: %v\n%s", args, err, out)
	}
}

func (h *history) commit(who, message string, files ...string) {
	h.t.Helper()
	for _, f := range files {
		write(h.t, h.dir, f, fmt.Sprintf("%s %d\n", who, h.time))
		h.run(who, "add", f)
	}
	h.run(who, "commit", "-q", "--allow-empty", "-m", message)
}

func (h *history) authors(path, stop, want string, complete bool) {
	h.t.Helper()
	r := open(h.t, h.dir)
	got, err := r.Authors(head(h.t, r), path, stop)
	if err != nil || strings.Join(got.Emails, " ") != want || got.Complete != complete {
		h.t.Errorf("authors of %s since %q: %+v, %v; want %q, %t", path, stop, got, err, want, complete)
	}
}

func TestAuthors(t *testing.T) {
	h := &history{t: t, dir: newRepo(t, nil)}
	h.commit("old@x", "old", "v/a.md", "v/b.md")
	h.commit("gov@x", "receipt", "v/a.md", "receipts/1")
	h.authors("v/a.md", "receipts/1", "", true)
	h.commit("Bob@X", "edit\n\nCo-authored-by: Carl <CARL@x>\nco-authored-by: D <d@x>\n", "v/a.md")
	h.commit("other@x", "elsewhere", "v/b.md")
	h.authors("v/a.md", "", "bob@x carl@x d@x gov@x old@x", true)
	h.authors("v/a.md", "receipts/1", "bob@x carl@x d@x", true)
	h.authors("v", "receipts/1", "bob@x carl@x d@x other@x", true)
	h.authors("v/b.md", "receipts/2", "old@x other@x", true)
	h.authors("none", "", "", true)
}

func TestAuthorsAcrossMerges(t *testing.T) {
	h := &history{t: t, dir: newRepo(t, nil)}
	h.commit("old@x", "old", "v/a.md")
	h.run("", "checkout", "-q", "-b", "side")
	h.commit("side@x", "edit on the side", "v/a.md")
	h.run("", "checkout", "-q", "-b", "lost", "main")
	h.commit("lost@x", "an edit that the merge drops", "v/a.md")
	h.run("", "checkout", "-q", "main")
	h.commit("gov@x", "receipt", "receipts/1")
	h.commit("main@x", "elsewhere", "other")
	h.run("merger@x", "merge", "-q", "--no-edit", "side")
	h.run("merger@x", "merge", "-q", "--no-edit", "-s", "ours", "lost")
	// The side branch left main before the receipt; its edit came after.
	h.authors("v/a.md", "receipts/1", "side@x", true)
	h.authors("v/a.md", "", "old@x side@x", true)
	want := strings.Fields(runGit(t, h.dir, "log", "--format=%ae", "--", "v/a.md"))
	if len(want) != 2 {
		t.Errorf("git log has %s", want)
	}
}

func TestAuthorsInAShallowClone(t *testing.T) {
	h := &history{t: t, dir: newRepo(t, nil)}
	h.commit("old@x", "old", "v/a.md")
	h.commit("gov@x", "receipt", "receipts/1")
	h.commit("new@x", "new", "v/a.md")
	for depth, complete := range []bool{1: false, 2: false, 3: true} {
		if depth == 0 {
			continue
		}
		clone := filepath.Join(realDir(t), "clone")
		runGit(t, h.dir, "clone", "-q", fmt.Sprintf("--depth=%d", depth), "file://"+h.dir, clone)
		want := "new@x"
		if depth == 1 {
			want = ""
		}
		(&history{t: t, dir: clone}).authors("v/a.md", "receipts/1", want, complete)
	}
}
