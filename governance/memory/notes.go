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

// MayHandOff says why somebody may not hand work over in a scope, or nil: also
// where to, who is to go on, would never see it.
func MayHandOff(h agentprotocol.Handoff, by, to Principal, t *Tree) error {
	if err := cmp.Or(h.Validate(), by.Needs(t, agentprotocol.CapabilityHandoff, h.Scope)); err != nil || to.PrincipalID == AnyAgent {
		return err
	}
	if !to.may(agentprotocol.CapabilityRead) {
		return refuse(agentprotocol.ErrCodeInsufficientScope, "to_principal: %s has no capability %q, so it would never see this; vault.yaml grants it", to.PrincipalID, agentprotocol.CapabilityRead)
	}
	where := "nor in any scope above that"
	for _, s := range t.Line(h.Scope, by.Home) {
		if !t.Reaches(to, s, by.Home) {
			continue
		}
		if s == h.Scope {
			return nil
		}
		where = fmt.Sprintf("it would in %s:%s: add --scope %s", s.Kind, s.ID, vault.Quote(string(s.Kind)+":"+s.ID))
		if !t.Covers(by, s) {
			where = fmt.Sprintf("it would in %s:%s, where somebody who is bound to that hands it over", s.Kind, s.ID)
		}
		break
	}
	return refuse(agentprotocol.ErrCodeInsufficientScope, "to_principal: %s, bound to %s:%s, would never see it in %s:%s; %s", to.PrincipalID, to.Bound.Kind, to.Bound.ID, h.Scope.Kind, h.Scope.ID, where)
}

// Overlooks says how somebody finds a handoff that their own contexts do not show, as
// they are of a wider scope; "" where they do.
func Overlooks(h agentprotocol.Handoff, to Principal, t *Tree) string {
	if to.PrincipalID == AnyAgent || slices.Contains(t.Line(to.Home, to.Home), h.Scope) {
		return ""
	}
	return fmt.Sprintf("%s works in %s:%s and sees it in contexts of --scope %s", to.PrincipalID, to.Home.Kind, to.Home.ID, vault.Quote(string(h.Scope.Kind)+":"+h.Scope.ID))
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

// AnyAgent takes over whoever of the agents comes next.
const AnyAgent = "agent:*"

// Addressed says whether a handoff is for a principal and a request sees it whose
// line of scopes is given: to it by name, or to any agent of its runtime.
func Addressed(h agentprotocol.Handoff, to Principal, line []Scope) bool {
	named := h.ToPrincipal.PrincipalID == to.PrincipalID
	runtime := h.ToPrincipal.PrincipalID == AnyAgent && to.Agent() && (h.ToPrincipal.Runtime == "" || h.ToPrincipal.Runtime == to.Runtime)
	return (named || runtime) && slices.Contains(line, h.Scope)
}

// HandoffActions are the next actions that lead to handoffs; more says that others
// wait.
func HandoffActions(handoffs []agentprotocol.Handoff, more bool) []agentprotocol.NextAction {
	var out []agentprotocol.NextAction
	for _, h := range handoffs {
		out = append(out, agentprotocol.NextAction{Name: "read_handoff", Command: "lm handoff show " + h.HandoffID,
			Reason: fmt.Sprintf("from %s: %s", h.FromPrincipal.PrincipalID, cut(h.Objective, maxPreview))})
	}
	if more {
		out = append(out, agentprotocol.NextAction{Name: "list_handoffs", Command: "lm handoff list --mine", Reason: "older handoffs wait, too"})
	}
	return out
}
