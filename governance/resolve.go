package governance

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"longmemory.dev/lm/vault"
)

// Request is what a loadout is asked for (design.md §3).
type Request struct {
	Who
	Query       string
	TokenBudget int // tokens, vault.LeastTokenBudget or more
	Types       []vault.Type
	BoundOnly   bool
	Now         time.Time // decides what has expired

	// Remembered is what memories cost, in tokens and in their rank: they are packed
	// after the required assets and before the others.
	Remembered []int

	// Brief leaves Loadout.Excluded empty, for callers that only hand on what is
	// selected: of a large vault most assets are left out.
	Brief bool
}

// Reason says why an asset is not in a loadout. The list is closed; new ones
// go to its end.
type Reason string

// The reasons, in the order in which they are decided.
const (
	ReasonType           Reason = "type_not_requested" // the request names types, and not this one
	ReasonInvalid        Reason = "invalid"            // the file is no valid asset, or shares its id
	ReasonStatus         Reason = "status"             // the state is not approved; the detail names it
	ReasonUnreceipted    Reason = "unreceipted"        // approved by hand, or edited after approval
	ReasonExpired        Reason = "expired"            // expires_at has come
	ReasonDenied         Reason = "denied"             // the subject may read and not use it
	ReasonBoundElsewhere Reason = "bound_elsewhere"    // bound to others and not to this subject
	ReasonUnbound        Reason = "unbound"            // not bound, and only bound assets were asked for
	ReasonIrrelevant     Reason = "irrelevant"         // not bound, and relevance under the vault's floor
	ReasonOverBudget     Reason = "over_budget"        // no form of it fits into what is left
)

// Score is how an asset ranks. Total is the sum of the others.
type Score struct {
	Total      vault.Ratio
	Priority   vault.Ratio
	Relevance  vault.Ratio
	Confidence vault.Ratio // a quarter of the asset's confidence
}

// Selection is an asset in a loadout: as its facts stand, or its last approved
// version while an edit waits (vault.Facts.Served).
type Selection struct {
	Index        int // into the facts that Resolve was given
	Mode         vault.Mode
	DegradedFrom vault.Mode     // the mode that did not fit; "" if none
	Binding      *vault.Binding // the one that applies; nil: unbound
	Score        Score
	Tokens       int // of this form with its frame
}

// Exclusion is an asset that the subject may know of and does not get.
type Exclusion struct {
	ID     vault.ID `json:"id"`
	Reason Reason   `json:"reason"`
	Detail string   `json:"detail"`
}

// Loadout is the answer to a request: everything in, everything out, and why.
type Loadout struct {
	Selected []Selection // in rank order
	Excluded []Exclusion // by id
	Hidden   int         // assets that the subject may not read: counted, never named
	Missing  []vault.ID  // required for this subject and approved once, but unreceipted, expired or over budget
	Tokens   int         // of the whole rendered context; 0 if nothing is selected

	Remembered []int // which of the request's memories fit, by their place there
}

// Complete says that every required asset is in, if perhaps in a smaller form.
func (l *Loadout) Complete() bool { return len(l.Missing) == 0 }

// Cost tells what text costs, in tokens. A form with its frame must cost the
// same wherever it stands, so that the sum bounds the whole from above.
type Cost struct {
	Frame int // what stands around all items
	// Form is the cost of an asset in a mode; ok is false where it has no such
	// form, a direct one without a body for instance.
	Form func(i int, mode vault.Mode) (tokens int, ok bool)
}

// Resolve answers a request from the facts of a snapshot. facts must be sorted
// by id; relevance gives that of facts[i]. The result hangs on nothing else.
func Resolve(config *vault.Config, facts []vault.Facts, r Request, relevance func(i int) vault.Ratio, cost Cost) Loadout {
	var out Loadout
	var ranked []Selection
	for i := range facts {
		f := &facts[i]
		if !Allowed(f, r.Who, vault.PermissionRead) {
			out.Hidden++
			continue
		}
		g := newGate(config, f, r, relevance(i))
		if closed := g.decide(); closed >= 0 {
			reason := checks[closed].reason
			if !r.Brief {
				out.exclude(f.ID, reason, checks[closed].detail(&g, false))
			}
			if lapsed := reason == ReasonUnreceipted || reason == ReasonExpired; lapsed && g.binding != nil && g.binding.Required {
				out.Missing = append(out.Missing, f.ID)
			}
			continue
		}
		ranked = append(ranked, Selection{Index: i, Binding: g.binding, Score: g.score()})
	}
	slices.SortStableFunc(ranked, func(a, b Selection) int {
		return cmp.Or(compareBool(required(b), required(a)), cmp.Compare(b.Score.Total, a.Score.Total), cmp.Compare(facts[a.Index].ID, facts[b.Index].ID))
	})
	out.pack(facts, ranked, r, cost)
	slices.SortStableFunc(out.Excluded, func(a, b Exclusion) int { return cmp.Compare(a.ID, b.ID) })
	slices.Sort(out.Missing)
	return out
}

func required(s Selection) bool { return s.Binding != nil && s.Binding.Required }

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// exclude records an exclusion; two files with one id are one.
func (l *Loadout) exclude(id vault.ID, reason Reason, detail string) {
	e := Exclusion{ID: id, Reason: reason, Detail: detail}
	if n := len(l.Excluded); n > 0 && l.Excluded[n-1] == e {
		return
	}
	l.Excluded = append(l.Excluded, e)
}

// smaller lists the forms to try, the fullest first (design.md §3).
var smaller = map[vault.Mode][]vault.Mode{
	vault.ModeDirect:    {vault.ModeDirect, vault.ModeSummary, vault.ModeReference},
	vault.ModeSummary:   {vault.ModeSummary, vault.ModeReference},
	vault.ModeTool:      {vault.ModeTool, vault.ModeReference},
	vault.ModeReference: {vault.ModeReference},
}

// Forms lists the forms in which a mode may be packed, the fullest first.
func Forms(mode vault.Mode) []vault.Mode { return smaller[mode] }

// pack fills the budget in rank order, which puts the required first.
func (l *Loadout) pack(facts []vault.Facts, ranked []Selection, r Request, cost Cost) {
	used, budget := cost.Frame, r.TokenBudget
	remember := func() {
		for i, tokens := range r.Remembered {
			if used+tokens <= budget {
				used += tokens
				l.Remembered = append(l.Remembered, i)
			}
		}
		r.Remembered = nil
	}
	for _, s := range ranked {
		if !required(s) {
			remember()
		}
		mode := vault.ModeReference
		if s.Binding != nil {
			mode = s.Binding.Mode
		}
		least := 0
		for _, form := range smaller[mode] {
			tokens, ok := cost.Form(s.Index, form)
			if least = tokens; !ok || used+tokens > budget {
				continue
			}
			s.Mode, s.Tokens = form, tokens
			if form != mode {
				s.DegradedFrom = mode
			}
			break
		}
		if s.Mode == "" {
			id := facts[s.Index].ID
			if !r.Brief {
				l.exclude(id, ReasonOverBudget, fmt.Sprintf("its smallest form has %d tokens, %d are left", least, max(budget-used, 0)))
			}
			if required(s) {
				l.Missing = append(l.Missing, id)
			}
			continue
		}
		used += s.Tokens
		l.Selected = append(l.Selected, s)
	}
	remember()
	if len(l.Selected)+len(l.Remembered) > 0 {
		l.Tokens = used
	}
}

// Choose is the binding that applies to a subject: required first, then higher
// priority, then more specific (task, agent, framework), then its order in the
// file. nil: none.
func Choose(f *vault.Facts, w Who) *vault.Binding {
	var best *vault.Binding
	for i := range f.Bindings {
		b := &f.Bindings[i]
		if !b.Enabled || !w.Is(b.Target) {
			continue
		}
		if best == nil || cmp.Or(compareBool(b.Required, best.Required), cmp.Compare(b.Priority, best.Priority), cmp.Compare(specific(b), specific(best))) > 0 {
			best = b
		}
	}
	return best
}

func specific(b *vault.Binding) int {
	return slices.Index([]string{vault.KindFramework, vault.KindAgent, vault.KindTask}, b.Target.Kind())
}
