package agentprotocol

import (
	"cmp"
	"slices"
	"time"
)

// MemoryKind says what a record is about. Producers keep to the known kinds;
// readers keep a stored record of any other kind and show it among the facts.
type MemoryKind string

// The memory kinds.
const (
	MemoryKindFact       MemoryKind = "fact"
	MemoryKindDecision   MemoryKind = "decision"
	MemoryKindPreference MemoryKind = "preference"
	MemoryKindProcedure  MemoryKind = "procedure"
	MemoryKindEvent      MemoryKind = "event"
	MemoryKindTask       MemoryKind = "task"
	MemoryKindFailure    MemoryKind = "failure"
)

var memoryKinds = []MemoryKind{
	MemoryKindFact, MemoryKindDecision, MemoryKindPreference, MemoryKindProcedure,
	MemoryKindEvent, MemoryKindTask, MemoryKindFailure,
}

// Confidence says how sure a record is. Empty means that nobody said.
type Confidence string

// The confidences, from low to high.
const (
	ConfidenceLow      Confidence = "low"
	ConfidenceMedium   Confidence = "medium"
	ConfidenceHigh     Confidence = "high"
	ConfidenceVerified Confidence = "verified"
)

var confidences = []Confidence{ConfidenceLow, ConfidenceMedium, ConfidenceHigh, ConfidenceVerified}

// LifecycleState is where a record stands. [ValidTransition] says how it moves.
type LifecycleState string

// The lifecycle states.
const (
	// LifecycleProposed: waits for approval.
	LifecycleProposed LifecycleState = "proposed"
	// LifecycleConfirmed: holds.
	LifecycleConfirmed LifecycleState = "confirmed"
	// LifecycleRejected: was refused, for good.
	LifecycleRejected LifecycleState = "rejected"
	// LifecycleSuperseded: another record took its place.
	LifecycleSuperseded LifecycleState = "superseded"
	// LifecycleExpired: was put out of use.
	LifecycleExpired LifecycleState = "expired"
	// LifecycleConflicted: holds, but another record says otherwise.
	LifecycleConflicted LifecycleState = "conflicted"
)

var lifecycleStates = []LifecycleState{
	LifecycleProposed, LifecycleConfirmed, LifecycleRejected,
	LifecycleSuperseded, LifecycleExpired, LifecycleConflicted,
}

var transitions = map[LifecycleState][]LifecycleState{
	LifecycleProposed:   {LifecycleConfirmed, LifecycleRejected},
	LifecycleConfirmed:  {LifecycleSuperseded, LifecycleExpired, LifecycleConflicted},
	LifecycleConflicted: {LifecycleConfirmed, LifecycleSuperseded},
	LifecycleSuperseded: {LifecycleConfirmed},
	LifecycleExpired:    {LifecycleConfirmed},
}

// ValidTransition reports whether a record may move from one state to another.
// The moves are:
//
//	proposed   → confirmed, rejected
//	confirmed  → superseded, expired, conflicted
//	conflicted → confirmed, superseded
//	superseded → confirmed
//	expired    → confirmed
func ValidTransition(from, to LifecycleState) bool {
	return slices.Contains(transitions[from], to)
}

// MemoryRecord is one thing remembered. Its schema is [SchemaVersion].
type MemoryRecord struct {
	SchemaVersion string         `json:"schema_version"`
	ID            string         `json:"id"`
	Kind          MemoryKind     `json:"kind"`
	Scope         Scope          `json:"scope"`
	State         LifecycleState `json:"state"`
	// Subject, Predicate and Object state the memory as a sentence.
	Subject   string `json:"subject,omitempty"`
	Predicate string `json:"predicate,omitempty"`
	Object    string `json:"object,omitempty"`
	// Summary is the memory in a few words, for people.
	Summary    string        `json:"summary,omitempty"`
	Confidence Confidence    `json:"confidence,omitempty"`
	Sources    SourceRefList `json:"sources,omitempty"`
	// CreatorID is the PrincipalID of whoever proposed the memory.
	CreatorID string `json:"creator_id"`
	// SupersedesID is the record whose place this one took.
	SupersedesID string `json:"supersedes_id,omitempty"`
	// ConflictsWith are the records that say otherwise.
	ConflictsWith []string `json:"conflicts_with,omitempty"`
	// CreatedAt and UpdatedAt are RFC 3339, in UTC.
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// ExpiresAt is the first instant at which the record no longer counts, or
	// nil. RFC 3339, in UTC.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	// Metadata is the producer's own.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Validate checks id, kind, scope, state, confidence, which may be empty,
// creator_id, sources, that the record neither supersedes nor conflicts with
// itself, and schema_version. It is for producers: a reader keeps a stored
// record whose kind it does not know.
func (r MemoryRecord) Validate() error {
	return cmp.Or(
		required("id", r.ID),
		oneOf("kind", r.Kind, memoryKinds),
		at("scope", r.Scope.Validate()),
		oneOf("state", r.State, lifecycleStates),
		emptyOrOneOf("confidence", r.Confidence, confidences),
		required("creator_id", r.CreatorID),
		each("sources", r.Sources, SourceRef.Validate),
		r.notItself("supersedes_id", r.SupersedesID),
		each("conflicts_with", r.ConflictsWith, func(id string) error { return r.notItself("id", id) }),
		schemaIs(SchemaVersion, r.SchemaVersion),
	)
}

func (r MemoryRecord) notItself(field, id string) error {
	if id == r.ID {
		return invalid("%s %q is the record itself", field, id)
	}
	return nil
}

// IsRecallable reports whether the state is confirmed or conflicted. A record
// must also not be expired, see [MemoryRecord.IsExpired].
func (r MemoryRecord) IsRecallable() bool {
	return r.State == LifecycleConfirmed || r.State == LifecycleConflicted
}

// IsExpired reports whether the record has an expiry that is not after now:
// at the stated instant it is already expired. The state does not count.
func (r MemoryRecord) IsExpired(now time.Time) bool {
	return r.ExpiresAt != nil && !r.ExpiresAt.After(now)
}
