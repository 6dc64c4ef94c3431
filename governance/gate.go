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
	binding   *vault.Binding
	relevance vault.Ratio
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
			return unless("run: "+g.config.GovernCommand(g.facts.ID, vault.StatusApproved))(g, passed)
		}},
	{ReasonExpired,
		func(g *gate) bool { return g.facts.Expires.IsZero() || g.request.Now.Before(g.facts.Expires) },
		func(g *gate, _ bool) string {
			if g.facts.Expires.IsZero() {
				return "never"
			}
			return vault.FormatTime(g.facts.Expires)
		}},
	{ReasonDenied,
		func(g *gate) bool { return Allowed(g.facts, g.request.Who, vault.PermissionUse) },
		func(g *gate, _ bool) string { return Why(g.facts, g.request.Who, vault.PermissionUse) }},
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

// Reachable says whether the subject of a request may get an asset at all,
// whatever its bindings and its relevance: it is readable, approved, not
// expired and not denied.
func Reachable(f *vault.Facts, r Request) bool {
	return Allowed(f, r.Who, vault.PermissionRead) && f.Approved() && Allowed(f, r.Who, vault.PermissionUse) &&
		(f.Expires.IsZero() || r.Now.Before(f.Expires)) && (len(r.Types) == 0 || slices.Contains(r.Types, f.Type))
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
	g := gate{config: config, request: r, facts: f, binding: Choose(f, r.Who), relevance: relevance}
	closed := g.decide()
	for i := range checks {
		if closed >= 0 && i > closed {
			break
		}
		steps = append(steps, Step{Name: string(checks[i].reason), Passed: i != closed, Detail: checks[i].detail(&g, i != closed)})
	}
	return steps
}
