package memory

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/vault"
)

// risks in their order; "" counts as low.
var risks = []agentprotocol.RiskLevel{agentprotocol.RiskLow, agentprotocol.RiskMedium, agentprotocol.RiskHigh}

// Review says what is to become of a proposal. records may be more than those
// of its scope. Now leaves out what has expired.
func Review(p agentprotocol.Proposal, by Principal, t *Tree, policy vault.Memory, records []Record, now time.Time) agentprotocol.ProposalReview {
	out := agentprotocol.ProposalReview{ProposalID: p.ProposalID, Status: agentprotocol.ProposalStatusRejected}
	risk := p.Risk
	if risk == "" {
		risk = agentprotocol.RiskLow
	}
	switch {
	case !t.Covers(by, p.Scope):
		out.Reason = agentprotocol.ReasonScopeMismatch
		out.Message = fmt.Sprintf("%s:%s does not lie in %s:%s, to which %s is bound", p.Scope.Kind, p.Scope.ID, by.Bound.Kind, by.Bound.ID, by.PrincipalID)
		return out
	case !slices.Contains(policy.Kinds, string(p.Kind)):
		out.Reason = agentprotocol.ReasonPolicyDenied
		out.Message = fmt.Sprintf("policy.memory.kinds allows %s, not %s", strings.Join(policy.Kinds, ", "), p.Kind)
		return out
	case slices.Index(risks, risk) > slices.Index(risks, agentprotocol.RiskLevel(policy.MaxRisk)):
		out.Reason = agentprotocol.ReasonPolicyDenied
		out.Message = fmt.Sprintf("its risk is %s, and policy.memory.max_risk %s", risk, policy.MaxRisk)
		return out
	}
	var said []string
	duplicate, conflicts := compare(p, records, now)
	out.Status, out.Reason = agentprotocol.ProposalStatusApprovalRequired, agentprotocol.ReasonValid
	if p.Sources.IsEmpty() {
		out.Reason = agentprotocol.ReasonUnsourced
		said = append(said, "unsourced: it names no source")
	}
	if len(conflicts) > 0 {
		out.Status, out.Reason, out.ConflictingMemoryIDs = agentprotocol.ProposalStatusConflictRequired, agentprotocol.ReasonConflictExisting, conflicts
		said = append(said, "conflict: "+strings.Join(conflicts, ", ")+" say something else of the same subject")
	}
	if duplicate != "" {
		out.Status, out.Reason, out.DuplicateMemoryID = agentprotocol.ProposalStatusRejected, agentprotocol.ReasonDuplicate, duplicate
		said = append(said, "duplicate: "+duplicate+" says the same")
	}
	slices.Reverse(said)
	out.Message = strings.Join(said, "; ")
	if out.Reason == agentprotocol.ReasonValid && p.RequestedState == agentprotocol.LifecycleConfirmed {
		switch {
		case policy.AutoConfirm && by.CanConfirm():
			out.Status = agentprotocol.ProposalStatusApproved
			out.Message = "confirmed without approval, as policy.memory.auto_confirm allows"
		case policy.AutoConfirm:
			out.Message = by.PrincipalID + " may not confirm by itself"
		default:
			out.Message = "this vault confirms nothing without approval"
		}
	}
	return out
}

// compare finds the record that says the same and those that say something else
// of the same subject, by id. An empty subject matches nothing.
func compare(p agentprotocol.Proposal, records []Record, now time.Time) (duplicate string, conflicts []string) {
	subject, object := folded(p.Subject), folded(p.Object)
	if subject == "" {
		return "", nil
	}
	for _, r := range records {
		if r.Scope != p.Scope || r.Kind != p.Kind || folded(r.Subject) != subject || !r.IsRecallable() || r.IsExpired(now) {
			continue
		}
		other := folded(r.Object)
		switch {
		case object == other && (object != "" || folded(r.Summary) == folded(p.Summary)):
			if duplicate == "" || r.ID < duplicate {
				duplicate = r.ID
			}
		case object != "" && other != "" && object != other:
			conflicts = append(conflicts, r.ID)
		}
	}
	slices.Sort(conflicts)
	return duplicate, conflicts
}

// Replaces says whether a proposal takes the place of an earlier one that waits:
// same principal, scope, kind and subject. Ids are in the order of time.
func Replaces(p, earlier agentprotocol.Proposal, status agentprotocol.ProposalStatus) bool {
	return Pending(status) && p.ProposalID > earlier.ProposalID && p.Principal.PrincipalID == earlier.Principal.PrincipalID &&
		p.Scope == earlier.Scope && p.Kind == earlier.Kind && SameSubject(p.Subject, earlier.Subject)
}

// Pending says whether a proposal waits for somebody.
func Pending(s agentprotocol.ProposalStatus) bool {
	return s == agentprotocol.ProposalStatusDraftSaved || s == agentprotocol.ProposalStatusApprovalRequired || s == agentprotocol.ProposalStatusConflictRequired
}

// Subject is a subject as two are told to be one; "" is nobody's.
func Subject(text string) string { return folded(text) }

// SameSubject says whether two subjects are told to be one.
func SameSubject(a, b string) bool { return folded(a) != "" && folded(a) == folded(b) }

// Contradicts says whether of two records about one subject each says something
// else, and both count at a time.
func Contradicts(a, b Record, now time.Time) bool {
	p := agentprotocol.Proposal{Scope: b.Scope, Kind: a.Kind, Subject: a.Subject, Object: a.Object, Summary: a.Summary}
	_, conflicts := compare(p, []Record{b}, now)
	return len(conflicts) > 0 && a.IsRecallable() && !a.IsExpired(now)
}
