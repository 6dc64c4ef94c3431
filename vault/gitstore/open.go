package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Open finds the repository that dir lies in, looking from dir upward as git
// does: a .git folder, a .git file (linked work tree, submodule) or a bare
// repository. It reads a few small files and opens no pack.
//
// ErrNoRepository if there is none; ErrUnsupported, naming the feature, for a
// repository that go-git cannot read right: SHA-256 objects, reftable, an
// extension that is not known here.
func Open(dir string) (*Repo, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if start, err = filepath.EvalSymlinks(start); err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	for at := start; ; {
		r, err := openAt(at)
		if err != nil || r != nil {
			return r, err
		}
		up := filepath.Dir(at)
		if up == at {
			return nil, fmt.Errorf("%w in %s or any folder above it; run git init, or say where with -C DIR", ErrNoRepository, start)
		}
		at = up
	}
}

// openAt opens the repository whose work tree or Git directory is dir itself;
// nil if dir is neither. dir is absolute and free of symlinks.
func openAt(dir string) (*Repo, error) {
	dotGit := filepath.Join(dir, ".git")
	info, err := os.Stat(dotGit)
	switch {
	case err == nil && info.IsDir() && isGitDir(dotGit):
		return openGitDir(dotGit, dir)
	case err == nil && info.Mode().IsRegular():
		gitDir, err := readGitFile(dotGit)
		if err != nil {
			return nil, err
		}
		return openGitDir(gitDir, dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
		return nil, err
	}
	if !isGitDir(dir) {
		return nil, nil
	}
	root := ""
	if filepath.Base(dir) == ".git" {
		root = filepath.Dir(dir)
	}
	return openGitDir(dir, root)
}

// isGitDir says whether dir looks like a Git directory, by git's own test.
func isGitDir(dir string) bool {
	if info, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil || info.IsDir() {
		return false
	}
	common, err := commonDirOf(dir)
	return err == nil && isDir(filepath.Join(common, "objects")) && isDir(filepath.Join(common, "refs"))
}

// readGitFile reads a .git file: "gitdir: PATH", relative to the file's folder.
func readGitFile(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(string(data), "gitdir:")
	if !ok {
		return "", fmt.Errorf("%w: %s is no Git directory and does not begin with \"gitdir:\"", ErrNoRepository, file)
	}
	gitDir, err := filepath.EvalSymlinks(absolute(filepath.Dir(file), strings.TrimSpace(target)))
	if err != nil || !isGitDir(gitDir) {
		return "", fmt.Errorf("%w: %s points to %s, which is no Git directory; git worktree repair mends a moved work tree", ErrNoRepository, file, strings.TrimSpace(target))
	}
	return gitDir, nil
}

// commonDirOf reads gitDir's commondir file, which linked work trees have.
func commonDirOf(gitDir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(gitDir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return gitDir, nil
	}
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute(gitDir, strings.TrimSpace(string(data))))
}

// openGitDir opens a Git directory; root is the folder that it was found from,
// "" if it was found by itself.
func openGitDir(gitDir, root string) (*Repo, error) {
	gitDir, err := filepath.EvalSymlinks(gitDir)
	if err != nil {
		return nil, err
	}
	common, err := commonDirOf(gitDir)
	if err != nil {
		return nil, fmt.Errorf("%w: the common directory of %s: %v", ErrNoRepository, gitDir, err)
	}
	local, err := readConfigFile(filepath.Join(common, "config"))
	if err != nil {
		return nil, err
	}
	if err := checkFormat(local, common); err != nil {
		return nil, err
	}
	if local.bool("extensions.worktreeconfig", false) {
		own, err := readConfigFile(filepath.Join(gitDir, "config.worktree"))
		if err != nil {
			return nil, err
		}
		local = local.over(own)
	}
	// A linked work tree shares a configuration in which core.bare and
	// core.worktree speak of the main one.
	if linked := gitDir != common; !linked {
		if local.bool("core.bare", root == "") {
			root = ""
		} else if tree, ok := local.get("core.worktree"); ok {
			root = absolute(gitDir, tree)
		}
	}
	if root != "" {
		if root, err = filepath.EvalSymlinks(root); err != nil {
			return nil, fmt.Errorf("the work tree of %s: %w", gitDir, err)
		}
	}
	r := &Repo{root: root, gitDir: gitDir, commonDir: common, local: local}
	r.objects.dir = filepath.Join(common, "objects")
	return r, nil
}

// checkFormat refuses a repository whose format go-git or this package would
// misread (gitrepository-layout, extensions).
func checkFormat(local *configFile, common string) error {
	refuse := func(what, mend string) error {
		return fmt.Errorf("%w: the repository %s %s; %s", ErrUnsupported, common, what, mend)
	}
	text, _ := local.get("core.repositoryformatversion")
	version, err := strconv.Atoi(strings.TrimSpace(text))
	if text != "" && err != nil || version > 1 {
		return refuse(fmt.Sprintf("has format version %q", text), "a newer lm may know it")
	}
	for _, e := range local.section("extensions") {
		name, value := strings.ToLower(e.name), strings.ToLower(e.value)
		switch name {
		case "noop", "noop-v1", "preciousobjects", "partialclone", "worktreeconfig", "relativeworktrees":
		case "objectformat":
			if value != "sha1" {
				return refuse("has "+value+" object ids", "lm reads SHA-1 repositories: git clone does not convert, so make the vault in a repository of its own")
			}
		case "refstorage":
			if value != "files" {
				return refuse("keeps its refs as "+value, "git refs migrate --ref-format=files changes that")
			}
		default:
			if version >= 1 {
				return refuse("has the extension "+e.name+", which is not known here", "a newer lm may know it")
			}
		}
	}
	return nil
}
