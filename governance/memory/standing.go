package memory

import (
	"fmt"
	"slices"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/vault"
)

// Unapproved says why somebody may not have done to a record, without anybody's
// approval, what a receipt tells of, or nil.
type Unapproved func(act *vault.Receipt, r *Record) error

// AutoConfirmed are the rules for what counts where nobody approves: of the memory
// branch, which every agent writes to. Whoever acts has to be somebody whom
// vault.yaml lets confirm, in a scope that they are bound to, of a kind that is
// allowed, and confirms only what they proposed. nil: nothing counts there, as the
// policy does not let it, or signatures are required and an agent signs for nobody.
func AutoConfirmed(config *vault.Config) Unapproved {
	if !config.Policy.Memory.AutoConfirm || config.Policy.Signatures == vault.SignaturesRequired {
		return nil
	}
	tree := NewTree(config)
	return func(act *vault.Receipt, r *Record) error {
		p, err := PrincipalOf(config, act.Actor, "")
		switch {
		case err != nil:
			return err
		case confirming(p, "change") != nil:
			return fmt.Errorf("%s cannot confirm; a person whom vault.yaml lets approve can", act.Actor)
		case !tree.Covers(p, r.Scope):
			return fmt.Errorf("%s:%s does not lie in %s:%s, to which %s is bound", r.Scope.Kind, r.Scope.ID, p.Bound.Kind, p.Bound.ID, act.Actor)
		case !slices.Contains(config.Policy.Memory.Kinds, string(r.Kind)):
			return fmt.Errorf("policy.memory.kinds allows no %s", r.Kind)
		case act.Kind == approved && string(act.Actor) != r.CreatorID:
			return fmt.Errorf("%s proposed it, and %s confirmed it without an approval", r.CreatorID, act.Actor)
		}
		return nil
	}
}

// Standing says why a record counts for nothing, or nil: its chain of receipts
// does not hold, tells of what lm never does, or its last receipt does not name
// this state and content. digest is that of the record's file. rules are those of
// the memory branch; nil: it lies where people approve, and agents confirm nothing.
func Standing(r *Record, digest vault.Digest, chain vault.Chain, project string, rules Unapproved) error {
	subject := "memory/" + r.ID
	if len(chain) == 0 {
		return fmt.Errorf("no receipt says that it was approved")
	}
	if err := chain.Check(project, subject); err != nil {
		return err
	}
	var before *vault.Receipt
	for _, act := range chain {
		if err := possible(act, before, r, rules); err != nil {
			return vault.Problem{Severity: vault.Error, Path: vault.ReceiptPath(subject, act.Seq), Line: 1, Column: 1,
				Message: "the chain of receipts counts for nothing: " + err.Error(), Mend: "look at who committed it (git log -- :/<file>)"}
		}
		before = act
	}
	last := chain.Last()
	switch {
	case last.Digest != digest:
		return fmt.Errorf("it was changed after receipt %04d", last.Seq)
	case string(last.To) != string(r.State):
		return fmt.Errorf("it says %s, and receipt %04d says %s", r.State, last.Seq, last.To)
	}
	return nil
}

// possible says why an act on a record is none that lm makes, or nil. before is
// the receipt before it.
func possible(act, before *vault.Receipt, r *Record, rules Unapproved) error {
	from, to := agentprotocol.LifecycleState(act.From), agentprotocol.LifecycleState(act.To)
	first := before == nil
	agent := act.Actor.Kind() != vault.KindUser
	switch {
	case first != (act.Kind == approved):
		return fmt.Errorf("%s is no act here", act.Kind)
	case first && (from != agentprotocol.LifecycleProposed || to != agentprotocol.LifecycleConfirmed):
		return fmt.Errorf("an approval leads from proposed to confirmed, not from %s to %s", from, to)
	case !first && act.From != before.To:
		return fmt.Errorf("it leads on from %s, and the memory was %s", from, before.To)
	case from != to && !agentprotocol.ValidTransition(from, to):
		return fmt.Errorf("%s cannot become %s", from, to)
	case !first && !leadsTo(act.Kind, from, to):
		return fmt.Errorf("%s does not lead from %s to %s", act.Kind, from, to)
	case act.Memory != r.ID:
		return fmt.Errorf("it is of memory %q", act.Memory)
	case agent && rules == nil:
		return fmt.Errorf("%s cannot confirm; only a person can", act.Actor)
	case agent && !first && before.Actor.Kind() == vault.KindUser:
		return fmt.Errorf("%s cannot undo what %s did", act.Actor, before.Actor)
	case rules != nil:
		return rules(act, r)
	}
	return nil
}

// leadsTo says whether an act on a record that was approved leads to a state. One
// that settles somebody else's conflict, or names what a record stands for, leaves
// the state as it is.
func leadsTo(kind string, from, to agentprotocol.LifecycleState) bool {
	switch kind {
	case superseded:
		return to == agentprotocol.LifecycleSuperseded || from == to
	case expired:
		return to == agentprotocol.LifecycleExpired
	case conflicted:
		return to == agentprotocol.LifecycleConflicted
	case resolved:
		return to == agentprotocol.LifecycleConfirmed || to == agentprotocol.LifecycleConflicted && from == to
	case restored:
		return to == agentprotocol.LifecycleConfirmed
	}
	return false
}

// Entitled says why the person of a receipt on a record may not have done what it
// tells of, as a vault.yaml has it, or nil. creator is who proposed the record.
// What agents do, and what is done on the memory branch,
// is left to Standing.
func Entitled(config *vault.Config, act *vault.Receipt, creator string, s Scope) error {
	if act.Actor.Kind() != vault.KindUser {
		return nil
	}
	p, err := PrincipalOf(config, act.Actor, "")
	if err != nil {
		return err
	}
	switch {
	case !NewTree(config).Covers(p, s):
		return refuse(agentprotocol.ErrCodeInsufficientScope, "%s:%s does not lie in %s:%s, to which %s is bound", s.Kind, s.ID, p.Bound.Kind, p.Bound.ID, act.Actor)
	case act.Kind != approved:
		return confirming(p, "change")
	case !p.may(agentprotocol.CapabilityApprove):
		return refuse(agentprotocol.ErrCodeApprovalRequired, "%s has no capability approve", act.Actor)
	case string(act.Actor) == creator && !config.Policy.Memory.SelfApproval:
		return refuse(agentprotocol.ErrCodeApprovalRequired, "%s proposed it, and somebody else approves it", act.Actor)
	case config.Policy.RequireReason && act.Reason == "":
		return refuse(agentprotocol.ErrCodeApprovalRequired, "this vault asks for a reason")
	}
	return nil
}
