package agentprotocol_test

import (
	"testing"
	"time"

	"longmemory.dev/lm/agentprotocol"
)

// What Validate must let through: every known value, what may be left out, and
// blank strings where empty ones may stand.

func accept[T validator](t *testing.T, valid func() T, changes ...func(*T)) {
	t.Helper()
	for i, change := range changes {
		v := valid()
		change(&v)
		if err := v.Validate(); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func TestKnownValuesPass(t *testing.T) {
	for _, kind := range scopeKinds {
		accept(t, fullScope, func(s *agentprotocol.Scope) { s.Kind = kind })
	}
	for _, kind := range []agentprotocol.MemoryKind{
		"fact", "decision", "preference", "procedure", "event", "task", "failure",
	} {
		accept(t, fullRecord, func(r *agentprotocol.MemoryRecord) { r.Kind = kind })
		accept(t, fullProposal, func(p *agentprotocol.Proposal) { p.Kind = kind })
		accept(t, fullRequest, func(r *agentprotocol.ContextRequest) { r.KindFilter[0] = kind })
	}
	for _, state := range states {
		accept(t, fullRecord, func(r *agentprotocol.MemoryRecord) { r.State = state })
	}
	for _, confidence := range []agentprotocol.Confidence{"", blank, "low", "medium", "high", "verified"} {
		accept(t, fullRecord, func(r *agentprotocol.MemoryRecord) { r.Confidence = confidence })
	}
	for _, risk := range []agentprotocol.RiskLevel{"", blank, "low", "medium", "high"} {
		accept(t, fullProposal, func(p *agentprotocol.Proposal) { p.Risk = risk })
	}
	for _, state := range []agentprotocol.LifecycleState{"", blank, "proposed", "confirmed"} {
		accept(t, fullProposal, func(p *agentprotocol.Proposal) { p.RequestedState = state })
	}
	for _, kind := range []agentprotocol.FeedbackKind{
		"useful", "irrelevant", "stale", "incorrect", "missing", "completed", "scope_too_wide",
	} {
		accept(t, fullFeedback, func(f *agentprotocol.Feedback) { f.Kind = kind })
	}
}

func TestBlankSchemaVersionPasses(t *testing.T) {
	for _, version := range []string{"", blank} {
		accept(t, fullPrincipal, func(v *agentprotocol.Principal) { v.SchemaVersion = version })
		accept(t, fullRecord, func(v *agentprotocol.MemoryRecord) { v.SchemaVersion = version })
		accept(t, fullProposal, func(v *agentprotocol.Proposal) { v.SchemaVersion = version })
		accept(t, fullRequest, func(v *agentprotocol.ContextRequest) { v.SchemaVersion = version })
		accept(t, fullHandoff, func(v *agentprotocol.Handoff) { v.SchemaVersion = version })
		accept(t, fullFeedback, func(v *agentprotocol.Feedback) { v.SchemaVersion = version })
		accept(t, fullDescriptor, func(v *agentprotocol.AdapterDescriptor) { v.SchemaVersion = version })
	}
}

func TestOptionalFieldsPass(t *testing.T) {
	accept(t, fullRecord, func(r *agentprotocol.MemoryRecord) {
		*r = agentprotocol.MemoryRecord{ID: "mem_1", Kind: "fact", Scope: fullScope(), State: "proposed", CreatorID: "ada"}
	})
	accept(t, fullProposal, func(p *agentprotocol.Proposal) {
		*p = agentprotocol.Proposal{ProposalID: "prop_1", Principal: p.Principal, Scope: p.Scope, Kind: "fact"}
	})
	accept(t, fullRequest, func(r *agentprotocol.ContextRequest) {
		*r = agentprotocol.ContextRequest{Principal: r.Principal, Scope: r.Scope}
	})
	accept(t, fullHandoff, func(h *agentprotocol.Handoff) {
		*h = agentprotocol.Handoff{HandoffID: "hand_1", FromPrincipal: h.FromPrincipal, ToPrincipal: h.ToPrincipal, Scope: h.Scope, Objective: "o"}
	}, func(h *agentprotocol.Handoff) { h.RequestedNextCapability = "whatever helps" })
	accept(t, fullFeedback, func(f *agentprotocol.Feedback) {
		*f = agentprotocol.Feedback{FeedbackID: "fb_1", Principal: f.Principal, Scope: f.Scope, Kind: "missing"}
	})
	accept(t, fullDescriptor, func(d *agentprotocol.AdapterDescriptor) {
		*d = agentprotocol.AdapterDescriptor{AdapterID: "a", Runtime: "r", SupportedVersions: []string{"v1"}}
	})
}

// Which trust may hold which capability.
func TestGrants(t *testing.T) {
	for _, trust := range []agentprotocol.TrustLevel{"adapter", "collaborator", "owner"} {
		for _, c := range []agentprotocol.Capability{"read", "propose", "review", "approve", "confirm", "handoff", "feedback"} {
			p := agentprotocol.Principal{PrincipalID: "p", Trust: trust, Capabilities: []agentprotocol.Capability{c}}
			want := true
			switch c {
			case "approve":
				want = trust == "owner"
			case "review":
				want = trust != "adapter"
			}
			if got := p.Validate() == nil; got != want {
				t.Errorf("%s for %s: allowed = %t, want %t", c, trust, got, want)
			}
			if got, want := p.CanConfirm(), trust == "owner" || c == "confirm"; got != want {
				t.Errorf("%s for %s: CanConfirm = %t, want %t", c, trust, got, want)
			}
		}
	}
}

func TestHasCapability(t *testing.T) {
	owner := agentprotocol.Principal{PrincipalID: "ada", Trust: "owner", Capabilities: []agentprotocol.Capability{"read", "odd"}}
	for c, want := range map[agentprotocol.Capability]bool{
		"read": true, "odd": true, "Read": false, "confirm": false, "approve": false, "": false,
	} {
		if got := owner.HasCapability(c); got != want {
			t.Errorf("HasCapability(%q) = %t", c, got)
		}
	}
}

func TestIsRecallable(t *testing.T) {
	for _, state := range append(states, "", "Confirmed") {
		want := state == "confirmed" || state == "conflicted"
		if got := (agentprotocol.MemoryRecord{State: state}).IsRecallable(); got != want {
			t.Errorf("%q: %t", state, got)
		}
	}
}

func TestIsExpired(t *testing.T) {
	expires := created
	elsewhere := expires.In(time.FixedZone("", 2*60*60))
	for _, c := range []struct {
		at   *time.Time
		now  time.Time
		want bool
	}{
		{nil, expires, false},
		{&expires, expires.Add(-time.Nanosecond), false},
		{&expires, expires, true},
		{&elsewhere, expires, true},
		{&expires, expires.Add(time.Nanosecond), true},
	} {
		for _, state := range states {
			r := agentprotocol.MemoryRecord{ExpiresAt: c.at, State: state}
			if got := r.IsExpired(c.now); got != c.want {
				t.Errorf("%s until %v at %v: %t", state, c.at, c.now, got)
			}
		}
	}
}
