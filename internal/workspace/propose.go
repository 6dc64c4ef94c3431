package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
	"longmemory.dev/lm/vault/memoryfile"
)

// proposalDoc is a proposal as it lies on the memory branch.
type proposalDoc = *memoryfile.Document[memoryfile.Proposal]

// Proposed is a proposal with its review, as its file has them, and what was
// written.
type Proposed struct {
	agentprotocol.Proposal
	Review   agentprotocol.ProposalReview `json:"review"`
	Record   *agentprotocol.MemoryRecord  `json:"record"` // null: it is none yet
	Receipts []agentprotocol.Receipt      `json:"receipts"`
	Commit   gitstore.Hash                `json:"commit"`
	Branch   string                       `json:"branch"` // that was written; "" is the one checked out
	// Superseded are earlier proposals of the same subject that this one replaces.
	Superseded []string `json:"superseded"`
}

// Propose reviews a proposal and keeps it on the memory branch, with its receipt,
// in one commit. Of p the id, time and principal are set here; what it states of
// the principal may narrow it. draft keeps it unreviewed.
func (v *Vault) Propose(ctx context.Context, p agentprotocol.Proposal, draft bool) (*Proposed, error) {
	return anew(ctx, v, func() (*Proposed, error) { return v.propose(ctx, p, draft) })
}

// decisions is how often an act is decided at most.
const decisions = 16

// memoryWait is how long a decision waits for the one before it.
const memoryWait = 20 * time.Second

// anew decides on an act, and again where another one came between: each is decided
// on all that was there before it, on the memory branch and on the one that is checked
// out. Within a clone a lock keeps them apart; where none can be had, as nothing can be
// written, the act says so itself.
func anew[T any](ctx context.Context, v *Vault, decide func() (T, error)) (out T, err error) {
	if v.Repo != nil {
		file := filepath.Join(v.Repo.CommonDir(), "lm", "memory.lock")
		wait, cancel := context.WithTimeout(ctx, memoryWait)
		defer cancel()
		if os.MkdirAll(filepath.Dir(file), 0o700) == nil {
			lock := flock.New(file)
			_, err := lock.TryLockContext(wait, 5*time.Millisecond)
			defer lock.Close()
			if errors.Is(err, context.DeadlineExceeded) {
				return out, fmt.Errorf("%w: another lm decides on memories since %s; try again", ErrConflict, memoryWait)
			}
		}
	}
	for range decisions {
		if out, err = decide(); !errors.Is(err, gitstore.ErrMoved) {
			break
		}
	}
	return out, err
}

func (v *Vault) propose(ctx context.Context, p agentprotocol.Proposal, draft bool) (*Proposed, error) {
	m, err := v.remember(false, p.Principal)
	if err != nil {
		return nil, err
	}
	if p.Scope == (agentprotocol.Scope{}) {
		p.Scope = m.principal.Home
	}
	p.Scope, p.Principal, p.CreatedAt = m.tree.Named(p.Scope), m.principal.Principal, m.now
	p.SchemaVersion = cmp.Or(strings.TrimSpace(p.SchemaVersion), agentprotocol.SchemaVersion)
	if p.RequestedState == "" {
		p.RequestedState = agentprotocol.LifecycleProposed
	}
	if p.ProposalID, err = m.newID(memoryfile.Proposals); err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := m.mayPropose(); err != nil {
		return nil, err
	}
	w := m.write("Propose a "+string(p.Kind), true)
	out := &Proposed{Proposal: p, Superseded: []string{}}
	if draft {
		out.Review = agentprotocol.ProposalReview{ProposalID: p.ProposalID, Status: agentprotocol.ProposalStatusDraftSaved, Reason: agentprotocol.ReasonValid}
	} else if err := w.review(ctx, p, out); err != nil {
		return nil, err
	}
	doc, err := memoryfile.New(memoryfile.Proposal{Proposal: p, Review: out.Review})
	if err != nil {
		return nil, err
	}
	if _, err := w.add(w.aboutProposal(doc, memoryfile.ProposalCreated, "", out.Review.Status), nil); err != nil {
		return nil, err
	}
	return out, w.proposed(ctx, out)
}

// mayPropose says why the principal may propose nothing, or nil. Whether the
// scope is its own is for the review to say.
func (m *remembering) mayPropose() error {
	return m.principal.Needs(m.tree, agentprotocol.CapabilityPropose, m.principal.Bound)
}

// proposed commits a proposal, with its record where nobody has to approve it.
func (w *remembered) proposed(ctx context.Context, out *Proposed) error {
	if out.Review.Status == agentprotocol.ProposalStatusApproved {
		w.reads = append(w.reads, memoryfile.Records.In())
		id := memoryfile.RecordOf(out.Proposal.ProposalID)
		steps, err := memory.Approve(out.Proposal, out.Review, memory.Approval{}, id, nil, w.now)
		if err != nil {
			return err
		}
		if err := w.steps(steps, nil, ""); err != nil {
			return err
		}
		out.Record = &steps[0].Record
	}
	commit, err := w.commit(ctx)
	if err != nil {
		return err
	}
	out.Commit, out.Branch, out.Receipts = commit, w.ref, receiptsOf(w.receipts)
	return nil
}

// review reviews a proposal against the records of its scope and takes earlier
// ones of the same subject out of the queue, unless it is rejected itself.
func (w *remembered) review(ctx context.Context, p agentprotocol.Proposal, out *Proposed) error {
	records, err := w.related(ctx, p)
	if err != nil {
		return err
	}
	out.Review = memory.Review(p, w.principal, w.tree, w.config.Policy.Memory, records, w.now)
	if out.Review.Status == agentprotocol.ProposalStatusRejected {
		return nil
	}
	w.reads = append(w.reads, memoryfile.Proposals.In())
	earlier, err := w.earlier(p)
	if err != nil {
		return err
	}
	for _, old := range earlier {
		if !memory.Replaces(p, old.DTO.Proposal, old.DTO.Review.Status) {
			continue
		}
		if made, err := w.recordOf(old); err != nil {
			return err
		} else if made.used() {
			continue
		}
		review := agentprotocol.ProposalReview{ProposalID: old.DTO.ProposalID, Status: agentprotocol.ProposalStatusSuperseded, Reason: old.DTO.Review.Reason, Message: p.ProposalID + " takes its place"}
		if err := w.reviewed(old, review, memoryfile.ProposalSuperseded, ""); err != nil {
			return err
		}
		out.Superseded = append(out.Superseded, old.DTO.ProposalID)
	}
	return nil
}

// sameScope says whether two scopes are one for their authors: a session or task
// that is not listed hangs under its author's.
func (m *remembering) sameScope(a agentprotocol.Scope, author string, b agentprotocol.Scope, another string) bool {
	return a == b && slices.Equal(m.tree.Line(a, m.home(author)), m.tree.Line(b, m.home(another)))
}

// related are the whole records that a proposal may repeat or contradict: of its
// scope and kind, with its subject.
func (m *remembering) related(ctx context.Context, p agentprotocol.Proposal) ([]memory.Record, error) {
	var out []memory.Record
	err := m.v.withMemories(ctx, m.at, func(x *memories) (err error) {
		out, err = m.relatedIn(x, x.candidates(nil), p)
		return err
	})
	return out, err
}

// subject is what records have in common that may repeat or contradict each other.
type subject struct {
	kind agentprotocol.MemoryKind
	text string
}

// subjects are the records of an index by what they are about, if they say so.
func (m *memories) subjects() map[subject][]memory.Candidate {
	out := map[subject][]memory.Candidate{}
	for _, c := range m.candidates(nil) {
		if text := memory.Subject(c.Record.Subject); text != "" {
			about := subject{c.Record.Kind, text}
			out[about] = append(out[about], c)
		}
	}
	return out
}

// relatedIn is related among some records of an index.
func (m *remembering) relatedIn(x *memories, among []memory.Candidate, p agentprotocol.Proposal) ([]memory.Record, error) {
	var out []memory.Record
	for _, c := range among {
		if c.Record.Kind != p.Kind || !m.sameScope(c.Record.Scope, c.Record.CreatorID, p.Scope, p.Principal.PrincipalID) || !memory.SameSubject(c.Record.Subject, p.Subject) {
			continue
		}
		r, err := x.record(c.Place)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// upToDate refuses to decide on records of which agents read others by now.
func (m *remembering) upToDate(ctx context.Context, p agentprotocol.Proposal, related []memory.Record) error {
	if m.reads.Commit == "" || m.reads.Commit == m.at.Commit {
		return nil
	}
	if has, err := m.v.Repo.Reaches(m.at.Commit, m.reads.Commit); err != nil || has {
		return err // what is missing here was taken out of use here
	}
	there := *m
	there.at = loaded{Snapshot: m.reads}
	others, err := there.related(ctx, p)
	if err != nil {
		return err
	}
	for _, r := range others {
		if !slices.ContainsFunc(related, func(here memory.Record) bool { return here.ID == r.ID }) {
			return fmt.Errorf("%w: agents read %s at %s, which this branch does not have; run: git merge %s", ErrConflict, r.ID, m.reads.Ref, m.reads.Ref)
		}
	}
	return nil
}

// reviewed gives a proposal another review, with a receipt.
func (w *remembered) reviewed(d proposalDoc, review agentprotocol.ProposalReview, kind, reason string) error {
	keys, err := memoryfile.Keys(review)
	if err != nil {
		return err
	}
	for _, key := range []string{"message", "conflicting_memory_ids", "duplicate_memory_id"} {
		if _, there := keys[key]; !there {
			keys[key] = nil
		}
	}
	chain, err := w.v.chainOf(w.tip, w.config, memoryfile.Proposals.SubjectOf(d.DTO.ProposalID))
	if err != nil {
		return err
	}
	changed, err := d.Change(map[string]any{"review": keys})
	if err != nil {
		return err
	}
	a := w.aboutProposal(changed, kind, "proposed", review.Status)
	a.reason = reason
	_, err = w.add(a, chain.Last())
	return err
}

// aboutProposal is what a receipt says of a proposal.
func (w *remembered) aboutProposal(d proposalDoc, kind, from string, status agentprotocol.ProposalStatus) memoryAct {
	to := string(agentprotocol.LifecycleProposed)
	switch status {
	case agentprotocol.ProposalStatusRejected:
		to = string(agentprotocol.LifecycleRejected)
	case agentprotocol.ProposalStatusSuperseded:
		to = string(agentprotocol.LifecycleSuperseded)
	case agentprotocol.ProposalStatusApproved:
		to = string(agentprotocol.LifecycleConfirmed)
	}
	p := d.DTO
	return memoryAct{
		kind: kind, subject: memoryfile.Proposals.SubjectOf(p.ProposalID), from: from, to: to, digest: d.Digest, file: d.File, scope: p.Scope,
		proposal: p.ProposalID, sources: p.Sources, reason: p.Reason, authors: []string{p.Principal.PrincipalID},
	}
}

// steps writes records as steps leave them, each step with its receipt. known
// are the records that were there.
func (w *remembered) steps(steps []memory.Step, known map[string]recordDoc, reason string) error {
	docs, last := map[string]recordDoc{}, map[string]*vault.Receipt{}
	for _, s := range steps {
		id := s.Record.ID
		doc, err := w.stepped(s.Record, docs[id], known[id])
		if err != nil {
			return err
		}
		if docs[id] == nil && known[id] != nil {
			chain, err := w.v.chainOf(w.base(), w.config, memoryfile.Records.SubjectOf(id))
			if err != nil {
				return err
			}
			last[id] = chain.Last()
		}
		docs[id] = doc
		if last[id], err = w.add(memoryAct{
			kind: s.Kind, subject: memoryfile.Records.SubjectOf(id), from: string(s.From), to: string(s.Record.State), digest: doc.Digest, file: doc.File,
			scope: s.Record.Scope, memory: id, proposal: memoryfile.ProposalOf(id), sources: s.Record.Sources, reason: reason, authors: []string{s.Record.CreatorID},
		}, last[id]); err != nil {
			return err
		}
	}
	return nil
}

// stepped is a record's document after a step: a new one, or the one that was
// there with the keys changed that a step may change.
func (w *remembered) stepped(r memory.Record, now, before recordDoc) (recordDoc, error) {
	if now == nil {
		now = before
	}
	if now == nil {
		return memoryfile.New(r)
	}
	keys, err := memoryfile.Keys(r)
	if err != nil {
		return nil, err
	}
	patch := map[string]any{}
	for _, key := range []string{"state", "supersedes_id", "conflicts_with", "updated_at", "expires_at"} {
		patch[key] = keys[key] // absent: removed
	}
	return now.Change(patch)
}

// Submit reviews a draft of the caller's own.
func (v *Vault) Submit(ctx context.Context, id string) (*Proposed, error) {
	return anew(ctx, v, func() (*Proposed, error) { return v.submit(ctx, id) })
}

func (v *Vault) submit(ctx context.Context, id string) (*Proposed, error) {
	m, err := v.remember(false, agentprotocol.Principal{})
	if err != nil {
		return nil, err
	}
	d, err := m.proposal(id)
	if err != nil {
		return nil, err
	}
	if err := m.mayPropose(); err != nil {
		return nil, err
	}
	p := d.DTO.Proposal
	switch {
	case p.Principal.PrincipalID != m.principal.PrincipalID:
		return nil, agentprotocol.NewStableError(agentprotocol.ErrCodeInsufficientScope, fmt.Sprintf("%s is a draft of %s, who submits it", id, p.Principal.PrincipalID))
	case d.DTO.Review.Status != agentprotocol.ProposalStatusDraftSaved:
		return nil, agentprotocol.NewStableError(agentprotocol.ErrCodeRejected, fmt.Sprintf("%s is no draft; it is %s", id, d.DTO.Review.Status))
	}
	w := m.write("Submit a "+string(p.Kind), true)
	out := &Proposed{Proposal: p, Superseded: []string{}}
	if err := w.review(ctx, p, out); err != nil {
		return nil, err
	}
	if err := w.reviewed(d, out.Review, memoryfile.ProposalSubmitted, ""); err != nil {
		return nil, err
	}
	return out, w.proposed(ctx, out)
}
