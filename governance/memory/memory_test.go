package memory_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/vault"
)

var now = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

func config(t *testing.T, text string) *vault.Config {
	t.Helper()
	c, err := vault.ParseConfig([]byte("schema: lm.vault/v1\nproject: lm\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const tree = `scopes:
  - {kind: owner, id: o}
  - {kind: workspace, id: w, parent: "owner:o"}
  - {kind: project, id: lm, parent: "workspace:w"}
  - {kind: repository, id: r, parent: "project:lm"}
  - {kind: repository, id: side, parent: "project:lm"}
  - {kind: session, id: s, parent: "repository:r"}
  - {kind: task, id: t, parent: "session:s"}
  - {kind: workspace, id: loop1, parent: "workspace:loop2"}
  - {kind: workspace, id: loop2, parent: "workspace:loop1"}
`

func scope(name string) memory.Scope {
	kind, id, _ := strings.Cut(name, ":")
	return memory.Scope{Kind: agentprotocol.ScopeKind(kind), ID: id}
}

func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	var stable *agentprotocol.StableError
	switch {
	case code == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case code != "" && (!errors.As(err, &stable) || stable.Code != code || stable.Message == ""):
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// Up the tree and never sideways: every pair of levels, with the listed id and
// with another.
func TestCovers(t *testing.T) {
	tr := memory.NewTree(config(t, tree))
	line := []string{"owner:o", "workspace:w", "project:lm", "repository:r", "session:s", "task:t"}
	for i, bound := range line {
		p := memory.Principal{Bound: scope(bound), Home: scope(bound)}
		for j, s := range line {
			if got := tr.Covers(p, scope(s)); got != (j >= i) {
				t.Errorf("%s covers %s: %t", bound, s, got)
			}
			kind, _, _ := strings.Cut(s, ":")
			unlisted := kind == "session" || kind == "task"
			if got := tr.Covers(p, scope(kind+":other")); got != unlisted {
				t.Errorf("%s covers %s:other: %t", bound, kind, got)
			}
		}
		if tr.Covers(p, scope("repository:side")) != (i <= 2) {
			t.Errorf("%s and repository:side", bound)
		}
	}
	if got := tr.Line(scope("workspace:loop1"), scope("project:lm")); len(got) != 2 {
		t.Errorf("a loop: %v", got)
	}
	if tr.Named(scope("project:current")) != scope("project:lm") {
		t.Error("current is not the project")
	}
	a, b := memory.Principal{Bound: scope("repository:r"), Home: scope("repository:r")}, memory.Principal{Bound: scope("repository:side"), Home: scope("repository:side")}
	if tr.Sees(a, scope("session:x"), b.Home) || !tr.Sees(a, scope("session:x"), a.Home) || !tr.Sees(a, scope("session:s"), b.Home) {
		t.Error("an unlisted session is its author's")
	}
}

func TestPrincipals(t *testing.T) {
	c := config(t, `people:
  alice: {}
  bob: {trust: collaborator}
  carol: {trust: owner, capabilities: [read]}
  dan: {trust: adapter}
agents:
  a: {framework: codex, scope: "repository:r", capabilities: [read, confirm]}
  bad: {capabilities: [approve]}
policy: {approvers: ["user:alice"]}
`+tree)
	for _, w := range []struct{ who, trust, capabilities, bound, code string }{
		{"user:alice", "owner", "read propose review approve handoff feedback", "owner:o", ""},
		{"user:bob", "collaborator", "read propose review handoff feedback", "owner:o", ""},
		{"user:carol", "owner", "read", "owner:o", ""},
		{"user:dan", "adapter", "read propose handoff feedback", "owner:o", ""},
		{"user:eve", "", "", "", agentprotocol.ErrCodeInsufficientScope},
		{"agent:a", "adapter", "read confirm", "repository:r", ""},
		{"agent:new", "adapter", "read propose feedback", "project:lm", ""},
		{"agent:bad", "", "", "", agentprotocol.ErrCodeValidationFailed},
	} {
		p, err := memory.PrincipalOf(c, vault.Subject(w.who), "user:alice")
		wantCode(t, w.who, err, w.code)
		if err != nil {
			continue
		}
		var has []string
		for _, capability := range p.Capabilities {
			has = append(has, string(capability))
		}
		if string(p.Trust) != w.trust || strings.Join(has, " ") != w.capabilities || p.Bound != scope(w.bound) {
			t.Errorf("%s: %s %v %v", w.who, p.Trust, has, p.Bound)
		}
	}
	if p, err := memory.PrincipalOf(config(t, ""), "user:x", ""); err != nil || !p.CanConfirm() || p.Trust != "owner" {
		t.Errorf("the one person: %+v %v", p, err)
	}
	p, _ := memory.PrincipalOf(c, "agent:a", "")
	for _, n := range []struct {
		stated agentprotocol.Principal
		code   string
	}{
		{agentprotocol.Principal{}, ""},
		{agentprotocol.Principal{PrincipalID: "agent:a", Capabilities: []agentprotocol.Capability{"read"}}, ""},
		{agentprotocol.Principal{PrincipalID: "user:alice"}, agentprotocol.ErrCodeInsufficientScope},
		{agentprotocol.Principal{Trust: "owner"}, agentprotocol.ErrCodeInsufficientScope},
		{agentprotocol.Principal{Capabilities: []agentprotocol.Capability{"read", "approve"}}, agentprotocol.ErrCodeInsufficientScope},
	} {
		_, err := p.Narrow(n.stated)
		wantCode(t, fmt.Sprint(n.stated), err, n.code)
	}
	owner, _ := memory.PrincipalOf(config(t, ""), "user:x", "")
	for _, n := range []struct {
		stated agentprotocol.Principal
		want   string // what it may; "": nothing is handed out
	}{
		{agentprotocol.Principal{Trust: "collaborator"}, "[read propose review handoff feedback]"},
		{agentprotocol.Principal{Trust: "adapter"}, "[read propose handoff feedback]"},
		{agentprotocol.Principal{Trust: "adapter", Capabilities: []agentprotocol.Capability{"read"}}, "[read]"},
		{agentprotocol.Principal{Trust: "adapter", Capabilities: []agentprotocol.Capability{"review"}}, ""},
		{agentprotocol.Principal{Trust: "owner"}, "[read propose review approve handoff feedback]"},
		{agentprotocol.Principal{Trust: "odd"}, ""},
	} {
		if got, err := owner.Narrow(n.stated); (err == nil) != (n.want != "") || err == nil && (fmt.Sprint(got.Capabilities) != n.want || got.Trust != n.stated.Trust) {
			t.Errorf("an owner as %v: %v %v", n.stated, got.Capabilities, err)
		}
	}
	var fields []string
	for _, problem := range memory.Problems(c) {
		fields = append(fields, problem.Field)
	}
	if want := []string{"agents.bad", "scopes[7].parent", "scopes[8].parent"}; !slices.Equal(fields, want) {
		t.Errorf("problems of %v, want %v", fields, want)
	}
}

func record(id, subject, object string, change func(*memory.Record)) memory.Record {
	r := memory.Record{SchemaVersion: agentprotocol.SchemaVersion, ID: id, Kind: "fact", Scope: scope("project:lm"), State: "confirmed", Subject: subject, Object: object, Summary: "s", CreatorID: "agent:a", CreatedAt: now, UpdatedAt: now}
	if change != nil {
		change(&r)
	}
	return r
}

func proposal(subject, object string, change func(*agentprotocol.Proposal)) agentprotocol.Proposal {
	p := agentprotocol.Proposal{ProposalID: "prop_1", Principal: agentprotocol.DefaultAdapterPrincipal("agent:a", ""), Scope: scope("project:lm"), Kind: "fact", Subject: subject, Object: object, Summary: "s",
		Sources: agentprotocol.SourceRefList{{Kind: "file", Ref: "x"}}, CreatedAt: now}
	if change != nil {
		change(&p)
	}
	return p
}

func TestReview(t *testing.T) {
	policy := vault.DefaultConfig().Policy.Memory
	policy.Kinds = []string{"fact", "event"}
	past := now
	records := []memory.Record{
		record("mem_2", "Café  ", "Monday", nil), record("mem_1", "cafe\u0301", "friday", nil), record("mem_3", "noon", "", nil),
		record("mem_4", "gone", "x", func(r *memory.Record) { r.State = "superseded" }), record("mem_5", "gone", "y", func(r *memory.Record) { r.ExpiresAt = &past }),
		record("mem_6", "elsewhere", "x", func(r *memory.Record) { r.Scope = scope("repository:r") }), record("mem_7", "", "x", nil),
		record("mem_8", "Straße", "Σ", nil),
	}
	unsourced := func(p *agentprotocol.Proposal) { p.Sources = nil }
	for name, c := range map[string]struct {
		p              agentprotocol.Proposal
		status, reason string
		said           string
	}{
		"valid":                  {proposal("new", "x", nil), "approval_required", "valid", ""},
		"unsourced":              {proposal("new", "x", unsourced), "approval_required", "unsourced", "unsourced"},
		"duplicate and conflict": {proposal(" CAFÉ", "MONDAY ", unsourced), "rejected", "duplicate", "duplicate: mem_2 says the same; conflict: mem_1 say something else of the same subject; unsourced"},
		"conflict":               {proposal("café", "tuesday", nil), "conflict_required", "conflict_existing", "conflict: mem_1, mem_2"},
		"same summary":           {proposal("noon", "", nil), "rejected", "duplicate", "mem_3"},
		"another summary":        {proposal("noon", "", func(p *agentprotocol.Proposal) { p.Summary = "t" }), "approval_required", "valid", ""},
		"superseded and expired": {proposal("gone", "x", nil), "approval_required", "valid", ""},
		"folded":                 {proposal("STRASSE", "ς", nil), "rejected", "duplicate", "mem_8"},
		"another scope":          {proposal("elsewhere", "x", nil), "approval_required", "valid", ""},
		"another kind":           {proposal("café", "monday", func(p *agentprotocol.Proposal) { p.Kind = "event" }), "approval_required", "valid", ""},
		"no subject":             {proposal(" ", "x", nil), "approval_required", "valid", ""},
		"kind denied":            {proposal("café", "monday", func(p *agentprotocol.Proposal) { p.Kind = "task" }), "rejected", "policy_denied", "policy.memory.kinds"},
		"risk denied":            {proposal("new", "x", func(p *agentprotocol.Proposal) { p.Risk = "high" }), "rejected", "policy_denied", "max_risk"},
		"scope before policy":    {proposal("new", "x", func(p *agentprotocol.Proposal) { p.Scope, p.Risk = scope("owner:o"), "high" }), "rejected", "scope_mismatch", "owner:o"},
		"confirmed is not on":    {proposal("new", "x", func(p *agentprotocol.Proposal) { p.RequestedState = "confirmed" }), "approval_required", "valid", "confirms nothing"},
	} {
		cfg := config(t, tree)
		by, err := memory.PrincipalOf(cfg, "agent:a", "")
		if err != nil {
			t.Fatal(err)
		}
		got := memory.Review(c.p, by, memory.NewTree(cfg), policy, records, now)
		if string(got.Status) != c.status || string(got.Reason) != c.reason || !strings.Contains(got.Message, c.said) || got.ProposalID != c.p.ProposalID {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func person(t *testing.T, who string) memory.Principal {
	t.Helper()
	p, err := memory.PrincipalOf(config(t, ""), vault.Subject(who), "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMayApprove(t *testing.T) {
	tr, policy := memory.NewTree(config(t, "")), vault.DefaultConfig().Policy.Memory
	agent, alice := person(t, "agent:x"), person(t, "user:alice")
	weak := alice
	weak.Trust, weak.Capabilities = "collaborator", []agentprotocol.Capability{"read", "review"}
	own := proposal("a", "b", func(p *agentprotocol.Proposal) { p.Principal.PrincipalID = "user:alice" })
	for name, c := range map[string]struct {
		p      agentprotocol.Proposal
		status agentprotocol.ProposalStatus
		by     memory.Principal
		code   string
	}{
		"a person":     {proposal("a", "b", nil), "approval_required", alice, ""},
		"an agent":     {proposal("a", "b", nil), "approval_required", agent, "approval_required"},
		"no approver":  {proposal("a", "b", nil), "approval_required", weak, "approval_required"},
		"their own":    {own, "approval_required", alice, "approval_required"},
		"a draft":      {proposal("a", "b", nil), "draft_saved", alice, "rejected"},
		"a rejected":   {proposal("a", "b", nil), "rejected", alice, "rejected"},
		"a used one":   {proposal("a", "b", nil), "approved", alice, "rejected"},
		"out of scope": {proposal("a", "b", func(p *agentprotocol.Proposal) { p.Scope = scope("project:other") }), "approval_required", alice, "insufficient_scope"},
	} {
		wantCode(t, name, memory.MayApprove(c.p, c.status, c.by, tr, policy), c.code)
	}
	policy.SelfApproval = true
	wantCode(t, "their own, allowed", memory.MayApprove(own, "approval_required", alice, tr, policy), "")
	wantCode(t, "reject", memory.MayReject(own, "approval_required", false, weak, tr), "")
	wantCode(t, "reject a used one", memory.MayReject(own, "approval_required", true, weak, tr), "rejected")
	wantCode(t, "reject without a capability", memory.MayReject(own, "approval_required", false, agent, tr), "approval_required")
}

// books keeps records as steps leave them, as a vault does.
type books map[string]memory.Record

func (b books) list() (out []memory.Record) {
	for _, r := range b {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b memory.Record) int { return strings.Compare(a.ID, b.ID) })
	return out
}

func (b books) take(t *rapid.T, steps []memory.Step) {
	for _, s := range steps {
		before, known := b[s.Record.ID]
		if known && before.State != s.From || !known && s.From != "proposed" {
			t.Fatalf("%s leads on from %s, and it was %s", s.Record.ID, s.From, before.State)
		}
		if s.From != s.Record.State && !agentprotocol.ValidTransition(s.From, s.Record.State) {
			t.Fatalf("%s cannot become %s", s.From, s.Record.State)
		}
		if err := s.Record.Validate(); err != nil {
			t.Fatal(err)
		}
		b[s.Record.ID] = s.Record
	}
}

// Whatever is approved, superseded, resolved, expired and restored: a record is in
// conflict exactly while it names somebody, and both sides agree.
func TestConflictsAgree(t *testing.T) {
	alice := person(t, "user:alice")
	rapid.Check(t, func(t *rapid.T) {
		b := books{}
		for n := range rapid.IntRange(1, 12).Draw(t, "acts") {
			var ids []string
			for _, r := range b.list() {
				ids = append(ids, r.ID)
			}
			var steps []memory.Step
			var err error
			act := rapid.IntRange(0, 5).Draw(t, "act")
			id := ""
			if len(ids) > 0 {
				id = rapid.SampledFrom(ids).Draw(t, "id")
			} else {
				act = 0
			}
			switch act {
			case 0, 1:
				p := proposal("s", rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "object"), nil)
				cfg := vault.DefaultConfig()
				cfg.Project = "lm"
				review := memory.Review(p, memory.Principal{Principal: p.Principal, Bound: scope("project:lm"), Home: scope("project:lm")}, memory.NewTree(cfg), cfg.Policy.Memory, b.list(), now)
				var gone []string
				for _, c := range review.ConflictingMemoryIDs {
					if rapid.Bool().Draw(t, "supersede") {
						gone = append(gone, c)
					}
				}
				steps, err = memory.Approve(p, review, memory.Approval{Supersede: gone, KeepBoth: rapid.Bool().Draw(t, "both")}, fmt.Sprintf("mem_%02d", n), b.list(), now)
			case 2:
				steps, err = memory.Supersede(id, "", alice, b.list(), now)
			case 3:
				steps, err = memory.Expire(id, alice, b.list(), now)
			case 4:
				steps, err = memory.Restore(id, nil, alice, b.list(), b.list(), now)
			case 5:
				steps, err = memory.Resolve(id, nil, rapid.Bool().Draw(t, "both"), alice, b.list(), now)
			}
			var stable *agentprotocol.StableError
			if err != nil && !errors.As(err, &stable) {
				t.Fatalf("%v is no error of the contract", err)
			}
			if err == nil {
				b.take(t, steps)
			}
			for _, r := range b {
				if (r.State == "conflicted") != (len(r.ConflictsWith) > 0) {
					t.Fatalf("%s is %s and names %v", r.ID, r.State, r.ConflictsWith)
				}
				for _, other := range r.ConflictsWith {
					if !slices.Contains(b[other].ConflictsWith, r.ID) {
						t.Fatalf("%s names %s, which names %v", r.ID, other, b[other].ConflictsWith)
					}
				}
			}
		}
	})
}

func TestNobodyElseChangesWhatIsConfirmed(t *testing.T) {
	agent := person(t, "agent:x")
	records := []memory.Record{record("mem_1", "a", "b", nil)}
	_, err := memory.Expire("mem_1", agent, records, now)
	wantCode(t, "expire", err, "approval_required")
	agent.Capabilities = append(agent.Capabilities, "confirm")
	_, err = memory.Expire("mem_1", agent, records, now)
	wantCode(t, "expire with confirm", err, "")
	_, err = memory.Restore("mem_1", nil, agent, records, nil, now)
	wantCode(t, "restore what is confirmed", err, "validation_failed")
	_, err = memory.Supersede("mem_9", "", agent, records, now)
	wantCode(t, "supersede nothing", err, "validation_failed")
}

// What time took out of use stands for nothing, and settles no conflict.
func TestWhatHasExpiredSettlesNothing(t *testing.T) {
	alice, past := person(t, "user:alice"), now.Add(-time.Hour)
	in := func(id, object, with string, expires *time.Time) memory.Record {
		return record(id, "a", object, func(r *memory.Record) {
			r.State, r.ConflictsWith, r.ExpiresAt = "conflicted", []string{with}, expires
		})
	}
	records := []memory.Record{in("mem_1", "1", "mem_2", &past), in("mem_2", "2", "mem_1", nil)}
	_, err := memory.Resolve("mem_1", nil, false, alice, records, now)
	wantCode(t, "resolve what has expired", err, "validation_failed")
	_, err = memory.Supersede("mem_2", "mem_1", alice, records, now)
	wantCode(t, "supersede by what has expired", err, "validation_failed")
	_, err = memory.Supersede("mem_1", "", alice, records, now)
	wantCode(t, "supersede what has expired", err, "")
}
