package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
	"longmemory.dev/lm/vault/memoryfile"
)

// recordDoc is a record as it lies in a commit.
type recordDoc = *memoryfile.Document[memory.Record]

// ApprovedMemory is a record that was made of a proposal, and what that changed.
type ApprovedMemory struct {
	agentprotocol.MemoryRecord
	ProposalID string                  `json:"proposal_id"`
	Superseded []string                `json:"superseded"`
	Receipts   []agentprotocol.Receipt `json:"receipts"`
	Commit     gitstore.Hash           `json:"commit"`
	// Reads is what agents read, if that is not the branch that was written.
	Reads string `json:"reads"`
}

// Approve makes a record of a proposal, on the branch that is checked out, with
// the receipts of all that it changes, in one commit.
//
// It is decided on all records as they are: where another act comes between, it is
// decided anew.
func (v *Vault) Approve(ctx context.Context, id string, a memory.Approval, reason string) (*ApprovedMemory, error) {
	return anew(ctx, v, func() (*ApprovedMemory, error) { return v.approve(ctx, id, a, reason) })
}

func (v *Vault) approve(ctx context.Context, id string, a memory.Approval, reason string) (*ApprovedMemory, error) {
	m, err := v.remember(true, agentprotocol.Principal{})
	if err != nil {
		return nil, err
	}
	d, made, err := m.proposalMade(id)
	if err != nil {
		return nil, err
	}
	p, status := d.DTO.Proposal, d.DTO.Review.Status
	switch {
	case made != nil && made.flaw != nil:
		return nil, fmt.Errorf("%w: something lies where the memory of %s lies: %w", ErrConflict, id, made.flaw)
	case made != nil:
		status = agentprotocol.ProposalStatusApproved
	}
	if err := memory.MayApprove(p, status, m.principal, m.tree, m.config.Policy.Memory); err != nil {
		return nil, err
	}
	if err := m.needsReason(reason); err != nil {
		return nil, err
	}
	related, err := m.related(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := m.upToDate(ctx, p, related); err != nil {
		return nil, err
	}
	review, err := m.reviewNow(p, related)
	if err != nil {
		return nil, err
	}
	known, err := m.gather(append(append([]string{}, review.ConflictingMemoryIDs...), a.Supersede...))
	if err != nil {
		return nil, err
	}
	steps, err := memory.Approve(p, review, a, memoryfile.RecordOf(id), known.records(), m.now)
	if err != nil {
		return nil, err
	}
	w := m.write("Approve "+id, false)
	w.reads = append(w.reads, memoryfile.Records.In(), vault.ConfigFile)
	if err := known.on(steps, false); err != nil {
		return nil, err
	}
	for _, old := range a.Supersede {
		if d := known.docs[old].DTO; !m.sameScope(d.Scope, d.CreatorID, p.Scope, p.Principal.PrincipalID) {
			return nil, agentprotocol.NewStableError(agentprotocol.ErrCodeValidationFailed, fmt.Sprintf("%s is of another %s than the proposal: %s and %s do not share theirs", old, memoryfile.ScopeName(d.Scope), d.CreatorID, p.Principal.PrincipalID))
		}
	}
	if err := w.steps(steps, known.docs, reason); err != nil {
		return nil, err
	}
	commit, err := w.commit(ctx)
	if err != nil {
		return nil, err
	}
	out := &ApprovedMemory{ProposalID: id, Receipts: receiptsOf(w.receipts), Commit: commit, Superseded: []string{}}
	if at, err := v.trusted(Revision{}); err == nil && at.Commit != commit {
		out.Reads = at.Ref
	}
	for _, s := range steps {
		if s.Record.ID == memoryfile.RecordOf(id) {
			out.MemoryRecord = s.Record
		} else if s.Record.State == agentprotocol.LifecycleSuperseded {
			out.Superseded = append(out.Superseded, s.Record.ID)
		}
	}
	return out, nil
}

// reviewNow reviews a proposal for a person who is to approve it, among the records as
// they are. The proposer is who vault.yaml says now, not what the file says of them.
func (m *remembering) reviewNow(p agentprotocol.Proposal, related []memory.Record) (agentprotocol.ProposalReview, error) {
	proposer, err := memory.PrincipalOf(m.config, vault.Subject(p.Principal.PrincipalID), "")
	if err != nil {
		return agentprotocol.ProposalReview{}, fmt.Errorf("who proposed it: %w", err)
	}
	review := memory.Review(p, proposer, m.tree, m.config.Policy.Memory, related, m.now)
	if review.Status == agentprotocol.ProposalStatusApproved { // confirmed by a person here
		review.Status = agentprotocol.ProposalStatusApprovalRequired
	}
	return review, nil
}

// needsReason asks for a reason where the vault does.
func (m *remembering) needsReason(reason string) error {
	if m.config.Policy.RequireReason && reason == "" {
		return fmt.Errorf("%w: add --reason \"…\"", governance.ErrReason)
	}
	return nil
}

// Reject ends a proposal with a reason, on the memory branch.
func (v *Vault) Reject(ctx context.Context, id, reason string) (*Proposed, error) {
	return anew(ctx, v, func() (*Proposed, error) { return v.reject(ctx, id, reason) })
}

func (v *Vault) reject(ctx context.Context, id, reason string) (*Proposed, error) {
	m, err := v.remember(true, agentprotocol.Principal{})
	if err != nil {
		return nil, err
	}
	d, made, err := m.proposalMade(id)
	if err != nil {
		return nil, err
	}
	if err := memory.MayReject(d.DTO.Proposal, d.DTO.Review.Status, made.used(), m.principal, m.tree); err != nil {
		return nil, err
	}
	if reason == "" {
		return nil, fmt.Errorf("%w: a rejection says why: add --reason \"…\"", governance.ErrReason)
	}
	w := m.write("Reject "+id, true)
	review := agentprotocol.ProposalReview{ProposalID: id, Status: agentprotocol.ProposalStatusRejected, Reason: d.DTO.Review.Reason, Message: reason}
	if err := w.reviewed(d, review, memoryfile.ProposalRejected, reason); err != nil {
		return nil, err
	}
	commit, err := w.commit(ctx)
	if err != nil {
		return nil, err
	}
	return &Proposed{Proposal: d.DTO.Proposal, Review: review, Receipts: receiptsOf(w.receipts), Commit: commit, Branch: w.ref, Superseded: []string{}}, nil
}

// gathered are records as they lie, with which branch holds each.
type gathered struct {
	docs   map[string]recordDoc
	branch map[string]bool // on the memory branch alone
	order  []string
	name   string // of the memory branch
}

func (g *gathered) records() []memory.Record {
	var out []memory.Record
	for _, id := range g.order {
		out = append(out, g.docs[id].DTO)
	}
	return out
}

// on says why steps cannot be written to one branch, or nil: records that lie
// elsewhere would lose their chains.
func (g *gathered) on(steps []memory.Step, branch bool) error {
	for _, s := range steps {
		if g.docs[s.Record.ID] != nil && g.branch[s.Record.ID] != branch {
			return agentprotocol.NewStableError(agentprotocol.ErrCodeValidationFailed,
				fmt.Sprintf("%s lies on another branch than the rest (%s holds what nobody approved); change it by itself first: lm memory supersede %s", s.Record.ID, g.name, s.Record.ID))
		}
	}
	return nil
}

// gather reads records by id, and those that they are in conflict with. Each has
// to count.
func (m *remembering) gather(ids []string) (*gathered, error) {
	asked := len(ids)
	g := &gathered{docs: map[string]recordDoc{}, branch: map[string]bool{}, name: m.config.Policy.Memory.Branch}
	for i, todo := 0, ids; len(todo) > 0; i, todo = i+1, todo[1:] {
		id := todo[0]
		if g.docs[id] != nil {
			continue
		}
		d, onBranch, err := m.recordDoc(id)
		if i >= asked && (errors.Is(err, ErrNotFound) || len(vault.Problems(err)) > 0) {
			continue // what is gone, or counts for nothing, is in no conflict any more
		}
		if err != nil {
			return nil, err
		}
		g.docs[id], g.branch[id] = d, onBranch
		g.order = append(g.order, id)
		todo = append(todo, d.DTO.ConflictsWith...)
	}
	return g, nil
}

// recordDoc reads one record, whatever its state, from what is read or, where
// agents may confirm, from the memory branch; it has to count.
func (m *remembering) recordDoc(id string) (d recordDoc, onBranch bool, err error) {
	var uncounted error
	for _, onBranch := range []bool{false, true} {
		commit := m.at.Commit
		if onBranch {
			if commit = m.tip; memory.AutoConfirmed(m.config) == nil {
				break
			}
		}
		docs, err := findAll[memory.Record](m.v, commit, memoryfile.Records, id)
		if err != nil {
			return nil, false, err
		}
		for _, d := range docs {
			if !m.reaches(d.DTO.Scope, d.DTO.CreatorID) {
				continue
			}
			if uncounted = m.stands(commit, d, onBranch); uncounted == nil {
				return d, onBranch, nil
			}
		}
	}
	if uncounted != nil {
		return nil, false, uncounted
	}
	if ahead := m.reads; ahead.Commit != "" && ahead.Commit != m.at.Commit {
		if docs, err := findAll[memory.Record](m.v, ahead.Commit, memoryfile.Records, id); err == nil && len(docs) > 0 && m.reaches(docs[0].DTO.Scope, docs[0].DTO.CreatorID) {
			return nil, false, fmt.Errorf("%w: agents read %s at %s, which this branch does not have; run: git merge %s", ErrNotFound, id, ahead.Ref, ahead.Ref)
		}
	}
	return nil, false, fmt.Errorf("%w: there is no memory %s at %s that you may read", ErrNotFound, id, m.at.Ref)
}

// stands says why a record of a commit counts for nothing, or nil: by the rules of
// what is read, wherever the record lies. The error is a Problem.
func (m *remembering) stands(commit gitstore.Hash, d recordDoc, onBranch bool) error {
	rules, err := m.v.Repo.Some(m.at.Commit, m.v.Prefix, m.v.memoryPaths(m.config), maxConfig)
	if err != nil {
		return err
	}
	receipts, err := m.v.Repo.Some(commit, m.v.Prefix, []string{memoryfile.Records.Receipts() + "/" + d.DTO.ID}, maxConfig)
	if err != nil {
		return err
	}
	s, err := vault.Read(append(rules, receipts...), nil)
	if err == nil {
		err = standing(s, d, m.config, onBranch)
	}
	if err != nil {
		return vault.Problem{Severity: vault.Error, Path: d.File.Path, Line: 1, Column: 1, Message: "this memory counts for nothing: " + err.Error(), Mend: "run: lm verify"}
	}
	return nil
}

// ChangedMemory is a record that was changed, with all that changed with it.
type ChangedMemory struct {
	agentprotocol.MemoryRecord
	Records  []agentprotocol.MemoryRecord `json:"records"` // as they are now
	Receipts []agentprotocol.Receipt      `json:"receipts"`
	Commit   gitstore.Hash                `json:"commit"`
	Branch   string                       `json:"branch"` // "" is the one checked out
}

// changeMemory takes steps on records and writes them where they lie.
func (v *Vault) changeMemory(ctx context.Context, ids []string, verb, reason string, decide func(m *remembering, records []memory.Record) ([]memory.Step, error)) (*ChangedMemory, error) {
	return anew(ctx, v, func() (*ChangedMemory, error) { return v.changeMemoryOnce(ctx, ids, verb, reason, decide) })
}

func (v *Vault) changeMemoryOnce(ctx context.Context, ids []string, verb, reason string, decide func(m *remembering, records []memory.Record) ([]memory.Step, error)) (*ChangedMemory, error) {
	m, err := v.remember(true, agentprotocol.Principal{})
	if err != nil {
		return nil, err
	}
	known, err := m.gather(ids)
	if err != nil {
		return nil, err
	}
	steps, err := decide(m, known.records())
	if err != nil {
		return nil, err
	}
	if err := m.needsReason(reason); err != nil {
		return nil, err
	}
	branch := known.branch[ids[0]]
	if err := known.on(steps, branch); err != nil {
		return nil, err
	}
	for _, s := range steps {
		if !m.tree.Covers(m.principal, s.Record.Scope) {
			return nil, agentprotocol.NewStableError(agentprotocol.ErrCodeInsufficientScope, fmt.Sprintf("%s is a memory of %s, above what %s is bound to", s.Record.ID, memoryfile.ScopeName(s.Record.Scope), m.principal.PrincipalID))
		}
	}
	if m.principal.Agent() {
		if err := m.undoes(steps, known); err != nil {
			return nil, err
		}
	}
	if !branch && m.principal.Agent() {
		return nil, agentprotocol.NewStableError(agentprotocol.ErrCodeApprovalRequired, ids[0]+" was confirmed by a person, and an agent writes to the memory branch alone; a person changes it")
	}
	w := m.write(verb+" "+ids[0], branch)
	w.reads = append(w.reads, memoryfile.Records.In())
	if err := w.steps(steps, known.docs, reason); err != nil {
		return nil, err
	}
	commit, err := w.commit(ctx)
	if err != nil {
		return nil, err
	}
	out := &ChangedMemory{Receipts: receiptsOf(w.receipts), Commit: commit}
	if branch {
		out.Branch = w.ref
	}
	latest := map[string]int{}
	for _, s := range steps {
		if i, ok := latest[s.Record.ID]; ok {
			out.Records[i] = s.Record
			continue
		}
		latest[s.Record.ID] = len(out.Records)
		out.Records = append(out.Records, s.Record)
	}
	for _, r := range out.Records {
		if r.ID == ids[0] {
			out.MemoryRecord = r
		}
	}
	return out, nil
}

// undoes says why an agent may not take steps, or nil: what a person did last to a
// record only a person changes.
func (m *remembering) undoes(steps []memory.Step, known *gathered) error {
	for _, s := range steps {
		if known.docs[s.Record.ID] == nil {
			continue
		}
		chain, err := m.v.chainOf(m.tip, m.config, memoryfile.Records.SubjectOf(s.Record.ID))
		if err != nil {
			return err
		}
		if last := chain.Last(); last != nil && last.Actor.Kind() == vault.KindUser {
			return agentprotocol.NewStableError(agentprotocol.ErrCodeApprovalRequired, fmt.Sprintf("%s is %s by %s, and only a person changes that", s.Record.ID, last.To, last.Actor))
		}
	}
	return nil
}

// SupersedeMemory takes a record out of use, for another if by is not "".
func (v *Vault) SupersedeMemory(ctx context.Context, id, by, reason string) (*ChangedMemory, error) {
	ids := []string{id}
	if by != "" {
		ids = append(ids, by)
	}
	return v.changeMemory(ctx, ids, "Supersede", reason, func(m *remembering, records []memory.Record) ([]memory.Step, error) {
		return memory.Supersede(id, by, m.principal, records, m.now)
	})
}

// ExpireMemory ends a record.
func (v *Vault) ExpireMemory(ctx context.Context, id, reason string) (*ChangedMemory, error) {
	return v.changeMemory(ctx, []string{id}, "Expire", reason, func(m *remembering, records []memory.Record) ([]memory.Step, error) {
		return memory.Expire(id, m.principal, records, m.now)
	})
}

// keptBoth says whether somebody decided that two records do not contradict each
// other: one act resolved a conflict for both.
func (m *remembering) keptBoth(a, b string) bool {
	resolved := func(id string) (at []time.Time) {
		for _, commit := range []gitstore.Hash{m.at.Commit, m.tip} {
			chain, err := m.v.chainOf(commit, m.config, memoryfile.Records.SubjectOf(id))
			if err != nil {
				continue
			}
			for _, r := range chain {
				if r.Kind == memoryfile.MemoryResolved && r.To == vault.Status(agentprotocol.LifecycleConfirmed) {
					at = append(at, r.At)
				}
			}
		}
		return at
	}
	first := resolved(a)
	return slices.ContainsFunc(resolved(b), func(at time.Time) bool { return slices.ContainsFunc(first, at.Equal) })
}

// RestoreMemory confirms a record again; expires nil keeps its time, zero takes
// it away.
func (v *Vault) RestoreMemory(ctx context.Context, id string, expires *time.Time, reason string) (*ChangedMemory, error) {
	return v.changeMemory(ctx, []string{id}, "Restore", reason, func(m *remembering, records []memory.Record) ([]memory.Step, error) {
		r := records[0]
		related, err := m.related(ctx, agentprotocol.Proposal{Scope: r.Scope, Kind: r.Kind, Subject: r.Subject, Principal: agentprotocol.Principal{PrincipalID: r.CreatorID}})
		if err != nil {
			return nil, err
		}
		related = slices.DeleteFunc(related, func(other memory.Record) bool { return m.keptBoth(id, other.ID) })
		return memory.Restore(id, expires, m.principal, records, related, m.now)
	})
}

// ResolveMemory ends a conflict in a record's favour, or, with keepBoth, of all.
func (v *Vault) ResolveMemory(ctx context.Context, id string, supersede []string, keepBoth bool, reason string) (*ChangedMemory, error) {
	return v.changeMemory(ctx, []string{id}, "Resolve", reason, func(m *remembering, records []memory.Record) ([]memory.Step, error) {
		return memory.Resolve(id, supersede, keepBoth, m.principal, records, m.now)
	})
}
