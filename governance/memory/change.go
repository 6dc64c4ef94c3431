package memory

import (
	"slices"
	"strings"
	"time"

	"longmemory.dev/lm/agentprotocol"
)

// book keeps records with the steps that are taken on them.
type book struct {
	records []Record
	steps   []Step
	now     time.Time
}

// find is a record as the steps so far leave it.
func (b *book) find(id string) (Record, error) {
	for _, s := range slices.Backward(b.steps) {
		if s.Record.ID == id {
			return s.Record, nil
		}
	}
	for _, r := range b.records {
		if r.ID == id {
			return r, nil
		}
	}
	return Record{}, refuse(agentprotocol.ErrCodeValidationFailed, "there is no memory %s; lm memory recall lists those there are", id)
}

// move takes a record to another state, if that is a transition.
func (b *book) move(id string, to agentprotocol.LifecycleState, kind string) error {
	r, err := b.find(id)
	if err != nil {
		return err
	}
	if !agentprotocol.ValidTransition(r.State, to) {
		return refuse(agentprotocol.ErrCodeValidationFailed, "%s is %s, and that cannot become %s", id, r.State, to)
	}
	from := r.State
	if r.State, r.UpdatedAt = to, b.now; to == agentprotocol.LifecycleSuperseded || to == agentprotocol.LifecycleConfirmed {
		r.ConflictsWith = nil
	}
	b.steps = append(b.steps, Step{Record: r, From: from, Kind: kind})
	return nil
}

// oppose marks records as in conflict with each other: a confirmed one becomes
// conflicted, one that is already only gains ids.
func (b *book) oppose(ids []string) error {
	for _, id := range ids {
		r, err := b.find(id)
		if err != nil {
			return err
		}
		from, names := r.State, slices.Clone(r.ConflictsWith)
		for _, other := range ids {
			if other != id && !has(names, other) {
				names = append(names, other)
			}
		}
		if from != agentprotocol.LifecycleConflicted && !agentprotocol.ValidTransition(from, agentprotocol.LifecycleConflicted) {
			return refuse(agentprotocol.ErrCodeValidationFailed, "%s is %s, and that cannot become conflicted", id, from)
		}
		slices.Sort(names)
		r.State, r.ConflictsWith, r.UpdatedAt = agentprotocol.LifecycleConflicted, names, b.now
		b.steps = append(b.steps, Step{Record: r, From: from, Kind: conflicted})
	}
	return nil
}

// settle takes those that are no longer in conflict out of the lists of the
// others: who is left without an opponent is confirmed again.
func (b *book) settle(kind string) error {
	gone := func(id string) bool {
		r, err := b.find(id)
		return err != nil || r.State != agentprotocol.LifecycleConflicted
	}
	// Where branches that disagree were joined, one that is confirmed here may be
	// named by one that comes before it.
	for settled := false; !settled; {
		settled = true
		for _, known := range b.records {
			r, _ := b.find(known.ID)
			if r.State != agentprotocol.LifecycleConflicted || !slices.ContainsFunc(r.ConflictsWith, gone) {
				continue
			}
			step := Step{From: r.State, Kind: kind}
			if r.ConflictsWith = slices.DeleteFunc(slices.Clone(r.ConflictsWith), gone); len(r.ConflictsWith) == 0 {
				r.State, r.ConflictsWith, step.Kind = agentprotocol.LifecycleConfirmed, nil, resolved
				settled = false
			}
			r.UpdatedAt = b.now
			step.Record = r
			b.steps = append(b.steps, step)
		}
	}
	return nil
}

// confirming says why somebody may not change what was confirmed, or nil.
func confirming(by Principal, what string) error {
	if !by.CanConfirm() || by.Agent() && !by.HasCapability(agentprotocol.CapabilityConfirm) {
		return refuse(agentprotocol.ErrCodeApprovalRequired, "%s may not %s a memory; that takes trust owner or the capability confirm", by.PrincipalID, what)
	}
	return nil
}

// MayChange says whether somebody may change the records of a scope at all.
func MayChange(by Principal, t *Tree, s Scope) bool {
	return confirming(by, "change") == nil && t.Covers(by, s)
}

// Supersede takes a record out of use, for another one if replacement is not "":
// that one names it, if it names none yet.
func Supersede(id, replacement string, by Principal, records []Record, now time.Time) ([]Step, error) {
	if err := confirming(by, "supersede"); err != nil {
		return nil, err
	}
	b := book{records: records, now: now}
	if err := b.move(id, agentprotocol.LifecycleSuperseded, superseded); err != nil {
		return nil, err
	}
	if replacement != "" {
		r, err := b.find(replacement)
		if err != nil {
			return nil, err
		}
		if !r.IsRecallable() || r.ID == id {
			return nil, refuse(agentprotocol.ErrCodeValidationFailed, "%s cannot stand for %s: it is %s", replacement, id, r.State)
		}
		if r.IsExpired(now) {
			return nil, refuse(agentprotocol.ErrCodeValidationFailed, "%s cannot stand for %s: its time has passed (%s)", replacement, id, r.ExpiresAt.Format(time.RFC3339))
		}
		if r.SupersedesID == "" {
			r.SupersedesID, r.UpdatedAt = id, now
			b.steps = append(b.steps, Step{Record: r, From: r.State, Kind: superseded})
		}
	}
	return b.steps, b.settle(resolved)
}

// Expire ends a record now.
func Expire(id string, by Principal, records []Record, now time.Time) ([]Step, error) {
	if err := confirming(by, "expire"); err != nil {
		return nil, err
	}
	b := book{records: records, now: now}
	err := b.move(id, agentprotocol.LifecycleExpired, expired)
	return b.steps, err
}

// Restore confirms a record again that was superseded or has expired. One whose
// expires_at has come needs another: nil keeps it, the zero time takes it away.
// related are records of its scope, kind and subject: as long as one of them says
// something else it is conflict_required, with the ids as the detail
// "conflicting_memory_ids".
func Restore(id string, expires *time.Time, by Principal, records, related []Record, now time.Time) ([]Step, error) {
	if err := confirming(by, "restore"); err != nil {
		return nil, err
	}
	b := book{records: records, now: now}
	r, err := b.find(id)
	if err != nil {
		return nil, err
	}
	if r.State != agentprotocol.LifecycleSuperseded && r.State != agentprotocol.LifecycleExpired {
		return nil, refuse(agentprotocol.ErrCodeValidationFailed, "%s is %s; only what was superseded or has expired is restored", id, r.State)
	}
	if err := b.move(id, agentprotocol.LifecycleConfirmed, restored); err != nil {
		return nil, err
	}
	last := &b.steps[len(b.steps)-1].Record
	if expires != nil {
		if last.ExpiresAt = expires; expires.IsZero() {
			last.ExpiresAt = nil
		}
	}
	if last.IsExpired(now) {
		return nil, refuse(agentprotocol.ErrCodeValidationFailed, "the time of %s has passed (%s); give another with --expires-at, or \"\" for none", id, last.ExpiresAt.Format(time.RFC3339))
	}
	var against []string
	for _, other := range related {
		if other.ID != id && Contradicts(*last, other, now) {
			against = append(against, other.ID)
		}
	}
	if len(against) > 0 {
		e := agentprotocol.NewStableError(agentprotocol.ErrCodeConflictRequired, strings.Join(against, ", ")+" say something else of the same subject; take that out of use first: lm memory supersede "+against[0])
		return nil, e.WithDetail("conflicting_memory_ids", strings.Join(against, ","))
	}
	return b.steps, nil
}

// Resolve ends a conflict. The record is confirmed; of those that it is in
// conflict with, supersede are superseded, all if none are named; with keepBoth
// they are confirmed as well, as none contradicts the other.
func Resolve(id string, supersede []string, keepBoth bool, by Principal, records []Record, now time.Time) ([]Step, error) {
	if err := confirming(by, "resolve"); err != nil {
		return nil, err
	}
	b := book{records: records, now: now}
	r, err := b.find(id)
	if err != nil {
		return nil, err
	}
	if r.State != agentprotocol.LifecycleConflicted {
		return nil, refuse(agentprotocol.ErrCodeValidationFailed, "%s is %s, and in no conflict", id, r.State)
	}
	if r.IsExpired(now) {
		return nil, refuse(agentprotocol.ErrCodeValidationFailed, "the time of %s has passed (%s), so it settles nothing; run: lm memory supersede %s", id, r.ExpiresAt.Format(time.RFC3339), id)
	}
	others := r.ConflictsWith
	switch {
	case keepBoth && len(supersede) > 0:
		return nil, refuse(agentprotocol.ErrCodeValidationFailed, "keep both, or supersede some: not both")
	case len(supersede) > 0:
		for _, other := range supersede {
			if !has(others, other) {
				return nil, refuse(agentprotocol.ErrCodeValidationFailed, "%s is in no conflict with %s", other, id)
			}
		}
		others = supersede
	}
	to, kind := agentprotocol.LifecycleSuperseded, superseded
	if keepBoth {
		to, kind = agentprotocol.LifecycleConfirmed, resolved
	}
	for _, other := range others {
		o, err := b.find(other)
		if err != nil || o.State != agentprotocol.LifecycleConflicted {
			continue // it was settled otherwise
		}
		// One that is in conflict with more than this stays so.
		if keepBoth && slices.ContainsFunc(o.ConflictsWith, func(x string) bool { return x != id && !has(others, x) }) {
			continue
		}
		if err := b.move(other, to, kind); err != nil {
			return nil, err
		}
	}
	if now, _ := b.find(id); !slices.ContainsFunc(now.ConflictsWith, func(x string) bool {
		o, err := b.find(x)
		return err == nil && o.State == agentprotocol.LifecycleConflicted && !keepBoth
	}) {
		if err := b.move(id, agentprotocol.LifecycleConfirmed, resolved); err != nil {
			return nil, err
		}
	}
	return b.steps, b.settle(conflicted)
}
