package agentprotocol_test

import (
	"strings"
	"testing"

	"longmemory.dev/lm/agentprotocol"
)

type entries = []agentprotocol.ContextEntry

// sections gives each section of a pack under its name on the wire.
var sections = []struct {
	name string
	of   func(*agentprotocol.ContextPack) *entries
}{
	{"facts", func(p *agentprotocol.ContextPack) *entries { return &p.Facts }},
	{"decisions", func(p *agentprotocol.ContextPack) *entries { return &p.Decisions }},
	{"preferences", func(p *agentprotocol.ContextPack) *entries { return &p.Preferences }},
	{"procedures", func(p *agentprotocol.ContextPack) *entries { return &p.Procedures }},
	{"open_tasks", func(p *agentprotocol.ContextPack) *entries { return &p.OpenTasks }},
	{"failed_attempts", func(p *agentprotocol.ContextPack) *entries { return &p.FailedAttempts }},
}

func TestEntryCounts(t *testing.T) {
	// Neither conflicts, sources nor summaries count.
	p := agentprotocol.ContextPack{
		Conflicts: []agentprotocol.ContextConflict{{Reason: "r"}},
		Sources:   fullSources(),
	}
	if p.EntryCount() != 0 || p.EntryPreviewChars() != 0 {
		t.Fatalf("no entries: %d, %d", p.EntryCount(), p.EntryPreviewChars())
	}
	wantChars := 0
	for i, s := range sections {
		// Three code points in nine bytes, and a combining accent of its own.
		*s.of(&p) = entries{{Preview: "火曜日", Summary: "a summary"}, {}, {Preview: strings.Repeat("e\u0301", i)}}
		wantChars += 3 + 2*i
		if got := p.EntryCount(); got != 3*(i+1) {
			t.Errorf("with %s: %d entries, want %d", s.name, got, 3*(i+1))
		}
		if got := p.EntryPreviewChars(); got != wantChars {
			t.Errorf("with %s: %d characters, want %d", s.name, got, wantChars)
		}
	}
}

func TestAssertNoBody(t *testing.T) {
	const limit = 4
	fits, tooLong := strings.Repeat("é", limit), strings.Repeat("é", limit+1)
	for i, s := range sections {
		var p agentprotocol.ContextPack
		*s.of(&p) = entries{{Preview: fits, Summary: fits}, {}, {Preview: fits, Summary: fits}}
		if err := p.AssertNoBody(limit); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		(*s.of(&p))[2].Summary = tooLong
		testFailure(t, i, p.AssertNoBody(limit), s.name+"[2].summary", validationFailed, "5 characters")
		(*s.of(&p))[2].Preview = tooLong
		testFailure(t, i, p.AssertNoBody(limit), s.name+"[2].preview", validationFailed, "5 characters")
		(*s.of(&p))[0].Summary = tooLong
		testFailure(t, i, p.AssertNoBody(limit), s.name+"[0].summary", validationFailed, "5 characters")
		for _, later := range sections[i+1:] {
			*later.of(&p) = entries{{Preview: tooLong}}
		}
		testFailure(t, i, p.AssertNoBody(limit), s.name+"[0].summary", validationFailed, "5 characters")
		for _, none := range []int{0, -1} {
			if err := p.AssertNoBody(none); err != nil {
				t.Errorf("limit %d: %v", none, err)
			}
		}
		if err := p.AssertNoBody(limit + 1); err != nil {
			t.Errorf("limit %d: %v", limit+1, err)
		}
	}
}
