package gitstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// publish makes a prepared commit visible: locks, work tree, index, reflogs,
// ref (the package comment has the order and why). check looks once more at
// what the user has staged and changed, under index.lock. On errMoved and on
// every other error before the ref has moved, nothing has changed.
func (r *Repo) publish(ctx context.Context, j *journal, check func() error) error {
	if err := r.saveJournal(j); err != nil {
		return err
	}
	moved := false
	err := r.publishSteps(ctx, j, check, &moved)
	if err == nil {
		return nil
	}
	// The waiting is over, whatever ctx says: half a commit must not stay.
	tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if _, tidyErr := r.settle(tidy); tidyErr != nil {
		return errors.Join(err, tidyErr)
	}
	if moved {
		return nil
	}
	return err
}

func (r *Repo) publishSteps(ctx context.Context, j *journal, check func() error, moved *bool) error {
	if j.Root != "" {
		if err := r.takeLock(ctx, r.indexLockPath(), j.indexLock()); err != nil {
			return err
		}
	}
	refLock := r.refPath(j.Ref) + ".lock"
	if err := r.takeLock(ctx, refLock, j.refLock()); err != nil {
		return err
	}
	if err := r.compare(j); err != nil {
		return err
	}
	draft := ""
	if j.Root != "" {
		if err := check(); err != nil {
			return err
		}
		rules, err := r.workRules()
		if err != nil {
			return err
		}
		if err := r.writeAll(rules, j); err != nil {
			return err
		}
		// From here on the end is near: a caller who gives up waits for it.
		if draft, err = r.newIndex(context.WithoutCancel(ctx), j); err != nil {
			return err
		}
	}
	for _, log := range r.reflogs(j) {
		if err := appendLine(log, j.Reflog); err != nil {
			return err
		}
	}
	if err := r.moveRef(j.Ref, refLock); err != nil {
		return err
	}
	*moved = true
	if j.Root != "" {
		if err := os.Rename(draft, r.indexPath()); err != nil {
			return err
		}
	}
	return r.dropTraces(j)
}

// compare reads HEAD and the ref again now that nobody else can move it.
func (r *Repo) compare(j *journal) error {
	if j.Head || j.Ref == "HEAD" {
		last, _, err := r.followRef("HEAD")
		if err != nil {
			return err
		}
		if last != j.Ref {
			return errMoved
		}
	}
	target, now, err := r.readRef(j.Ref)
	if err != nil {
		return err
	}
	if target != "" || now != j.Old {
		return errMoved
	}
	return nil
}

// moveRef renames a ref's lock onto the ref. Empty folders that a deleted
// branch left in the place are cleared away, as git does.
func (r *Repo) moveRef(ref, lock string) error {
	file := r.refPath(ref)
	if isDir(file) {
		removeEmptyDirs(file)
	}
	if err := os.Rename(lock, file); err != nil {
		return fmt.Errorf("%s: %w", ref, err)
	}
	if runtime.GOOS == "windows" {
		return nil // a folder cannot be synced there
	}
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// removeEmptyDirs removes a folder of which nothing but folders is left.
func removeEmptyDirs(dir string) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, d := range names {
		if d.IsDir() {
			removeEmptyDirs(filepath.Join(dir, d.Name()))
		}
	}
	_ = os.Remove(dir)
}

// reflogs lists the reflogs that the commit is entered in: HEAD's and the
// branch's, where Git keeps them.
func (r *Repo) reflogs(j *journal) []string {
	logs := []string{filepath.Join(strings.TrimSuffix(r.refPath(j.Ref), filepath.FromSlash(j.Ref)), "logs", filepath.FromSlash(j.Ref))}
	if j.Head {
		logs = append(logs, filepath.Join(r.gitDir, "logs", "HEAD"))
	}
	setting, set, _ := r.Config("core.logallrefupdates")
	if strings.EqualFold(setting, "always") || !set && !r.Bare() || set && parseBool(setting, false) {
		return logs
	}
	var kept []string
	for _, log := range logs {
		if isFile(log) {
			kept = append(kept, log)
		}
	}
	return kept
}

// reflogLine is one line of a reflog, as git writes it for git commit.
func reflogLine(old, now Hash, c *Change) string {
	subject, _, _ := strings.Cut(strings.TrimSpace(c.Message), "\n")
	what := "commit"
	if old == "" {
		old, what = Hash(strings.Repeat("0", 40)), "commit (initial)"
	}
	return fmt.Sprintf("%s %s %s\t%s: %s\n", old, now, c.ident(), what, strings.Join(strings.Fields(subject), " "))
}

func appendLine(log, line string) error {
	if isDir(log) {
		removeEmptyDirs(log)
	}
	if err := os.MkdirAll(filepath.Dir(log), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}
