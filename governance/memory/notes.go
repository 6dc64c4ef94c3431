package memory

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/vault"
)

// Proposed says why a proposal is not what its receipts say, or nil: the first is
// its proposer's, the last names this content and what became of it. That the
// chain holds is looked at before.
func Proposed(p agentprotocol.Proposal, status agentprotocol.ProposalStatus, digest vault.Digest, chain vault.Chain) error {
	if len(chain) == 0 {
		return errors.New("it has none")
	}
	first, last := chain[0], chain.Last()
	switch {
	case first.Kind != "proposal_created" || string(first.Actor) != p.Principal.PrincipalID:
		return fmt.Errorf("receipt %04d is %s by %s, and it says that %s proposed it", first.Seq, first.Kind, first.Actor, p.Principal.PrincipalID)
	case last.Proposal != p.ProposalID || last.Digest != digest:
		return fmt.Errorf("it was changed after receipt %04d", last.Seq)
	case (string(last.To) == string(agentprotocol.LifecycleProposed)) != Pending(status):
		return fmt.Errorf("it is %s, and receipt %04d says %s", status, last.Seq, last.To)
	}
	return nil
}

// MayHandOff says why somebody may not hand work over in a scope, or nil.
func MayHandOff(h agentprotocol.Handoff, by Principal, t *Tree) error {
	return cmp.Or(h.Validate(), by.Needs(t, agentprotocol.CapabilityHandoff, h.Scope))
}

// MayGiveFeedback says why somebody may not give feedback, or nil. known says
// that the memory which it names is there.
func MayGiveFeedback(f agentprotocol.Feedback, known bool, by Principal, t *Tree) error {
	if err := cmp.Or(f.Validate(), by.Needs(t, agentprotocol.CapabilityFeedback, f.Scope)); err != nil {
		return err
	}
	if f.MemoryID != "" && !known {
		return refuse(agentprotocol.ErrCodeValidationFailed, "memory_id: there is no memory %s; lm memory recall lists those there are", f.MemoryID)
	}
	return nil
}

// Addressed are the handoffs for a principal that a request in a scope sees: to
// it by name, or to any agent of its runtime, in the scope or above it; the newest
// first, at most limit.
func Addressed(handoffs []agentprotocol.Handoff, to Principal, line []Scope, limit int) []agentprotocol.Handoff {
	var out []agentprotocol.Handoff
	for _, h := range handoffs {
		named := h.ToPrincipal.PrincipalID == to.PrincipalID
		runtime := h.ToPrincipal.PrincipalID == "agent:*" && to.Agent() && (h.ToPrincipal.Runtime == "" || h.ToPrincipal.Runtime == to.Runtime)
		if (named || runtime) && slices.Contains(line, h.Scope) {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b agentprotocol.Handoff) int { return cmp.Compare(b.HandoffID, a.HandoffID) })
	if len(out) > limit {
		out = out[:limit]
	}
	return out
}

// HandoffActions are the next actions that lead to handoffs.
func HandoffActions(handoffs []agentprotocol.Handoff) []agentprotocol.NextAction {
	var out []agentprotocol.NextAction
	for _, h := range handoffs {
		out = append(out, agentprotocol.NextAction{Name: "read_handoff", Command: "lm handoff show " + h.HandoffID,
			Reason: fmt.Sprintf("from %s: %s", h.FromPrincipal.PrincipalID, cut(h.Objective, maxPreview))})
	}
	return out
}
