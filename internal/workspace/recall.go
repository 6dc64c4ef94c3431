package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
	"longmemory.dev/lm/vault/memoryfile"
)

// RecallAsk is what somebody wants to remember.
type RecallAsk struct {
	Text  string                     // "": everything in the scope
	Scope string                     // "": the principal's own
	Kinds []agentprotocol.MemoryKind // none: all
	Limit int                        // 0: all
	Now   time.Time
}

// Recalled is what is remembered, the most relevant first: the first of Total.
type Recalled struct {
	Snapshot Snapshot                     `json:"snapshot"`
	Scope    agentprotocol.Scope          `json:"scope"`
	Records  []agentprotocol.MemoryRecord `json:"records"`
	Total    int                          `json:"total"`
	Limit    int                          `json:"limit"`
}

// Recall finds memories of a scope and of those above it.
func (v *Vault) Recall(ctx context.Context, ask RecallAsk) (*Recalled, error) {
	m, err := v.remember(false, agentprotocol.Principal{})
	if err != nil {
		return nil, err
	}
	if m.now = m.now.UTC(); !ask.Now.IsZero() {
		m.now = ask.Now.UTC()
	}
	scope, err := m.scope(ask.Scope)
	if err != nil {
		return nil, err
	}
	if err := (agentprotocol.ContextRequest{Principal: m.principal.Principal, Scope: scope, KindFilter: ask.Kinds}).Validate(); err != nil {
		return nil, err
	}
	out := &Recalled{Snapshot: m.at.Snapshot, Scope: scope, Limit: ask.Limit}
	err = m.recall(ctx, scope, ask.Text, func(_ *memories, eligible []*memory.Candidate, load memory.Loading) error {
		found := memory.Recall(eligible, ask.Kinds, strings.TrimSpace(ask.Text) != "", ask.Limit)
		out.Total, out.Records = found.Total, []agentprotocol.MemoryRecord{}
		for _, c := range found.Candidates {
			r, err := load(c)
			if err != nil {
				return err
			}
			out.Records = append(out.Records, r)
		}
		return nil
	})
	return out, err
}

// recall hands on the memories that a principal may have in a scope, and the index
// that they are from. It may do so twice, as withMemories does.
func (m *remembering) recall(ctx context.Context, scope agentprotocol.Scope, text string, make func(*memories, []*memory.Candidate, memory.Loading) error) error {
	if err := m.principal.Needs(m.tree, agentprotocol.CapabilityRead, scope); err != nil {
		return err
	}
	return m.v.withMemories(ctx, m.at, func(x *memories) error {
		ranking, err := x.Search(text)
		if err != nil {
			return err
		}
		visible := m.visible(ctx)
		eligible, err := memory.Eligible(x.candidates(ranking), m.tree.Line(scope, m.principal.Home), m.now, visible, m.seesRecord)
		if err != nil {
			return err
		}
		return make(x, eligible, func(c *memory.Candidate) (memory.Record, error) {
			r, err := x.record(c.Place)
			if err != nil {
				return r, err
			}
			r.Sources, err = memory.Sources(r, visible)
			return r, err
		})
	})
}

// visible says whether the principal may know of an asset or a receipt that a
// memory names as its source.
func (m *remembering) visible(ctx context.Context) memory.Visible {
	var x *opened
	var failed error
	return func(s agentprotocol.SourceRef) (bool, bool) {
		id := s.Ref
		if s.Kind == "receipt" { // receipts/asset/<id>/<seq>.yaml, or asset/<id>/<seq>
			parts := strings.Split(strings.TrimPrefix(id, "receipts/"), "/")
			if len(parts) < 2 || parts[0] != "asset" {
				return true, true // of memory, which the scope decides on
			}
			id = parts[1]
		}
		id, _, _ = strings.Cut(strings.TrimPrefix(id, "asset/"), "@")
		if x == nil && failed == nil {
			if x, failed = m.v.open(ctx, m.at); failed == nil {
				defer x.Close() // facts stay
			}
		}
		if failed != nil {
			return false, false
		}
		i, found := placeOf(x.Index, vault.ID(id))
		if !found {
			return false, true // gone: nobody can look there any more
		}
		f := &x.Facts()[i]
		return governance.Allowed(f, m.who, vault.PermissionRead), !f.Invalid
	}
}

// Kept says where a document lies, and what was done to it.
type Kept struct {
	Receipts []agentprotocol.Receipt `json:"receipts"`
	Path     string                  `json:"path"`
	Branch   string                  `json:"branch"` // "" is what is read
}

// ShownMemory is a record with its receipts.
type ShownMemory struct {
	agentprotocol.MemoryRecord
	Kept
}

// ShownProposal is a proposal with its review and its receipts.
type ShownProposal struct {
	ListedProposal
	Kept
}

// ShowMemory shows a memory, whatever its state.
func (v *Vault) ShowMemory(id string) (*ShownMemory, error) {
	m, err := v.remember(false, agentprotocol.Principal{})
	if err != nil {
		return nil, err
	}
	if err := m.mayRead(); err != nil {
		return nil, err
	}
	d, onBranch, err := m.recordDoc(id)
	if errors.Is(err, ErrNotFound) { // perhaps it is approved here and not yet where agents read
		if head, headErr := v.commit("HEAD"); headErr == nil && head.Commit != m.at.Commit {
			m.at = head
			d, onBranch, err = m.recordDoc(id)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := m.sourced(context.Background(), &d.DTO); err != nil {
		return nil, err
	}
	out := &ShownMemory{MemoryRecord: d.DTO, Kept: Kept{Path: d.File.Path}}
	commit := m.at.Commit
	if onBranch {
		commit, out.Branch = m.tip, m.config.Policy.Memory.Branch
	}
	return out, m.history(commit, memoryfile.Records.SubjectOf(id), &out.Kept)
}

// sourced leaves a record the sources that the principal may know of; one that had
// some and has none left is not found.
func (m *remembering) sourced(ctx context.Context, r *memory.Record) error {
	had := len(r.Sources)
	kept, err := memory.Sources(*r, m.visible(ctx))
	if err != nil {
		return err
	}
	if r.Sources = kept; had > 0 && len(kept) == 0 {
		return fmt.Errorf("%w: there is no memory %s at %s that you may read", ErrNotFound, r.ID, m.at.Ref)
	}
	return nil
}

// ShowProposal shows a proposal, whatever became of it.
func (v *Vault) ShowProposal(id string) (*ShownProposal, error) {
	m, err := v.remember(false, agentprotocol.Principal{})
	if err != nil {
		return nil, err
	}
	if err := m.mayRead(); err != nil {
		return nil, err
	}
	d, made, err := m.proposalMade(id)
	if err != nil {
		return nil, err
	}
	if made.used() {
		d.DTO.Review.Status = agentprotocol.ProposalStatusApproved
	}
	out := &ShownProposal{ListedProposal{d.DTO.Proposal, d.DTO.Review}, Kept{Path: d.File.Path, Branch: m.config.Policy.Memory.Branch}}
	return out, m.history(m.tip, memoryfile.Proposals.SubjectOf(id), &out.Kept)
}

func (m *remembering) history(commit gitstore.Hash, subject string, out *Kept) error {
	chain, err := m.v.chainOf(commit, m.config, subject)
	out.Receipts = receiptsOf(chain)
	return err
}
