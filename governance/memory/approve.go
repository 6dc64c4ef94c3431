package memory

import (
	"slices"
	"strings"
	"time"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/vault"
)

// Step is one change of state of one record, to be written with a receipt of its
// own.
type Step struct {
	Record Record // as it is afterwards
	From   agentprotocol.LifecycleState
	Kind   string // of the receipt
}

// Approval is what somebody asks who approves a proposal.
type Approval struct {
	Confidence agentprotocol.Confidence // "": medium
	ExpiresAt  *time.Time               // nil: never
	Supersede  []string                 // records that it takes the place of
	KeepBoth   bool                     // records that say something else stay, and all are marked as in conflict
}

// The kinds of receipts that steps get; those of vault/memoryfile.
const (
	approved   = "proposal_approved"
	superseded = "memory_superseded"
	expired    = "memory_expired"
	conflicted = "memory_conflicted"
	resolved   = "memory_resolved"
	restored   = "memory_restored"
)

// MayApprove says why somebody may not approve a proposal that waits, or nil.
func MayApprove(p agentprotocol.Proposal, status agentprotocol.ProposalStatus, by Principal, t *Tree, policy vault.Memory) error {
	switch {
	case by.Agent():
		return refuse(agentprotocol.ErrCodeApprovalRequired, "an agent never approves (%s); a person does: lm memory approve %s", by.PrincipalID, p.ProposalID)
	case !by.may(agentprotocol.CapabilityApprove):
		return refuse(agentprotocol.ErrCodeApprovalRequired, "%s has no capability approve; vault.yaml grants it", by.PrincipalID)
	case p.Principal.PrincipalID == by.PrincipalID && !policy.SelfApproval:
		return refuse(agentprotocol.ErrCodeApprovalRequired, "%s proposed it, and somebody else approves it, unless policy.memory.self_approval says otherwise", by.PrincipalID)
	case !t.Covers(by, p.Scope):
		return refuse(agentprotocol.ErrCodeInsufficientScope, "%s is bound to %s:%s, and %s:%s does not lie in it", by.PrincipalID, by.Bound.Kind, by.Bound.ID, p.Scope.Kind, p.Scope.ID)
	case status == agentprotocol.ProposalStatusDraftSaved:
		return refuse(agentprotocol.ErrCodeRejected, "%s is a draft; its author runs lm memory submit %s first", p.ProposalID, p.ProposalID)
	case !Pending(status):
		return refuse(agentprotocol.ErrCodeRejected, "%s is %s already", p.ProposalID, status)
	}
	return nil
}

// Approve makes a record of a proposal. id is that of the record, review a new
// one of the records as they are now. The first step is the record's own. Without
// a choice a conflict is conflict_required, with the ids as the detail
// "conflicting_memory_ids".
func Approve(p agentprotocol.Proposal, review agentprotocol.ProposalReview, a Approval, id string, records []Record, now time.Time) ([]Step, error) {
	if review.Status == agentprotocol.ProposalStatusRejected {
		return nil, refuse(agentprotocol.ErrCodeRejected, "%s: %s: %s", p.ProposalID, review.Reason, review.Message)
	}
	r := Record{
		SchemaVersion: agentprotocol.SchemaVersion, ID: id, Kind: p.Kind, Scope: p.Scope, State: agentprotocol.LifecycleConfirmed,
		Subject: p.Subject, Object: p.Object, Summary: p.Summary, Confidence: a.Confidence, Sources: p.Sources,
		CreatorID: p.Principal.PrincipalID, CreatedAt: p.CreatedAt, UpdatedAt: now, ExpiresAt: a.ExpiresAt,
	}
	if r.Confidence == "" {
		r.Confidence = agentprotocol.ConfidenceMedium
	}
	left := slices.DeleteFunc(slices.Clone(review.ConflictingMemoryIDs), func(id string) bool { return has(a.Supersede, id) })
	if len(left) > 0 && !a.KeepBoth {
		e := agentprotocol.NewStableError(agentprotocol.ErrCodeConflictRequired, strings.Join(left, ", ")+" say something else of the same subject; choose: --supersede "+strings.Join(left, " --supersede ")+", or --keep-both")
		return nil, e.WithDetail("conflicting_memory_ids", strings.Join(left, ","))
	}
	b := book{records: records, now: now}
	if len(a.Supersede) > 0 {
		r.SupersedesID = a.Supersede[0]
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	b.steps = append(b.steps, Step{Record: r, From: agentprotocol.LifecycleProposed, Kind: approved})
	for _, old := range a.Supersede {
		if other, err := b.find(old); err != nil {
			return nil, err
		} else if other.Scope != r.Scope {
			return nil, refuse(agentprotocol.ErrCodeValidationFailed, "%s is a memory of %s:%s, not of %s:%s", old, other.Scope.Kind, other.Scope.ID, r.Scope.Kind, r.Scope.ID)
		}
		if err := b.move(old, agentprotocol.LifecycleSuperseded, superseded); err != nil {
			return nil, err
		}
	}
	if len(left) > 0 {
		if err := b.oppose(append([]string{id}, left...)); err != nil {
			return nil, err
		}
	}
	return b.steps, b.settle(conflicted)
}

// MayReject says why somebody may not reject a proposal, or nil. used says that a
// record was made of it.
func MayReject(p agentprotocol.Proposal, status agentprotocol.ProposalStatus, used bool, by Principal, t *Tree) error {
	switch {
	case !by.may(agentprotocol.CapabilityReview) && !by.may(agentprotocol.CapabilityApprove):
		return refuse(agentprotocol.ErrCodeApprovalRequired, "%s has no capability review or approve; vault.yaml grants it", by.PrincipalID)
	case by.Agent() && !t.Covers(by, p.Scope): // a person may clear away what lies in no scope
		return refuse(agentprotocol.ErrCodeInsufficientScope, "%s is bound to %s:%s, and %s:%s does not lie in it", by.PrincipalID, by.Bound.Kind, by.Bound.ID, p.Scope.Kind, p.Scope.ID)
	case used:
		return refuse(agentprotocol.ErrCodeRejected, "%s is approved already; its memory can be superseded", p.ProposalID)
	case !Pending(status):
		return refuse(agentprotocol.ErrCodeRejected, "%s is %s already", p.ProposalID, status)
	}
	return nil
}
