package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// check refuses to go on if the user has staged or changed a touched path. It
// looks at index and work tree as they are now, and learns which files a sparse
// checkout leaves out.
func (w *writer) check() error {
	if !w.tracked() {
		return nil
	}
	if !haveGit() {
		if err := checkCodec(w.r.indexPath()); err != nil {
			return err
		}
	}
	index, err := w.r.readIndex(w.r.indexPath())
	if err != nil {
		return err
	}
	removed := make(map[string]bool)
	for _, t := range w.touched {
		removed[t.path] = t.new.mode == ""
	}
	for i := range w.touched {
		t := &w.touched[i]
		if err := checkStaged(t, index, removed); err != nil {
			return err
		}
		if t.absent {
			continue
		}
		if err := w.checkWork(t, removed); err != nil {
			return err
		}
	}
	return nil
}

// checkStaged compares a file's index entry with the last commit.
func checkStaged(t *touched, index stagedFiles, removed map[string]bool) error {
	conflict := func(what string) error {
		return fmt.Errorf("%w: %s %s; commit it, or take it back with git restore --staged %s", ErrConflict, t.path, what, Pathspec(t.path))
	}
	entries := index.find(t.path)
	switch {
	case len(entries) > 0 && entries[0].stage > 0:
		return fmt.Errorf("%w: %s is part of a merge that is not finished; finish or abort it first", ErrConflict, t.path)
	case t.old.mode == "" && len(entries) > 0:
		return conflict("is staged and not committed")
	case t.old.mode != "" && len(entries) == 0:
		return conflict("is staged to be removed")
	case t.old.mode != "" && (entries[0].id != t.old.id || entries[0].mode.kind() != t.old.mode.kind()):
		return conflict("has staged changes")
	}
	t.absent = len(entries) > 0 && entries[0].absent
	if t.new.mode == "" {
		return nil
	}
	for _, e := range index.below(t.path) {
		if !removed[e.path] {
			return conflict("is a folder: " + e.path + " is staged in it")
		}
	}
	for dir := path.Dir(t.path); dir != "."; dir = path.Dir(dir) {
		if len(index.find(dir)) > 0 && !removed[dir] {
			return conflict("lies below " + dir + ", which is staged as a file")
		}
	}
	return nil
}

// checkWork compares a file of the work tree with the last commit.
func (w *writer) checkWork(t *touched, removed map[string]bool) error {
	conflict := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrConflict}, args...)...)
	}
	there := true
	for i, c := range t.path {
		if c != '/' {
			continue
		}
		info, err := os.Lstat(w.full(t.path[:i]))
		switch {
		case missing(err) || err == nil && !info.IsDir() && removed[t.path[:i]]:
			there = false
		case err != nil:
			return err
		case !info.IsDir():
			return conflict("%s lies behind %s, which is no folder in the work tree; lm follows no symlink", t.path, t.path[:i])
		}
	}
	info, err := os.Lstat(w.full(t.path))
	switch {
	case err != nil && !missing(err):
		return err
	case err != nil || !there:
		if t.old.mode != "" {
			return conflict("%s is deleted in the work tree; commit that, or take it back with git restore %s", t.path, Pathspec(t.path))
		}
		return nil
	case t.old.mode == "" && info.IsDir():
		if other := w.otherThan(t.path, removed); other != "" {
			return conflict("%s is a folder in the work tree that holds %s; move it away", t.path, other)
		}
		return nil
	case t.old.mode == "":
		return conflict("%s lies in the work tree and is in no commit; git add and commit it, or move it away", t.path)
	}
	same, err := w.r.holds(w.rules, t.path, t.old)
	if err == nil && !same {
		err = conflict("%s has changes that are not committed; commit them, or take them back with git restore %s", t.path, Pathspec(t.path))
	}
	return err
}

func (w *writer) full(file string) string {
	return filepath.Join(w.r.root, filepath.FromSlash(file))
}

// otherThan gives a file in a folder that the change does not remove, "" if
// there is none.
func (w *writer) otherThan(dir string, removed map[string]bool) (other string) {
	err := filepath.WalkDir(w.full(dir), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(w.r.root, name)
		if err == nil && !removed[filepath.ToSlash(rel)] {
			other = filepath.ToSlash(rel)
			err = fs.SkipAll
		}
		return err
	})
	if err != nil {
		return err.Error()
	}
	return other
}

// holds says whether the work tree has exactly a committed file: its kind, and
// its bytes as they are or as `git add` would store them. For the zero entry it
// says whether nothing is there.
func (r *Repo) holds(rules workRules, file string, want entry) (bool, error) {
	name := filepath.Join(r.root, filepath.FromSlash(file))
	info, err := os.Lstat(name)
	if missing(err) || err != nil {
		return want.mode == "", errOr(err)
	}
	if want.mode == "" || !info.Mode().IsRegular() || rules.fileModes && diskKind(info) != want.mode.kind() {
		return false, nil
	}
	data, err := readRegular(name, info)
	if err != nil {
		return false, err
	}
	if BlobID(data) == want.id {
		return true, nil
	}
	attributes, err := rules.attributesFor(r.root, file, nil)
	if err != nil {
		return false, err
	}
	stored := rules.lines.of(attributes).stored(data, func() (old []byte) { old, err = r.Blob(want.id); return old })
	return BlobID(stored) == want.id, err
}

// errOr is err unless it says that nothing is there.
func errOr(err error) error {
	if missing(err) {
		return nil
	}
	return err
}

// errMoved: between reading the branch and locking it, somebody moved it.
var errMoved = errors.New("the branch moved")

// checkParents refuses a path that lies behind a symlink or a file.
func checkParents(root *os.Root, file string) error {
	for i, c := range file {
		if c != '/' {
			continue
		}
		info, err := root.Lstat(file[:i])
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%w: %s lies behind %s, which is no folder; lm follows no symlink", ErrConflict, file, file[:i])
		}
	}
	return nil
}
