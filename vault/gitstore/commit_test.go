package gitstore

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var start = map[string]string{"v/a.md": "a\n", "v/b.md": "b\n", "v/deep/er/c.md": "c\n", "other.txt": "other\n", "run.sh": "#!/bin/sh\n"}

// withoutGit runs f where git is not on PATH, if that is what is tested.
func withoutGit(t *testing.T, without bool, f func()) {
	t.Helper()
	if without {
		path := os.Getenv("PATH")
		os.Setenv("PATH", "/nowhere")
		defer os.Setenv("PATH", path)
	}
	f()
}

func TestCommit(t *testing.T) {
	for _, without := range []bool{false, true} {
		t.Run(fmt.Sprintf("without git %t", without), func(t *testing.T) {
			dir := newRepo(t, start)
			if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o750); err != nil {
				t.Fatal(err)
			}
			runGit(t, dir, "commit", "-q", "-am", "executable")
			runGit(t, dir, "pack-refs", "--all")
			r, before := open(t, filepath.Join(dir, "v")), runGit(t, dir, "rev-parse", "HEAD")
			var h Hash
			withoutGit(t, without, func() {
				h = commitFiles(t, r, map[string]string{"v/a.md": "new\n", "v/deep/er/c.md": "", "v/new/d.md": "d\n", "run.sh": "#!/bin/bash\n"})
			})
			sound(t, dir, "")
			want := fmt.Sprintf("tree %s\nparent %s\nauthor Ada <ada@example.org> 1777863721 +0000\ncommitter Ada <ada@example.org> 1777863721 +0000\n\nChange by lm\n\nLm-Actor: user:ada",
				runGit(t, dir, "rev-parse", "HEAD^{tree}"), before)
			if got := runGit(t, dir, "cat-file", "commit", "HEAD"); got != want || string(h) != runGit(t, dir, "rev-parse", "main") {
				t.Errorf("commit %s is\n%s\nwant\n%s", h, got, want)
			}
			if got := runGit(t, dir, "diff", "--name-status", "HEAD~1"); got != "M\trun.sh\nM\tv/a.md\nD\tv/deep/er/c.md\nA\tv/new/d.md" {
				t.Errorf("changed:\n%s", got)
			}
			if read(t, dir, "v/a.md") != "new\n" || isDir(filepath.Join(dir, "v/deep")) {
				t.Error("the work tree does not follow")
			}
			if info, err := os.Stat(filepath.Join(dir, "run.sh")); err != nil || info.Mode().Perm() != 0o750 {
				t.Errorf("run.sh has mode %v, %v", info.Mode(), err)
			}
			for _, ref := range []string{"HEAD", "main"} {
				if got := runGit(t, dir, "reflog", "-1", "--format=%H %gn %ge %gs", ref); got != string(h)+" Ada ada@example.org commit: Change by lm" {
					t.Errorf("reflog of %s: %s", ref, got)
				}
			}
			// The user's next commit builds on it and reverts nothing.
			write(t, dir, "other.txt", "mine\n")
			runGit(t, dir, "commit", "-q", "-am", "mine")
			if got := runGit(t, dir, "diff", "--name-only", string(h)); got != "other.txt" {
				t.Errorf("the user's commit changed %s", got)
			}
		})
	}
}

func TestCommitWherever(t *testing.T) {
	isolate(t)
	for _, c := range []struct {
		name  string
		setup func(dir string) (work string)
		log   string
	}{
		{"unborn branch", func(dir string) string { runGit(t, dir, "init", "-q", "-b", "team/main"); return dir }, "commit (initial): Change by lm"},
		{"detached", func(dir string) string { seed(t, dir); runGit(t, dir, "checkout", "-q", "--detach"); return dir }, "commit: Change by lm"},
		{"branch with slashes", func(dir string) string { seed(t, dir); runGit(t, dir, "checkout", "-q", "-b", "a/b/c"); return dir }, "commit: Change by lm"},
		{"bare", func(dir string) string {
			seed(t, dir)
			runGit(t, dir, "clone", "-q", "--bare", ".", "bare.git")
			return filepath.Join(dir, "bare.git")
		}, ""},
		{"linked work tree", func(dir string) string {
			seed(t, dir)
			runGit(t, dir, "worktree", "add", "-q", "-b", "side", filepath.Join(dir, "..", "linked"))
			return filepath.Join(dir, "..", "linked")
		}, "commit: Change by lm"},
		{"empty folder in the branch's place", func(dir string) string {
			seed(t, dir)
			runGit(t, dir, "pack-refs", "--all")
			if err := os.MkdirAll(filepath.Join(dir, ".git/refs/heads/main/gone"), 0o777); err != nil {
				t.Fatal(err)
			}
			return dir
		}, "commit: Change by lm"},
		{"index version 4", func(dir string) string {
			seed(t, dir)
			runGit(t, dir, "update-index", "--index-version", "4")
			return dir
		}, "commit: Change by lm"},
		{"split index", func(dir string) string { seed(t, dir); runGit(t, dir, "update-index", "--split-index"); return dir }, "commit: Change by lm"},
		{"untracked cache", func(dir string) string {
			seed(t, dir)
			runGit(t, dir, "update-index", "--force-untracked-cache")
			runGit(t, dir, "status")
			return dir
		}, "commit: Change by lm"},
		{"shallow", func(dir string) string {
			seed(t, dir)
			runGit(t, dir, "clone", "-q", "--depth=1", "file://"+dir, filepath.Join(dir, "..", "shallow"))
			return filepath.Join(dir, "..", "shallow")
		}, "commit: Change by lm"},
		{"submodule", func(dir string) string {
			seed(t, dir)
			runGit(t, dir, "init", "-q", "../super")
			runGit(t, filepath.Join(dir, "../super"), "submodule", "--quiet", "add", dir, "sub")
			return filepath.Join(dir, "../super/sub")
		}, "commit: Change by lm"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(realDir(t), "repo")
			if err := os.Mkdir(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			work := c.setup(dir)
			r := open(t, work)
			first := commitFiles(t, r, map[string]string{"v/a.md": "new\n"})
			second := commitFiles(t, r, map[string]string{"v/x.md": "x\n", "v/a.md": ""})
			if got := runGit(t, work, "rev-parse", "HEAD"); got != string(second) {
				t.Errorf("HEAD is %s, want %s", got, second)
			}
			if got := runGit(t, work, "rev-parse", "HEAD~1"); got != string(first) {
				t.Errorf("HEAD~1 is %s, want %s", got, first)
			}
			if got := runGit(t, work, "show", "HEAD:v/x.md"); got != "x" {
				t.Errorf("v/x.md is %q", got)
			}
			if c.name != "bare" {
				want := strings.Replace(c.log, " (initial)", "", 1) + "\n" + c.log
				if got := runGit(t, work, "reflog", "-2", "--format=%gs"); got != want {
					t.Errorf("reflog %q, want %q", got, want)
				}
			}
			if c.name == "split index" && len(mustGlob(t, dir, ".git/sharedindex.*")) == 0 {
				t.Error("the index is split no more")
			}
			if c.name == "index version 4" && read(t, dir, ".git/index")[7] != 4 {
				t.Error("the index has another version")
			}
			if c.name == "untracked cache" && !strings.Contains(read(t, dir, ".git/index"), "UNTR") {
				t.Error("the untracked cache is gone")
			}
			sound(t, work, "")
		})
	}
}

func seed(t *testing.T, dir string) {
	t.Helper()
	runGit(t, dir, "init", "-q")
	for file, text := range start {
		write(t, dir, file, text)
	}
	write(t, dir, ".git/info/exclude", "bare.git\n")
	runGit(t, dir, "add", "-A")
	runGit(t, dir, "commit", "-q", "-m", "first")
}

func mustGlob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestCommitWithoutGitRefusesASplitIndex(t *testing.T) {
	dir := newRepo(t, start)
	runGit(t, dir, "update-index", "--split-index")
	r := open(t, dir)
	before := head(t, r)
	withoutGit(t, true, func() {
		_, err := r.Commit(context.Background(), change(t, r, map[string]string{"v/a.md": "new\n"}))
		wantErr(t, err, ErrUnsupported, "git", "PATH")
	})
	if head(t, r) != before {
		t.Error("the branch moved")
	}
	sound(t, dir, "")
}

func TestCommitRefusesWhatTheUserHolds(t *testing.T) {
	for _, c := range []struct {
		name   string
		user   func(t *testing.T, dir string)
		change map[string]string
		status string
	}{
		{"changed", func(t *testing.T, dir string) { write(t, dir, "v/a.md", "mine\n") }, map[string]string{"v/a.md": "new\n"}, " M v/a.md"},
		{"staged", func(t *testing.T, dir string) {
			write(t, dir, "v/a.md", "mine\n")
			runGit(t, dir, "add", "v/a.md")
			write(t, dir, "v/a.md", "a\n")
		}, map[string]string{"v/a.md": "new\n"}, "MM v/a.md"},
		{"changed and to be removed", func(t *testing.T, dir string) { write(t, dir, "v/a.md", "mine\n") }, map[string]string{"v/a.md": ""}, " M v/a.md"},
		{"deleted", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "v/a.md")) }, map[string]string{"v/a.md": "new\n"}, " D v/a.md"},
		{"removed from the index", func(t *testing.T, dir string) { runGit(t, dir, "rm", "-q", "--cached", "v/a.md") }, map[string]string{"v/a.md": "new\n"}, "D  v/a.md\n?? v/a.md"},
		{"made executable", func(t *testing.T, dir string) { os.Chmod(filepath.Join(dir, "v/a.md"), 0o755) }, map[string]string{"v/a.md": "new\n"}, " M v/a.md"},
		{"untracked", func(t *testing.T, dir string) { write(t, dir, "v/new.md", "mine\n") }, map[string]string{"v/new.md": "new\n"}, "?? v/new.md"},
		{"intent to add", func(t *testing.T, dir string) {
			write(t, dir, "v/new.md", "mine\n")
			runGit(t, dir, "add", "-N", "v/new.md")
		}, map[string]string{"v/new.md": "new\n"}, " A v/new.md"},
		{"replaced by a symlink", func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, "v/a.md"))
			os.Symlink("/etc/passwd", filepath.Join(dir, "v/a.md"))
		}, map[string]string{"v/a.md": "new\n"}, " T v/a.md"},
		{"folder is a symlink", func(t *testing.T, dir string) { os.Symlink("v", filepath.Join(dir, "w")) }, map[string]string{"w/x.md": "new\n"}, "?? w"},
		{"untracked folder in its place", func(t *testing.T, dir string) { write(t, dir, "v/new.md/mine", "mine\n") }, map[string]string{"v/new.md": "new\n"}, "?? v/new.md/"},
		{"file in its folder's place", func(t *testing.T, dir string) {}, map[string]string{"v/a.md/x.md": "new\n"}, ""},
		{"folder in its place", func(t *testing.T, dir string) {}, map[string]string{"v": "new\n"}, ""},
		{"merge that is not finished", func(t *testing.T, dir string) {
			runGit(t, dir, "checkout", "-q", "-b", "side")
			write(t, dir, "v/a.md", "side\n")
			runGit(t, dir, "commit", "-q", "-am", "side")
			runGit(t, dir, "checkout", "-q", "main")
			write(t, dir, "v/a.md", "main\n")
			runGit(t, dir, "commit", "-q", "-am", "main")
			_ = exec.Command("git", "-C", dir, "merge", "side").Run()
		}, map[string]string{"v/a.md": "new\n"}, "UU v/a.md"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := newRepo(t, start)
			c.user(t, dir)
			r := open(t, dir)
			before := head(t, r)
			_, err := r.Commit(context.Background(), change(t, r, c.change))
			for file := range c.change {
				wantErr(t, err, ErrConflict, file)
			}
			if head(t, r) != before {
				t.Error("the branch moved")
			}
			sound(t, dir, c.status)
		})
	}
}

func TestCommitLeavesTheRestAlone(t *testing.T) {
	for _, without := range []bool{false, true} {
		dir := newRepo(t, start)
		write(t, dir, "v/b.md", "mine\n")
		write(t, dir, "other.txt", "staged\n")
		runGit(t, dir, "add", "other.txt")
		write(t, dir, "other.txt", "staged and changed\n")
		write(t, dir, "untracked", "mine\n")
		r := open(t, dir)
		withoutGit(t, without, func() { commitFiles(t, r, map[string]string{"v/a.md": "new\n"}) })
		sound(t, dir, "MM other.txt\n M v/b.md\n?? untracked")
		if read(t, dir, "v/b.md") != "mine\n" || runGit(t, dir, "show", ":other.txt") != "staged" {
			t.Error("the user's work is gone")
		}
		if got := runGit(t, dir, "show", "--format=", "--name-only"); got != "v/a.md" {
			t.Errorf("the commit has %s", got)
		}
	}
}

func TestCommitTurnsFilesIntoFoldersAndBack(t *testing.T) {
	for _, without := range []bool{false, true} {
		dir := newRepo(t, start)
		r := open(t, dir)
		withoutGit(t, without, func() {
			commitFiles(t, r, map[string]string{"v/a.md": "", "v/a.md/x.md": "x\n", "v/deep/er/c.md": "", "v/deep": "a file now\n"})
		})
		sound(t, dir, "")
		if read(t, dir, "v/a.md/x.md") != "x\n" || read(t, dir, "v/deep") != "a file now\n" {
			t.Error("the work tree does not follow")
		}
	}
}

func TestCommitNothing(t *testing.T) {
	dir := newRepo(t, start)
	r := open(t, dir)
	before := head(t, r)
	if h := commitFiles(t, r, map[string]string{"v/a.md": "a\n"}); h != before || head(t, r) != before {
		t.Errorf("a change of nothing made %s", h)
	}
	sound(t, dir, "")
}

func TestCommitRefusesPaths(t *testing.T) {
	dir := newRepo(t, start)
	r := open(t, dir)
	for _, file := range []string{"", ".", "..", "../x", "a/../../x", "/etc/x", ".git/config", ".GIT/x", "a/.Git/x", "a/.git /x", "a/git~1/x", "a\\b", "c:x", "a//b", "a/", ".g\u200cit/x", "./a"} {
		_, err := r.Commit(context.Background(), change(t, r, map[string]string{file: "x\n"}))
		if err == nil {
			t.Errorf("%q is written", file)
		}
	}
	sound(t, dir, "")
}

func TestCommitExpects(t *testing.T) {
	dir := newRepo(t, start)
	r := open(t, dir)
	c := change(t, r, map[string]string{"v/a.md": "new\n"})
	c.Reads = []string{"v/deep", "vault.yaml"}
	write(t, dir, "other.txt", "x\n")
	runGit(t, dir, "commit", "-q", "-am", "something else")
	other := head(t, r)
	h, err := r.Commit(context.Background(), c)
	if err != nil || runGit(t, dir, "rev-parse", string(h)+"~1") != string(other) {
		t.Fatalf("an unrelated commit is in the way: %v", err)
	}
	sound(t, dir, "")
	for file, want := range map[string]string{"v/a.md": "v/a.md", "v/deep/new.md": "v/deep", "vault.yaml": "vault.yaml"} {
		c.Expect = head(t, r)
		write(t, dir, file, "theirs "+file+"\n")
		runGit(t, dir, "add", "-A")
		runGit(t, dir, "commit", "-q", "-m", "theirs")
		before := head(t, r)
		c.Files["v/a.md"] = []byte("mine\n")
		_, err := r.Commit(context.Background(), c)
		wantErr(t, err, ErrConflict, want)
		if head(t, r) != before {
			t.Error("the branch moved")
		}
		sound(t, dir, "")
	}
	c.Expect = ""
	_, err = r.Commit(context.Background(), c)
	wantErr(t, err, ErrConflict, "v/a.md")
}

func TestCommitToAnotherBranch(t *testing.T) {
	dir := newRepo(t, start)
	write(t, dir, "v/a.md", "the user works on it\n")
	r := open(t, dir)
	c := change(t, r, map[string]string{"v/a.md": "proposal\n"})
	c.Branch, c.Expect = "refs/heads/lm/inbox", ""
	first, err := r.Commit(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	c.Expect, c.Files["v/z.md"] = first, []byte("z\n")
	second, err := r.Commit(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	sound(t, dir, " M v/a.md")
	if got := runGit(t, dir, "rev-list", "lm/inbox"); got != string(second)+"\n"+string(first) {
		t.Errorf("lm/inbox has %s", got)
	}
	if h, err := r.Branch("refs/heads/lm/inbox"); err != nil || h != second {
		t.Errorf("branch %s %v", h, err)
	}
	if got := runGit(t, dir, "reflog", "--format=%gs", "lm/inbox"); got != "commit: Change by lm\ncommit (initial): Change by lm" {
		t.Errorf("reflog %s", got)
	}
	// A branch beside it, one in its way, and one that somebody has checked out.
	c.Expect, c.Branch = "", "refs/heads/lm"
	_, err = r.Commit(context.Background(), c)
	wantErr(t, err, ErrConflict, "refs/heads/lm")
	c.Branch = "refs/heads/main/x"
	_, err = r.Commit(context.Background(), c)
	wantErr(t, err, ErrConflict, "refs/heads/main")
	runGit(t, dir, "worktree", "add", "-q", filepath.Join(realDir(t), "linked"), "lm/inbox")
	c.Expect, c.Branch = second, "refs/heads/lm/inbox"
	c.Files["v/z.md"] = []byte("more\n")
	_, err = r.Commit(context.Background(), c)
	wantErr(t, err, ErrConflict, "checked out", "linked")
	sound(t, dir, " M v/a.md")
}

func TestCommitLineEnds(t *testing.T) {
	for _, without := range []bool{false, true} {
		for _, c := range []struct{ name, autocrlf, attributes, disk string }{
			{"autocrlf true", "true", "", "new\r\nline\r\n"},
			{"autocrlf input", "input", "", "new\nline\n"},
			{"eol=crlf", "false", "*.md eol=crlf\n", "new\r\nline\r\n"},
			{"autocrlf true, eol=lf", "true", "v/** text eol=lf\n", "new\nline\n"},
			{"autocrlf true, binary", "true", "*.md binary\n", "new\nline\n"},
		} {
			t.Run(fmt.Sprintf("%s without git %t", c.name, without), func(t *testing.T) {
				dir := newRepo(t, start)
				runGit(t, dir, "config", "core.autocrlf", c.autocrlf)
				write(t, dir, ".gitattributes", c.attributes)
				runGit(t, dir, "add", "-A")
				runGit(t, dir, "commit", "-q", "-m", "attributes")
				runGit(t, dir, "rm", "-q", "--cached", "-r", ".")
				runGit(t, dir, "reset", "-q", "--hard")
				r := open(t, dir)
				withoutGit(t, without, func() { commitFiles(t, r, map[string]string{"v/a.md": "new\nline\n", "v/new.md": "new\nline\n"}) })
				sound(t, dir, "")
				for _, file := range []string{"v/a.md", "v/new.md"} {
					if got := read(t, dir, file); got != c.disk {
						t.Errorf("%s on disk is %q, want %q", file, got, c.disk)
					}
					if got := runGit(t, dir, "cat-file", "blob", "HEAD:"+file); got != "new\nline" {
						t.Errorf("%s in Git is %q", file, got)
					}
				}
				// Git itself writes the same.
				runGit(t, dir, "rm", "-q", "--cached", "-r", ".")
				runGit(t, dir, "reset", "-q", "--hard")
				if got := read(t, dir, "v/new.md"); got != c.disk {
					t.Errorf("git checkout writes %q, want %q", got, c.disk)
				}
			})
		}
	}
}

func TestCommitStoresAsGitAddWould(t *testing.T) {
	dir := newRepo(t, start)
	runGit(t, dir, "config", "core.autocrlf", "true")
	r := open(t, dir)
	commitFiles(t, r, map[string]string{"v/new.md": "crlf\r\nline\r\n"})
	sound(t, dir, "")
	if got := runGit(t, dir, "cat-file", "blob", "HEAD:v/new.md"); got != "crlf\nline" {
		t.Errorf("stored %q", got)
	}
}

func TestCommitRefusesAFilter(t *testing.T) {
	dir := newRepo(t, start)
	write(t, dir, ".gitattributes", "*.md filter=lfs\n*.sh ident\n")
	runGit(t, dir, "add", "-A")
	runGit(t, dir, "commit", "-q", "-m", "attributes")
	commitFiles(t, open(t, dir), map[string]string{"v/a.md": "a filter that is not set up passes bytes through\n"})
	runGit(t, dir, "config", "filter.lfs.clean", "tr a-z A-Z")
	for file, what := range map[string]string{"v/a.md": "filter lfs", "run.sh": "ident"} {
		r := open(t, dir)
		_, err := r.Commit(context.Background(), change(t, r, map[string]string{file: "x\n"}))
		wantErr(t, err, ErrUnsupported, file, what)
	}
}

func TestCommitInASparseCheckout(t *testing.T) {
	for _, without := range []bool{false, true} {
		dir := newRepo(t, start)
		runGit(t, dir, "sparse-checkout", "set", "--cone", "elsewhere")
		r := open(t, dir)
		withoutGit(t, without, func() { commitFiles(t, r, map[string]string{"v/a.md": "new\n", "v/b.md": "", "other.txt": "new\n"}) })
		sound(t, dir, "")
		if isFile(filepath.Join(dir, "v/a.md")) || read(t, dir, "other.txt") != "new\n" {
			t.Error("the work tree is not as sparse as before")
		}
		if got := runGit(t, dir, "ls-files", "-t", "v"); got != "S v/a.md\nS v/deep/er/c.md" {
			t.Errorf("the index has %s", got)
		}
	}
}

func TestCommitSaysWhoHoldsTheLock(t *testing.T) {
	dir := newRepo(t, start)
	r := open(t, dir)
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	unlock, err := r.lock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Commit(short(), change(t, r, map[string]string{"v/a.md": "new\n"}))
	wantErr(t, err, ErrLocked, fmt.Sprintf("pid %d", os.Getpid()))
	wantErr(t, err, ErrConflict)
	unlock()
	for _, lock := range []string{".git/index.lock", ".git/refs/heads/main.lock"} {
		write(t, dir, lock, "")
		_, err = r.Commit(short(), change(t, r, map[string]string{"v/a.md": "new\n"}))
		wantErr(t, err, ErrLocked, lock)
		if !isFile(filepath.Join(dir, lock)) {
			t.Errorf("lm removed %s, which is not its own", lock)
		}
		os.Remove(filepath.Join(dir, lock))
		sound(t, dir, "")
	}
}
