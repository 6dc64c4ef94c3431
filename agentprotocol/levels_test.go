package agentprotocol_test

import (
	"reflect"
	"slices"
	"testing"

	"longmemory.dev/lm/agentprotocol"
	"pgregory.net/rapid"
)

// From wide to narrow.
var scopeKinds = []agentprotocol.ScopeKind{"owner", "workspace", "project", "repository", "session", "task"}

var states = []agentprotocol.LifecycleState{"proposed", "confirmed", "rejected", "superseded", "expired", "conflicted"}

func TestContains(t *testing.T) {
	for i, outer := range scopeKinds {
		for j, inner := range scopeKinds {
			for _, id := range []string{"same", "other", ""} {
				got := agentprotocol.Scope{Kind: outer, ID: "same"}.Contains(agentprotocol.Scope{Kind: inner, ID: id})
				if want := i < j || i == j && id == "same"; got != want {
					t.Errorf("%s:same contains %s:%s = %t", outer, inner, id, got)
				}
			}
		}
	}
	for _, unknown := range []agentprotocol.ScopeKind{"", "Owner", "planet"} {
		for _, known := range append(scopeKinds, unknown) {
			a, b := agentprotocol.Scope{Kind: unknown, ID: "same"}, agentprotocol.Scope{Kind: known, ID: "same"}
			if a.Contains(b) || b.Contains(a) {
				t.Errorf("%q and %q: one contains the other", unknown, known)
			}
		}
	}
}

func TestValidTransition(t *testing.T) {
	type edge struct{ from, to agentprotocol.LifecycleState }
	edges := []edge{
		{"proposed", "confirmed"},
		{"proposed", "rejected"},
		{"confirmed", "superseded"},
		{"confirmed", "expired"},
		{"confirmed", "conflicted"},
		{"conflicted", "confirmed"},
		{"conflicted", "superseded"},
		{"superseded", "confirmed"},
		{"expired", "confirmed"},
	}
	pairs := 0
	for _, from := range append(states, "", "Proposed") {
		for _, to := range append(states, "", "Confirmed") {
			pairs++
			if got, want := agentprotocol.ValidTransition(from, to), slices.Contains(edges, edge{from, to}); got != want {
				t.Errorf("%q → %q = %t", from, to, got)
			}
		}
	}
	if pairs != 64 {
		t.Errorf("%d pairs", pairs)
	}
}

func TestSourceRefListDedupe(t *testing.T) {
	type list = agentprotocol.SourceRefList
	if got := list(nil).Dedupe(); got != nil {
		t.Errorf("nil: %#v", got)
	}
	if got := (list{}).Dedupe(); got == nil || len(got) != 0 {
		t.Errorf("empty: %#v", got)
	}
	in := list{
		{Kind: "url", Ref: "b", Label: "first"},
		{Kind: "url", Ref: "a"},
		{Kind: "url", Ref: "b", Label: "second", Span: "L1"},
		{Kind: "file", Ref: "b"},
		{Kind: "url", Ref: "a"},
	}
	before := slices.Clone(in)
	if got, want := in.Dedupe(), (list{before[0], before[1], before[3]}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if !slices.Equal(in, before) {
		t.Errorf("the receiver changed: %v", in)
	}
}

func TestSourceRefListDedupeProperties(t *testing.T) {
	name := rapid.SampledFrom([]string{"", "a", "b", "ab"})
	source := rapid.Custom(func(t *rapid.T) agentprotocol.SourceRef {
		return agentprotocol.SourceRef{Kind: name.Draw(t, "kind"), Ref: name.Draw(t, "ref"), Label: name.Draw(t, "label")}
	})
	same := func(a agentprotocol.SourceRef) func(agentprotocol.SourceRef) bool {
		return func(b agentprotocol.SourceRef) bool { return a.Kind == b.Kind && a.Ref == b.Ref }
	}
	rapid.Check(t, func(t *rapid.T) {
		in := agentprotocol.SourceRefList(rapid.SliceOf(source).Draw(t, "sources"))
		out := in.Dedupe()
		last := -1
		for i, r := range out {
			at := slices.IndexFunc(in, same(r))
			if at <= last || in[at] != r {
				t.Fatalf("%v: entry %d is not the next first one of %v", out, i, in)
			}
			last = at
		}
		for _, r := range in {
			if !slices.ContainsFunc(out, same(r)) {
				t.Fatalf("%v: %v is lost", out, r)
			}
		}
		if again := out.Dedupe(); !slices.Equal(again, out) {
			t.Fatalf("%v: a second time gives %v", out, again)
		}
	})
}

func TestSourceRefListIsEmpty(t *testing.T) {
	if l := (agentprotocol.SourceRefList)(nil); !l.IsEmpty() {
		t.Error("nil is not empty")
	}
	if l := (agentprotocol.SourceRefList{}); !l.IsEmpty() {
		t.Error("{} is not empty")
	}
	if l := (agentprotocol.SourceRefList{{}}); l.IsEmpty() {
		t.Error("a zero source is none")
	}
}

func TestDefaultAdapterPrincipal(t *testing.T) {
	got := agentprotocol.DefaultAdapterPrincipal("reviewer", "codex")
	want := agentprotocol.Principal{
		SchemaVersion: "yeisme.agent_memory.v1", PrincipalID: "reviewer", Runtime: "codex", Trust: "adapter",
		Capabilities: []agentprotocol.Capability{"read", "propose", "feedback"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	got.Capabilities[0] = "approve"
	if again := agentprotocol.DefaultAdapterPrincipal("reviewer", "codex"); !reflect.DeepEqual(again, want) {
		t.Errorf("two principals share their capabilities: %+v", again)
	}
}
