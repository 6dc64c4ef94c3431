//go:build unix

package gitstore

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"longmemory.dev/lm/vault"
)

// wantTree compares WorkFiles with what git add -A would make of the folder.
func wantTree(t *testing.T, dir, folder string) []vault.File {
	t.Helper()
	files, tree, err := open(t, dir).WorkFiles(folder, upTo(1<<20), nil)
	if err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(t.TempDir(), "index")
	if data, err := os.ReadFile(filepath.Join(open(t, dir).GitDir(), "index")); err == nil {
		if err := os.WriteFile(index, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_INDEX_FILE="+index)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %s: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	run("-c", "advice.addEmbeddedRepo=false", "-c", "core.safecrlf=false", "add", "-A")
	var want string
	if folder == "" {
		want = run("write-tree")
	} else {
		want = run("write-tree", "--prefix="+folder+"/")
	}
	if string(tree) != want {
		var got []string
		for _, f := range files {
			got = append(got, fmt.Sprintf("%s %s\t%s", modeOf(f.Kind), f.Object, f.Path))
		}
		t.Errorf("the tree of %q is %s, git makes %s\nlm:\n%s\ngit:\n%s", folder, tree, want, strings.Join(got, "\n"), run("ls-tree", "-r", want))
	}
	return files
}

func TestWorkFilesIsGitAdd(t *testing.T) {
	dir := mixed(t)
	write(t, dir, "docs/vault/.gitignore", "*.tmp\n!keep.tmp\n/build/\nlogs/**/*.txt\n")
	write(t, dir, ".gitignore", "node_modules\n*.log\n")
	write(t, dir, ".git/info/exclude", "private.md\n")
	write(t, dir, "../../excluded", "everywhere.md\n")
	write(t, os.Getenv("HOME"), "xdg/git/ignore", "everywhere.md\n")
	write(t, dir, "docs/vault/tracked.log", "tracked though ignored\n")
	write(t, dir, "docs/vault/build/tracked.md", "tracked in an ignored folder\n")
	runGit(t, dir, "add", "-f", "docs/vault/tracked.log", "docs/vault/build/tracked.md")
	runGit(t, dir, "commit", "-q", "-m", "tracked")
	for _, file := range []string{"x.tmp", "keep.tmp", "build/out.md", "a/build/in.md", "logs/a/b/c.txt", "logs/d.txt", "logs/d.md", "node_modules/m.md", "y.log", "private.md", "everywhere.md", "new/n.md", "GIT.md"} {
		write(t, dir, "docs/vault/"+file, file+"\n")
	}
	write(t, dir, "docs/vault/a.md", "changed\n")
	os.Remove(filepath.Join(dir, "docs/vault/a/b.md"))
	os.Chmod(filepath.Join(dir, "docs/vault/a-b/c.md"), 0o755)
	os.Symlink("/etc", filepath.Join(dir, "docs/vault/etc"))
	runGit(t, dir, "init", "-q", "docs/vault/nested")
	write(t, dir, "docs/vault/nested/n.md", "n\n")
	runGit(t, filepath.Join(dir, "docs/vault/nested"), "add", "-A")
	runGit(t, filepath.Join(dir, "docs/vault/nested"), "commit", "-q", "-m", "n")
	if err := syscall.Mkfifo(filepath.Join(dir, "docs/vault/pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	files := wantTree(t, dir, "docs/vault")
	got := " " + paths(files) + " "
	for _, file := range []string{"etc/", "x.tmp", "build/out.md", "logs/d.txt", "node_modules", "y.log", "private.md", "everywhere.md", ".git/"} {
		if strings.Contains(got, " "+file) {
			t.Errorf("%s is listed", file)
		}
	}
	kinds := map[string]vault.FileKind{"pipe": vault.FileSpecial, "etc": vault.FileSymlink, "nested": vault.FileSubmodule, "sub": vault.FileSubmodule, "a-b/c.md": vault.FileExecutable, "a.md": vault.FileRegular}
	for _, f := range files {
		if want, ok := kinds[f.Path]; ok && f.Kind != want {
			t.Errorf("%s is of kind %d, want %d", f.Path, f.Kind, want)
		}
		delete(kinds, f.Path)
		if f.Path == "a.md" && string(f.Data) != "changed\n" {
			t.Errorf("a.md is %q", f.Data)
		}
	}
	if len(kinds) > 0 {
		t.Errorf("not listed: %v", kinds)
	}
	wantTree(t, dir, "")
	runGit(t, dir, "update-index", "--split-index")
	wantTree(t, dir, "docs/vault")
	runGit(t, dir, "submodule", "--quiet", "deinit", "-f", "docs/vault/sub")
	wantTree(t, dir, "docs/vault")
}

func TestWorkFilesNormalisesLineEnds(t *testing.T) {
	texts := map[string]string{
		"lf": "a\nb\n", "crlf": "a\r\nb\r\n", "mixed": "a\r\nb\n", "cr": "a\rb\r\n", "binary": "a\x00b\r\n", "controls": "\x01\x02\x03\r\n", "dos-eof": "a\r\n\x1a", "none": "a", "empty": "",
	}
	for _, autocrlf := range []string{"false", "true", "input"} {
		for i, attributes := range []string{"", "* text=auto\n", "* text\n", "* -text\n", "* eol=crlf\n", "* text=auto eol=lf\n", "* crlf\n", "* crlf=input\n", "[attr]win text eol=crlf\n* win\nlf binary\n", "* text\n*/f -text\n\"cr*\" text=auto\n*.md !text\n"} {
			dir := newRepo(t, map[string]string{"was-crlf": "x\r\ny\r\n"})
			runGit(t, dir, "config", "core.autocrlf", autocrlf)
			write(t, dir, ".gitattributes", attributes)
			for name, text := range texts {
				write(t, dir, "d/"+name, text)
				write(t, dir, "d/"+name+".md", text)
				write(t, dir, "d/f/f", text)
			}
			write(t, dir, "d/.gitattributes", "mixed.md -text\n")
			write(t, dir, "was-crlf", "x\r\nz\r\n")
			write(t, dir, ".git/info/attributes", "d/none.md binary\n")
			wantTree(t, dir, "")
			if t.Failed() {
				t.Fatalf("core.autocrlf %s, attributes %d", autocrlf, i)
			}
		}
	}
}

func TestWorkFilesInASparseCheckout(t *testing.T) {
	dir := newRepo(t, start)
	runGit(t, dir, "sparse-checkout", "set", "--cone", "elsewhere")
	files := wantTree(t, dir, "v")
	if paths(files) != "a.md b.md deep/er/c.md" || string(files[0].Data) != "a\n" {
		t.Errorf("files %s", paths(files))
	}
	runGit(t, dir, "sparse-checkout", "reapply", "--sparse-index")
	wantTree(t, dir, "v")
}

func TestWorkFilesWithoutFileModes(t *testing.T) {
	dir := newRepo(t, start)
	runGit(t, dir, "update-index", "--chmod=+x", "run.sh")
	runGit(t, dir, "config", "core.fileMode", "false")
	os.Chmod(filepath.Join(dir, "v/a.md"), 0o755)
	wantTree(t, dir, "")
}

func TestWorkFilesLimitsAndKeeps(t *testing.T) {
	dir := newRepo(t, start)
	write(t, dir, "v/big.md", strings.Repeat("0123456789", 10))
	r := open(t, dir)
	files, _, err := r.WorkFiles("v", upTo(50), func(path string, isDir bool) bool { return path == "big.md" || isDir && path == "deep" })
	if err != nil || paths(files) != "big.md" {
		t.Fatalf("%s, %v", paths(files), err)
	}
	if f := files[0]; f.Data != nil || f.Size != 100 || f.Object != runGit(t, dir, "hash-object", "v/big.md") {
		t.Errorf("big.md: %d bytes, size %d, %s", len(f.Data), f.Size, f.Object)
	}
	_, _, err = r.WorkFiles("none", upTo(50), nil)
	wantErr(t, err, ErrNotFound, "none")
	os.Symlink("v", filepath.Join(dir, "w"))
	_, _, err = r.WorkFiles("w", upTo(50), nil)
	wantErr(t, err, ErrNotFound)
}

func TestFolderIsANewRepository(t *testing.T) {
	isolate(t)
	dir := realDir(t)
	for file, text := range start {
		write(t, dir, file, text)
	}
	write(t, dir, ".gitignore", "*.log\n")
	write(t, dir, ".gitattributes", "*.md text\n")
	write(t, dir, "v/.gitignore", "/b.md\n")
	write(t, dir, "x.log", "x\n")
	write(t, dir, "v/crlf.md", "a\r\n")
	files, tree, err := Folder(dir, upTo(1<<20), nil)
	if err != nil || strings.Contains(paths(files), "x.log") || strings.Contains(paths(files), "v/b.md") {
		t.Fatalf("%s, %v", paths(files), err)
	}
	runGit(t, dir, "init", "-q")
	runGit(t, dir, "add", "-A")
	if want := runGit(t, dir, "write-tree"); string(tree) != want {
		t.Errorf("tree %s, git makes %s", tree, want)
	}
}

// upTo is one limit for all files.
func upTo(bytes int64) Limit { return func(string) int64 { return bytes } }
