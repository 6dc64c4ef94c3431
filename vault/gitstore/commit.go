package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"longmemory.dev/lm/vault"
)

// Change is one commit that is to be made.
type Change struct {
	// Branch is the full name of the branch to move, made if it is not there.
	// "" is HEAD: the branch that is checked out, or a detached HEAD itself. A
	// branch that is not checked out here moves without the work tree.
	Branch string
	// Expect is the commit that the caller read, "" if the branch had none.
	Expect Hash
	// Reads are the files and folders, relative to the repository's root, that
	// the caller decided on beside those in Files.
	Reads []string
	// Files gives the new bytes of each file by its path relative to the
	// repository's root; nil removes the file. They are stored as `git add`
	// would store them, with line ends normalised, and keep the executable bit.
	Files map[string][]byte
	// Executable are those of Files that get the executable bit if they are new.
	Executable []string
	// Merge is a second parent, whose changes Files has; "": none.
	Merge Hash
	// Message is the commit message.
	Message string
	// Name and Email are those of author and committer; Email is required.
	Name, Email string
	// When is the time of the commit, in whole seconds.
	When time.Time
}

func (c *Change) check() error {
	for file := range c.Files {
		if err := checkPath(file); err != nil {
			return err
		}
	}
	switch {
	case c.Branch != "" && (!safeRef(c.Branch) || !strings.HasPrefix(c.Branch, "refs/heads/")):
		return fmt.Errorf("%q is no full branch name such as refs/heads/main", c.Branch)
	case identPart(c.Email) == "":
		return errors.New("a commit needs an e-mail address; set one with git config user.email")
	case strings.TrimSpace(c.Message) == "":
		return errors.New("a commit needs a message")
	}
	return nil
}

// Commit makes one commit and gives its id, in the order that the package
// comment tells. A change that changes nothing makes none and gives the branch's
// commit. ctx's deadline, else ten seconds, bounds the waiting for locks.
//
// If the branch has moved on from Expect, the commit is made on its new tip
// where every path in Files and Reads is there as it is in Expect.
//
// ErrConflict, naming the path, if it is not; if the user has changed or staged
// a touched path, or keeps a file of his own there; if a touched path is a
// symlink or submodule or lies behind one; if the branch is checked out in
// another work tree. ErrLocked if a lock is not to be had. ErrUnsupported for a
// touched path with a clean filter, and for an index that cannot be written. In
// each of these cases nothing has changed. Processes and goroutines may commit
// at the same time.
func (r *Repo) Commit(ctx context.Context, c Change) (Hash, error) {
	h, err := r.makeCommit(ctx, c)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		err = fmt.Errorf("%s is not yours to write: %w; every write is a commit, so get the right to write there, or work in a clone of your own", r.where(), err)
	}
	return h, err
}

func (r *Repo) makeCommit(ctx context.Context, c Change) (Hash, error) {
	if err := c.check(); err != nil {
		return "", fmt.Errorf("commit in %s: %w", r.where(), err)
	}
	ctx, cancel := withPatience(ctx)
	defer cancel()
	unlock, err := r.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := r.settle(ctx); err != nil {
		return "", err
	}
	for {
		w := writer{r: r, c: &c}
		if err := w.prepare(); err != nil {
			return "", err
		}
		if w.new == w.old {
			return w.old, nil
		}
		err := r.publish(ctx, w.journal(), w.check)
		if err == nil {
			return w.new, nil
		}
		if !errors.Is(err, errMoved) {
			return "", err
		}
		if ctx.Err() != nil {
			return "", fmt.Errorf("%w: %s moves faster than lm can commit to it; try again", ErrMoved, w.ref)
		}
	}
}

// writer is one attempt at a commit.
type writer struct {
	r       *Repo
	c       *Change
	ref     string // what moves: a branch, or HEAD where it is detached
	viaHead bool   // it is what HEAD stands for
	old     Hash
	new     Hash
	touched []touched // sorted by path
	rules   workRules // of the work tree's root
}

// touched is one file of a change.
type touched struct {
	path     string
	old, new entry // zero: there is none
	data     []byte
	absent   bool // a sparse checkout leaves it out of the work tree
}

// tracked says whether index and work tree follow the commit.
func (w *writer) tracked() bool { return w.viaHead && !w.r.Bare() }

// prepare does all that leaves no trace but objects.
func (w *writer) prepare() (err error) {
	if err := w.target(); err != nil {
		return err
	}
	root, err := w.base()
	if err != nil {
		return err
	}
	if w.tracked() {
		if w.rules, err = w.r.workRules(); err != nil {
			return err
		}
	}
	for file, data := range w.c.Files {
		t, err := w.touch(root, file, data)
		if err != nil {
			return err
		}
		w.touched = append(w.touched, t)
	}
	slices.SortFunc(w.touched, func(a, b touched) int { return strings.Compare(a.path, b.path) })
	w.new = w.old
	if !slices.ContainsFunc(w.touched, func(t touched) bool { return !t.old.same(t.new) }) && w.old != "" && w.c.Merge == "" {
		return nil
	}
	if err := w.check(); err != nil {
		return err
	}
	for _, t := range w.touched {
		if t.new.mode == "" {
			continue
		}
		if _, err := w.r.writeObject(plumbing.BlobObject, t.data); err != nil {
			return err
		}
	}
	tree, err := w.r.writeTree(root, "", w.touched)
	if err != nil {
		return err
	}
	w.new, err = w.r.writeCommit(tree, w.old, w.c)
	return err
}

// target finds the ref that is to move and its commit.
func (w *writer) target() (err error) {
	head, tip, err := w.r.followRef("HEAD")
	if err != nil {
		return err
	}
	w.ref, w.old, w.viaHead = head, tip, true
	if w.c.Branch != "" {
		if w.ref, w.old, err = w.r.followRef(w.c.Branch); err != nil {
			return err
		}
		w.viaHead = w.ref == head
	}
	if !w.viaHead {
		if err := w.r.checkFree(w.ref); err != nil {
			return err
		}
	}
	if w.old != "" {
		return nil
	}
	for at := filepath.ToSlash(filepath.Dir(w.ref)); strings.Count(at, "/") >= 2; at = filepath.ToSlash(filepath.Dir(at)) {
		if exact, _, err := w.r.refExists(at); err != nil || exact {
			return errors.Join(err, fmt.Errorf("%w: %s cannot be made beside %s; rename one of them", ErrConflict, w.ref, at))
		}
	}
	if _, below, err := w.r.refExists(w.ref); err != nil || below {
		return errors.Join(err, fmt.Errorf("%w: %s cannot be made, for there are branches below that name; rename one of them", ErrConflict, w.ref))
	}
	return nil
}

// checkFree refuses a branch that another work tree has checked out: its index
// would be older than its branch.
func (r *Repo) checkFree(ref string) error {
	heads, _ := filepath.Glob(filepath.Join(r.commonDir, "worktrees", "*", "HEAD"))
	if bare := r.local.bool("core.bare", false); !bare {
		heads = append(heads, filepath.Join(r.commonDir, "HEAD"))
	}
	for _, head := range heads {
		data, _ := os.ReadFile(head)
		if target, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "ref:"); ok && strings.TrimSpace(target) == ref {
			return fmt.Errorf("%w: %s is checked out in a work tree, whose files would be older than it; run: %s", ErrConflict, ref, leave(filepath.Dir(head)))
		}
	}
	return nil
}

// leave is the command that checks out no branch any more in the work tree of a Git
// directory.
func leave(gitDir string) string {
	if filepath.Base(gitDir) != ".git" && filepath.Base(filepath.Dir(gitDir)) != "worktrees" { // its own configuration knows where
		return "git --git-dir " + vault.Quote(gitDir) + " checkout --detach"
	}
	tree := filepath.Dir(gitDir)
	if data, err := os.ReadFile(filepath.Join(gitDir, "gitdir")); err == nil { // of a linked one
		tree = filepath.Dir(strings.TrimSpace(string(data)))
		if !filepath.IsAbs(tree) {
			tree = filepath.Join(gitDir, tree)
		}
	}
	if _, err := os.Stat(tree); err != nil {
		return "git worktree prune"
	}
	return "git -C " + vault.Quote(tree) + " checkout --detach"
}

// base is the tree to build on, after looking whether it still is what the
// caller read.
func (w *writer) base() (Hash, error) {
	root, err := w.r.rootTree(w.old)
	if err != nil || w.old == w.c.Expect {
		return root, err
	}
	read, err := w.r.rootTree(w.c.Expect)
	if err != nil {
		return "", fmt.Errorf("the commit that was read: %w", err)
	}
	paths := slices.Clone(w.c.Reads)
	for file := range w.c.Files {
		paths = append(paths, file)
	}
	slices.Sort(paths)
	for _, p := range paths {
		p = cleanDir(p)
		then, err := w.r.entryAt(read, p)
		if err != nil {
			return "", err
		}
		now, err := w.r.entryAt(root, p)
		if err != nil {
			return "", err
		}
		if !then.same(now) {
			return "", fmt.Errorf("%w: somebody else changed %s on %s meanwhile (commit %.12s); look at it and try again", ErrMoved, orRoot(p), w.ref, w.old)
		}
	}
	return root, nil
}
