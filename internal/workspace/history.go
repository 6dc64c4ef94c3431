package workspace

import (
	"cmp"
	"slices"
	"time"

	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// The kinds of events in a history, beside those of receipts.
const (
	EventEdited  = "edited"  // a commit that changed the asset's files without a receipt
	EventMoved   = "moved"   // a commit that only moved them
	EventRemoved = "removed" // a commit that removed them
)

// Event is one thing that happened to an asset.
type Event struct {
	Kind    string        `json:"kind"` // of the receipt, or one of those above
	Version int           `json:"version"`
	Commit  gitstore.Hash `json:"commit"` // "": not in this clone
	Date    string        `json:"date"`   // when it was committed
	Author  string        `json:"author"` // of the commit: user:<id> or e-mail address
	From    vault.Status  `json:"from"`   // "": it was not there
	To      vault.Status  `json:"to"`     // "": it is not there, or invalid
	Actor   vault.Subject `json:"actor"`  // of the receipt; "": there is none
	Reason  string        `json:"reason"`
	Path    string        `json:"path"`       // relative to the vault
	Was     string        `json:"moved_from"` // "": where it is now
	Seq     int           `json:"seq"`        // of the receipt; 0: there is none
	At      string        `json:"at"`         // of the receipt
	Digest  vault.Digest  `json:"digest"`
	Invalid bool          `json:"invalid"` // no valid asset since this commit
	// Before is set where a shallow clone is cut off: it happened in that commit
	// or in one before it that this clone does not have.
	Before gitstore.Hash `json:"at_or_before"`
}

// History is all that happened to an asset, newest first.
type History struct {
	ID       vault.ID `json:"id"`
	Snapshot Snapshot `json:"snapshot"`
	Events   []Event  `json:"history"`
	// Complete is false if a shallow clone does not show all of it.
	Complete bool `json:"complete"`
}

// History tells every version and every act of an asset, from Git. One that
// may not be read at the revision is not found there.
func (v *Vault) History(id vault.ID, s Subject, r Revision) (*History, error) {
	at, one, err := v.gate(id, s, r)
	if err != nil {
		return nil, err
	}
	p, err := v.past(at.Commit, id)
	if err != nil {
		return nil, err
	}
	out := &History{ID: id, Snapshot: at.Snapshot, Events: []Event{}, Complete: p.complete()}
	known := map[vault.Digest]int{} // where the act with this receipt stands
	dropped := map[int]bool{}
	for _, l := range p.log {
		events, err := p.events(one.config(), l)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if e.hash != "" {
				// One act that several branches have is told where it came first.
				if i, twice := known[e.hash]; twice && e.Before != "" {
					continue
				} else if twice {
					dropped[i] = true
				}
				known[e.hash] = len(out.Events)
			}
			out.Events = append(out.Events, e.Event)
		}
	}
	kept := out.Events[:0]
	for i, e := range out.Events {
		if !dropped[i] {
			kept = append(kept, e)
		}
	}
	out.Events = kept
	return out, nil
}

// gate opens an asset for somebody who may read it.
func (v *Vault) gate(id vault.ID, s Subject, r Revision) (loaded, *single, error) {
	at, err := v.revision(r)
	if err != nil {
		return at, nil, err
	}
	one, err := v.one(at, id)
	if err != nil {
		return at, nil, err
	}
	who, err := v.who(one.config(), s)
	if err != nil {
		return at, nil, err
	}
	return at, one, one.readable(who, at.Ref)
}

// event is an Event with the hash of its receipt.
type event struct {
	Event
	hash vault.Digest
}

// events are what a commit did to the asset, the last first.
func (p *past) events(config *vault.Config, l gitstore.Logged) ([]event, error) {
	now, err := p.see(l)
	if err != nil {
		return nil, err
	}
	var before []*single
	for _, h := range l.Parents {
		i := slices.IndexFunc(p.log, func(l gitstore.Logged) bool { return l.Commit == h })
		parent, err := p.see(p.log[i])
		if err != nil {
			return nil, err
		}
		before = append(before, parent)
	}
	base := Event{Path: now.place()}
	if l.Cut {
		base.Before = l.Commit
	} else {
		base.Commit, base.Date = l.Commit, vault.FormatTime(time.Unix(l.When, 0))
		base.Author = author(config, l.Author)
	}
	if len(before) > 0 && before[0].place() != now.place() {
		base.Was = before[0].place()
	}
	var out []event
	for _, r := range now.snapshot.Chain(p.id) {
		if r.Hash() == "" || slices.ContainsFunc(before, func(b *single) bool { return b.has(r) }) {
			continue
		}
		e := base
		e.Kind, e.Version, e.From, e.To, e.Actor, e.Reason = r.Kind, r.Version, r.From, r.To, r.Actor, r.Reason
		e.Seq, e.At, e.Digest = r.Seq, vault.FormatTime(r.At), r.Digest
		out = append(out, event{e, r.Hash()})
	}
	if e, ok := p.edit(base, now, before, out); ok {
		out = append(out, event{Event: e})
	}
	slices.Reverse(out)
	return out, nil
}

// edit is what a commit did to the asset's files beyond the acts that it holds.
func (p *past) edit(e Event, now *single, before []*single, acts []event) (Event, bool) {
	if slices.ContainsFunc(before, now.sameFiles) || len(now.places) == 0 && len(before) == 0 {
		return e, false
	}
	e.Kind = EventEdited
	if len(before) > 0 {
		e.From = before[0].status()
	}
	if a := now.asset; a != nil {
		e.Version, e.To, e.Digest = a.Version, a.Status, a.Digest
		last := now.snapshot.Chain(p.id).Last()
		switch {
		case e.Before != "" && last != nil && last.Digest == a.Digest:
			return e, false
		case len(acts) > 0 && acts[len(acts)-1].Digest == a.Digest && acts[len(acts)-1].To == a.Status:
			return e, false
		case len(before) == 1 && before[0].asset != nil && before[0].asset.Digest == a.Digest && before[0].place() != now.place():
			e.Kind = EventMoved
		}
	}
	switch {
	case len(now.places) == 0:
		e.Kind, e.Path, e.Was = EventRemoved, before[0].place(), ""
	case now.asset == nil:
		e.Invalid = true
	}
	return e, true
}

// place is where the asset lies, "" for nowhere.
func (s *single) place() string {
	if len(s.places) == 0 {
		return ""
	}
	return s.places[0]
}

func (s *single) status() vault.Status {
	if s.asset == nil {
		return ""
	}
	return s.asset.Status
}

func (s *single) has(r *vault.Receipt) bool {
	return slices.ContainsFunc(s.snapshot.Chain(s.id), func(o *vault.Receipt) bool { return o.Hash() == r.Hash() })
}

// sameFiles says whether two commits have the same files of the asset.
func (s *single) sameFiles(o *single) bool {
	return slices.EqualFunc(s.files, o.files, func(a, b vault.File) bool { return a.Path == b.Path && a.Object == b.Object && a.Kind == b.Kind })
}

// author names whom an e-mail address stands for, as receipts do.
func author(config *vault.Config, email string) string {
	if id := config.PersonWithEmail(email); id != "" {
		return "user:" + id
	}
	return cmp.Or(email, "unknown")
}
