package gitstore

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"longmemory.dev/lm/vault"
)

// Keep says whether a file, or a folder and all below it, is to be listed. The
// path is relative to the folder that is listed. A nil Keep keeps everything.
type Keep func(path string, isDir bool) bool

func (k Keep) keeps(path string, isDir bool) bool { return k == nil || k(path, isDir) }

// Files lists every file below a folder ("" is the root) at a commit: paths
// relative to that folder, sorted by their bytes, Object the blob's id. Data is
// nil where a file has more than limit bytes; symlinks and submodules are
// listed by kind without size and data. What keep refuses is not read at all.
//
// ErrNotFound if there is no such folder; ErrUnsupported, naming the path, if a
// partial clone lacks a blob.
func (r *Repo) Files(commit Hash, dir string, limit int64, keep Keep) ([]vault.File, error) {
	top, err := r.Subtree(commit, dir)
	if err != nil {
		return nil, err
	}
	var files []vault.File
	if err := r.walkTree(top, "", keep, func(f vault.File) error {
		files = append(files, f)
		return nil
	}); err != nil {
		return nil, err
	}
	for i := range files {
		if err := r.load(&files[i], path.Join(cleanDir(dir), files[i].Path), limit); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(files, func(a, b vault.File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// walkTree calls f for each file below a tree, without its size and data.
func (r *Repo) walkTree(h Hash, prefix string, keep Keep, f func(vault.File) error) error {
	entries, err := r.tree(h, prefix)
	if err != nil {
		return err
	}
	for _, e := range entries {
		file := path.Join(prefix, e.name)
		folder := e.mode == modeTree
		if !keep.keeps(file, folder) {
			continue
		}
		if folder {
			err = r.walkTree(e.id, file, keep, f)
		} else {
			err = f(vault.File{Path: file, Kind: e.mode.kind(), Object: string(e.id)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// load reads a file's blob; full is its path for messages.
func (r *Repo) load(f *vault.File, full string, limit int64) error {
	if !readable(f.Kind) {
		return nil
	}
	kind, size, data, err := r.objects.read(Hash(f.Object), max(limit, 0))
	if err != nil {
		return fmt.Errorf("file %s: %w%s", full, err, r.fetchHint(err))
	}
	if kind != plumbing.BlobObject {
		return fmt.Errorf("file %s: object %s is a %s: %w", full, f.Object, kind, ErrUnsupported)
	}
	f.Size, f.Data = size, data
	return nil
}

// File reads one file at a commit; its Path is the path that was asked for. It
// is otherwise as in Files. ErrNotFound if there is no such file.
func (r *Repo) File(commit Hash, file string, limit int64) (vault.File, error) {
	root, err := r.rootTree(commit)
	if err != nil {
		return vault.File{}, err
	}
	clean := cleanDir(file)
	e, err := r.entryAt(root, clean)
	if err != nil {
		return vault.File{}, err
	}
	if e.mode == "" || e.mode == modeTree {
		return vault.File{}, fmt.Errorf("there is no file %s in commit %s of %s: %w", file, commit, r.where(), ErrNotFound)
	}
	f := vault.File{Path: clean, Kind: e.mode.kind(), Object: string(e.id)}
	err = r.load(&f, clean, limit)
	return f, err
}

// Exists says whether there is a file or folder at a path of a commit.
func (r *Repo) Exists(commit Hash, path string) (bool, error) {
	root, err := r.rootTree(commit)
	if err != nil {
		return false, err
	}
	e, err := r.entryAt(root, cleanDir(path))
	return err == nil && e.mode != "", err
}

// Blob reads a blob by its id, which is how a receipt names the bytes that it
// governed (format.md §4). ErrNotFound if the clone does not have it.
func (r *Repo) Blob(id Hash) ([]byte, error) {
	kind, _, data, err := r.objects.read(id, -1)
	if errors.Is(err, errMissing) || err == nil && kind != plumbing.BlobObject {
		return nil, fmt.Errorf("there is no blob %s in %s: %w", id, r.where(), ErrNotFound)
	}
	return data, err
}

// TrackedVaults lists the folders that hold a vault.yaml at a commit, at most
// depth folders below the root, sorted; "" is the root.
func (r *Repo) TrackedVaults(commit Hash, depth int) ([]string, error) {
	root, err := r.rootTree(commit)
	if err != nil {
		return nil, err
	}
	var found []string
	var look func(h Hash, dir string, left int) error
	look = func(h Hash, dir string, left int) error {
		entries, err := r.tree(h, dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			switch {
			case e.name == "vault.yaml" && e.mode != modeTree && readable(e.mode.kind()):
				found = append(found, dir)
			case e.mode == modeTree && left > 0:
				if err := look(e.id, path.Join(dir, e.name), left-1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := look(root, "", depth); err != nil {
		return nil, err
	}
	slices.Sort(found)
	return found, nil
}

// Object reads what an object id stands for: a file, as one file without a path, or
// a folder, as Files lists it. A receipt names what it governed so (format.md
// §4). ErrNotFound if the clone does not have it.
func (r *Repo) Object(id Hash, limit int64) ([]vault.File, error) {
	if !isHash(string(id)) {
		return nil, fmt.Errorf("%q is no object id of %s: %w", id, r.where(), ErrNotFound)
	}
	kind, size, data, err := r.objects.read(id, limit)
	switch {
	case errors.Is(err, errMissing):
		return nil, fmt.Errorf("there is no object %s in %s: %w", id, r.where(), ErrNotFound)
	case err != nil:
		return nil, err
	case kind == plumbing.BlobObject:
		return []vault.File{{Size: size, Data: data, Object: string(id)}}, nil
	case kind != plumbing.TreeObject:
		return nil, fmt.Errorf("object %s is a %s: %w", id, kind, ErrNotFound)
	}
	var files []vault.File
	if err := r.walkTree(id, "", nil, func(f vault.File) error {
		files = append(files, f)
		return nil
	}); err != nil {
		return nil, err
	}
	for i := range files {
		if err := r.load(&files[i], files[i].Path, limit); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(files, func(a, b vault.File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}
