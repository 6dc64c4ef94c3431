package gitstore

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Leftovers lists Git's lock files that are there now and still are after a
// moment, sorted: those of a command that takes long, or that was killed. Every
// write fails until they are gone. Paths are absolute.
func (r *Repo) Leftovers() ([]string, error) {
	first, err := r.locks()
	if err != nil || len(first) == 0 {
		return nil, err
	}
	time.Sleep(300 * time.Millisecond)
	var out []string
	for path, before := range first {
		if now, err := os.Lstat(path); err == nil && os.SameFile(before, now) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out, nil
}

// locks are Git's lock files of what lm writes or reads: index, HEAD, branches,
// packed refs, configuration.
func (r *Repo) locks() (map[string]fs.FileInfo, error) {
	out := map[string]fs.FileInfo{}
	note := func(path string) {
		if info, err := os.Lstat(path); err == nil {
			out[path] = info
		}
	}
	for _, name := range []string{"index.lock", "HEAD.lock"} {
		note(filepath.Join(r.gitDir, name))
	}
	for _, name := range []string{"packed-refs.lock", "config.lock"} {
		note(filepath.Join(r.commonDir, name))
	}
	err := filepath.WalkDir(filepath.Join(r.commonDir, "refs"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case missing(err):
			return nil
		case err != nil:
			return err
		case strings.HasSuffix(path, ".lock") && d.Type().IsRegular():
			note(path)
		}
		return nil
	})
	return out, err
}

// Interrupted says whether a commit of lm was killed and is still to be
// finished or undone: Recover does, unless the error says that it cannot tell how.
func (r *Repo) Interrupted() (bool, error) {
	j, err := r.readJournal()
	return j != nil || err != nil || isFile(r.journalDraft()), err
}

// Journal is the file in which a commit of lm says what it is about to do.
func (r *Repo) Journal() string { return r.journalPath() }
