package agentprotocol_test

import (
	"errors"
	"strings"
	"testing"

	"longmemory.dev/lm/agentprotocol"
)

const (
	invalidScope     = agentprotocol.ErrCodeInvalidScope
	validationFailed = agentprotocol.ErrCodeValidationFailed
	blank            = " \t\n\u00a0\u3000"
)

// defect breaks a valid value in one way and says how Validate reports it.
type defect[T any] struct {
	inject  func(*T)
	path    string // in front of the StableError, "" for none
	code    string
	mention string // part of the message
}

type validator interface{ Validate() error }

// testDefects injects each defect alone, then each pair: the defects are in
// the order of the checks, so the earlier one must be the one reported. The
// later is injected first, for two may be in the same field.
func testDefects[T validator](t *testing.T, valid func() T, defects []defect[T]) {
	t.Helper()
	if err := valid().Validate(); err != nil {
		t.Fatalf("the valid value fails: %v", err)
	}
	for i, d := range defects {
		v := valid()
		d.inject(&v)
		testFailure(t, i, v.Validate(), d.path, d.code, d.mention)
		for j := i + 1; j < len(defects); j++ {
			v := valid()
			defects[j].inject(&v)
			d.inject(&v)
			testFailure(t, i, v.Validate(), d.path, d.code, d.mention)
		}
	}
}

func testFailure(t *testing.T, i int, err error, path, code, mention string) {
	t.Helper()
	var stable *agentprotocol.StableError
	if !errors.As(err, &stable) {
		t.Fatalf("%d: got %v, want a StableError", i, err)
	}
	if stable.Code != code || !strings.Contains(stable.Message, mention) {
		t.Errorf("%d: got %v, want %s with %q", i, err, code, mention)
	}
	want := stable.Error()
	if path != "" {
		want = path + ": " + want
	}
	if err.Error() != want {
		t.Errorf("%d: got %v, want path %q", i, err, path)
	}
}

// scopeDefects and principalDefects are the same in every value that nests one.
func scopeDefects[T any](at func(*T) *agentprotocol.Scope) []defect[T] {
	return []defect[T]{
		{func(v *T) { at(v).Kind = "" }, "scope", invalidScope, "kind"},
		{func(v *T) { at(v).Kind = "Project" }, "scope", invalidScope, "kind"},
		{func(v *T) { at(v).ID = blank }, "scope", invalidScope, "id"},
	}
}

func principalDefects[T any](path string, at func(*T) *agentprotocol.Principal) []defect[T] {
	return []defect[T]{
		{func(v *T) { at(v).PrincipalID = "" }, path, validationFailed, "principal_id"},
		{func(v *T) { at(v).Trust = "" }, path, validationFailed, "trust"},
		{func(v *T) { at(v).Capabilities = []agentprotocol.Capability{"read", "fly"} }, path + ": capabilities[1]", validationFailed, "fly"},
		{func(v *T) { at(v).SchemaVersion = "v2" }, path, validationFailed, "schema_version"},
	}
}

func sourceDefects[T any](at func(*T) agentprotocol.SourceRefList) []defect[T] {
	return []defect[T]{
		{func(v *T) { at(v)[0].Kind = blank }, "sources[0]", validationFailed, "kind"},
		{func(v *T) { at(v)[2].Kind = "" }, "sources[2]", validationFailed, "kind"},
		{func(v *T) { at(v)[2].Ref = "" }, "sources[2]", validationFailed, "ref"},
	}
}

func join[T any](lists ...[]defect[T]) []defect[T] {
	var all []defect[T]
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func TestScopeDefects(t *testing.T) {
	type scope = agentprotocol.Scope
	testDefects(t, fullScope, []defect[scope]{
		{func(s *scope) { s.Kind = "" }, "", invalidScope, "kind"},
		{func(s *scope) { s.Kind = "OWNER" }, "", invalidScope, "kind"},
		{func(s *scope) { s.Kind = " owner" }, "", invalidScope, "kind"},
		{func(s *scope) { s.ID = "" }, "", invalidScope, "id"},
		{func(s *scope) { s.ID = blank }, "", invalidScope, "id"},
	})
}

func TestSourceDefects(t *testing.T) {
	type source = agentprotocol.SourceRef
	testDefects(t, func() source { return source{Kind: "anything", Ref: "r"} }, []defect[source]{
		{func(s *source) { s.Kind = "" }, "", validationFailed, "kind"},
		{func(s *source) { s.Kind = blank }, "", validationFailed, "kind"},
		{func(s *source) { s.Ref = "" }, "", validationFailed, "ref"},
		{func(s *source) { s.Ref = blank }, "", validationFailed, "ref"},
	})
	type list = agentprotocol.SourceRefList
	testDefects(t, fullSources, []defect[list]{
		{func(l *list) { (*l)[0].Ref = "" }, "[0]", validationFailed, "ref"},
		{func(l *list) { (*l)[2].Kind = "" }, "[2]", validationFailed, "kind"},
	})
	if err := list(nil).Validate(); err != nil {
		t.Errorf("no sources: %v", err)
	}
}

func TestPrincipalDefects(t *testing.T) {
	type principal = agentprotocol.Principal
	type caps = []agentprotocol.Capability
	testDefects(t, fullPrincipal, []defect[principal]{
		{func(p *principal) { p.PrincipalID = "" }, "", validationFailed, "principal_id"},
		{func(p *principal) { p.PrincipalID = blank }, "", validationFailed, "principal_id"},
		{func(p *principal) { p.Trust = "" }, "", validationFailed, "trust"},
		{func(p *principal) { p.Trust = "Owner" }, "", validationFailed, "trust"},
		{func(p *principal) { p.Trust = blank }, "", validationFailed, "trust"},
		{func(p *principal) { p.Capabilities = caps{"read", ""} }, "capabilities[1]", validationFailed, "capability"},
		{func(p *principal) { p.Capabilities = caps{"Read"} }, "capabilities[0]", validationFailed, "Read"},
		{func(p *principal) { p.Capabilities = caps{"approve", "review", "fly"} }, "capabilities[2]", validationFailed, "fly"},
		{func(p *principal) { p.Capabilities = caps{"review", "approve"} }, "capabilities[1]", validationFailed, `"approve" needs trust owner`},
		{func(p *principal) { p.Capabilities = caps{"read", "review"} }, "capabilities[1]", validationFailed, `"review" needs trust collaborator or owner`},
		{func(p *principal) { p.SchemaVersion = agentprotocol.ContextSchemaVersion }, "", validationFailed, "schema_version"},
	})
}

func TestRecordDefects(t *testing.T) {
	type record = agentprotocol.MemoryRecord
	testDefects(t, fullRecord, join(
		[]defect[record]{
			{func(r *record) { r.ID = "" }, "", validationFailed, "id"},
			{func(r *record) { r.ID = blank }, "", validationFailed, "id"},
			{func(r *record) { r.Kind = "" }, "", validationFailed, "kind"},
			{func(r *record) { r.Kind = "hunch" }, "", validationFailed, "kind"},
		},
		scopeDefects(func(r *record) *agentprotocol.Scope { return &r.Scope }),
		[]defect[record]{
			{func(r *record) { r.State = "" }, "", validationFailed, "state"},
			{func(r *record) { r.State = "Confirmed" }, "", validationFailed, "state"},
			{func(r *record) { r.Confidence = "certain" }, "", validationFailed, "confidence"},
			{func(r *record) { r.CreatorID = "" }, "", validationFailed, "creator_id"},
			{func(r *record) { r.CreatorID = blank }, "", validationFailed, "creator_id"},
		},
		sourceDefects(func(r *record) agentprotocol.SourceRefList { return r.Sources }),
		[]defect[record]{
			{func(r *record) { r.SupersedesID = r.ID }, "", validationFailed, "supersedes_id"},
			{func(r *record) { r.ConflictsWith = []string{"mem_2", r.ID} }, "conflicts_with[1]", validationFailed, "itself"},
			{func(r *record) { r.SchemaVersion = "yeisme.agent_memory.v2" }, "", validationFailed, "schema_version"},
		},
	))
}

func TestProposalDefects(t *testing.T) {
	type proposal = agentprotocol.Proposal
	testDefects(t, fullProposal, join(
		[]defect[proposal]{
			{func(p *proposal) { p.ProposalID = "" }, "", validationFailed, "proposal_id"},
			{func(p *proposal) { p.ProposalID = blank }, "", validationFailed, "proposal_id"},
		},
		principalDefects("principal", func(p *proposal) *agentprotocol.Principal { return &p.Principal }),
		scopeDefects(func(p *proposal) *agentprotocol.Scope { return &p.Scope }),
		[]defect[proposal]{
			{func(p *proposal) { p.Kind = "" }, "", validationFailed, "kind"},
			{func(p *proposal) { p.Kind = "hunch" }, "", validationFailed, "kind"},
			{func(p *proposal) { p.RequestedState = "rejected" }, "", validationFailed, "requested_state"},
			{func(p *proposal) { p.RequestedState = "superseded" }, "", validationFailed, "requested_state"},
			{func(p *proposal) { p.RequestedState = "expired" }, "", validationFailed, "requested_state"},
			{func(p *proposal) { p.RequestedState = "conflicted" }, "", validationFailed, "requested_state"},
			{func(p *proposal) { p.Risk = "extreme" }, "", validationFailed, "risk"},
		},
		sourceDefects(func(p *proposal) agentprotocol.SourceRefList { return p.Sources }),
		[]defect[proposal]{
			{func(p *proposal) { p.SchemaVersion = "v2" }, "", validationFailed, "schema_version"},
		},
	))
}

func TestRequestDefects(t *testing.T) {
	type request = agentprotocol.ContextRequest
	testDefects(t, fullRequest, join(
		principalDefects("principal", func(r *request) *agentprotocol.Principal { return &r.Principal }),
		scopeDefects(func(r *request) *agentprotocol.Scope { return &r.Scope }),
		[]defect[request]{
			{func(r *request) { r.KindFilter[0] = "" }, "kind_filter[0]", validationFailed, "kind"},
			{func(r *request) { r.KindFilter[1] = "hunch" }, "kind_filter[1]", validationFailed, "hunch"},
			{func(r *request) { r.Budget.MaxItems = -1 }, "budget", validationFailed, "max_items"},
			{func(r *request) { r.Budget.MaxChars = -1 }, "budget", validationFailed, "max_chars"},
			{func(r *request) { r.SchemaVersion = agentprotocol.SchemaVersion }, "", validationFailed, "schema_version"},
		},
	))
}

func TestHandoffDefects(t *testing.T) {
	type handoff = agentprotocol.Handoff
	testDefects(t, fullHandoff, join(
		[]defect[handoff]{
			{func(h *handoff) { h.HandoffID = "" }, "", validationFailed, "handoff_id"},
			{func(h *handoff) { h.HandoffID = blank }, "", validationFailed, "handoff_id"},
		},
		principalDefects("from_principal", func(h *handoff) *agentprotocol.Principal { return &h.FromPrincipal }),
		principalDefects("to_principal", func(h *handoff) *agentprotocol.Principal { return &h.ToPrincipal }),
		scopeDefects(func(h *handoff) *agentprotocol.Scope { return &h.Scope }),
		[]defect[handoff]{
			{func(h *handoff) { h.Objective = "" }, "", validationFailed, "objective"},
			{func(h *handoff) { h.Objective = blank }, "", validationFailed, "objective"},
		},
		sourceDefects(func(h *handoff) agentprotocol.SourceRefList { return h.Sources }),
		[]defect[handoff]{
			{func(h *handoff) { h.SchemaVersion = agentprotocol.SchemaVersion }, "", validationFailed, "schema_version"},
		},
	))
}

func TestFeedbackDefects(t *testing.T) {
	type feedback = agentprotocol.Feedback
	testDefects(t, fullFeedback, join(
		[]defect[feedback]{
			{func(f *feedback) { f.FeedbackID = "" }, "", validationFailed, "feedback_id"},
			{func(f *feedback) { f.FeedbackID = blank }, "", validationFailed, "feedback_id"},
		},
		principalDefects("principal", func(f *feedback) *agentprotocol.Principal { return &f.Principal }),
		scopeDefects(func(f *feedback) *agentprotocol.Scope { return &f.Scope }),
		[]defect[feedback]{
			{func(f *feedback) { f.Kind = "" }, "", validationFailed, "kind"},
			{func(f *feedback) { f.Kind = "praise" }, "", validationFailed, "kind"},
			{func(f *feedback) { f.SchemaVersion = agentprotocol.HandoffSchemaVersion }, "", validationFailed, "schema_version"},
		},
	))
}

func TestDescriptorDefects(t *testing.T) {
	type descriptor = agentprotocol.AdapterDescriptor
	testDefects(t, fullDescriptor, []defect[descriptor]{
		{func(d *descriptor) { d.AdapterID = "" }, "", validationFailed, "adapter_id"},
		{func(d *descriptor) { d.AdapterID = blank }, "", validationFailed, "adapter_id"},
		{func(d *descriptor) { d.Runtime = "" }, "", validationFailed, "runtime"},
		{func(d *descriptor) { d.Runtime = blank }, "", validationFailed, "runtime"},
		{func(d *descriptor) { d.SupportedVersions = nil }, "", validationFailed, "supported_versions"},
		{func(d *descriptor) { d.SupportedVersions = []string{} }, "", validationFailed, "supported_versions"},
		{func(d *descriptor) { d.SupportedVersions = []string{blank} }, "supported_versions[0]", validationFailed, "version"},
		{func(d *descriptor) { d.SupportedVersions = []string{"v1", ""} }, "supported_versions[1]", validationFailed, "version"},
		{func(d *descriptor) { d.Capabilities[1] = "fly" }, "capabilities[1]", validationFailed, "fly"},
		{func(d *descriptor) { d.MaxContextItems = -1 }, "", validationFailed, "max_context_items"},
		{func(d *descriptor) { d.MaxContextChars = -1 }, "", validationFailed, "max_context_chars"},
		{func(d *descriptor) { d.SchemaVersion = agentprotocol.SchemaVersion }, "", validationFailed, "schema_version"},
	})
}
