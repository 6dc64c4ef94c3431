package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// writeAll brings the touched files of the work tree to their new state:
// removals first, for a file may make place for a folder.
func (r *Repo) writeAll(rules workRules, j *journal) error {
	for _, removing := range []bool{true, false} {
		for i, f := range j.Files {
			if f.Absent || (f.NewMode == "") != removing {
				continue
			}
			if err := r.writeWork(rules, j, i, f.new()); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeWork brings the i-th file of a journal to a committed state, with the
// bytes that git checkout would write; the zero entry removes it. A reader sees
// the old file or the new one. Nothing outside of the work tree and nothing
// behind a symlink is written.
func (r *Repo) writeWork(rules workRules, j *journal, i int, want entry) error {
	file := j.Files[i].Path
	root, err := os.OpenRoot(r.root)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := checkParents(root, file); err != nil {
		return err
	}
	if want.mode == "" {
		return removeWork(root, file)
	}
	data, err := r.Blob(want.id)
	if err != nil {
		return err
	}
	attributes, err := rules.attributesFor(r.root, file, nil)
	if err != nil {
		return err
	}
	data = rules.lines.of(attributes).checkedOut(data)
	name, temp := filepath.FromSlash(file), j.temp(i)
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	perm := fs.FileMode(0o666)
	if want.mode == modeExecutable {
		perm = 0o777
	}
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if info, statErr := root.Lstat(name); statErr == nil && info.Mode().IsRegular() {
		err = errors.Join(err, root.Chmod(temp, info.Mode().Perm())) // what the user gave it
	}
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// removeWork removes a file and the folders that it leaves empty.
func removeWork(root *os.Root, file string) error {
	if err := root.Remove(filepath.FromSlash(file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", file, err)
	}
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if root.Remove(filepath.FromSlash(dir)) != nil {
			break // not empty
		}
	}
	return nil
}
