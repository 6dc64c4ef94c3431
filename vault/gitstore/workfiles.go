package gitstore

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sync"

	"longmemory.dev/lm/vault"
)

// Limit says how many bytes a file may have for its data to be loaded; of a
// larger one only the id is computed. The path is relative to the folder that is
// listed.
type Limit func(path string) int64

// WorkFiles lists the files of a folder of the work tree ("" is the root) as
// they lie, as Files lists those of a commit: paths relative to the folder,
// sorted by their bytes. Untracked files that Git ignores are left out, .git is
// never entered, a symlink never followed; what is neither file, link nor
// folder is listed as special. Files that a sparse checkout left out come from
// the index.
//
// Data is what lies on disk, nil above what limit allows for the path; Object is the id of the
// bytes as `git add` would store them, with line ends normalised. tree is the
// id that `git add -A` and `git write-tree` would give the folder, of the files
// that keep lets through. Clean filters are not run.
func (r *Repo) WorkFiles(dir string, limit Limit, keep Keep) (files []vault.File, tree Hash, err error) {
	if r.Bare() {
		return nil, "", fmt.Errorf("%s is a bare repository and has no work tree: %w", r.gitDir, ErrNotFound)
	}
	w := walker{base: r.root, dir: cleanDir(dir), limit: limit, keep: keep}
	w.index = sync.OnceValues(func() (stagedFiles, error) { return r.readIndex(r.indexPath()) })
	w.blob = func(h Hash) ([]byte, error) {
		_, _, data, err := r.objects.read(h, -1)
		return data, err
	}
	rules, err := r.workRules()
	if err != nil {
		return nil, "", err
	}
	w.workRules = rules
	return w.run()
}

// Folder lists a folder without Git by the same rules: its .gitignore and
// .gitattributes files count, nothing outside of it does. tree is the id that
// the folder would have as the root of a new repository.
func Folder(dir string, limit Limit, keep Keep) (files []vault.File, tree Hash, err error) {
	base, err := filepath.Abs(dir)
	if err != nil {
		return nil, "", err
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return nil, "", err
	}
	w := walker{base: base, limit: limit, keep: keep}
	w.workRules = workRules{fileModes: fileModes, symlinks: true, attributes: builtinAttributes()}
	w.index = func() (stagedFiles, error) { return nil, nil }
	return w.run()
}

// workRules is what the configuration says about work tree files.
type workRules struct {
	fold       bool // core.ignoreCase
	fileModes  bool // core.fileMode
	symlinks   bool // core.symlinks
	sparse     bool // core.sparseCheckout
	lines      lineRules
	ignores    ignores
	attributes attributes
	strong     []byte // info/attributes, which beats all other rules
}

func (r *Repo) workRules() (rules workRules, err error) {
	for _, b := range []struct {
		key       string
		otherwise bool
		to        *bool
	}{
		{"core.ignorecase", false, &rules.fold},
		{"core.filemode", fileModes, &rules.fileModes},
		{"core.symlinks", true, &rules.symlinks},
		{"core.sparsecheckout", false, &rules.sparse},
	} {
		if *b.to, err = r.configBool(b.key, b.otherwise); err != nil {
			return rules, err
		}
	}
	if rules.lines, err = r.lineRules(); err != nil {
		return rules, err
	}
	if rules.ignores, err = r.sharedIgnores(rules.fold); err != nil {
		return rules, err
	}
	rules.attributes, rules.strong, err = r.sharedAttributes(rules.fold)
	return rules, err
}

// in adds the rules that lie in a folder of the work tree.
func (rules workRules) in(base, dir string) (workRules, error) {
	for _, name := range []string{".gitignore", ".gitattributes"} {
		file := filepath.Join(base, filepath.FromSlash(dir), name)
		if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
			continue // git follows no symlink here either
		}
		data, err := readSmall(file)
		if err != nil {
			return rules, err
		}
		if name == ".gitignore" {
			rules.ignores = rules.ignores.with(data, dir, rules.fold)
		} else {
			rules.attributes = rules.attributes.with(data, dir, rules.fold)
		}
	}
	return rules, nil
}

// attributesOf gives a file's attributes, the strong rules included.
func (rules workRules) attributesOf(file string) map[string]string {
	if len(rules.strong) == 0 {
		return rules.attributes.of(file)
	}
	return rules.attributes.with(rules.strong, "", rules.fold).of(file)
}

// attributesFor gives the attributes of a file as they are when the new files,
// by their paths, lie in the work tree at base.
func (rules workRules) attributesFor(base, file string, files map[string][]byte) (map[string]string, error) {
	dirs := []string{""}
	for i, c := range file {
		if c == '/' {
			dirs = append(dirs, file[:i])
		}
	}
	for _, dir := range dirs {
		name := path.Join(dir, ".gitattributes")
		data, ok := files[name]
		if info, err := os.Lstat(filepath.Join(base, filepath.FromSlash(name))); !ok && err == nil && info.Mode().IsRegular() {
			if data, err = readSmall(filepath.Join(base, filepath.FromSlash(name))); err != nil {
				return nil, err
			}
		}
		rules.attributes = rules.attributes.with(data, dir, rules.fold)
	}
	return rules.attributesOf(file), nil
}
