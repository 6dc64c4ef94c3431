package memory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/vault"
)

func all(*memory.Record) bool { return true }

func loaded(c *memory.Candidate) (memory.Record, error) { return c.Record, nil }

func TestEligible(t *testing.T) {
	at := now
	later := now.Add(time.Second)
	line := []memory.Scope{scope("repository:r"), scope("project:lm")}
	visible := func(s agentprotocol.SourceRef) (bool, bool) { return s.Ref == "open", s.Ref != "broken" }
	source := func(refs ...string) func(*memory.Record) {
		return func(r *memory.Record) {
			for _, ref := range refs {
				kind, ref, _ := strings.Cut(ref, ":")
				r.Sources = append(r.Sources, agentprotocol.SourceRef{Kind: kind, Ref: ref})
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*memory.Record)
		kept   int // sources; -1: it is left out
	}{
		"of a scope above":            {nil, 0},
		"sideways":                    {func(r *memory.Record) { r.Scope = scope("repository:other") }, -1},
		"superseded":                  {func(r *memory.Record) { r.State = "superseded" }, -1},
		"conflicted":                  {func(r *memory.Record) { r.State = "conflicted" }, 0},
		"expired at the instant":      {func(r *memory.Record) { r.ExpiresAt = &at }, -1},
		"a second before":             {func(r *memory.Record) { r.ExpiresAt = &later }, 0},
		"a source is hidden":          {source("asset:hidden", "asset:open", "file:x"), 2},
		"its only source is hidden":   {source("receipt:hidden"), -1},
		"another source bears it out": {source("asset:hidden", "file:x"), 1},
	} {
		got, err := memory.Eligible([]memory.Candidate{{Record: record("mem_1", "a", "b", c.change)}}, line, now, visible, all)
		if err != nil || (c.kept < 0) != (len(got) == 0) || len(got) > 0 && len(got[0].Record.Sources) != c.kept {
			t.Errorf("%s: %v %+v", name, err, got)
		}
	}
	_, err := memory.Eligible([]memory.Candidate{{Record: record("mem_1", "a", "b", source("asset:broken"))}}, line, now, visible, all)
	wantCode(t, "unknown", err, "permission_unknown")
}

func TestRecall(t *testing.T) {
	var found []*memory.Candidate
	for i, relevance := range []vault.Ratio{0, 5000, 9000, 5000} {
		found = append(found, &memory.Candidate{Record: record(fmt.Sprintf("mem_%d", i), "a", "b", nil), Relevance: relevance})
	}
	for _, c := range []struct {
		text  bool
		limit int
		ids   string
		total int
	}{{true, 0, "mem_2 mem_1 mem_3", 3}, {true, 2, "mem_2 mem_1", 3}, {false, 0, "mem_2 mem_1 mem_3 mem_0", 4}} {
		got := memory.Recall(found, nil, c.text, c.limit)
		var ids []string
		for _, f := range got.Candidates {
			ids = append(ids, f.Record.ID)
		}
		if strings.Join(ids, " ") != c.ids || got.Total != c.total {
			t.Errorf("%+v: %v of %d", c, ids, got.Total)
		}
	}
}

func TestScores(t *testing.T) {
	ago := func(days int) func(*memory.Record) {
		return func(r *memory.Record) { r.UpdatedAt = now.Add(-time.Duration(days) * 24 * time.Hour) }
	}
	for want, c := range map[string]struct {
		relevance vault.Ratio
		change    func(*memory.Record)
	}{
		"relevance 5000, confidence verified 2000, recency 1500":            {10000, func(r *memory.Record) { r.Confidence = "verified" }},
		"relevance 1234, confidence none 250, recency 1500":                 {2468, nil},
		"relevance 0, confidence high 1500, recency 1500, conflicted -1000": {0, func(r *memory.Record) { r.Confidence, r.State = "high", "conflicted" }},
		"relevance 0, confidence low 500, recency 0":                        {1, func(r *memory.Record) { r.Confidence = "low"; ago(4000)(r) }},
		"relevance 0, confidence none 250, recency 750":                     {0, ago(30)},
		"relevance 1, confidence none 250, recency 750":                     {2, ago(59)},
		"relevance 0, confidence none 250, recency 1":                       {0, ago(329)},
		"relevance 2, confidence none 250, recency 1500":                    {4, ago(-5)},
		"relevance 2, confidence medium 1000, recency 375":                  {5, func(r *memory.Record) { r.Confidence = "medium"; ago(60)(r) }},
	} {
		pack, err := memory.Compile(agentprotocol.ContextRequest{Scope: scope("project:lm")}, []*memory.Candidate{{Record: record("mem_1", "a", "b", c.change), Relevance: c.relevance}}, loaded, now, agentprotocol.ContextBudget{})
		if err != nil || len(pack.Facts) != 1 || pack.Facts[0].ScoreReason != want {
			t.Errorf("%v %+v, want %s", err, pack.Facts, want)
		}
	}
}

// The pack keeps to its budget, leaves out nothing that would still have fitted,
// says what it leaves out, and puts each kind into its section.
func TestCompileKeepsTheBudget(t *testing.T) {
	kinds := []agentprotocol.MemoryKind{"fact", "event", "rumour", "decision", "preference", "procedure", "task", "failure"}
	rapid.Check(t, func(t *rapid.T) {
		var eligible []*memory.Candidate
		for i := range rapid.IntRange(0, 30).Draw(t, "records") {
			r := record(fmt.Sprintf("mem_%02d", i), strings.Repeat("é", rapid.IntRange(0, 400).Draw(t, "subject")), "", func(r *memory.Record) {
				r.Kind = rapid.SampledFrom(kinds).Draw(t, "kind")
				r.Summary = strings.Repeat("漢", rapid.IntRange(0, 900).Draw(t, "summary"))
			})
			c := &memory.Candidate{Record: r, Relevance: vault.Ratio(rapid.IntRange(0, 10000).Draw(t, "relevance"))}
			if rapid.Bool().Draw(t, "known") {
				c.Chars = memory.Chars(r)
			}
			eligible = append(eligible, c)
		}
		r := agentprotocol.ContextRequest{Scope: scope("project:lm"), Budget: agentprotocol.ContextBudget{MaxItems: rapid.IntRange(0, 25).Draw(t, "items"), MaxChars: rapid.IntRange(0, 9000).Draw(t, "chars")}}
		most := agentprotocol.ContextBudget{MaxItems: rapid.IntRange(0, 10).Draw(t, "most items"), MaxChars: rapid.IntRange(0, 3000).Draw(t, "most chars")}
		pack, err := memory.Compile(r, eligible, loaded, now, most)
		if err != nil {
			t.Fatal(err)
		}
		items, chars := 20, 8000
		if r.Budget.MaxItems > 0 {
			items = r.Budget.MaxItems
		}
		if r.Budget.MaxChars > 0 {
			chars = r.Budget.MaxChars
		}
		if most.MaxItems > 0 {
			items = min(items, most.MaxItems)
		}
		if most.MaxChars > 0 {
			chars = min(chars, most.MaxChars)
		}
		in, used := map[string]bool{}, 0
		for name, section := range map[string][]agentprotocol.ContextEntry{"fact event rumour": pack.Facts, "decision": pack.Decisions, "preference": pack.Preferences, "procedure": pack.Procedures, "task": pack.OpenTasks, "failure": pack.FailedAttempts} {
			for _, e := range section {
				if !strings.Contains(name, string(e.Kind)) {
					t.Fatalf("%s among %s", e.Kind, name)
				}
				in[e.MemoryID] = true
				for _, text := range []string{e.MemoryID, string(e.Kind), e.Subject, e.Summary, e.Preview, string(e.Confidence), string(e.State), e.ScoreReason} {
					used += utf8.RuneCountInString(text)
				}
			}
		}
		if pack.EntryCount() > items || used > chars {
			t.Fatalf("%d entries of %d characters, the budget is %d and %d", pack.EntryCount(), used, items, chars)
		}
		if pack.Truncated != (pack.EntryCount() < len(eligible)) {
			t.Fatalf("truncated: %t with %d of %d", pack.Truncated, pack.EntryCount(), len(eligible))
		}
		if pack.Truncated && (len(pack.NextActions) == 0 || !strings.Contains(pack.NextActions[0].Reason, agentprotocol.ErrCodeBudgetExceeded)) {
			t.Fatalf("next actions: %+v", pack.NextActions)
		}
		if pack.EntryCount() < items {
			for _, c := range eligible {
				if !in[c.Record.ID] && used+memory.Chars(c.Record)+60 < chars { // 60: a score's reason at most
					t.Fatalf("%s would have fitted: %d of %d used", c.Record.ID, used, chars)
				}
			}
		}
		if err := pack.AssertNoBody(600); err != nil {
			t.Fatal(err)
		}
	})
}

func TestConflictGroups(t *testing.T) {
	var eligible []*memory.Candidate
	for id, with := range map[string][]string{"mem_1": {"mem_3"}, "mem_3": {"mem_1", "mem_9"}, "mem_2": {"mem_4"}, "mem_4": {"mem_2"}, "mem_5": {"mem_9"}} {
		eligible = append(eligible, &memory.Candidate{Record: record(id, "s", id, func(r *memory.Record) { r.State, r.ConflictsWith = "conflicted", with })})
	}
	pack, err := memory.Compile(agentprotocol.ContextRequest{Scope: scope("project:lm"), Budget: agentprotocol.ContextBudget{MaxItems: 1}}, eligible, loaded, now, agentprotocol.ContextBudget{})
	if err != nil || fmt.Sprint(pack.Conflicts) != "[{[mem_1 mem_3] they say different things of s} {[mem_2 mem_4] they say different things of s}]" {
		t.Errorf("%v %v", err, pack.Conflicts)
	}
}
