package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/vault"
)

// The budget of a context pack that states none.
const (
	DefaultItems = 20
	DefaultChars = 8000 // code points of the entries' texts
)

// The most code points of an entry's summary and of its preview: a pack tells
// what there is and carries no bodies.
const (
	maxSummary = 600
	maxPreview = 300
)

var confidenceScore = map[agentprotocol.Confidence]int{
	agentprotocol.ConfidenceVerified: 2000, agentprotocol.ConfidenceHigh: 1500, agentprotocol.ConfidenceMedium: 1000, agentprotocol.ConfidenceLow: 500, "": 250,
}

// recencyScore is by whole spans of 30 days since the last change.
var recencyScore = []int{1500, 750, 375, 187, 93, 46, 23, 11, 5, 2, 1}

const conflictMalus = 1000

// scored is a candidate as it ranks, in whole points.
type scored struct {
	*Candidate
	relevance, confidence, recency, malus int
}

func (s *scored) total() int { return s.relevance + s.confidence + s.recency - s.malus }

// reason names each term of the score.
func (s *scored) reason() string {
	word := string(s.Record.Confidence)
	if word == "" {
		word = "none"
	}
	out := fmt.Sprintf("relevance %d, confidence %s %d, recency %d", s.relevance, word, s.confidence, s.recency)
	if s.malus > 0 {
		out += fmt.Sprintf(", conflicted -%d", s.malus)
	}
	return out
}

func score(c *Candidate, now time.Time) scored {
	out := scored{Candidate: c, relevance: 5000 * int(c.Relevance) / 10000, confidence: confidenceScore[c.Record.Confidence]}
	if span := int(max(now.Sub(c.Record.UpdatedAt), 0) / (30 * 24 * time.Hour)); span < len(recencyScore) {
		out.recency = recencyScore[span]
	}
	if c.Record.State == agentprotocol.LifecycleConflicted {
		out.malus = conflictMalus
	}
	return out
}

// Compile packs eligible candidates into a context for a request that is valid.
// All are ranked before the budget cuts: score, then id. An entry that does not
// fit is skipped and the next is tried; what was skipped makes truncated true,
// with a next action that shows more. most are the maxima of the adapter, zero
// for none. The error is one of load.
func Compile(r agentprotocol.ContextRequest, eligible []*Candidate, load Loading, now time.Time, most agentprotocol.ContextBudget) (agentprotocol.ContextPack, error) {
	pack := agentprotocol.ContextPack{SchemaVersion: agentprotocol.ContextSchemaVersion, Principal: r.Principal, Scope: r.Scope}
	ranked := rank(eligible, r.KindFilter, now)
	items, chars := budget(r.Budget, most)
	skipped := 0
	for _, s := range ranked {
		if items == 0 || s.Chars > chars {
			skipped++
			continue
		}
		reason := s.reason()
		if s.Chars > 0 && s.Chars+utf8.RuneCountInString(reason) > chars {
			skipped++
			continue
		}
		r, err := load(s.Candidate)
		if err != nil {
			return pack, err
		}
		e := entry(r, reason)
		n := entryChars(e)
		if n > chars {
			skipped++
			continue
		}
		items, chars = items-1, chars-n
		section := sectionOf(&pack, e.Kind)
		*section = append(*section, e)
		pack.Sources = append(pack.Sources, e.Sources...)
	}
	pack.Sources = pack.Sources.Dedupe()
	pack.Truncated = skipped > 0
	var err error
	if pack.Conflicts, err = conflicts(ranked, load); err != nil {
		return pack, err
	}
	pack.NextActions = actions(r, &pack, len(ranked), skipped)
	return pack, nil
}

// Chars is what a record's entry in a context costs but for the reason of its
// score, in code points.
func Chars(r Record) int { return entryChars(entry(r, "")) }

// wanted says whether a candidate is of some kinds; none: of any.
func wanted(c *Candidate, kinds []agentprotocol.MemoryKind) bool {
	return len(kinds) == 0 || slices.Contains(kinds, c.Record.Kind)
}

// rank orders candidates of some kinds (none: of all) by score, then id.
func rank(eligible []*Candidate, kinds []agentprotocol.MemoryKind, now time.Time) []scored {
	ranked := make([]scored, 0, len(eligible))
	for _, c := range eligible {
		if wanted(c, kinds) {
			ranked = append(ranked, score(c, now))
		}
	}
	slices.SortFunc(ranked, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.total(), a.total()), cmp.Compare(a.Record.ID, b.Record.ID))
	})
	return ranked
}

// Best are the confirmed candidates that rank highest, at most limit: those in
// conflict are for a person to settle first.
func Best(eligible []*Candidate, now time.Time, limit int) []*Candidate {
	var out []*Candidate
	for _, s := range rank(eligible, nil, now) {
		if s.Record.State == agentprotocol.LifecycleConfirmed && len(out) < limit {
			out = append(out, s.Candidate)
		}
	}
	return out
}

// budget is the smaller of what is asked for, else the default, and the
// adapter's maxima.
func budget(asked, most agentprotocol.ContextBudget) (items, chars int) {
	items, chars = cmp.Or(asked.MaxItems, DefaultItems), cmp.Or(asked.MaxChars, DefaultChars)
	if most.MaxItems > 0 {
		items = min(items, most.MaxItems)
	}
	if most.MaxChars > 0 {
		chars = min(chars, most.MaxChars)
	}
	return items, chars
}

func entry(r Record, reason string) agentprotocol.ContextEntry {
	return agentprotocol.ContextEntry{
		MemoryID: r.ID, Kind: r.Kind, Subject: cut(r.Subject, maxPreview), Summary: cut(r.Summary, maxSummary), Preview: cut(r.Object, maxPreview),
		Confidence: r.Confidence, Sources: r.Sources, State: r.State, ScoreReason: reason,
	}
}

// entryChars is what an entry costs: the code points of all its text.
func entryChars(e agentprotocol.ContextEntry) int {
	n := 0
	for _, text := range []string{e.MemoryID, string(e.Kind), e.Subject, e.Summary, e.Preview, string(e.Confidence), string(e.State), e.ScoreReason} {
		n += utf8.RuneCountInString(text)
	}
	for _, s := range e.Sources {
		n += utf8.RuneCountInString(s.Kind) + utf8.RuneCountInString(s.Ref) + utf8.RuneCountInString(s.Label) + utf8.RuneCountInString(s.Span)
	}
	return n
}

func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// sectionOf is where a kind stands in a pack; unknown kinds are facts.
func sectionOf(p *agentprotocol.ContextPack, kind agentprotocol.MemoryKind) *[]agentprotocol.ContextEntry {
	switch kind {
	case agentprotocol.MemoryKindDecision:
		return &p.Decisions
	case agentprotocol.MemoryKindPreference:
		return &p.Preferences
	case agentprotocol.MemoryKindProcedure:
		return &p.Procedures
	case agentprotocol.MemoryKindTask:
		return &p.OpenTasks
	case agentprotocol.MemoryKindFailure:
		return &p.FailedAttempts
	}
	return &p.Facts
}

// conflicts groups the conflicted records among those that were eligible, by
// their least id.
func conflicts(ranked []scored, load Loading) ([]agentprotocol.ContextConflict, error) {
	known := map[string]Record{}
	var ids []string
	for _, s := range ranked {
		if s.Record.State == agentprotocol.LifecycleConflicted {
			r, err := load(s.Candidate)
			if err != nil {
				return nil, err
			}
			known[r.ID] = r
			ids = append(ids, s.Record.ID)
		}
	}
	slices.Sort(ids)
	var out []agentprotocol.ContextConflict
	grouped := map[string]bool{}
	for _, id := range ids {
		if grouped[id] {
			continue
		}
		group := []string{}
		for todo := []string{id}; len(todo) > 0; {
			next := todo[0]
			todo = todo[1:]
			r, ok := known[next]
			if !ok || grouped[next] {
				continue
			}
			grouped[next] = true
			group = append(group, next)
			todo = append(todo, r.ConflictsWith...)
		}
		if len(group) < 2 {
			continue // whom it is in conflict with has expired, or is not for this reader
		}
		slices.Sort(group)
		reason := "in conflict over the same subject"
		if subject := known[id].Subject; subject != "" {
			reason = "they say different things of " + cut(subject, 100)
		}
		out = append(out, agentprotocol.ContextConflict{MemoryIDs: group, Reason: reason})
	}
	return out, nil
}

// ShowMore is the next action that shows what did not fit: by recall, which no
// adapter's maxima cut.
const ShowMore = "show_more"

// actions are what to do next, as commands that lm parses.
func actions(r agentprotocol.ContextRequest, p *agentprotocol.ContextPack, total, skipped int) []agentprotocol.NextAction {
	var out []agentprotocol.NextAction
	scope := vault.Quote(string(r.Scope.Kind) + ":" + r.Scope.ID)
	kind, kinds, nothing := agentprotocol.MemoryKindFact, "", "nothing is known in this scope yet"
	for i, k := range r.KindFilter {
		if kinds += "," + string(k); i == 0 {
			kind, kinds, nothing = k, " --kinds "+string(k), "nothing of these kinds is known in this scope yet"
		}
	}
	if skipped > 0 {
		out = append(out, agentprotocol.NextAction{
			Name:    ShowMore,
			Command: fmt.Sprintf("lm memory recall --scope %s%s --limit %d", scope, kinds, total),
			Reason:  fmt.Sprintf("%s: %d of %d memories did not fit", agentprotocol.ErrCodeBudgetExceeded, skipped, total),
		})
	}
	for _, c := range p.Conflicts {
		out = append(out, agentprotocol.NextAction{Name: "resolve_conflict", Command: "lm memory show " + c.MemoryIDs[0], Reason: strings.Join(c.MemoryIDs, ", ") + ": " + c.Reason + "; a person decides: lm memory resolve"})
	}
	if total == 0 && (Principal{Principal: r.Principal}).may(agentprotocol.CapabilityPropose) {
		out = append(out, agentprotocol.NextAction{Name: "propose", Command: fmt.Sprintf("lm memory propose --kind %s --scope %s --subject … --summary …", kind, scope), Reason: nothing})
	}
	return out
}
