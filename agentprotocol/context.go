package agentprotocol

import (
	"cmp"
	"unicode/utf8"
)

// ContextBudget limits a pack. Zero leaves a limit to the vault.
type ContextBudget struct {
	// MaxItems is the most entries.
	MaxItems int `json:"max_items,omitempty"`
	// MaxChars is the most characters, in Unicode code points.
	MaxChars int `json:"max_chars,omitempty"`
}

// ContextRequest asks what is known for a task. Its schema is
// [ContextSchemaVersion].
type ContextRequest struct {
	SchemaVersion string    `json:"schema_version"`
	Principal     Principal `json:"principal"`
	Scope         Scope     `json:"scope"`
	// Task, Intent and Entities say what the context is for; entries are
	// ranked by them.
	Task     string   `json:"task,omitempty"`
	Intent   string   `json:"intent,omitempty"`
	Entities []string `json:"entities,omitempty"`
	// KindFilter narrows the answer to these kinds; empty means every kind.
	KindFilter []MemoryKind `json:"kind_filter,omitempty"`
	// Budget is always on the wire, as {} if nothing is set.
	Budget ContextBudget `json:"budget,omitempty"`
}

// Validate checks principal, scope, that each kind of kind_filter is known,
// that no limit of budget is negative, and schema_version.
func (r ContextRequest) Validate() error {
	return cmp.Or(
		at("principal", r.Principal.Validate()),
		at("scope", r.Scope.Validate()),
		each("kind_filter", r.KindFilter, func(k MemoryKind) error { return oneOf("kind", k, memoryKinds) }),
		at("budget", cmp.Or(
			notNegative("max_items", r.Budget.MaxItems),
			notNegative("max_chars", r.Budget.MaxChars),
		)),
		schemaIs(ContextSchemaVersion, r.SchemaVersion),
	)
}

// ContextEntry is a memory as a pack shows it: a pointer to the record and a
// few words, never a body.
type ContextEntry struct {
	MemoryID   string         `json:"memory_id"`
	Kind       MemoryKind     `json:"kind"`
	Subject    string         `json:"subject,omitempty"`
	Summary    string         `json:"summary,omitempty"`
	Preview    string         `json:"preview,omitempty"`
	Confidence Confidence     `json:"confidence,omitempty"`
	Sources    SourceRefList  `json:"sources,omitempty"`
	State      LifecycleState `json:"state"`
	// ScoreReason names the terms that gave the entry its rank.
	ScoreReason string `json:"score_reason,omitempty"`
}

// ContextConflict is a group of memories that contradict each other.
type ContextConflict struct {
	MemoryIDs []string `json:"memory_ids"`
	Reason    string   `json:"reason,omitempty"`
}

// NextAction is something the reader of a pack may do next.
type NextAction struct {
	Name string `json:"name"`
	// Command is a command line, ready to run.
	Command string `json:"command,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// ContextPack is the answer to a ContextRequest. Its schema is
// [ContextSchemaVersion]. Entries are in six sections, the best first in each.
type ContextPack struct {
	SchemaVersion string    `json:"schema_version"`
	Principal     Principal `json:"principal"`
	Scope         Scope     `json:"scope"`
	// Facts holds facts, events, and records of a kind the vault does not know.
	Facts          []ContextEntry `json:"facts,omitempty"`
	Decisions      []ContextEntry `json:"decisions,omitempty"`
	Preferences    []ContextEntry `json:"preferences,omitempty"`
	Procedures     []ContextEntry `json:"procedures,omitempty"`
	OpenTasks      []ContextEntry `json:"open_tasks,omitempty"`
	FailedAttempts []ContextEntry `json:"failed_attempts,omitempty"`
	// Conflicts may name memories that the budget left out of the sections.
	Conflicts   []ContextConflict `json:"conflicts,omitempty"`
	Sources     SourceRefList     `json:"sources,omitempty"`
	NextActions []NextAction      `json:"next_actions,omitempty"`
	// Truncated says that the budget left entries out.
	Truncated bool `json:"truncated,omitempty"`
}

type section struct {
	name    string
	entries []ContextEntry
}

func (p ContextPack) sections() []section {
	return []section{
		{"facts", p.Facts},
		{"decisions", p.Decisions},
		{"preferences", p.Preferences},
		{"procedures", p.Procedures},
		{"open_tasks", p.OpenTasks},
		{"failed_attempts", p.FailedAttempts},
	}
}

// EntryCount returns the number of entries in the six sections.
func (p ContextPack) EntryCount() int {
	n := 0
	for _, s := range p.sections() {
		n += len(s.entries)
	}
	return n
}

// EntryPreviewChars returns the length of all previews in the six sections,
// in Unicode code points.
func (p ContextPack) EntryPreviewChars() int {
	n := 0
	for _, s := range p.sections() {
		for _, e := range s.entries {
			n += utf8.RuneCountInString(e.Preview)
		}
	}
	return n
}

// AssertNoBody checks that no entry carries more than an excerpt: neither its
// preview nor its summary may have more than maxPreviewChars Unicode code
// points. The failure names the first that does by section and index, as in
// "facts[3].preview: …". A limit of zero or less checks nothing.
func (p ContextPack) AssertNoBody(maxPreviewChars int) error {
	if maxPreviewChars <= 0 {
		return nil
	}
	for _, s := range p.sections() {
		for i, e := range s.entries {
			path := index(s.name, i)
			if err := cmp.Or(
				at(path+".preview", atMost(maxPreviewChars, e.Preview)),
				at(path+".summary", atMost(maxPreviewChars, e.Summary)),
			); err != nil {
				return err
			}
		}
	}
	return nil
}

func atMost(limit int, text string) error {
	if n := utf8.RuneCountInString(text); n > limit {
		return invalid("%d characters, at most %d are allowed", n, limit)
	}
	return nil
}
