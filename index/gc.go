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

// found is an index that lies under a root.
type found struct {
	Key     Key
	ModTime time.Time
}

// Newest lists the keys of the indexes under root, the newest first, equal ones by
// key, without a look at what is in them. A missing root holds none.
func Newest(root string) []Key {
	entries := folders(root)
	keys := make([]Key, len(entries))
	for i, e := range entries {
		keys[i] = e.Key
	}
	return keys
}

// folders lists the indexes under root in the order of Newest.
func folders(root string) []found {
	files, _ := os.ReadDir(root)
	var entries []found
	for _, f := range files {
		if key := Key(f.Name()); key.valid() {
			if info, err := f.Info(); err == nil {
				entries = append(entries, found{Key: key, ModTime: info.ModTime()})
			}
		}
	}
	slices.SortFunc(entries, func(a, b found) int {
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
// their readers, and gives its size in bytes. An error wraps ErrDamaged: something
// is not what was written.
func Verify(root string, key Key) (size int64, err error) {
	dir := filepath.Join(root, string(key))
	all, err := readManifest(dir)
	if err != nil {
		return 0, fmt.Errorf("index: %s: %w: %w", key, ErrDamaged, err)
	}
	for _, file := range all {
		if err := file.verify(dir); err != nil {
			return 0, fmt.Errorf("index: %s: %w: %w", key, ErrDamaged, err)
		}
		size += file.size
	}
	return size, nil
}
