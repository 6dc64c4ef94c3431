package gitstore

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"longmemory.dev/lm/vault"
)

// walker lists files on disk. Paths inside it are relative to base.
type walker struct {
	workRules
	base, dir string
	limit     Limit
	keep      Keep
	index     func() (stagedFiles, error) // read on first need
	blob      func(Hash) ([]byte, error)
	files     []vault.File
}

func (w *walker) full(file string) string { return filepath.Join(w.base, filepath.FromSlash(file)) }

// relative gives a path as seen from the folder that is listed.
func (w *walker) relative(file string) string {
	if w.dir == "" {
		return file
	}
	return strings.TrimPrefix(file, w.dir+"/")
}

func (w *walker) run() ([]vault.File, Hash, error) {
	if err := w.start(); err != nil {
		return nil, "", err
	}
	if w.sparse {
		if err := w.addAbsent(); err != nil {
			return nil, "", err
		}
	}
	for i := range w.files {
		w.files[i].Path = w.relative(w.files[i].Path)
	}
	slices.SortFunc(w.files, func(a, b vault.File) int { return strings.Compare(a.Path, b.Path) })
	stored := slices.DeleteFunc(slices.Clone(w.files), func(f vault.File) bool { return f.Object == "" })
	tree, err := TreeID(stored)
	return w.files, tree, err
}

// start goes down to the folder that is listed, gathering rules, and walks it.
func (w *walker) start() error {
	rules, err := w.workRules.in(w.base, "")
	if err != nil {
		return err
	}
	at, ignored := "", false
	for name := range strings.SplitSeq(w.dir, "/") {
		if name == "" {
			continue
		}
		at = path.Join(at, name)
		info, err := os.Lstat(w.full(at))
		if missing(err) && w.sparse {
			index, err := w.index()
			if err != nil {
				return err
			}
			if len(index.below(w.dir)) > 0 {
				return nil // all of it is left out
			}
		}
		if err != nil || !info.IsDir() || isDotGit(name) {
			return fmt.Errorf("there is no folder %s in %s: %w", w.dir, w.base, ErrNotFound)
		}
		ignored = ignored || rules.ignores.ignored(at, true)
		if rules, err = rules.in(w.base, at); err != nil {
			return err
		}
	}
	_, err = w.walk(w.dir, rules, ignored)
	return err
}

// walk lists a folder whose rules are given; ignored says that it lies below
// an ignored one, so that only tracked files count. It gives the number of
// names in the folder.
func (w *walker) walk(dir string, rules workRules, ignored bool) (int, error) {
	names, err := os.ReadDir(w.full(dir))
	if err != nil {
		return 0, fmt.Errorf("folder %s: %w", orRoot(dir), err)
	}
	for _, d := range names {
		if isDotGit(d.Name()) {
			continue
		}
		file := path.Join(dir, d.Name())
		if !w.keep.keeps(w.relative(file), d.IsDir()) {
			continue
		}
		out := ignored || rules.ignores.ignored(file, d.IsDir())
		if out {
			index, err := w.index()
			if err != nil {
				return 0, err
			}
			if len(index.find(file)) == 0 && len(index.below(file)) == 0 {
				continue
			}
		}
		if d.IsDir() {
			err = w.enter(file, rules, out)
		} else {
			err = w.add(file, rules)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(names), nil
}

// enter lists a folder below the one that the caller lists: another repository
// is a submodule, and so is an empty folder that the index knows as one.
func (w *walker) enter(dir string, rules workRules, ignored bool) error {
	if _, err := os.Lstat(filepath.Join(w.full(dir), ".git")); err == nil {
		nested, err := openAt(w.full(dir))
		if err != nil {
			return fmt.Errorf("the repository in folder %s: %w", dir, err)
		}
		if nested != nil {
			_, head, err := nested.Head()
			if err != nil {
				return fmt.Errorf("the repository in folder %s: %w", dir, err)
			}
			w.files = append(w.files, vault.File{Path: dir, Kind: vault.FileSubmodule, Object: string(head)})
			return nil
		}
	}
	rules, err := rules.in(w.base, dir)
	if err != nil {
		return err
	}
	n, err := w.walk(dir, rules, ignored)
	if err != nil || n > 0 {
		return err
	}
	index, err := w.index()
	if err != nil {
		return err
	}
	for _, e := range index.find(dir) {
		if e.mode == modeSubmodule && e.stage == 0 {
			w.files = append(w.files, vault.File{Path: dir, Kind: vault.FileSubmodule, Object: string(e.id)})
		}
	}
	return nil
}

// addAbsent lists what a sparse checkout left out of the work tree.
func (w *walker) addAbsent() error {
	index, err := w.index()
	if err != nil {
		return err
	}
	here := make(map[string]bool, len(w.files))
	for _, f := range w.files {
		here[f.Path] = true
	}
	for _, e := range index.below(w.dir) {
		if !e.absent || e.stage != 0 || here[e.path] || !w.keepsAll(w.relative(e.path)) {
			continue
		}
		f := vault.File{Path: e.path, Kind: e.mode.kind(), Object: string(e.id)}
		if readable(f.Kind) {
			data, err := w.blob(e.id)
			if err != nil {
				return fmt.Errorf("file %s: %w", e.path, err)
			}
			f.Size = int64(len(data))
			if f.Size <= w.most(f.Path) {
				f.Data = data
			}
		}
		w.files = append(w.files, f)
	}
	return nil
}

// keepsAll asks keep for a file and each folder on its way.
func (w *walker) keepsAll(file string) bool {
	for i, c := range file {
		if c == '/' && !w.keep.keeps(file[:i], true) {
			return false
		}
	}
	return w.keep.keeps(file, false)
}
