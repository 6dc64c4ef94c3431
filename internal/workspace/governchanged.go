package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// GovernedAll is what GovernChanged did, or with a dry run would do.
type GovernedAll struct {
	Assets []*Written    `json:"assets"` // by id
	Commit gitstore.Hash `json:"commit"` // "" with a dry run, and if there was nothing to do
	DryRun bool          `json:"dry_run"`
	// Withdrawn are left alone: somebody changed their state by hand, to one that
	// only a receipt gives or without another content.
	Withdrawn []vault.ID `json:"withdrawn"`
	// Hidden counts those that the actor may not read.
	Hidden int `json:"hidden"`
}

// GovernChanged brings every asset that an edit or a merge left without a
// receipt for its content at HEAD into a state, all in one commit: those that
// say approved, and candidates. Drafts wait for their authors. Of the change
// only Status, Reason and DryRun count. All are governed or none: the error
// names each that cannot be. review nil: whoever calls governs; else only what
// the review is of.
func (v *Vault) GovernChanged(ctx context.Context, c Change, review *Review) (*GovernedAll, error) {
	if c.Status != nil && !slices.Contains(vault.Statuses, vault.Status(*c.Status)) {
		return nil, fmt.Errorf("%w: there is no status %s; the states are %v", ErrUsage, *c.Status, vault.Statuses)
	}
	s, config, err := v.acts()
	if err != nil {
		return nil, err
	}
	of := func(vault.ID) bool { return true }
	if review != nil {
		if of, err = s.reviewed(config, *review); err != nil {
			return nil, err
		}
	}
	out := &GovernedAll{Assets: []*Written{}, DryRun: c.DryRun, Withdrawn: []vault.ID{}}
	ids, err := s.unreceipted(ctx, of, out)
	if err != nil {
		return nil, err
	}
	var acts []act
	var all error
	for _, id := range ids {
		a, err := s.again(id, c, out)
		switch {
		case err != nil:
			all = errors.Join(all, fmt.Errorf("%s: %w", id, err))
		case a != nil:
			acts = append(acts, *a)
		}
	}
	if all != nil {
		return nil, fmt.Errorf("nothing was written, as not all can be governed:\n%w", all)
	}
	if len(acts) == 0 {
		return out, nil
	}
	if out.Assets, err = s.writeAll(ctx, config, acts); err != nil {
		return nil, err
	}
	out.Commit = out.Assets[0].Commit
	return out, nil
}

// unreceipted lists those assets at HEAD that wait for a receipt.
func (s *session) unreceipted(ctx context.Context, of func(vault.ID) bool, out *GovernedAll) ([]vault.ID, error) {
	x, err := s.v.open(ctx, s.head)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	var ids []vault.ID
	for i := range x.Facts() {
		f := &x.Facts()[i]
		switch {
		case f.Invalid || f.Receipted || f.Status == vault.StatusDraft || !of(f.ID):
		case !governance.Allowed(f, s.writer.Who, vault.PermissionRead):
			out.Hidden++
		case f.Status != vault.StatusApproved && f.Status != vault.StatusCandidate:
			out.Withdrawn = append(out.Withdrawn, f.ID)
		default:
			ids = append(ids, f.ID)
		}
	}
	return ids, nil
}

// again decides on one asset as it is committed; nil: it is left alone.
func (s *session) again(id vault.ID, c Change, out *GovernedAll) (*act, error) {
	one, chain, err := s.open(id, 0)
	if err != nil {
		return nil, err
	}
	e := &edited{files: one.files, before: one.asset, config: one.config(), unsigned: one.unsigned()}
	asked, err := e.apply(Change{Status: c.Status})
	if err != nil {
		return nil, err
	}
	if last := chain.Last(); last != nil && !e.unsigned && last.Digest == e.after.Digest && one.asset.Status != asked {
		out.Withdrawn = append(out.Withdrawn, id)
		return nil, nil
	}
	return s.decide(e, chain, wanted{verb: "Govern", status: asked, change: c})
}
