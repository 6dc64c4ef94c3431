package gitstore

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"longmemory.dev/lm/vault"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("GITSTORE_TEST_WRITER"); dir != "" {
		writeForEver(dir, os.Getenv("GITSTORE_TEST_NAME"))
	}
	os.Exit(m.Run())
}

// isolate gives the test a person and no configuration but its own.
func isolate(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	write(t, home, ".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n[gc]\n\tauto = 0\n")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "xdg"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for _, v := range []string{"GIT_CONFIG_GLOBAL", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "EMAIL"} {
		t.Setenv(v, "")
		os.Unsetenv(v)
	}
}

// runGit runs the real git and gives its output without the last line end.
func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s in %s: %v\n%s%s", strings.Join(args, " "), dir, err, out, stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n")
}

func write(t *testing.T, dir, file, text string) {
	t.Helper()
	name := filepath.Join(dir, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// newRepo makes a repository with one commit of the given files.
func newRepo(t *testing.T, files map[string]string) string {
	t.Helper()
	isolate(t)
	dir := realDir(t)
	runGit(t, dir, "init", "-q")
	for file, text := range files {
		write(t, dir, file, text)
	}
	runGit(t, dir, "add", "-A")
	runGit(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	return dir
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t *testing.T, dir string) *Repo {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func head(t *testing.T, r *Repo) Hash {
	t.Helper()
	_, h, err := r.Head()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// change is a change of files on what HEAD is now; "" as text removes a file.
func change(t *testing.T, r *Repo, files map[string]string) Change {
	t.Helper()
	c := Change{
		Expect:  head(t, r),
		Files:   map[string][]byte{},
		Message: "Change by lm\n\nLm-Actor: user:ada\n",
		Name:    "Ada", Email: "ada@example.org",
		When: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC),
	}
	for file, text := range files {
		if c.Files[file] = []byte(text); text == "" {
			c.Files[file] = nil
		}
	}
	return c
}

func commitFiles(t *testing.T, r *Repo, files map[string]string) Hash {
	t.Helper()
	h, err := r.Commit(context.Background(), change(t, r, files))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// sound checks what git says of a repository after lm has written to it.
func sound(t *testing.T, dir, status string) {
	t.Helper()
	if out := runGit(t, dir, "fsck", "--strict", "--no-dangling"); out != "" {
		t.Errorf("git fsck: %s", out)
	}
	if runGit(t, dir, "rev-parse", "--is-bare-repository") == "false" {
		if got := runGit(t, dir, "status", "--porcelain"); got != status {
			t.Errorf("git status says\n%s\nwant\n%s", got, status)
		}
	}
	for _, f := range []string{"index.lock", "HEAD.lock"} {
		if p := filepath.Join(runGit(t, dir, "rev-parse", "--absolute-git-dir"), f); isFile(p) {
			t.Errorf("%s is left", p)
		}
	}
	lm := filepath.Join(runGit(t, dir, "rev-parse", "--path-format=absolute", "--git-common-dir"), "lm")
	for _, f := range []string{"journal", "journal.new", "draft"} {
		if isFile(filepath.Join(lm, f)) {
			t.Errorf("lm's %s is left", f)
		}
	}
}

func wantErr(t *testing.T, err, want error, words ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func paths(files []vault.File) string {
	var names []string
	for _, f := range files {
		names = append(names, f.Path)
	}
	return strings.Join(names, " ")
}
