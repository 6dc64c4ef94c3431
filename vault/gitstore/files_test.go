package gitstore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"longmemory.dev/lm/vault"
)

// mixed is a repository with everything that a tree can hold.
func mixed(t *testing.T) string {
	dir := newRepo(t, map[string]string{
		"vault.yaml": "v\n", "docs/vault/vault.yaml": "v\n", "a/b/c/d/vault.yaml": "too deep\n",
		"docs/vault/a.md": "a\n", "docs/vault/a/b.md": "b\n", "docs/vault/a-b/c.md": "c\n", "docs/vault/empty": "", "docs/vault/ä ö.md": "umlaut\n",
		"docs/vault/big": strings.Repeat("line of text\n", 5000), "docs/vault/run.sh": "#!/bin/sh\n",
	})
	if err := os.Symlink("a.md", filepath.Join(dir, "docs/vault/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "docs/vault/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(realDir(t), "other")
	runGit(t, dir, "clone", "-q", dir, other)
	runGit(t, dir, "submodule", "--quiet", "add", other, "docs/vault/sub")
	runGit(t, dir, "add", "-A")
	runGit(t, dir, "commit", "-q", "-m", "second")
	return dir
}

func TestFilesIsLsTree(t *testing.T) {
	dir := mixed(t)
	for _, packed := range []bool{false, true} {
		if packed {
			runGit(t, dir, "gc", "-q")
		}
		r := open(t, dir)
		files, err := r.Files(head(t, r), "docs/vault", 1000, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range files {
			got = append(got, fmt.Sprintf("%s %s %s", modeOf(f.Kind), f.Object, f.Path))
			want := runGit(t, dir, "show", "HEAD:docs/vault/"+f.Path)
			switch {
			case !readable(f.Kind):
				if f.Data != nil || f.Size != 0 {
					t.Errorf("%s has bytes", f.Path)
				}
			case f.Path == "big":
				if f.Data != nil || f.Size != int64(len(want)+1) {
					t.Errorf("big: %d bytes, size %d", len(f.Data), f.Size)
				}
			case f.Data == nil || strings.TrimSuffix(string(f.Data), "\n") != want || f.Size != int64(len(f.Data)):
				t.Errorf("%s is %q, git says %q", f.Path, f.Data, want)
			}
		}
		want := runGit(t, dir, "-c", "core.quotePath=false", "ls-tree", "-r", "--format=%(objectmode) %(objectname) %(path)", "HEAD:docs/vault")
		if strings.Join(got, "\n") != want {
			t.Errorf("files are\n%s\ngit says\n%s", strings.Join(got, "\n"), want)
		}
		sub, err := r.Subtree(head(t, r), "docs/vault")
		if err != nil || string(sub) != runGit(t, dir, "rev-parse", "HEAD:docs/vault") {
			t.Errorf("subtree %s, %v", sub, err)
		}
		if tree, err := TreeID(files[:]); err != nil || tree != sub {
			t.Errorf("tree of the files is %s, %v; want %s", tree, err, sub)
		}
	}
}

func TestFilesKeepsAndFinds(t *testing.T) {
	dir := mixed(t)
	r := open(t, dir)
	h := head(t, r)
	files, err := r.Files(h, "", 10, func(path string, isDir bool) bool { return strings.HasPrefix("docs/vault/a/b.md", path) })
	if err != nil || paths(files) != "docs/vault/a/b.md" {
		t.Errorf("kept %s, %v", paths(files), err)
	}
	if _, err := r.Files(h, "docs/vault/a.md", 10, nil); err == nil {
		t.Error("a file is listed as a folder")
	}
	_, err = r.File(h, "docs/none.md", 10)
	wantErr(t, err, ErrNotFound, "docs/none.md")
	_, err = r.File(h, "docs", 10)
	wantErr(t, err, ErrNotFound)
	if f, err := r.File(h, "docs/vault/run.sh", 100); err != nil || f.Kind != vault.FileExecutable {
		t.Errorf("run.sh: %v, %v", f.Kind, err)
	}
	found, err := r.TrackedVaults(h, 2)
	if err != nil || fmt.Sprint(found) != "[ docs/vault]" {
		t.Errorf("vaults %q, %v", found, err)
	}
	id := runGit(t, dir, "rev-parse", "HEAD:docs/vault/a.md")
	if data, err := r.Blob(Hash(id)); err != nil || string(data) != "a\n" {
		t.Errorf("blob %q %v", data, err)
	}
	_, err = r.Blob(Hash(strings.Repeat("1", 40)))
	wantErr(t, err, ErrNotFound)
}

func TestReadingGoesOnAfterARepack(t *testing.T) {
	dir := newRepo(t, map[string]string{"f": "1\n"})
	r := open(t, dir)
	if _, err := r.Files(head(t, r), "", 10, nil); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "f", "2\n")
	runGit(t, dir, "commit", "-q", "-am", "second")
	runGit(t, dir, "gc", "-q", "--prune=now")
	if f, err := r.File(head(t, r), "f", 10); err != nil || string(f.Data) != "2\n" {
		t.Errorf("%q %v", f.Data, err)
	}
}

// TestReadingBesideARepack: files come and go among the packs, as while git repacks
// or fetches, and every object is found all the time.
func TestReadingBesideARepack(t *testing.T) {
	dir := newRepo(t, map[string]string{"f": "1\n"})
	runGit(t, dir, "gc", "-q", "--prune=now")
	packs := filepath.Join(dir, ".git/objects/pack")
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			for _, name := range []string{"tmp_pack_x", "tmp_idx_x", fmt.Sprintf("pack-%040x.pack", i+1)} {
				_ = os.WriteFile(filepath.Join(packs, name), nil, 0o666)
				_ = os.Remove(filepath.Join(packs, name))
			}
		}
	}()
	for range 500 {
		r := open(t, dir)
		if _, err := r.File(head(t, r), "f", 10); err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	<-stopped
}

func TestPartialCloneNamesWhatIsMissing(t *testing.T) {
	dir := newRepo(t, map[string]string{"a/f.md": "text\n"})
	runGit(t, dir, "config", "uploadpack.allowFilter", "true")
	clone := filepath.Join(realDir(t), "clone")
	runGit(t, dir, "clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+dir, clone)
	r := open(t, clone)
	_, err := r.Files(head(t, r), "a", 100, nil)
	wantErr(t, err, ErrUnsupported, "a/f.md", "fetch --refetch --no-filter origin")
	runGit(t, clone, "fetch", "-q", "--refetch", "--no-filter", "origin")
	if _, err := r.Files(head(t, r), "a", 100, nil); err != nil {
		t.Errorf("after the fetch that the message names: %v", err)
	}
}

func TestTreeID(t *testing.T) {
	if id, err := TreeID(nil); err != nil || id != emptyTree {
		t.Errorf("no files: %s %v", id, err)
	}
	if id := BlobID([]byte("hello\n")); id != "ce013625030ba8dba906f756967f9e9ca394464a" {
		t.Errorf("blob id %s", id)
	}
	if _, err := TreeID([]vault.File{{Path: "f"}}); err == nil {
		t.Error("a file without bytes has an id")
	}
	if _, err := TreeID([]vault.File{{Path: "f", Data: []byte{}}, {Path: "f/g", Data: []byte{}}}); err == nil {
		t.Error("a file is a folder")
	}
}
