package memoryfile_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/memoryfile"
)

const (
	ulid    = "01kyxp9bm0041061050r3gg28a"
	otherID = "mem_01kyxp9bm0041061050r3gg28b"
)

var at = time.Date(2026, 8, 1, 0, 30, 0, 123000000, time.UTC)

func principal() agentprotocol.Principal {
	p := agentprotocol.DefaultAdapterPrincipal("agent:reviewer", "codex")
	p.Metadata = map[string]string{"b": "2", "a": "1"}
	return p
}

func record() agentprotocol.MemoryRecord {
	expires := at.AddDate(1, 0, 0)
	return agentprotocol.MemoryRecord{
		SchemaVersion: agentprotocol.SchemaVersion, ID: "mem_" + ulid, Kind: agentprotocol.MemoryKindDecision,
		Scope: agentprotocol.Scope{Kind: agentprotocol.ScopeKindProject, ID: "lm"}, State: agentprotocol.LifecycleConfirmed,
		Subject: "releases", Predicate: "are made", Object: "on Tuesdays: never later", Summary: "We release\non Tuesdays.", Confidence: agentprotocol.ConfidenceHigh,
		Sources:   agentprotocol.SourceRefList{{Kind: "url", Ref: "https://example.org/a", Span: "L1"}, {Kind: "asset", Ref: "note"}},
		CreatorID: "agent:reviewer", SupersedesID: otherID, ConflictsWith: []string{otherID}, CreatedAt: at, UpdatedAt: at, ExpiresAt: &expires,
		Metadata: map[string]string{"yes": "no", "n": "017", "t": "2026-01-01"},
	}
}

func proposal() memoryfile.Proposal {
	return memoryfile.Proposal{
		Proposal: agentprotocol.Proposal{
			SchemaVersion: agentprotocol.SchemaVersion, ProposalID: "prop_" + ulid, Principal: principal(),
			Scope: agentprotocol.Scope{Kind: agentprotocol.ScopeKindProject, ID: "lm"}, Kind: agentprotocol.MemoryKindFact,
			Subject: "releases", Object: "Tuesday", Sources: agentprotocol.SourceRefList{{Kind: "file", Ref: "a.go"}}, CreatedAt: at,
		},
		Review: agentprotocol.ProposalReview{ProposalID: "prop_" + ulid, Status: agentprotocol.ProposalStatusApprovalRequired, Reason: agentprotocol.ReasonValid, Message: "m"},
	}
}

func handoff() agentprotocol.Handoff {
	return agentprotocol.Handoff{
		SchemaVersion: agentprotocol.HandoffSchemaVersion, HandoffID: "hand_" + ulid, FromPrincipal: principal(), ToPrincipal: principal(),
		Scope: agentprotocol.Scope{Kind: agentprotocol.ScopeKindTask, ID: "a:b"}, Objective: "ship", CreatedAt: at, Decisions: []string{"one", "two: three"},
	}
}

func feedback() agentprotocol.Feedback {
	return agentprotocol.Feedback{
		SchemaVersion: agentprotocol.SchemaVersion, FeedbackID: "fb_" + ulid, Principal: principal(), Scope: agentprotocol.Scope{Kind: agentprotocol.ScopeKindProject, ID: "lm"},
		Kind: agentprotocol.FeedbackStale, MemoryID: "mem_" + ulid, CreatedAt: at,
	}
}

type failing interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// same writes a document, reads it back and holds the two against each other.
func same[T memoryfile.DTO](t failing, dto T) *memoryfile.Document[T] {
	t.Helper()
	written, err := memoryfile.New(dto)
	if err != nil {
		t.Fatal(err)
	}
	read, err := memoryfile.Read[T](vault.File{Path: written.File.Path, Data: written.File.Data, Size: written.File.Size})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read.DTO, dto) || read.Digest != written.Digest {
		t.Fatalf("\nwrote %+v\nread  %+v\n%s", dto, read.DTO, read.File.Data)
	}
	return read
}

func TestWriteThenRead(t *testing.T) {
	for path, got := range map[string]string{
		"memory/records/2026/08/mem_" + ulid + ".yaml":    same(t, record()).File.Path,
		"memory/proposals/2026/08/prop_" + ulid + ".yaml": same(t, proposal()).File.Path,
		"memory/handoffs/2026/08/hand_" + ulid + ".yaml":  same(t, handoff()).File.Path,
		"memory/feedback/2026/08/fb_" + ulid + ".yaml":    same(t, feedback()).File.Path,
	} {
		if got != path {
			t.Errorf("%s, want %s", got, path)
		}
	}
}

func TestKeysAreInTheOrderOfTheContract(t *testing.T) {
	want := `schema_version: yeisme.agent_memory.v1
proposal_id: prop_01kyxp9bm0041061050r3gg28a
principal:
  schema_version: yeisme.agent_memory.v1
  principal_id: agent:reviewer
  runtime: codex
  capabilities: [read, propose, feedback]
  trust: adapter
  metadata: {a: "1", b: "2"}
scope: {kind: project, id: lm}
kind: fact
subject: releases
object: Tuesday
requested_state: ""
sources: [{kind: file, ref: a.go}]
created_at: 2026-08-01T00:30:00.123Z
review:
  proposal_id: prop_01kyxp9bm0041061050r3gg28a
  status: approval_required
  reason: valid
  message: m
`
	if got := string(same(t, proposal()).File.Data); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// texts are such as YAML readers take for something else, and any others.
var texts = rapid.OneOf(rapid.String(), rapid.StringMatching(`[ \t\n\r:#'"\-{}\[\]a-z0-9?!&*|>%@,]{0,40}`),
	rapid.SampledFrom([]string{"yes", "~", "null", "1e3", "017", "2026-01-01", "<<", "=", "\u2028", "\x00", "\u0085", " ", "\n", "a\n\n", "---", "\ufeff", "\x7f", "é", "e\u0301"}))

// word is a text that is not blank.
func word(rt *rapid.T, label string) string { return "w" + texts.Draw(rt, label) }

func list(rt *rapid.T, label string) []string {
	var out []string
	for range rapid.IntRange(0, 3).Draw(rt, label) {
		out = append(out, texts.Draw(rt, label))
	}
	return out
}

func instant(rt *rapid.T, label string) time.Time {
	return time.Unix(rapid.Int64Range(0, 1<<33).Draw(rt, label), rapid.Int64Range(0, 999999999).Draw(rt, label+" nanoseconds")).UTC()
}

func sources(rt *rapid.T) agentprotocol.SourceRefList {
	var out agentprotocol.SourceRefList
	for range rapid.IntRange(0, 3).Draw(rt, "sources") {
		out = append(out, agentprotocol.SourceRef{Kind: word(rt, "kind"), Ref: word(rt, "ref"), Label: texts.Draw(rt, "label"), Span: texts.Draw(rt, "span")})
	}
	return out
}

func metadata(rt *rapid.T) map[string]string {
	return rapid.MapOfN(rapid.StringMatching(`[a-z.<\-:]{0,9}`), texts, 1, 4).Draw(rt, "metadata")
}

func anybody(rt *rapid.T) agentprotocol.Principal {
	return agentprotocol.Principal{
		SchemaVersion: agentprotocol.SchemaVersion, PrincipalID: word(rt, "principal"), Runtime: texts.Draw(rt, "runtime"), OwnerID: texts.Draw(rt, "owner"),
		Capabilities: []agentprotocol.Capability{agentprotocol.CapabilityRead}, Trust: agentprotocol.TrustLevelAdapter, Metadata: metadata(rt),
	}
}

func somewhere(rt *rapid.T) agentprotocol.Scope {
	return agentprotocol.Scope{Kind: agentprotocol.ScopeKindSession, ID: "s" + rapid.StringMatching(`[a-z0-9 é:./-]{0,20}`).Draw(rt, "scope")}
}

func TestWhateverIsWrittenIsReadBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		created := instant(rt, "created")
		id := strings.TrimPrefix(memoryfile.Records.NewID(created, [10]byte(rapid.SliceOfN(rapid.Byte(), 10, 10).Draw(rt, "random"))), "mem_")
		switch rapid.IntRange(0, 3).Draw(rt, "kind of document") {
		case 0:
			r := record()
			r.ID, r.CreatedAt, r.UpdatedAt, r.Scope, r.Sources, r.Metadata = "mem_"+id, created, instant(rt, "updated"), somewhere(rt), sources(rt), metadata(rt)
			r.Subject, r.Predicate, r.Object, r.Summary = texts.Draw(rt, "subject"), texts.Draw(rt, "predicate"), texts.Draw(rt, "object"), texts.Draw(rt, "summary")
			r.CreatorID, r.SupersedesID, r.ConflictsWith = word(rt, "creator"), texts.Draw(rt, "supersedes"), list(rt, "conflicts")
			if r.ExpiresAt = nil; rapid.Bool().Draw(rt, "expires") {
				expires := instant(rt, "expiry")
				r.ExpiresAt = &expires
			}
			same(rt, r)
		case 1:
			p := proposal()
			p.ProposalID, p.CreatedAt, p.Scope, p.Sources, p.Principal = "prop_"+id, created, somewhere(rt), sources(rt), anybody(rt)
			p.Subject, p.Summary, p.Object, p.Proposal.Reason = texts.Draw(rt, "subject"), texts.Draw(rt, "summary"), texts.Draw(rt, "object"), texts.Draw(rt, "reason")
			p.Review.Message, p.Review.ConflictingMemoryIDs, p.Review.DuplicateMemoryID = texts.Draw(rt, "message"), list(rt, "conflicts"), texts.Draw(rt, "duplicate")
			same(rt, p)
		case 2:
			h := handoff()
			h.HandoffID, h.CreatedAt, h.Scope, h.Sources, h.FromPrincipal, h.ToPrincipal = "hand_"+id, created, somewhere(rt), sources(rt), anybody(rt), anybody(rt)
			h.Objective, h.CurrentState, h.RequestedNextCapability = word(rt, "objective"), texts.Draw(rt, "state"), texts.Draw(rt, "next")
			h.Decisions, h.CompletedWork, h.Blockers, h.Verification, h.FollowUps = list(rt, "decisions"), list(rt, "work"), list(rt, "blockers"), list(rt, "verification"), list(rt, "follow-ups")
			same(rt, h)
		case 3:
			f := feedback()
			f.FeedbackID, f.CreatedAt, f.Scope, f.Principal = "fb_"+id, created, somewhere(rt), anybody(rt)
			f.MemoryID, f.ContextRequestRef, f.Comment = texts.Draw(rt, "memory"), texts.Draw(rt, "request"), texts.Draw(rt, "comment")
			same(rt, f)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	for name, change := range map[string]func(*agentprotocol.MemoryRecord){
		"an id from outside":     func(r *agentprotocol.MemoryRecord) { r.ID = "mem_../../../../../../../../et" },
		"a proposal's id":        func(r *agentprotocol.MemoryRecord) { r.ID = "prop_" + ulid },
		"no scope":               func(r *agentprotocol.MemoryRecord) { r.Scope = agentprotocol.Scope{} },
		"no creator":             func(r *agentprotocol.MemoryRecord) { r.CreatorID = " " },
		"no kind":                func(r *agentprotocol.MemoryRecord) { r.Kind = "" },
		"a conflict with itself": func(r *agentprotocol.MemoryRecord) { r.ConflictsWith = []string{r.ID} },
	} {
		r := record()
		change(&r)
		if _, err := memoryfile.New(r); err == nil {
			t.Errorf("%s: written", name)
		}
	}
}
