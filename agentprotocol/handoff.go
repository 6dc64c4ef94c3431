package agentprotocol

import (
	"cmp"
	"time"
)

// Handoff carries the working state of a task from one principal to another.
// Its schema is [HandoffSchemaVersion].
type Handoff struct {
	SchemaVersion string    `json:"schema_version"`
	HandoffID     string    `json:"handoff_id"`
	FromPrincipal Principal `json:"from_principal"`
	ToPrincipal   Principal `json:"to_principal"`
	Scope         Scope     `json:"scope"`
	// Objective says what the work is to achieve.
	Objective string `json:"objective"`
	// CreatedAt is RFC 3339, in UTC.
	CreatedAt time.Time `json:"created_at"`
	// CurrentState says in a few words where the work stands.
	CurrentState  string   `json:"current_state,omitempty"`
	Decisions     []string `json:"decisions,omitempty"`
	CompletedWork []string `json:"completed_work,omitempty"`
	Blockers      []string `json:"blockers,omitempty"`
	// Verification lists what was checked, or is to be checked.
	Verification []string      `json:"verification,omitempty"`
	FollowUps    []string      `json:"follow_ups,omitempty"`
	Sources      SourceRefList `json:"sources,omitempty"`
	// RequestedNextCapability says what the receiver must be able to do. It is
	// in the sender's words and not checked.
	RequestedNextCapability string `json:"requested_next_capability,omitempty"`
}

// Validate checks handoff_id, from_principal, to_principal, scope, objective,
// sources, and schema_version.
func (h Handoff) Validate() error {
	return cmp.Or(
		required("handoff_id", h.HandoffID),
		at("from_principal", h.FromPrincipal.Validate()),
		at("to_principal", h.ToPrincipal.Validate()),
		at("scope", h.Scope.Validate()),
		required("objective", h.Objective),
		each("sources", h.Sources, SourceRef.Validate),
		schemaIs(HandoffSchemaVersion, h.SchemaVersion),
	)
}

// FeedbackKind says how a memory or a pack served.
type FeedbackKind string

// The feedback kinds.
const (
	// FeedbackUseful: it helped.
	FeedbackUseful FeedbackKind = "useful"
	// FeedbackIrrelevant: it had nothing to do with the task.
	FeedbackIrrelevant FeedbackKind = "irrelevant"
	// FeedbackStale: it was true once.
	FeedbackStale FeedbackKind = "stale"
	// FeedbackIncorrect: it is wrong.
	FeedbackIncorrect FeedbackKind = "incorrect"
	// FeedbackMissing: something that was needed is not remembered.
	FeedbackMissing FeedbackKind = "missing"
	// FeedbackCompleted: the remembered task is done.
	FeedbackCompleted FeedbackKind = "completed"
	// FeedbackScopeTooWide: it belongs to a narrower scope.
	FeedbackScopeTooWide FeedbackKind = "scope_too_wide"
)

var feedbackKinds = []FeedbackKind{
	FeedbackUseful, FeedbackIrrelevant, FeedbackStale, FeedbackIncorrect,
	FeedbackMissing, FeedbackCompleted, FeedbackScopeTooWide,
}

// Feedback says how a memory or a pack served. It never changes a record. Its
// schema is [SchemaVersion].
type Feedback struct {
	SchemaVersion string       `json:"schema_version"`
	FeedbackID    string       `json:"feedback_id"`
	Principal     Principal    `json:"principal"`
	Scope         Scope        `json:"scope"`
	Kind          FeedbackKind `json:"kind"`
	// MemoryID is the record in question, if it is about one.
	MemoryID string `json:"memory_id,omitempty"`
	// ContextRequestRef names the request in question, in the sender's terms.
	ContextRequestRef string `json:"context_request_ref,omitempty"`
	Comment           string `json:"comment,omitempty"`
	// CreatedAt is RFC 3339, in UTC.
	CreatedAt time.Time `json:"created_at"`
}

// Validate checks feedback_id, principal, scope, kind, and schema_version.
func (f Feedback) Validate() error {
	return cmp.Or(
		required("feedback_id", f.FeedbackID),
		at("principal", f.Principal.Validate()),
		at("scope", f.Scope.Validate()),
		oneOf("kind", f.Kind, feedbackKinds),
		schemaIs(SchemaVersion, f.SchemaVersion),
	)
}
