// Package gitstore reads a vault's files from Git and writes commits to it. It
// is the only package that knows go-git, and it needs the git program only
// where this page says so.
//
// # Reading
//
// [Open] finds a repository, [Repo.Head] and [Repo.Resolve] name a commit,
// [Repo.Files] and [Repo.File] give the files of a commit, [Repo.WorkFiles]
// those of the work tree and [Folder] those of a folder without Git. All of
// them give [vault.File] values, sorted by the bytes of their paths, so that
// nothing above this package cares where files come from (design.md §2).
//
// Committed data is immutable, so a reader takes no lock, needs no recovery
// and cannot see half a write. Symlinks are listed and never followed.
//
// # Writing
//
// [Repo.Commit] makes one commit (design.md §5). In this order it
//
//  1. takes lm's advisory lock, <common dir>/lm/lock, so that two writers of lm
//     wait for each other and the journal has one owner;
//  2. finishes or undoes what a killed writer left ([Repo.Recover]);
//  3. compares the branch with what the caller read, and the touched paths with
//     what the user has staged and changed;
//  4. writes blobs, trees and the commit: objects that nothing names hurt nobody;
//  5. writes the journal, <common dir>/lm/journal: from here on a kill leaves
//     something to tidy up;
//  6. takes Git's index.lock, which keeps `git commit` and `git add` out. Git
//     takes this one before it locks a ref, so lm does too, or they deadlock;
//  7. takes Git's <ref>.lock, reads the branch again and compares once more;
//  8. writes the touched files of the work tree, then the new index beside the
//     old one, then the reflogs;
//  9. renames the ref's lock onto the ref: this instant is the commit;
//  10. renames the new index onto the index and gives up index.lock. It is held
//     over the branch's move because an index that is older than its branch
//     makes the user's next `git commit` revert lm's change.
//
// Every wait has a deadline. Locks that lm makes carry their own content, named
// in the journal; nobody else's lock is ever removed.
//
// # The git program
//
// Where it is on PATH it refreshes the index, because it keeps every extension
// of the file; otherwise go-git's codec does, and what that cannot write (a
// split or sparse index) is [ErrUnsupported]. It also answers for configuration
// with include sections and for revisions that only Git's grammar knows. It is
// never given a hook to run and never asked to fetch.
//
// # Not done
//
// Replace refs, grafts, GIT_DIR and its kin, safe.directory and mailmap are
// ignored. Commits are not signed and hooks are not run ([Repo.Hooks] names
// them). Clean and smudge filters are not applied: a touched path that has one
// configured is refused.
//
// `git commit` reads the index before it locks it. If another commit, of lm or
// of git, falls between the two, git refuses ("cannot lock ref 'HEAD'") and may
// leave the index as it had read it: `git reset` puts it right. lm holds
// index.lock for some 20 milliseconds, and a git that comes in that time stops
// before it reads on, so the gap is a git that sleeps through all of it.
package gitstore

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
)

// Hash is a Git object id: 40 lower-case hex digits. "" is no object.
type Hash string

// Errors that callers ask for with errors.Is. The message around them says
// what is wrong, where, and what to do next.
var (
	// ErrNoRepository: no Git repository here or in a folder above.
	ErrNoRepository = errors.New("no Git repository")
	// ErrUnsupported: the repository is of a kind, or a thing in it is in a
	// form, that lm cannot read or write.
	ErrUnsupported = errors.New("unsupported")
	// ErrNotFound: no such revision, folder or file.
	ErrNotFound = errors.New("not found")
	// ErrConflict: somebody was faster, or a touched path holds work of the
	// user. Nothing was changed.
	ErrConflict = errors.New("conflict")
	// ErrLocked: a lock was not to be had before the deadline. Nothing was
	// changed. It is a kind of ErrConflict: errors.Is holds for both.
	ErrLocked = lockedError{}
	// ErrMoved: somebody was faster, so what was read is another by now, and whoever
	// decides anew may succeed. It is a kind of ErrConflict, as ErrLocked is.
	ErrMoved = movedError{}
)

type lockedError struct{}

func (lockedError) Error() string        { return "conflict: locked" }
func (lockedError) Is(target error) bool { return target == ErrConflict }

type movedError struct{}

func (movedError) Error() string        { return ErrConflict.Error() }
func (movedError) Is(target error) bool { return target == ErrConflict }

// Repo is one work tree (or bare repository) with its Git directory. Its
// methods may be called from several goroutines. What it has read of the
// configuration and of a clone's depth it keeps, and pack files stay open until
// Close, so a long-lived process opens anew for each request.
type Repo struct {
	// Sign signs a commit object in Git's SSH form where commit.gpgsign asks for
	// it; nil: what has to be signed is refused. Set it before the first Commit.
	Sign func(commit []byte) (armored string, err error)

	root      string // "" if bare
	gitDir    string
	commonDir string
	local     *configFile // <common dir>/config, and config.worktree where that counts

	configOnce sync.Once
	configured *configStack
	configErr  error

	shallowOnce sync.Once
	shallow     map[Hash]bool
	shallowErr  error

	objects objectStore
	trees   recentTrees
}

// Root is the absolute path of the work tree's folder with symlinks resolved,
// "" in a bare repository.
func (r *Repo) Root() string { return r.root }

// GitDir is the absolute path of this work tree's own Git directory: HEAD and
// index lie there.
func (r *Repo) GitDir() string { return r.gitDir }

// CommonDir is the absolute path of the Git directory that all work trees
// share: objects, branches and lm's own files lie there.
func (r *Repo) CommonDir() string { return r.commonDir }

// Bare says that the repository has no work tree.
func (r *Repo) Bare() bool { return r.root == "" }

// Shallow says that the clone's history is cut off.
func (r *Repo) Shallow() (bool, error) {
	cut, err := r.shallowCommits()
	return len(cut) > 0, err
}

// Close closes the pack files that reading opened. Reading after it opens them
// again.
func (r *Repo) Close() {
	r.objects.mu.Lock()
	defer r.objects.mu.Unlock()
	r.objects.close()
}

// where is the folder that a message names.
func (r *Repo) where() string {
	if r.root != "" {
		return r.root
	}
	return r.gitDir
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// absolute gives path as seen from base.
func absolute(base, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}
