package agentprotocol

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// AdapterDescriptor says what the adapter of an agent runtime speaks. Its
// schema is [AdapterSchemaVersion].
type AdapterDescriptor struct {
	SchemaVersion string `json:"schema_version"`
	AdapterID     string `json:"adapter_id"`
	// Runtime is the agent runtime, for example "codex".
	Runtime string `json:"runtime"`
	// SupportedVersions are the schema versions the adapter speaks.
	SupportedVersions []string `json:"supported_versions"`
	// Capabilities is what the adapter can do; [Negotiate] goes by it.
	Capabilities []Capability `json:"capabilities"`
	// MaxContextItems and MaxContextChars are the largest pack the adapter
	// takes, in entries and in Unicode code points. Zero means no limit.
	MaxContextItems int `json:"max_context_items,omitempty"`
	MaxContextChars int `json:"max_context_chars,omitempty"`
	// SupportsProposal, SupportsHandoff and SupportsFeedback say what the
	// adapter offers its runtime; Negotiate does not go by them.
	SupportsProposal bool `json:"supports_proposal"`
	SupportsHandoff  bool `json:"supports_handoff"`
	SupportsFeedback bool `json:"supports_feedback"`
	// Metadata is the adapter's own.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Validate checks adapter_id, runtime, that supported_versions is not empty
// and that none of it is blank, that each capability is known, that
// max_context_items and max_context_chars are not negative, and
// schema_version.
func (d AdapterDescriptor) Validate() error {
	return cmp.Or(
		required("adapter_id", d.AdapterID),
		required("runtime", d.Runtime),
		notEmpty("supported_versions", d.SupportedVersions),
		each("supported_versions", d.SupportedVersions, func(v string) error { return required("version", v) }),
		each("capabilities", d.Capabilities, knownCapability),
		notNegative("max_context_items", d.MaxContextItems),
		notNegative("max_context_chars", d.MaxContextChars),
		schemaIs(AdapterSchemaVersion, d.SchemaVersion),
	)
}

// NegotiateResult says what two sides share.
type NegotiateResult struct {
	// Compatible: there is a common version, and the adapter has every
	// requested capability.
	Compatible bool `json:"compatible"`
	// NegotiatedVersion is the common version, or empty.
	NegotiatedVersion string `json:"negotiated_version,omitempty"`
	// SharedCapabilities are the requested capabilities that the adapter has,
	// in requested order, each once. Nil without a common version.
	SharedCapabilities []Capability `json:"shared_capabilities,omitempty"`
	// Reason says, for people, what is missing or why the result is degraded.
	// It is empty otherwise.
	Reason string `json:"reason,omitempty"`
	// Degraded: compatible, but not in the version of first choice.
	Degraded bool `json:"degraded,omitempty"`
}

// Negotiate finds what the adapter and the local side share. LocalVersions are
// in order of preference: the first that the adapter supports is negotiated,
// and any but the first choice makes the result degraded. A requested
// capability that the adapter lacks makes it incompatible; with none requested
// the version alone decides.
func Negotiate(d AdapterDescriptor, localVersions []string, requestedCapabilities []Capability) NegotiateResult {
	// A blank string is no version, so it is neither a match nor a choice.
	local := slices.DeleteFunc(slices.Clone(localVersions), isBlank)
	var result NegotiateResult
	var reasons []string
	choice := slices.IndexFunc(local, func(v string) bool { return slices.Contains(d.SupportedVersions, v) })
	if choice < 0 {
		reasons = append(reasons, fmt.Sprintf("no common version: local %s, adapter %s", quoted(local), quoted(d.SupportedVersions)))
	} else {
		result.NegotiatedVersion = local[choice]
	}

	var shared, missing []Capability
	for _, c := range requestedCapabilities {
		if !slices.Contains(d.Capabilities, c) {
			missing = appendOnce(missing, c)
		} else {
			shared = appendOnce(shared, c)
		}
	}
	if choice >= 0 {
		result.SharedCapabilities = shared
	}
	if len(missing) > 0 {
		reasons = append(reasons, "missing capabilities: "+quoted(missing))
	}

	result.Compatible = len(reasons) == 0
	if result.Compatible && choice > 0 {
		result.Degraded = true
		reasons = append(reasons, fmt.Sprintf("version %q instead of the first choice %q", local[choice], local[0]))
	}
	result.Reason = strings.Join(reasons, "; ")
	return result
}

func appendOnce(list []Capability, c Capability) []Capability {
	if slices.Contains(list, c) {
		return list
	}
	return append(list, c)
}

func quoted[T ~string](list []T) string { return fmt.Sprintf("%q", list) }
