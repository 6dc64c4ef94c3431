package memoryfile

import (
	"errors"
	"strings"
	"unicode"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/vault"
)

// The kinds of receipts on memory.
const (
	ProposalCreated    = "proposal_created"
	ProposalSubmitted  = "proposal_submitted"
	ProposalSuperseded = "proposal_superseded"
	ProposalRejected   = "proposal_rejected"
	ProposalApproved   = "proposal_approved" // the first of a record's chain
	MemorySuperseded   = "memory_superseded"
	MemoryExpired      = "memory_expired"
	MemoryConflicted   = "memory_conflicted"
	MemoryResolved     = "memory_resolved"
	MemoryRestored     = "memory_restored"
	HandoffCreated     = "handoff_created"
	FeedbackAdded      = "feedback_added"
)

// Recorded is the state that handoffs and feedback have, and keep.
const Recorded vault.Status = "recorded"

// ScopeName is a scope as receipts and flags write it: "project:lm".
func ScopeName(s agentprotocol.Scope) string { return string(s.Kind) + ":" + s.ID }

// ParseScope reads what ScopeName writes.
func ParseScope(name string) (agentprotocol.Scope, error) {
	kind, id, _ := strings.Cut(name, ":")
	s := agentprotocol.Scope{Kind: agentprotocol.ScopeKind(kind), ID: id}
	return s, errors.Join(s.Validate(), CheckScope(s))
}

// CheckScope refuses the ids of scopes that no line of a receipt could hold.
func CheckScope(s agentprotocol.Scope) error {
	if len(s.ID) > 200 || strings.ContainsFunc(s.ID, unicode.IsControl) {
		return agentprotocol.NewStableError(agentprotocol.ErrCodeInvalidScope, "id: at most 200 bytes on one line")
	}
	return nil
}

// SourceNames are sources as receipts write them: "kind:ref".
func SourceNames(sources agentprotocol.SourceRefList) []string {
	var out []string
	for _, s := range sources {
		out = append(out, s.Kind+":"+s.Ref)
	}
	return out
}

// AsProtocol reads the contract's receipt off a receipt on memory.
func AsProtocol(r *vault.Receipt) agentprotocol.Receipt {
	out := agentprotocol.Receipt{
		SchemaVersion: agentprotocol.SchemaVersion, Kind: r.Kind, PrincipalID: string(r.Actor), MemoryID: r.Memory, ProposalID: r.Proposal,
		LifecycleFrom: lifecycle(r.From), LifecycleTo: lifecycle(r.To), CreatedAt: r.At,
	}
	if _, hex, ok := strings.Cut(string(r.Hash()), ":"); ok && len(hex) >= 26 {
		out.ReceiptID = "rcpt_" + hex[:26]
	}
	kind, id, _ := strings.Cut(r.Scope, ":")
	out.Scope = agentprotocol.Scope{Kind: agentprotocol.ScopeKind(kind), ID: id}
	for _, name := range r.SourceRefs {
		kind, ref, _ := strings.Cut(name, ":")
		out.SourceRefs = append(out.SourceRefs, agentprotocol.SourceRef{Kind: kind, Ref: ref})
	}
	return out
}

func lifecycle(s vault.Status) agentprotocol.LifecycleState {
	if s == Recorded {
		return ""
	}
	return agentprotocol.LifecycleState(s)
}
