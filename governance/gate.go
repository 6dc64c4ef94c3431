package governance

import (
	"fmt"
	"slices"
	"strings"

	"longmemory.dev/lm/vault"
)

// gate is one asset before one request.
type gate struct {
	config    *vault.Config
	request   Request
	facts     *vault.Facts
	edit      *vault.Facts // what the file says now, if facts are of the last approved version; else facts
	binding   *vault.Binding
	relevance vault.Ratio
}

// newGate puts an asset that the subject may read before a request. While an
// edit of it waits, what decides is the last approved version, if the subject
// may read that too; access is the narrower of both.
func newGate(config *vault.Config, f *vault.Facts, r Request, relevance vault.Ratio) gate {
	g := gate{config: config, request: r, facts: f, edit: f, relevance: relevance}
	if f.Served != nil && Allowed(f.Served, r.Who, vault.PermissionRead) {
		g.facts = f.Served
	}
	g.binding = Choose(g.facts, r.Who)
	return g
}

// Step is one decision about one asset, for a person who asks why.
type Step struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Detail string `json:"detail"`
}

// checks are the gates after read, in order. Each says whether the asset
// passes; closing it gives its reason. What decided is put into words only for
// those who ask: most assets of a vault are left out of most loadouts.
var checks = []struct {
	reason Reason
	passes func(g *gate) bool
	detail func(g *gate, passed bool) string
}{
	{ReasonType,
		func(g *gate) bool {
			return len(g.request.Types) == 0 || slices.Contains(g.request.Types, g.facts.Type)
		},
		func(g *gate, _ bool) string { return string(g.facts.Type) }},
	{ReasonInvalid,
		func(g *gate) bool { return !g.facts.Invalid },
		unless("run: lm validate")},
	{ReasonStatus,
		func(g *gate) bool { return g.facts.Status == vault.StatusApproved },
		func(g *gate, _ bool) string { return string(g.facts.Status) }},
	{ReasonUnreceipted,
		func(g *gate) bool { return g.facts.Receipted },
		func(g *gate, passed bool) string {
			mend := "run: " + g.config.GovernCommand(g.facts.ID, vault.StatusApproved)
			switch {
			case !passed && g.facts.Broken:
				return "its chain of receipts is broken; run: lm doctor"
			case !passed:
				return mend
			case g.edit != g.facts:
				return fmt.Sprintf("version %d, as it was approved, while an edit waits; %s", g.facts.Version, mend)
			}
			return ""
		}},
	{ReasonExpired,
		func(g *gate) bool { return current(g.facts, g.request) },
		func(g *gate, _ bool) string {
			if g.facts.Expires.IsZero() {
				return "never"
			}
			return vault.FormatTime(g.facts.Expires)
		}},
	{ReasonDenied,
		func(g *gate) bool {
			return Allowed(g.facts, g.request.Who, vault.PermissionUse) && Allowed(g.edit, g.request.Who, vault.PermissionUse)
		},
		func(g *gate, passed bool) string {
			if !passed && Allowed(g.facts, g.request.Who, vault.PermissionUse) {
				return Why(g.edit, g.request.Who, vault.PermissionUse) + ", by the edit that waits"
			}
			return Why(g.facts, g.request.Who, vault.PermissionUse)
		}},
	{ReasonBoundElsewhere,
		func(g *gate) bool { return g.binding != nil || len(enabled(g.facts)) == 0 },
		func(g *gate, _ bool) string {
			if g.binding != nil {
				return "bound to " + string(g.binding.Target)
			}
			return strings.Join(enabled(g.facts), ", ")
		}},
	{ReasonUnbound,
		func(g *gate) bool { return g.binding != nil || !g.request.BoundOnly },
		func(*gate, bool) string { return "" }},
	{ReasonIrrelevant,
		func(g *gate) bool { return g.binding != nil || g.relevance >= g.config.Policy.RelevanceFloor },
		func(g *gate, _ bool) string {
			if g.binding != nil {
				return "bound, so whatever its relevance"
			}
			return fmt.Sprintf("relevance %s, the floor is %s", g.relevance, g.config.Policy.RelevanceFloor)
		}},
}

// unless gives the way out where one is needed.
func unless(mend string) func(*gate, bool) string {
	return func(_ *gate, passed bool) string {
		if passed {
			return ""
		}
		return mend
	}
}

func enabled(f *vault.Facts) []string {
	var out []string
	for _, b := range f.Bindings {
		if b.Enabled {
			out = append(out, string(b.Target))
		}
	}
	return out
}

// decide takes the asset through the gates and gives the place in checks of the
// first that is closed; -1 means that all are open.
func (g *gate) decide() int {
	for i := range checks {
		if !checks[i].passes(g) {
			return i
		}
	}
	return -1
}

func (g *gate) score() Score {
	s := Score{Priority: g.facts.Priority, Relevance: g.relevance, Confidence: g.facts.Confidence / 4}
	if g.binding != nil {
		s.Priority = g.binding.Priority
	}
	s.Total = s.Priority + s.Relevance + s.Confidence
	return s
}

func current(f *vault.Facts, r Request) bool { return f.Expires.IsZero() || r.Now.Before(f.Expires) }

// Reachable says whether the subject of a request may get an asset at all,
// whatever its bindings and its relevance: it is readable, approved, not
// expired and not denied, or its last approved version is.
func Reachable(f *vault.Facts, r Request) bool {
	s := f.Standing()
	both := func(p vault.Permission) bool { return Allowed(f, r.Who, p) && Allowed(s, r.Who, p) }
	return s != nil && both(vault.PermissionRead) && both(vault.PermissionUse) &&
		current(s, r) && (len(r.Types) == 0 || slices.Contains(r.Types, s.Type))
}

// Explain takes one asset through a request and returns each decision up to
// the first that closes. The budget is not among them: it hangs on all the
// other assets.
func Explain(config *vault.Config, f *vault.Facts, r Request, relevance vault.Ratio) []Step {
	readable := Allowed(f, r.Who, vault.PermissionRead)
	steps := []Step{{Name: "read", Passed: readable, Detail: Why(f, r.Who, vault.PermissionRead)}}
	if !readable {
		return steps
	}
	g := newGate(config, f, r, relevance)
	closed := g.decide()
	for i := range checks {
		if closed >= 0 && i > closed {
			break
		}
		steps = append(steps, Step{Name: string(checks[i].reason), Passed: i != closed, Detail: checks[i].detail(&g, i != closed)})
	}
	return steps
}
