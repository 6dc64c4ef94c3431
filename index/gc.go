package index

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/hashicorp/go-multierror"
)

// abandoned is the age from which a temporary folder is removed that no
// builder holds a lock on.
const abandoned = time.Hour

// Entry is an index of some key.
type Entry struct {
	Key     Key
	Size    int64 // bytes, of all files
	ModTime time.Time
	Status  Status // OldFormat, Damaged or Current
}

// List lists the indexes under root, the newest first, equal ones by key. It
// reads all of each to tell the status; a damaged form may go unnoticed. A
// missing root holds none.
func List(root string) ([]Entry, error) {
	if _, err := os.ReadDir(root); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	entries := folders(root)
	for i := range entries {
		e := &entries[i]
		files, _ := os.ReadDir(filepath.Join(root, string(e.Key)))
		for _, f := range files {
			if info, err := f.Info(); err == nil {
				e.Size += info.Size()
			}
		}
		x, status, _ := Open(root, e.Key)
		if e.Status = status; status == Current {
			x.Close()
		}
	}
	return entries, nil
}

// Newest lists the keys under root as List does, without a look at what is in
// them.
func Newest(root string) []Key {
	entries := folders(root)
	keys := make([]Key, len(entries))
	for i, e := range entries {
		keys[i] = e.Key
	}
	return keys
}

// folders lists the indexes under root as List does, without sizes and
// statuses.
func folders(root string) []Entry {
	files, _ := os.ReadDir(root)
	var entries []Entry
	for _, f := range files {
		if key := Key(f.Name()); key.valid() {
			if info, err := f.Info(); err == nil {
				entries = append(entries, Entry{Key: key, ModTime: info.ModTime()})
			}
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(b.ModTime.Compare(a.ModTime), cmp.Compare(a.Key, b.Key))
	})
	return entries
}

// GC removes all indexes under root but the newest keep and the current one,
// and what builders left that died. It returns the keys that it removed. A
// reader that has an index open keeps it.
func GC(root string, keep int, current Key) (removed []Key, err error) {
	var errs *multierror.Error
	entries := folders(root)
	for _, e := range entries[min(max(keep, 0), len(entries)):] {
		if e.Key == current {
			continue
		}
		if err := discard(root, filepath.Join(root, string(e.Key))); err != nil {
			errs = multierror.Append(errs, err)
			continue
		}
		removed = append(removed, e.Key)
	}
	files, _ := os.ReadDir(root)
	for _, f := range files {
		if strings.HasPrefix(f.Name(), temporary) {
			errs = multierror.Append(errs, sweep(filepath.Join(root, f.Name())))
		}
	}
	return removed, errs.ErrorOrNil()
}

// sweep removes a temporary folder whose builder is dead for a while.
func sweep(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || time.Since(info.ModTime()) < abandoned {
		return err
	}
	lock := flock.New(filepath.Join(dir, lockName))
	held, err := lock.TryLock()
	if err != nil || !held {
		return err
	}
	defer lock.Close()
	return os.RemoveAll(dir)
}

// Discard removes the index of a key under root, if there is one. A reader that
// has it open keeps it.
func Discard(root string, key Key) error {
	dir := filepath.Join(root, string(key))
	if !key.valid() || !exists(dir) {
		return nil
	}
	return discard(root, dir)
}

// Verify reads all of an index, the rendered forms too, which Open leaves to
// their readers. It gives an error that wraps ErrDamaged if anything is not what
// was written.
func Verify(root string, key Key) error {
	dir := filepath.Join(root, string(key))
	all, err := readManifest(dir)
	if err != nil {
		return fmt.Errorf("index: %s: %w: %w", key, ErrDamaged, err)
	}
	for _, file := range all {
		if err := file.verify(dir); err != nil {
			return fmt.Errorf("index: %s: %w: %w", key, ErrDamaged, err)
		}
	}
	return nil
}
