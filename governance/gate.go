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
// passes and what decided; closing it gives its reason.
var checks = []struct {
	reason Reason
	passes func(g *gate) (bool, string)
}{
	{ReasonType, func(g *gate) (bool, string) {
		return len(g.request.Types) == 0 || slices.Contains(g.request.Types, g.facts.Type), string(g.facts.Type)
	}},
	{ReasonInvalid, func(g *gate) (bool, string) {
		return !g.facts.Invalid, unless(!g.facts.Invalid, "run: lm validate")
	}},
	{ReasonStatus, func(g *gate) (bool, string) {
		return g.facts.Status == vault.StatusApproved, string(g.facts.Status)
	}},
	{ReasonUnreceipted, func(g *gate) (bool, string) {
		return g.facts.Receipted, unless(g.facts.Receipted, fmt.Sprintf("run: lm asset govern %s --status approved", g.facts.ID))
	}},
	{ReasonExpired, func(g *gate) (bool, string) {
		f := g.facts
		if f.Expires.IsZero() {
			return true, "never"
		}
		return g.request.Now.Before(f.Expires), vault.FormatTime(f.Expires)
	}},
	{ReasonDenied, func(g *gate) (bool, string) {
		return access(g.facts, g.request.Who, vault.PermissionUse)
	}},
	{ReasonBoundElsewhere, func(g *gate) (bool, string) {
		if g.binding != nil {
			return true, "bound to " + string(g.binding.Target)
		}
		elsewhere := enabled(g.facts)
		return len(elsewhere) == 0, strings.Join(elsewhere, ", ")
	}},
	{ReasonUnbound, func(g *gate) (bool, string) {
		return g.binding != nil || !g.request.BoundOnly, ""
	}},
	{ReasonIrrelevant, func(g *gate) (bool, string) {
		if g.binding != nil {
			return true, "bound, so whatever its relevance"
		}
		floor := g.config.Policy.RelevanceFloor
		return g.relevance >= floor, fmt.Sprintf("relevance %s, the floor is %s", g.relevance, floor)
	}},
}

// unless is the way out, for where one is needed.
func unless(ok bool, mend string) string {
	if ok {
		return ""
	}
	return mend
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

// decide takes the asset through the gates; "" means that all are open. see,
// if not nil, is told of each decision.
func (g *gate) decide(see func(Step)) (Reason, string) {
	for i := range checks {
		ok, detail := checks[i].passes(g)
		if see != nil {
			see(Step{Name: string(checks[i].reason), Passed: ok, Detail: detail})
		}
		if !ok {
			return checks[i].reason, detail
		}
	}
	return "", ""
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
// the first that closes, and how the asset ranks if none does. The budget is
// not among them: it hangs on all the others.
func Explain(config *vault.Config, f *vault.Facts, r Request, relevance vault.Ratio) ([]Step, *Score) {
	ok, why := access(f, r.Who, vault.PermissionRead)
	steps := []Step{{Name: "read", Passed: ok, Detail: why}}
	if !ok {
		return steps, nil
	}
	g := gate{config: config, request: r, facts: f, binding: Choose(f, r.Who), relevance: relevance}
	if reason, _ := g.decide(func(s Step) { steps = append(steps, s) }); reason != "" {
		return steps, nil
	}
	score := g.score()
	return steps, &score
}
