package gitstore

import (
	"slices"
	"strings"

	"longmemory.dev/lm/vault"
)

// List lists the files below a folder at a commit as Files does, by names
// alone: without sizes and data, so no file is opened. ErrNotFound if there is
// no such folder.
func (r *Repo) List(commit Hash, dir string, keep Keep) ([]vault.File, error) {
	top, err := r.Subtree(commit, dir)
	if err != nil {
		return nil, err
	}
	var files []vault.File
	err = r.walkTree(top, "", keep, func(f vault.File) error {
		files = append(files, f)
		return nil
	})
	slices.SortFunc(files, func(a, b vault.File) int { return strings.Compare(a.Path, b.Path) })
	return files, err
}
