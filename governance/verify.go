package governance

import (
	"fmt"
	"slices"
	"time"

	"longmemory.dev/lm/vault"
)

// Fault is what is wrong with one receipt of a chain.
type Fault struct {
	Seq     int
	Field   string
	Message string
}

// Acts says which receipts of an asset's chain tell of acts that lm never
// allows: a transition that is none, a version that does not follow, a second
// registration, a time long before the act before it. The chain itself must hold (vault.Chain.Check).
func Acts(chain vault.Chain) []Fault {
	var out []Fault
	last := &vault.Receipt{}
	for i, r := range chain {
		fault := func(field, format string, args ...any) {
			out = append(out, Fault{r.Seq, field, fmt.Sprintf(format, args...)})
		}
		first, fresh := i == 0, i == 0 || r.Digest != last.Digest
		born := first && r.From == "" && r.Kind == vault.ReceiptRegistered && r.To == vault.StatusApproved
		restores := !first && r.From == r.To && r.From == last.To // a file that somebody had changed by hand
		if err := Transition(r.From, r.To, fresh); err != nil && !born && !restores {
			fault("to", "%v", err)
		}
		if !first && r.From != last.To && last.To == vault.StatusArchived {
			fault("from", "the asset was archived, and nothing follows that")
		}
		if !first && r.Kind == vault.ReceiptRegistered {
			fault("kind", "an asset is registered once, in its first receipt")
		}
		if !first && r.At.Before(last.At.Add(-clocksApart)) {
			fault("at", "it says %s, and the receipt before it %s", vault.FormatTime(r.At), vault.FormatTime(last.At))
		}
		want := last.Version
		if fresh {
			want++
		}
		switch {
		case first && r.Version < 1:
			fault("version", "it names no version")
		case !first && r.Version != want:
			fault("version", "it says version %d; after version %d with %s comes %d", r.Version, last.Version, contentWord(fresh), want)
		}
		last = r
	}
	return out
}

// clocksApart is how far the clocks of two machines may go apart.
const clocksApart = 24 * time.Hour

func contentWord(fresh bool) string {
	if fresh {
		return "another content"
	}
	return "the same content"
}

// Entitled says why the actor of a receipt on an asset may not have done what
// it tells of, as a vault.yaml has it, or nil. known is the asset as it may
// have stood then: one that allows the act is enough, for a receipt does not
// say what it found. None: only what hangs on vault.yaml alone is judged. What
// agents do is left to vault.Chain.Check. Errors wrap ErrDenied or ErrReason.
func Entitled(config *vault.Config, r *vault.Receipt, known []*vault.Facts) error {
	if r.Actor.Kind() != vault.KindUser {
		return nil
	}
	a := personOf(config, r.Actor)
	if !a.Listed {
		return fmt.Errorf("%w: %s is none of the people in vault.yaml", ErrDenied, r.Actor)
	}
	registered := r.Kind == vault.ReceiptRegistered
	if registered && r.To != vault.StatusApproved {
		return nil
	}
	if registered && config.Policy.DistinctApprover {
		return fmt.Errorf("%w: it is born approved, and this vault asks for an approver who is no author", ErrDenied)
	}
	for _, f := range known {
		if registered && f.Type != vault.TypeSkill {
			return fmt.Errorf("%w: only a skill may be born approved", ErrDenied)
		}
	}
	if len(known) == 0 {
		known = []*vault.Facts{{ID: vault.ID("the asset"), Owner: r.Actor}}
	}
	var refused error
	for _, f := range known {
		for _, changed := range possible(r) {
			err := MayGovern(config, f, a, Act{To: r.To, Changed: changed, Authors: r.Authors, Reason: r.Reason})
			if err == nil {
				return nil
			}
			if refused == nil {
				refused = err
			}
		}
	}
	return refused
}

// MaySetPolicy says why somebody may not approve what vault.yaml says of policy,
// people and teams, or nil: config is the vault.yaml that held before. Whoever
// is an approver may; where it names none, anyone of the people. Errors wrap
// ErrDenied or ErrReason.
func MaySetPolicy(config *vault.Config, by vault.Subject, authors []string, reason string) error {
	a := personOf(config, by)
	policy := config.Policy
	switch {
	case a.agent():
		return fmt.Errorf("%w: an agent never approves (%s)", ErrDenied, by)
	case !a.Listed:
		return fmt.Errorf("%w: %s is none of the people in vault.yaml", ErrDenied, by)
	case len(policy.Approvers) > 0 && !slices.ContainsFunc(policy.Approvers, a.Is):
		return fmt.Errorf("%w: %s is no approver; policy.approvers in vault.yaml names %v", ErrDenied, by, policy.Approvers)
	case policy.DistinctApprover && slices.Contains(authors, string(by)):
		return fmt.Errorf("%w: %s wrote this change, and this vault asks for an approver who is no author", ErrDenied, by)
	}
	return needsReason(config, Act{Reason: reason})
}

// possible are the changes that an act may have made: which, a receipt does
// not say, and each needs another permission.
func possible(r *vault.Receipt) [][]string {
	if r.To == vault.StatusApproved {
		return [][]string{nil}
	}
	return [][]string{nil, {"bindings"}, {"acl"}}
}

// personOf is somebody as a vault.yaml lists them.
func personOf(config *vault.Config, s vault.Subject) Actor {
	person, listed := config.People[s.ID()]
	sole := len(config.People) == 0
	return Actor{
		Who:     Who{User: s.ID(), Teams: config.TeamsOf(s.ID()), Roles: slices.Clone(person.Roles), Sole: sole},
		Subject: s, Listed: listed || sole,
	}
}
