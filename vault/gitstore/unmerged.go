package gitstore

import (
	"os"
	"path/filepath"
	"strings"
)

// Operations of Git that stop where files conflict.
const (
	Merge      = "merge"
	Rebase     = "rebase"
	CherryPick = "cherry-pick"
	Revert     = "revert"
)

// Unmerged is what an unfinished operation of Git left to a person.
type Unmerged struct {
	Operation string   // one of the above; "" if Git does not say which
	Name      string   // of Other, as commands take it: MERGE_HEAD and the like
	Other     Hash     // the commit that is being joined with HEAD
	Paths     []string // files in conflict, relative to the repository's root, sorted
}

// Unmerged looks for files in conflict. nil: there are none.
func (r *Repo) Unmerged() (*Unmerged, error) {
	if r.Bare() {
		return nil, nil
	}
	entries, err := r.readIndex(r.indexPath())
	if err != nil {
		return nil, err
	}
	u := &Unmerged{}
	for _, e := range entries {
		if n := len(u.Paths); e.stage != 0 && (n == 0 || u.Paths[n-1] != e.path) {
			u.Paths = append(u.Paths, e.path)
		}
	}
	if len(u.Paths) == 0 {
		return nil, nil
	}
	for _, of := range []struct{ operation, name, folder string }{
		// A rebase picks, and Git leaves its head behind when it is done.
		{Rebase, "REBASE_HEAD", "rebase-merge"}, {Rebase, "REBASE_HEAD", "rebase-apply"},
		{Merge, "MERGE_HEAD", ""}, {CherryPick, "CHERRY_PICK_HEAD", ""}, {Revert, "REVERT_HEAD", ""},
	} {
		if _, err := os.Stat(filepath.Join(r.gitDir, of.folder)); err != nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(r.gitDir, of.name))
		if first, _, _ := strings.Cut(string(data), "\n"); err == nil && isHash(first) {
			u.Operation, u.Name, u.Other = of.operation, of.name, Hash(first)
			break
		}
	}
	return u, nil
}

// Reaches says whether a commit is another or comes after it.
func (r *Repo) Reaches(head, ancestor Hash) (bool, error) {
	known, err := r.reachable(head)
	return known[ancestor] != nil, err
}
