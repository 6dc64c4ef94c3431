package memory_test

import (
	"strings"
	"testing"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/vault"
)

// TestStanding changes one thing of a chain that counts at a time.
func TestStanding(t *testing.T) {
	r := record("mem_1", "a", "b", nil)
	digest := vault.Digest("sha256:" + strings.Repeat("a", 64))
	act := func(kind string, from, to string) *vault.Receipt {
		return &vault.Receipt{Project: "lm", Subject: "memory/mem_1", Kind: kind, From: vault.Status(from), To: vault.Status(to), Digest: digest,
			Object: strings.Repeat("b", 40), Actor: "user:alice", At: now, Memory: "mem_1", Scope: "project:lm"}
	}
	for name, c := range map[string]struct {
		change func(chain []*vault.Receipt)
		words  string // of the refusal
	}{
		"as lm makes it":           {nil, ""},
		"another memory's":         {func(c []*vault.Receipt) { c[0].Memory = "mem_2" }, `it is of memory "mem_2"`},
		"no memory's":              {func(c []*vault.Receipt) { c[1].Memory = "" }, `it is of memory ""`},
		"an act that leads not so": {func(c []*vault.Receipt) { c[1].Kind = "memory_conflicted" }, "memory_conflicted does not lead from confirmed to expired"},
		"an act that is none":      {func(c []*vault.Receipt) { c[1].Kind = "memory_forgotten" }, "memory_forgotten does not lead from confirmed to expired"},
		"a second approval":        {func(c []*vault.Receipt) { c[2].Kind = "proposal_approved" }, "proposal_approved is no act here"},
		"a leap":                   {func(c []*vault.Receipt) { c[2].From = "superseded" }, "it leads on from superseded, and the memory was expired"},
		"an agent":                 {func(c []*vault.Receipt) { c[0].Actor = "agent:x" }, "agent:x cannot confirm"},
		"another content":          {func(c []*vault.Receipt) { c[2].Digest = vault.Digest("sha256:" + strings.Repeat("c", 64)) }, "it was changed after receipt 0003"},
		"another state":            {func(c []*vault.Receipt) { c[2].Kind, c[2].From, c[2].To = "memory_expired", "expired", "expired" }, "it says confirmed, and receipt 0003 says expired"},
	} {
		chain := []*vault.Receipt{act("proposal_approved", "proposed", "confirmed"), act("memory_expired", "confirmed", "expired"), act("memory_restored", "expired", "confirmed")}
		if c.change != nil {
			c.change(chain)
		}
		for i, receipt := range chain {
			if receipt.Seq = i + 1; i > 0 {
				receipt.Prev = chain[i-1].Hash()
			}
		}
		err := memory.Standing(&r, digest, chain, "lm", nil)
		if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q", name, err, c.words)
		}
	}
}

// TestJoinedBranches: two branches were joined of which one settled what the other
// left open. The next act puts an end to it, whatever the order of the records.
func TestJoinedBranches(t *testing.T) {
	in := func(id, object string, with ...string) memory.Record {
		return record(id, "a", object, func(r *memory.Record) { r.State, r.ConflictsWith = "conflicted", with })
	}
	records := []memory.Record{in("mem_b", "2", "mem_a"), in("mem_a", "1", "mem_x"), in("mem_x", "3", "mem_a")}
	steps, err := memory.Supersede("mem_x", "", person(t, "user:alice"), records, now)
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]memory.Record{}
	for _, s := range steps {
		last[s.Record.ID] = s.Record
	}
	for id, want := range map[string]string{"mem_x": "superseded", "mem_a": "confirmed", "mem_b": "confirmed"} {
		if r := last[id]; string(r.State) != want || len(r.ConflictsWith) > 0 {
			t.Errorf("%s is %s, in conflict with %v; want %s", id, r.State, r.ConflictsWith, want)
		}
	}
}

// TestStandingWithoutApproval: on the memory branch counts what somebody may confirm
// by themselves, and nothing in the name of anybody else.
func TestStandingWithoutApproval(t *testing.T) {
	cfg := config(t, tree+`people:
  alice: {emails: [a@x.org], trust: owner}
  carol: {emails: [c@x.org], trust: collaborator}
agents:
  conf: {capabilities: [read, propose, confirm], scope: "repository:r"}
  plain: {capabilities: [read, propose], scope: "repository:r"}
policy: {memory: {auto_confirm: true, kinds: [fact]}}
`)
	for name, c := range map[string]struct {
		actor, creator, scope, kind string
		second                      string // who expires it
		words                       string
	}{
		"an agent in its scope":         {"agent:conf", "agent:conf", "repository:r", "fact", "", ""},
		"below it":                      {"agent:conf", "agent:conf", "session:s", "fact", "", ""},
		"above it":                      {"agent:conf", "agent:conf", "project:lm", "fact", "", "project:lm does not lie in repository:r"},
		"beside it":                     {"agent:conf", "agent:conf", "repository:side", "fact", "", "repository:side does not lie in"},
		"a kind that is not allowed":    {"agent:conf", "agent:conf", "repository:r", "task", "", "policy.memory.kinds allows no task"},
		"what another proposed":         {"agent:conf", "agent:plain", "repository:r", "fact", "", "agent:plain proposed it, and agent:conf confirmed it"},
		"without the capability":        {"agent:plain", "agent:plain", "repository:r", "fact", "", "agent:plain cannot confirm"},
		"an owner":                      {"user:alice", "user:alice", "owner:o", "fact", "", ""},
		"an owner for an agent":         {"user:alice", "agent:plain", "repository:r", "fact", "", "agent:plain proposed it, and user:alice"},
		"a collaborator":                {"user:carol", "user:carol", "repository:r", "fact", "", "user:carol cannot confirm"},
		"nobody":                        {"user:nobody", "user:nobody", "repository:r", "fact", "", "user:nobody is none of the people"},
		"ended by an owner":             {"agent:conf", "agent:conf", "repository:r", "fact", "user:alice", ""},
		"ended by nobody":               {"agent:conf", "agent:conf", "repository:r", "fact", "user:nobody", "user:nobody is none of the people"},
		"ended by one who may not":      {"agent:conf", "agent:conf", "repository:r", "fact", "user:carol", "user:carol cannot confirm"},
		"a person's, ended by an agent": {"user:alice", "user:alice", "repository:r", "fact", "agent:conf", "agent:conf cannot undo what user:alice did"},
	} {
		digest := vault.Digest("sha256:" + strings.Repeat("a", 64))
		kind, id, _ := strings.Cut(c.scope, ":")
		r := record("mem_1", "a", "b", func(r *memory.Record) {
			r.Scope, r.CreatorID, r.Kind = memory.Scope{Kind: agentprotocol.ScopeKind(kind), ID: id}, c.creator, agentprotocol.MemoryKind(c.kind)
		})
		chain := vault.Chain{{Project: "lm", Subject: "memory/mem_1", Kind: "proposal_approved", Seq: 1, From: "proposed", To: "confirmed", Digest: digest,
			Object: strings.Repeat("b", 40), Actor: vault.Subject(c.actor), At: now, Memory: "mem_1", Scope: c.scope}}
		if c.second != "" {
			r.State = "expired"
			end := *chain[0]
			end.Seq, end.Kind, end.From, end.To, end.Actor, end.Prev = 2, "memory_expired", "confirmed", "expired", vault.Subject(c.second), chain[0].Hash()
			chain = append(chain, &end)
		}
		err := memory.Standing(&r, digest, chain, "lm", memory.AutoConfirmed(cfg))
		if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q", name, err, c.words)
		}
	}
}
