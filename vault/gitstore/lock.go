package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	patience = 10 * time.Second // how long a writer waits where its context sets no deadline
	retry    = time.Millisecond // git holds its locks for a few of these
)

// lmDir is lm's own folder in the common Git directory.
func (r *Repo) lmDir() string { return filepath.Join(r.commonDir, "lm") }

func withPatience(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, patience)
}

// lock takes lm's advisory lock. The kernel gives it up when its holder dies;
// the file says who held it last.
func (r *Repo) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(r.lmDir(), 0o777); err != nil {
		return nil, err
	}
	path := filepath.Join(r.lmDir(), "lock")
	l := flock.New(path, flock.SetPermissions(0o666))
	if _, err := l.TryLockContext(ctx, 5*retry); err != nil {
		if ctx.Err() == nil {
			return nil, fmt.Errorf("lm's lock %s: %w", path, err)
		}
		holder, _ := os.ReadFile(path)
		return nil, fmt.Errorf("%w: another lm writes to %s and did not finish in time (%s); try again",
			ErrLocked, r.where(), strings.Join(strings.Fields(string(holder)), " "))
	}
	command := append([]string{filepath.Base(os.Args[0])}, os.Args[1:min(len(os.Args), 3)]...)
	holder := fmt.Sprintf("pid %d\n%.100q\nsince %s\n", os.Getpid(), strings.Join(command, " "), time.Now().UTC().Format(time.RFC3339))
	_ = os.WriteFile(path, []byte(holder), 0o666) // for people only: no reason to fail
	return func() { _ = l.Unlock() }, nil
}

// takeLock makes one of Git's lock files with the given content, all at once:
// a file that is not there or that holds what the journal says. Git does not
// wait for locks; lm does, until ctx ends.
func (r *Repo) takeLock(ctx context.Context, path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		if missing(err) || errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w: a branch is named like the folder of %s; rename one of them", ErrConflict, path)
		}
		return err
	}
	draft := filepath.Join(r.lmDir(), "draft")
	_ = os.Remove(draft) // after a kill it may be one file with a lock: never write into it
	if err := writeSynced(draft, []byte(content), 0o666); err != nil {
		return err
	}
	defer os.Remove(draft)
	for {
		err := os.Link(draft, path)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			err = createNew(path, content) // the file system has no hard links
		}
		if err == nil {
			return nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: another Git process holds %s; try again, and if none is running, remove that file", ErrLocked, path)
		case <-time.After(retry):
		}
	}
}

func createNew(path, content string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// dropLock removes a lock file if it holds the given content and so is ours.
func dropLock(path, content string) error {
	data, err := os.ReadFile(path)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if string(data) != content {
		return nil
	}
	return os.Remove(path)
}

// writeSynced writes a file that nobody else looks at, down to the disk.
func writeSynced(path string, data []byte, perm fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
