package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Init makes an empty repository with a work tree in a folder that exists and
// lies in none, and opens it. Its branch is the one that init.defaultBranch
// names, else main. It is made beside its place and renamed there, so nobody
// sees half of it. ErrConflict if there is one already.
func Init(dir string) (*Repo, error) {
	branch, ok, err := new(Repo).Config("init.defaultBranch")
	if err != nil {
		return nil, err
	}
	if !ok || !safeRef("refs/heads/"+branch) {
		branch = "main"
	}
	if _, err := os.Lstat(filepath.Join(dir, ".git")); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is a Git repository already: %w", dir, ErrConflict)
	}
	made := filepath.Join(dir, ".git.lm-new")
	if err := os.Mkdir(made, 0o777); err != nil {
		return nil, fmt.Errorf("making a repository: %w; if nobody else is at it, remove that folder", err)
	}
	defer os.RemoveAll(made) // what is left of it if anything below fails
	for _, folder := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "info"} {
		if err := os.MkdirAll(filepath.Join(made, folder), 0o777); err != nil {
			return nil, fmt.Errorf("making a repository: %w", err)
		}
	}
	for name, text := range map[string]string{
		"HEAD":   "ref: refs/heads/" + branch + "\n",
		"config": fmt.Sprintf("[core]\n\trepositoryformatversion = 0\n\tfilemode = %t\n\tbare = false\n\tlogallrefupdates = true\n", fileModes),
	} {
		if err := os.WriteFile(filepath.Join(made, name), []byte(text), 0o666); err != nil {
			return nil, fmt.Errorf("making a repository: %w", err)
		}
	}
	if err := os.Rename(made, filepath.Join(dir, ".git")); err != nil {
		return nil, fmt.Errorf("making a repository: %w", err)
	}
	return Open(dir)
}
