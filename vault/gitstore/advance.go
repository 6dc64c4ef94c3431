package gitstore

import (
	"context"
	"fmt"
)

// Advance moves a branch that is not checked out here to a commit that comes
// after its own, or makes it at that commit; c names who does, when and why (for
// the reflog), and in Expect the commit that the branch has. ErrConflict if it
// has another, if the commit does not come after it, or if the branch is checked
// out. Locks are as for Commit.
func (r *Repo) Advance(ctx context.Context, c Change, to Hash) error {
	if err := c.check(); err != nil {
		return fmt.Errorf("advance %s in %s: %w", c.Branch, r.where(), err)
	}
	if c.Expect != "" {
		if ok, err := r.Reaches(to, c.Expect); err != nil || !ok {
			return fmt.Errorf("%w: commit %.12s does not come after %.12s of %s (%v)", ErrConflict, to, c.Expect, c.Branch, err)
		}
	} else if _, err := r.commit(to); err != nil {
		return err
	}
	ctx, cancel := withPatience(ctx)
	defer cancel()
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := r.settle(ctx); err != nil {
		return err
	}
	w := writer{r: r, c: &c}
	if err := w.target(); err != nil {
		return err
	}
	switch {
	case w.viaHead:
		return fmt.Errorf("%w: %s is checked out here; check out another branch first", ErrConflict, c.Branch)
	case w.old != c.Expect:
		return fmt.Errorf("%w: somebody else moved %s meanwhile (commit %.12s); try again", ErrMoved, c.Branch, w.old)
	}
	w.new = to
	return r.publish(ctx, w.journal(), w.check)
}
