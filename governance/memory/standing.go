package memory

import (
	"fmt"
	"strings"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/vault"
)

// Standing says why a record counts for nothing, or nil: its chain of receipts
// does not hold, tells of what lm never does, or its last receipt does not name
// this state and content. digest is that of the record's file. An agent confirms
// nothing but, where auto says so, what the policy lets it: then the one
// proposal_approved of a record may be an agent's, and what follows as well.
func Standing(r *Record, digest vault.Digest, chain vault.Chain, project string, auto bool) error {
	subject := "memory/" + r.ID
	if len(chain) == 0 {
		return fmt.Errorf("no receipt says that it was approved")
	}
	if err := chain.Check(project, subject); err != nil {
		return err
	}
	last := chain.Last()
	for i, act := range chain {
		if err := actual(act, i == 0, chainBefore(chain, i), auto); err != nil {
			return vault.Problem{Severity: vault.Error, Path: vault.ReceiptPath(subject, act.Seq), Line: 1, Column: 1,
				Message: "the chain of receipts counts for nothing: " + err.Error(), Mend: "look at who committed it (git log -- <file>)"}
		}
	}
	switch {
	case last.Digest != digest:
		return fmt.Errorf("it was changed after receipt %04d", last.Seq)
	case string(last.To) != string(r.State):
		return fmt.Errorf("it says %s, and receipt %04d says %s", r.State, last.Seq, last.To)
	case last.Memory != r.ID:
		return fmt.Errorf("receipt %04d is of memory %q", last.Seq, last.Memory)
	}
	return nil
}

func chainBefore(chain vault.Chain, i int) *vault.Receipt {
	if i == 0 {
		return nil
	}
	return chain[i-1]
}

// actual says why an act on a record is none that lm makes, or nil.
func actual(r *vault.Receipt, first bool, before *vault.Receipt, auto bool) error {
	from, to := agentprotocol.LifecycleState(r.From), agentprotocol.LifecycleState(r.To)
	switch {
	case first != (r.Kind == approved) || !strings.HasPrefix(r.Kind, "memory_") && r.Kind != approved:
		return fmt.Errorf("%s is no act here", r.Kind)
	case first && (from != agentprotocol.LifecycleProposed || to != agentprotocol.LifecycleConfirmed):
		return fmt.Errorf("an approval leads from proposed to confirmed, not from %s to %s", from, to)
	case !first && r.From != before.To:
		return fmt.Errorf("it leads on from %s, and the memory was %s", from, before.To)
	case from != to && !agentprotocol.ValidTransition(from, to):
		return fmt.Errorf("%s cannot become %s", from, to)
	case r.Actor.Kind() != vault.KindUser && !auto:
		return fmt.Errorf("%s cannot confirm; only a person can", r.Actor)
	}
	return nil
}
