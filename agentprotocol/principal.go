package agentprotocol

import (
	"cmp"
	"slices"
)

// Capability is something that a principal may do or an adapter can do.
type Capability string

// The capabilities.
const (
	// CapabilityRead: recall records and compile context.
	CapabilityRead Capability = "read"
	// CapabilityPropose: send proposals.
	CapabilityPropose Capability = "propose"
	// CapabilityReview: reject proposals.
	CapabilityReview Capability = "review"
	// CapabilityApprove: turn proposals into confirmed records.
	CapabilityApprove Capability = "approve"
	// CapabilityConfirm: move confirmed records through their lifecycle, and
	// have one's own proposals confirmed where the vault allows it.
	CapabilityConfirm Capability = "confirm"
	// CapabilityHandoff: hand work over to another principal.
	CapabilityHandoff Capability = "handoff"
	// CapabilityFeedback: give feedback.
	CapabilityFeedback Capability = "feedback"
)

var capabilities = []Capability{
	CapabilityRead, CapabilityPropose, CapabilityReview, CapabilityApprove,
	CapabilityConfirm, CapabilityHandoff, CapabilityFeedback,
}

func knownCapability(c Capability) error { return oneOf("capability", c, capabilities) }

// TrustLevel bounds the capabilities that a principal may be granted.
type TrustLevel string

// The trust levels, from low to high.
const (
	// TrustLevelAdapter: an agent, through its adapter.
	TrustLevelAdapter TrustLevel = "adapter"
	// TrustLevelCollaborator: someone who may review.
	TrustLevelCollaborator TrustLevel = "collaborator"
	// TrustLevelOwner: the person the vault belongs to.
	TrustLevelOwner TrustLevel = "owner"
)

var trustLevels = []TrustLevel{TrustLevelAdapter, TrustLevelCollaborator, TrustLevelOwner}

// Principal is whoever makes a request. Its schema is [SchemaVersion].
type Principal struct {
	SchemaVersion string `json:"schema_version"`
	// PrincipalID is the name that receipts carry.
	PrincipalID string `json:"principal_id"`
	// Runtime is the agent runtime, for example "codex".
	Runtime string `json:"runtime,omitempty"`
	// AgentID names the agent within its runtime.
	AgentID string `json:"agent_id,omitempty"`
	// OwnerID names the person the principal acts for.
	OwnerID string `json:"owner_id,omitempty"`
	// WorkspaceID names the workspace the principal works in.
	WorkspaceID string `json:"workspace_id,omitempty"`
	// Capabilities are the explicit grants; trust adds none to this list.
	Capabilities []Capability `json:"capabilities"`
	// Trust bounds the grants and is never empty.
	Trust TrustLevel `json:"trust"`
	// Metadata is the adapter's own.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// DefaultAdapterPrincipal returns a principal of the least trust, that may
// read, propose and give feedback.
func DefaultAdapterPrincipal(principalID, runtime string) Principal {
	return Principal{
		SchemaVersion: SchemaVersion,
		PrincipalID:   principalID,
		Runtime:       runtime,
		Capabilities:  []Capability{CapabilityRead, CapabilityPropose, CapabilityFeedback},
		Trust:         TrustLevelAdapter,
	}
}

// Validate checks principal_id, trust, that each capability is known, that
// approve is held with trust owner only and review with trust collaborator or
// owner only, and schema_version. Confirm may be granted to any trust.
func (p Principal) Validate() error {
	return cmp.Or(
		required("principal_id", p.PrincipalID),
		oneOf("trust", p.Trust, trustLevels),
		each("capabilities", p.Capabilities, knownCapability),
		p.needsTrust(CapabilityApprove, TrustLevelOwner),
		p.needsTrust(CapabilityReview, TrustLevelCollaborator, TrustLevelOwner),
		schemaIs(SchemaVersion, p.SchemaVersion),
	)
}

func (p Principal) needsTrust(c Capability, levels ...TrustLevel) error {
	i := slices.Index(p.Capabilities, c)
	if i < 0 || slices.Contains(levels, p.Trust) {
		return nil
	}
	return at(index("capabilities", i), invalid("capability %q needs trust %s", c, joined(levels, " or ")))
}

// HasCapability reports whether the capability is among the grants. Trust does
// not count: an owner without the grant does not have it.
func (p Principal) HasCapability(cap Capability) bool {
	return slices.Contains(p.Capabilities, cap)
}

// CanConfirm reports whether the principal has trust owner or holds confirm.
func (p Principal) CanConfirm() bool {
	return p.Trust == TrustLevelOwner || p.HasCapability(CapabilityConfirm)
}
