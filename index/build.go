package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gofrs/flock"
)

// temporary begins the names of folders that are no index, or not yet.
const temporary = "tmp-"

// lockName is the file by whose lock the builder of a temporary folder shows
// that it lives.
const lockName = "lock"

// Build makes the index of a key under root, a folder that it makes if need be.
// It writes into a temporary folder there and renames that into place: others
// see the whole index or none, and of several builders at once all succeed.
// Nothing waits for the disk, as what a loss of power damages is found when it
// is opened, and built anew. Where an index is near, of which four of five assets are
// still the same, the new one derives from it. An index that is current already
// stays, a damaged one is replaced.
//
// progress, which may be nil, is called from one goroutine at a time with the
// number of texts that are analysed, out of how many. If Build fails nothing is
// left behind.
func Build(ctx context.Context, root string, key Key, c Contents, progress func(done, total int)) error {
	c.Documents = sorted(c.Documents)
	independent(c.Documents)
	if base := nearest(root, key, c.Documents); base != nil {
		defer base.Close()
		x, err := build(ctx, root, key, base, c, progress)
		if err == nil {
			return x.Close()
		}
		if ctx.Err() != nil {
			return err
		}
		// The base may have been removed meanwhile.
		independent(c.Documents)
	}
	x, err := build(ctx, root, key, nil, c, progress)
	if err != nil {
		return err
	}
	return x.Close()
}

// independent makes documents depend on no other index.
func independent(documents []Document) {
	for i := range documents {
		documents[i].Base = 0
	}
}

// Derive is Build from a base that the caller has open: an index on disk under
// the same root, made by the same versions of lm. Documents with a Base are
// taken from there unread, which makes the time that it takes a matter of the
// others. The base stays as it is; GC must not have removed it. The index comes
// back open.
func Derive(ctx context.Context, root string, key Key, base *Index, c Contents, progress func(done, total int)) (*Index, error) {
	if base.dir == "" {
		return nil, errors.New("index: derive: the base lies in memory")
	}
	for i := 1; i < len(c.Documents); i++ {
		if Before(&c.Documents[i], &c.Documents[i-1]) {
			c.Documents = sorted(c.Documents)
			break
		}
	}
	return build(ctx, root, key, base, c, progress)
}

func build(ctx context.Context, root string, key Key, base *Index, c Contents, progress func(done, total int)) (*Index, error) {
	if !key.valid() {
		return nil, fmt.Errorf("index: %q is no key", key)
	}
	if x, status, _ := Open(root, key); status == Current {
		return x, nil
	}
	dir, unlock, err := newTemporary(root)
	if err != nil {
		return nil, fmt.Errorf("index: build: %w", err)
	}
	defer os.RemoveAll(dir)
	defer unlock()
	x, err := write(ctx, dir, base, c, progress)
	if err != nil {
		return nil, fmt.Errorf("index: build: %w", err)
	}
	if runtime.GOOS == "windows" { // which renames no folder with open files
		x.Close()
	}
	unlock()
	if err := publish(root, dir, key); err != nil {
		x.Close()
		return nil, fmt.Errorf("index: build: %w", err)
	}
	place := filepath.Join(root, string(key))
	if runtime.GOOS == "windows" {
		return load(place)
	}
	x.dir = place
	return x, nil
}

// newTemporary makes a locked temporary folder under root.
func newTemporary(root string) (dir string, unlock func(), err error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(root, temporary)
	if err != nil {
		return "", nil, err
	}
	lock := flock.New(filepath.Join(dir, lockName))
	if _, err := lock.TryLock(); err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	return dir, func() {
		// The folder goes, or changes its time, with the lock, so that GC lets
		// it be for the moment that is left.
		os.Remove(lock.Path())
		lock.Close()
	}, nil
}

// publish renames a folder with a whole index to its place. If another builder
// was faster, that one's index stays.
func publish(root, dir string, key Key) error {
	place := filepath.Join(root, string(key))
	for {
		err := os.Rename(dir, place)
		if err == nil {
			return nil
		}
		x, status, _ := Open(root, key)
		if status == Current {
			return x.Close()
		}
		if !exists(place) {
			return err
		}
		if err := discard(root, place); err != nil {
			return err
		}
	}
}

// discard removes the index at place in one step for its readers.
func discard(root, place string) error {
	dir, err := os.MkdirTemp(root, temporary)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Rename(place, filepath.Join(dir, "index")); err != nil && exists(place) {
		return err
	}
	return nil
}
