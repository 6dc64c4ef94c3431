package governance_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
)

var now = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// approved is an asset that everyone gets.
func approved(id vault.ID, change func(*vault.Facts)) vault.Facts {
	f := vault.Facts{ID: id, Type: vault.TypeWiki, Status: vault.StatusApproved, Receipted: true, Visibility: vault.VisibilityProject,
		Owner: "user:alice", Version: 1, Priority: 2500, Confidence: 5000}
	if change != nil {
		change(&f)
	}
	return f
}

// tenEach makes every form cost ten tokens.
var tenEach = governance.Cost{Frame: 5, Form: func(int, vault.Mode) (int, bool) { return 10, true }}

func relevant(r vault.Ratio) func(int) vault.Ratio { return func(int) vault.Ratio { return r } }

func TestReasons(t *testing.T) {
	elsewhere := []vault.Binding{binding("agent:other"), {Target: "agent:reviewer", Enabled: false}}
	request := governance.Request{Who: governance.Who{Agent: "reviewer"}, TokenBudget: 64, Now: now}
	// edited is an asset with an edit after approval, of which the version that was
	// approved is served.
	edited := func(edit, served func(*vault.Facts)) func(*vault.Facts) {
		return func(f *vault.Facts) {
			old := approved(f.ID, served)
			f.Receipted, f.Served = false, &old
			if edit != nil {
				edit(f)
			}
		}
	}
	private := func(f *vault.Facts) { f.Visibility = vault.VisibilityPrivate }
	noUse := func(f *vault.Facts) { f.ACL = []vault.Rule{rule(vault.Deny, "agent:*", vault.PermissionUse)} }
	for _, c := range []struct {
		name      string
		change    func(*vault.Facts)
		request   func(*governance.Request)
		relevance vault.Ratio
		reason    governance.Reason // "" selected, "hidden" counted
		detail    string
	}{
		{"selected", nil, nil, 500, "", ""},
		{"hidden, whatever else", func(f *vault.Facts) { f.Visibility, f.Status = vault.VisibilityPrivate, vault.StatusDraft }, nil, 500, "hidden", ""},
		{"invalid and unreadable", func(f *vault.Facts) { f.Invalid = true }, nil, 500, "hidden", ""},
		{"type", func(f *vault.Facts) { f.Status = vault.StatusDraft }, func(r *governance.Request) { r.Types = []vault.Type{vault.TypeSkill} }, 500, governance.ReasonType, "llm_wiki"},
		{"invalid", func(f *vault.Facts) { f.Invalid = true }, func(r *governance.Request) { r.Sole = true }, 500, governance.ReasonInvalid, "run: lm validate"},
		{"status", func(f *vault.Facts) { f.Status, f.Receipted = vault.StatusDeprecated, false }, nil, 500, governance.ReasonStatus, "deprecated"},
		{"unreceipted", func(f *vault.Facts) { f.Receipted, f.Expires = false, now }, nil, 500, governance.ReasonUnreceipted, "run: lm asset govern x --status approved"},
		{"edited", edited(nil, nil), nil, 500, "", ""},
		{"edited so that nobody else may read it", edited(private, nil), nil, 500, "hidden", ""},
		{"edited so that more may read it", edited(nil, private), nil, 500, governance.ReasonUnreceipted, "run: lm asset govern x --status approved"},
		{"edited so that no agent may use it", edited(noUse, nil), nil, 500, governance.ReasonDenied, "denied to agent:*, by the edit that waits"},
		{"edited so that agents may use it", edited(nil, noUse), nil, 500, governance.ReasonDenied, "denied to agent:*"},
		{"edited, and what was approved has expired", edited(nil, func(f *vault.Facts) { f.Expires = now }), nil, 500, governance.ReasonExpired, "2026-12-01T00:00:00Z"},
		{"edited bindings do not count", edited(func(f *vault.Facts) { f.Bindings = elsewhere }, nil), nil, 500, "", ""},
		{"expired at the instant", func(f *vault.Facts) {
			f.Expires, f.ACL = now, []vault.Rule{rule(vault.Deny, "agent:*", vault.PermissionUse)}
		}, nil, 500, governance.ReasonExpired, "2026-12-01T00:00:00Z"},
		{"a second before", func(f *vault.Facts) { f.Expires = now.Add(time.Second) }, nil, 500, "", ""},
		{"denied", func(f *vault.Facts) {
			f.ACL, f.Bindings = []vault.Rule{rule(vault.Deny, "agent:*", vault.PermissionUse)}, elsewhere
		}, nil, 500, governance.ReasonDenied, "denied to agent:*"},
		{"bound elsewhere", func(f *vault.Facts) { f.Bindings = elsewhere }, func(r *governance.Request) { r.BoundOnly = true }, 9000, governance.ReasonBoundElsewhere, "agent:other"},
		{"only a disabled binding is no binding", func(f *vault.Facts) { f.Bindings = elsewhere[1:] }, nil, 500, "", ""},
		{"unbound", nil, func(r *governance.Request) { r.BoundOnly = true }, 0, governance.ReasonUnbound, ""},
		{"irrelevant", nil, nil, 499, governance.ReasonIrrelevant, "relevance 0.0499, the floor is 0.0500"},
		{"bound, so whatever its relevance", func(f *vault.Facts) { f.Bindings = []vault.Binding{binding("agent:reviewer")} }, func(r *governance.Request) { r.BoundOnly = true }, 0, "", ""},
		{"over budget", nil, func(r *governance.Request) { r.TokenBudget = 14 }, 500, governance.ReasonOverBudget, "its smallest form has 10 tokens, 9 are left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := request
			if c.request != nil {
				c.request(&r)
			}
			l := governance.Resolve(vault.DefaultConfig(), []vault.Facts{approved("x", c.change)}, r, relevant(c.relevance), tenEach)
			switch {
			case c.reason == "hidden":
				if l.Hidden != 1 || len(l.Selected)+len(l.Excluded) != 0 {
					t.Errorf("%+v", l)
				}
			case c.reason == "":
				if len(l.Selected) != 1 || l.Tokens != 15 {
					t.Errorf("%+v", l)
				}
			case len(l.Excluded) != 1 || l.Excluded[0].Reason != c.reason || l.Excluded[0].Detail != c.detail || l.Tokens != 0:
				t.Errorf("%+v", l)
			}
		})
	}
}

func TestBindingChoice(t *testing.T) {
	who := governance.Who{Agent: "a", Task: "t", Framework: "f"}
	b := func(target vault.Subject, priority vault.Ratio, required bool) vault.Binding {
		return vault.Binding{Target: target, Priority: priority, Required: required, Enabled: true}
	}
	off := b("task:t", 9000, true)
	off.Enabled = false
	for name, c := range map[string]struct {
		bindings []vault.Binding
		want     int // -1: none
	}{
		"required beats priority":      {[]vault.Binding{b("task:t", 9000, false), b("framework:f", 100, true)}, 1},
		"priority beats specific":      {[]vault.Binding{b("task:t", 100, false), b("framework:f", 200, false)}, 1},
		"task before agent":            {[]vault.Binding{b("agent:a", 100, false), b("task:t", 100, false)}, 1},
		"agent before framework":       {[]vault.Binding{b("framework:f", 100, false), b("agent:a", 100, false)}, 1},
		"the first of equals":          {[]vault.Binding{b("agent:a", 100, false), b("agent:a", 100, false)}, 0},
		"disabled ones do not count":   {[]vault.Binding{off, b("agent:a", 100, false)}, 1},
		"others do not count":          {[]vault.Binding{b("agent:z", 9000, true)}, -1},
		"no binding":                   {nil, -1},
		"what is not stated is no one": {[]vault.Binding{b("agent:", 100, false)}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			f := vault.Facts{Bindings: c.bindings}
			got := governance.Choose(&f, who)
			if c.want < 0 && got != nil || c.want >= 0 && got != &f.Bindings[c.want] {
				t.Errorf("chose %+v", got)
			}
		})
	}
}

func TestRankAndDegrade(t *testing.T) {
	direct := func(required bool, priority vault.Ratio) func(*vault.Facts) {
		return func(f *vault.Facts) {
			f.Bindings = []vault.Binding{{Target: "agent:a", Mode: vault.ModeDirect, Priority: priority, Required: required, Enabled: true}}
		}
	}
	facts := []vault.Facts{
		approved("a-optional", direct(false, 9999)),
		approved("b-required", direct(true, 0)),
		approved("c-small", nil),
		approved("d-required-and-huge", direct(true, 100)),
	}
	costs := []map[vault.Mode]int{
		{vault.ModeDirect: 50, vault.ModeSummary: 30, vault.ModeReference: 12},
		{vault.ModeDirect: 70, vault.ModeSummary: 40, vault.ModeReference: 20},
		{vault.ModeReference: 5},
		{vault.ModeDirect: 900, vault.ModeReference: 800},
	}
	cost := governance.Cost{Frame: 3, Form: func(i int, m vault.Mode) (int, bool) { n, ok := costs[i][m]; return n, ok }}
	l := governance.Resolve(vault.DefaultConfig(), facts, governance.Request{Who: governance.Who{Agent: "a"}, TokenBudget: 64, Now: now}, relevant(600), cost)
	var got []string
	for _, s := range l.Selected {
		got = append(got, fmt.Sprintf("%s %s<%s %d", facts[s.Index].ID, s.Mode, s.DegradedFrom, s.Tokens))
	}
	want := []string{"b-required summary<direct 40", "a-optional reference<direct 12", "c-small reference< 5"}
	if !slices.Equal(got, want) || l.Tokens != 60 {
		t.Errorf("selected %q, %d tokens, want %q, 60", got, l.Tokens, want)
	}
	if l.Complete() || !slices.Equal(l.Missing, []vault.ID{"d-required-and-huge"}) {
		t.Errorf("missing %v", l.Missing)
	}
}

func TestRequiredAndUnreceiptedIsMissing(t *testing.T) {
	f := approved("x", func(f *vault.Facts) {
		f.Receipted = false
		f.Bindings = []vault.Binding{{Target: "agent:a", Mode: vault.ModeDirect, Required: true, Enabled: true}}
	})
	l := governance.Resolve(vault.DefaultConfig(), []vault.Facts{f}, governance.Request{Who: governance.Who{Agent: "a"}, TokenBudget: 64, Now: now}, relevant(0), tenEach)
	if l.Complete() {
		t.Error("a required asset that was edited after approval is not missed")
	}
	l = governance.Resolve(vault.DefaultConfig(), []vault.Facts{f}, governance.Request{Who: governance.Who{Agent: "b"}, TokenBudget: 64, Now: now}, relevant(0), tenEach)
	if !l.Complete() {
		t.Error("another agent misses what it was never to get")
	}
}

// TestPackingProperty: whatever the assets, the budget holds, required assets
// come first, no optional one takes the room of a required one, and every
// asset is in, out with a reason, or counted.
func TestPackingProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "assets")
		facts, costs, scores := make([]vault.Facts, n), make([][4]int, n), make([]vault.Ratio, n)
		for i := range facts {
			facts[i] = approved(vault.ID(fmt.Sprintf("a%02d", i)), func(f *vault.Facts) {
				f.Priority = vault.Ratio(rapid.IntRange(0, 10000).Draw(t, "priority"))
				f.Visibility = rapid.SampledFrom([]vault.Visibility{vault.VisibilityProject, vault.VisibilityPrivate}).Draw(t, "visibility")
				f.Status = rapid.SampledFrom([]vault.Status{vault.StatusApproved, vault.StatusApproved, vault.StatusCandidate}).Draw(t, "status")
				if rapid.Bool().Draw(t, "bound") {
					f.Bindings = []vault.Binding{{Target: "agent:a", Mode: rapid.SampledFrom(vault.Modes).Draw(t, "mode"),
						Priority: f.Priority, Required: rapid.Bool().Draw(t, "required"), Enabled: true}}
				}
			})
			for m := range costs[i] {
				costs[i][m] = rapid.IntRange(1, 200).Draw(t, "tokens")
			}
			scores[i] = vault.Ratio(rapid.IntRange(0, 10000).Draw(t, "relevance"))
		}
		budget := rapid.IntRange(vault.LeastTokenBudget, 600).Draw(t, "budget")
		cost := governance.Cost{Frame: 40, Form: func(i int, m vault.Mode) (int, bool) { return costs[i][slices.Index(vault.Modes, m)], true }}
		request := governance.Request{Who: governance.Who{Agent: "a"}, TokenBudget: budget, Now: now}
		l := governance.Resolve(vault.DefaultConfig(), facts, request, func(i int) vault.Ratio { return scores[i] }, cost)

		if l.Tokens > budget {
			t.Fatalf("%d tokens in a budget of %d", l.Tokens, budget)
		}
		if len(l.Selected)+len(l.Excluded)+l.Hidden != n {
			t.Fatalf("%d in, %d out, %d hidden of %d", len(l.Selected), len(l.Excluded), l.Hidden, n)
		}
		optional, spent := false, 0
		for _, s := range l.Selected {
			required := s.Binding != nil && s.Binding.Required
			if required && optional {
				t.Fatal("a required asset behind an optional one")
			}
			if optional = !required; required {
				spent += s.Tokens
			}
		}
		for _, id := range l.Missing {
			i := slices.IndexFunc(facts, func(f vault.Facts) bool { return f.ID == id })
			if room := budget - cost.Frame - spent; costs[i][slices.Index(vault.Modes, vault.ModeReference)] <= room {
				t.Fatalf("%s is missing, and would have fitted beside the required ones", id)
			}
		}
	})
}
