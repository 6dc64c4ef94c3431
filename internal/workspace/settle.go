package workspace

import (
	"context"
	"fmt"
	"slices"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
)

// open reads an asset for somebody who is about to change it. expect is the
// version that they saw, 0 for none.
func (s *session) open(id vault.ID, expect int) (*single, vault.Chain, error) {
	one, err := s.v.one(s.head, id)
	if err != nil {
		return nil, nil, err
	}
	config := one.config()
	if s.writer.Subject == "" {
		if s.writer, err = s.v.actor(config); err != nil {
			return nil, nil, err
		}
	}
	if err := one.readable(s.writer.Who, s.head.Ref); err != nil {
		return nil, nil, err
	}
	if have := one.asset.Version; expect != 0 && expect != have {
		return nil, nil, fmt.Errorf("%w: %s has version %d, not %d; look at it again", ErrConflict, id, have, expect)
	}
	chain := one.snapshot.Chain(id)
	return one, chain, chain.Check(config.Project, "asset/"+string(id))
}

// wanted is what somebody wants of an asset whose new files are known.
type wanted struct {
	verb       string       // for the commit's message
	status     vault.Status // "": what follows by itself
	change     Change       // only reason and dry run count here
	authors    []string     // who wrote the new content, beside those whom history names
	executable []string     // files that get the executable bit if they are new
}

// settle decides on a change of files and commits it with its receipt.
func (s *session) settle(ctx context.Context, e *edited, chain vault.Chain, w wanted) (*Written, error) {
	a, err := s.decide(e, chain, w)
	if err != nil {
		return nil, err
	}
	return s.write(ctx, e.config, *a)
}

// decide decides on a change of files and sets state and version. Without a
// status an approved asset whose content changes goes back to candidate.
func (s *session) decide(e *edited, chain vault.Chain, w wanted) (*act, error) {
	before, after, config, last := e.before, e.after, e.config, chain.Last()
	fresh := last == nil || last.Digest != after.Digest
	from := governance.State(before.Status, before.Digest, chain)
	to := w.status
	if to == "" {
		if to = from; fresh && from == vault.StatusApproved {
			to = vault.StatusCandidate
		}
	}
	// A file whose status somebody changed by hand may be brought back to what
	// its receipts say, and a receipt that lacks its signature gets one that has it.
	restores := to == from && (before.Status != from || e.unsigned)
	if err := governance.Transition(from, to, fresh); err != nil && !restores {
		return nil, fmt.Errorf("%s: %w", before.ID, err)
	}
	what := changed(before, after)
	authors, err := s.authors(config, before, last, len(what) > 0)
	if err != nil {
		return nil, err
	}
	authors = append(authors, w.authors...)
	slices.Sort(authors)
	authors = slices.Compact(authors)
	if err := governance.MayGovern(config, &before.Facts, s.writer.Actor, governance.Act{To: to, Changed: what, Authors: authors, Reason: w.change.Reason}); err != nil {
		return nil, err
	}
	if err := e.settle(to, governance.NextVersion(before.Version, after.Digest, chain)); err != nil {
		return nil, err
	}
	object, err := e.object()
	if err != nil {
		return nil, err
	}
	return &act{
		kind: vault.ReceiptGoverned, verb: w.verb, before: before, after: e.after, from: from, last: last, authors: authors, executable: w.executable,
		reason: w.change.Reason, dryRun: w.change.DryRun, files: e.written, object: object, content: e.file(e.after.KeyFile()).Data, changed: what,
	}, nil
}
