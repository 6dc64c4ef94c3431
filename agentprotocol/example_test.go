package agentprotocol_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"longmemory.dev/lm/agentprotocol"
)

// An agent proposes; the vault answers with a review.
func Example() {
	proposal := agentprotocol.Proposal{
		SchemaVersion: agentprotocol.SchemaVersion,
		ProposalID:    "prop_01",
		Principal:     agentprotocol.DefaultAdapterPrincipal("reviewer", "codex"),
		Scope:         agentprotocol.Scope{Kind: agentprotocol.ScopeKindProject, ID: "lm"},
		Kind:          agentprotocol.MemoryKindDecision,
		Subject:       "release day",
		Object:        "Tuesday",
		Sources:       agentprotocol.SourceRefList{{Kind: "file", Ref: "RELEASING.md", Span: "L10-L12"}},
	}
	fmt.Println("well formed:", proposal.Validate() == nil)
	fmt.Println("may confirm it alone:", proposal.Principal.CanConfirm())

	review, err := json.Marshal(agentprotocol.ProposalReview{
		ProposalID: proposal.ProposalID,
		Status:     agentprotocol.ProposalStatusApprovalRequired,
		Reason:     agentprotocol.ReasonValid,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(review))
	// Output:
	// well formed: true
	// may confirm it alone: false
	// {"proposal_id":"prop_01","status":"approval_required","reason":"valid"}
}

// A failure says where it is and carries a code to switch on.
func ExampleStableError() {
	request := agentprotocol.ContextRequest{
		Principal: agentprotocol.DefaultAdapterPrincipal("reviewer", "codex"),
		Scope:     agentprotocol.Scope{Kind: agentprotocol.ScopeKindProject},
	}
	err := request.Validate()
	fmt.Println(err)

	var stable *agentprotocol.StableError
	if errors.As(err, &stable) {
		fmt.Println(stable.Code)
	}
	fmt.Println(errors.Is(err, agentprotocol.NewStableError(agentprotocol.ErrCodeInvalidScope, "")))
	// Output:
	// scope: invalid_scope: id is required
	// invalid_scope
	// true
}

// Contains compares levels. That one lies within the other in the vault is for
// the vault to say.
func ExampleScope_Contains() {
	workspace := agentprotocol.Scope{Kind: agentprotocol.ScopeKindWorkspace, ID: "home"}
	project := agentprotocol.Scope{Kind: agentprotocol.ScopeKindProject, ID: "lm"}
	fmt.Println(workspace.Contains(project))
	fmt.Println(project.Contains(workspace))
	fmt.Println(project.Contains(agentprotocol.Scope{Kind: agentprotocol.ScopeKindProject, ID: "other"}))
	// Output:
	// true
	// false
	// false
}

func ExampleSourceRefList_Validate() {
	sources := agentprotocol.SourceRefList{{Kind: "file", Ref: "README.md"}, {Kind: "url", Ref: " "}}
	fmt.Println(sources.Validate())
	fmt.Println(agentprotocol.MemoryRecord{
		ID: "mem_01", Kind: agentprotocol.MemoryKindFact, State: agentprotocol.LifecycleConfirmed, CreatorID: "ada",
		Scope: agentprotocol.Scope{Kind: agentprotocol.ScopeKindOwner, ID: "ada"}, Sources: sources,
	}.Validate())
	// Output:
	// [1]: validation_failed: ref is required
	// sources[1]: validation_failed: ref is required
}

func ExampleContextPack_AssertNoBody() {
	pack := agentprotocol.ContextPack{Decisions: []agentprotocol.ContextEntry{
		{MemoryID: "mem_01", Preview: "Releases go out on Tuesday."},
		{MemoryID: "mem_02", Preview: "The whole of the release handbook, chapter by chapter."},
	}}
	fmt.Println(pack.EntryCount(), pack.EntryPreviewChars())
	fmt.Println(pack.AssertNoBody(40))
	// Output:
	// 2 81
	// decisions[1].preview: validation_failed: 54 characters, at most 40 are allowed
}

func ExampleNegotiate() {
	adapter := agentprotocol.AdapterDescriptor{
		AdapterID:         "codex-cli",
		Runtime:           "codex",
		SupportedVersions: []string{agentprotocol.SchemaVersion},
		Capabilities:      []agentprotocol.Capability{agentprotocol.CapabilityRead, agentprotocol.CapabilityPropose},
	}
	local := []string{"yeisme.agent_memory.v2", agentprotocol.SchemaVersion}

	older := agentprotocol.Negotiate(adapter, local, adapter.Capabilities)
	fmt.Println(older.Compatible, older.Degraded, older.Reason)

	lacking := agentprotocol.Negotiate(adapter, local, []agentprotocol.Capability{agentprotocol.CapabilityHandoff})
	fmt.Println(lacking.Compatible, lacking.Degraded, lacking.Reason)
	// Output:
	// true true version "yeisme.agent_memory.v1" instead of the first choice "yeisme.agent_memory.v2"
	// false false missing capabilities: ["handoff"]
}

func ExampleValidTransition() {
	fmt.Println(agentprotocol.ValidTransition(agentprotocol.LifecycleExpired, agentprotocol.LifecycleConfirmed))
	fmt.Println(agentprotocol.ValidTransition(agentprotocol.LifecycleRejected, agentprotocol.LifecycleConfirmed))
	// Output:
	// true
	// false
}
