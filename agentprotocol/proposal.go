package agentprotocol

import (
	"cmp"
	"time"
)

// RiskLevel says how much harm a wrong memory could do. Empty means that the
// proposer did not say.
type RiskLevel string

// The risk levels.
const (
	RiskLow    RiskLevel = "low"
	RiskMedium RiskLevel = "medium"
	RiskHigh   RiskLevel = "high"
)

var riskLevels = []RiskLevel{RiskLow, RiskMedium, RiskHigh}

// requestedStates are the states a proposal may ask for, besides none.
var requestedStates = []LifecycleState{LifecycleProposed, LifecycleConfirmed}

// Proposal asks the vault to remember something. Its schema is [SchemaVersion].
type Proposal struct {
	SchemaVersion string     `json:"schema_version"`
	ProposalID    string     `json:"proposal_id"`
	Principal     Principal  `json:"principal"`
	Scope         Scope      `json:"scope"`
	Kind          MemoryKind `json:"kind"`
	// Subject and Object state the memory; with another object for the same
	// subject two memories are in conflict.
	Subject string `json:"subject,omitempty"`
	Summary string `json:"summary,omitempty"`
	Object  string `json:"object,omitempty"`
	// RequestedState is confirmed to ask for confirmation without an approver,
	// and proposed or empty to ask for approval.
	RequestedState LifecycleState `json:"requested_state"`
	Sources        SourceRefList  `json:"sources,omitempty"`
	Risk           RiskLevel      `json:"risk,omitempty"`
	// Reason says, for the approver, why this should be remembered.
	Reason string `json:"reason,omitempty"`
	// CreatedAt is RFC 3339, in UTC.
	CreatedAt time.Time `json:"created_at"`
}

// Validate checks proposal_id, principal, scope, kind, that requested_state is
// empty, proposed or confirmed, that risk is empty or known, sources, and
// schema_version.
func (p Proposal) Validate() error {
	return cmp.Or(
		required("proposal_id", p.ProposalID),
		at("principal", p.Principal.Validate()),
		at("scope", p.Scope.Validate()),
		oneOf("kind", p.Kind, memoryKinds),
		emptyOrOneOf("requested_state", p.RequestedState, requestedStates),
		emptyOrOneOf("risk", p.Risk, riskLevels),
		each("sources", p.Sources, SourceRef.Validate),
		schemaIs(SchemaVersion, p.SchemaVersion),
	)
}

// ProposalStatus is where a proposal stands.
type ProposalStatus string

// The proposal statuses.
const (
	// ProposalStatusDraftSaved: kept, and not reviewed yet.
	ProposalStatusDraftSaved ProposalStatus = "draft_saved"
	// ProposalStatusApprovalRequired: waits for an approver.
	ProposalStatusApprovalRequired ProposalStatus = "approval_required"
	// ProposalStatusConflictRequired: waits for an approver who settles a
	// conflict.
	ProposalStatusConflictRequired ProposalStatus = "conflict_required"
	// ProposalStatusApproved: is a confirmed record.
	ProposalStatusApproved ProposalStatus = "approved"
	// ProposalStatusRejected: was refused.
	ProposalStatusRejected ProposalStatus = "rejected"
	// ProposalStatusSuperseded: a later proposal took its place.
	ProposalStatusSuperseded ProposalStatus = "superseded"
)

// ProposalStatusReason says what led to a status.
type ProposalStatusReason string

// The reasons.
const (
	// ReasonValid: nothing speaks against the proposal.
	ReasonValid ProposalStatusReason = "valid"
	// ReasonDuplicate: the vault already remembers this.
	ReasonDuplicate ProposalStatusReason = "duplicate"
	// ReasonConflictExisting: the vault remembers otherwise.
	ReasonConflictExisting ProposalStatusReason = "conflict_existing"
	// ReasonUnsourced: the proposal names no evidence.
	ReasonUnsourced ProposalStatusReason = "unsourced"
	// ReasonPolicyDenied: a rule of the vault forbids it.
	ReasonPolicyDenied ProposalStatusReason = "policy_denied"
	// ReasonScopeMismatch: the scope lies outside the principal's own.
	ReasonScopeMismatch ProposalStatusReason = "scope_mismatch"
)

// ProposalReview is the vault's answer to a proposal.
type ProposalReview struct {
	ProposalID string               `json:"proposal_id"`
	Status     ProposalStatus       `json:"status"`
	Reason     ProposalStatusReason `json:"reason"`
	// Message is for people and names every reason that holds.
	Message string `json:"message,omitempty"`
	// ConflictingMemoryIDs are all records that say otherwise.
	ConflictingMemoryIDs []string `json:"conflicting_memory_ids,omitempty"`
	// DuplicateMemoryID is the record that says the same.
	DuplicateMemoryID string `json:"duplicate_memory_id,omitempty"`
}

// Receipt is proof of one act on the vault. Its schema is [SchemaVersion].
type Receipt struct {
	SchemaVersion string `json:"schema_version"`
	ReceiptID     string `json:"receipt_id"`
	// Kind names the act, for example "proposal_created". Kinds are an open
	// set.
	Kind string `json:"kind"`
	// PrincipalID is whoever acted.
	PrincipalID string `json:"principal_id"`
	Scope       Scope  `json:"scope"`
	// MemoryID and ProposalID are what was acted on.
	MemoryID   string        `json:"memory_id,omitempty"`
	ProposalID string        `json:"proposal_id,omitempty"`
	SourceRefs SourceRefList `json:"source_refs,omitempty"`
	// LifecycleFrom and LifecycleTo are the record's states before and after.
	LifecycleFrom LifecycleState `json:"lifecycle_from,omitempty"`
	LifecycleTo   LifecycleState `json:"lifecycle_to,omitempty"`
	// CreatedAt is RFC 3339, in UTC.
	CreatedAt time.Time `json:"created_at"`
}
