package gitstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestInitMakesWhatGitTakes(t *testing.T) {
	isolate(t)
	write(t, os.Getenv("HOME"), ".gitconfig", "[init]\n\tdefaultBranch = trunk\n")
	dir := realDir(t)
	repo, err := Init(dir)
	if err != nil {
		t.Fatal(err)
	}
	if ref, h, err := repo.Head(); ref != "refs/heads/trunk" || h != "" || err != nil {
		t.Errorf("HEAD is %q at %q: %v", ref, h, err)
	}
	if out := runGit(t, dir, "status", "--porcelain", "--branch"); out != "## No commits yet on trunk" {
		t.Errorf("git status says %q", out)
	}
	if _, err := Init(dir); !errors.Is(err, ErrConflict) {
		t.Errorf("a second time: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".git.*")); len(left) > 0 || err != nil {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func TestListNamesWhatFilesRead(t *testing.T) {
	dir := newRepo(t, map[string]string{"a/x.md": "x", "a/b/y.md": "y", "other": "z"})
	r := open(t, dir)
	listed, err := r.List(head(t, r), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := r.Files(head(t, r), "a", 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(listed) != 2 || len(files) != 2 {
		t.Fatalf("listed %v, read %v", listed, files)
	}
	for i := range files {
		if listed[i].Path != files[i].Path || listed[i].Object != files[i].Object || listed[i].Data != nil {
			t.Errorf("listed %v, read %v", listed[i], files[i])
		}
	}
	if _, err := r.List(head(t, r), "nosuch", nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
