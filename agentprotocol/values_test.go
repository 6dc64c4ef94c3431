package agentprotocol_test

import (
	"time"

	"longmemory.dev/lm/agentprotocol"
)

var created = time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)

// Each function returns a new valid value with every field set.

func fullScope() agentprotocol.Scope {
	return agentprotocol.Scope{Kind: agentprotocol.ScopeKindProject, ID: "lm"}
}

func fullSources() agentprotocol.SourceRefList {
	return agentprotocol.SourceRefList{
		{Kind: "asset", Ref: "release-review", Label: "Release review", Span: "L10-L20"},
		{Kind: "url", Ref: "https://example.com/?a=1&b=<2>"},
		{Kind: "file", Ref: "README.md"},
	}
}

func fullPrincipal() agentprotocol.Principal {
	return agentprotocol.Principal{
		SchemaVersion: agentprotocol.SchemaVersion, PrincipalID: "reviewer", Runtime: "codex",
		AgentID: "agent_1", OwnerID: "ada", WorkspaceID: "home",
		Capabilities: []agentprotocol.Capability{agentprotocol.CapabilityRead, agentprotocol.CapabilityConfirm},
		Trust:        agentprotocol.TrustLevelAdapter, Metadata: map[string]string{"b": "2", "a": "1"},
	}
}

func fullRecord() agentprotocol.MemoryRecord {
	expires := created.AddDate(1, 0, 0)
	return agentprotocol.MemoryRecord{
		SchemaVersion: agentprotocol.SchemaVersion, ID: "mem_1", Kind: agentprotocol.MemoryKindDecision,
		Scope: fullScope(), State: agentprotocol.LifecycleConflicted,
		Subject: "release day", Predicate: "is", Object: "Tuesday", Summary: "Releases go out on Tuesday – 火曜日.",
		Confidence: agentprotocol.ConfidenceHigh, Sources: fullSources(), CreatorID: "reviewer",
		SupersedesID: "mem_0", ConflictsWith: []string{"mem_2", "mem_3"},
		CreatedAt: created, UpdatedAt: created.Add(1500 * time.Millisecond), ExpiresAt: &expires,
		Metadata: map[string]string{"team": "core"},
	}
}

func fullProposal() agentprotocol.Proposal {
	return agentprotocol.Proposal{
		SchemaVersion: agentprotocol.SchemaVersion, ProposalID: "prop_1", Principal: fullPrincipal(),
		Scope: fullScope(), Kind: agentprotocol.MemoryKindFact, Subject: "release day",
		Summary: "Releases go out on Tuesday.", Object: "Tuesday",
		RequestedState: agentprotocol.LifecycleConfirmed, Sources: fullSources(),
		Risk: agentprotocol.RiskMedium, Reason: "asked twice", CreatedAt: created,
	}
}

func fullRequest() agentprotocol.ContextRequest {
	return agentprotocol.ContextRequest{
		SchemaVersion: agentprotocol.ContextSchemaVersion, Principal: fullPrincipal(), Scope: fullScope(),
		Task: "cut a release", Intent: "plan", Entities: []string{"lm"},
		KindFilter: []agentprotocol.MemoryKind{agentprotocol.MemoryKindDecision, agentprotocol.MemoryKindTask},
		Budget:     agentprotocol.ContextBudget{MaxItems: 5, MaxChars: 1000},
	}
}

func fullEntry(id string, kind agentprotocol.MemoryKind) agentprotocol.ContextEntry {
	return agentprotocol.ContextEntry{
		MemoryID: id, Kind: kind, Subject: "release day", Summary: "Tuesday", Preview: "Releases go out on …",
		Confidence: agentprotocol.ConfidenceVerified, Sources: fullSources()[:1],
		State: agentprotocol.LifecycleConfirmed, ScoreReason: "relevance 5000, confidence 2000",
	}
}

func fullPack() agentprotocol.ContextPack {
	entries := func(id string, kind agentprotocol.MemoryKind) []agentprotocol.ContextEntry {
		return []agentprotocol.ContextEntry{fullEntry(id, kind)}
	}
	return agentprotocol.ContextPack{
		SchemaVersion: agentprotocol.ContextSchemaVersion, Principal: fullPrincipal(), Scope: fullScope(),
		Facts:          entries("mem_1", agentprotocol.MemoryKindFact),
		Decisions:      entries("mem_2", agentprotocol.MemoryKindDecision),
		Preferences:    entries("mem_3", agentprotocol.MemoryKindPreference),
		Procedures:     entries("mem_4", agentprotocol.MemoryKindProcedure),
		OpenTasks:      entries("mem_5", agentprotocol.MemoryKindTask),
		FailedAttempts: entries("mem_6", agentprotocol.MemoryKindFailure),
		Conflicts:      []agentprotocol.ContextConflict{{MemoryIDs: []string{"mem_1", "mem_7"}, Reason: "another day"}},
		Sources:        fullSources(),
		NextActions:    []agentprotocol.NextAction{{Name: "see more", Command: "lm context", Reason: "budget_exceeded"}},
		Truncated:      true,
	}
}

func fullHandoff() agentprotocol.Handoff {
	return agentprotocol.Handoff{
		SchemaVersion: agentprotocol.HandoffSchemaVersion, HandoffID: "hand_1",
		FromPrincipal: fullPrincipal(), ToPrincipal: agentprotocol.DefaultAdapterPrincipal("writer", "claude-code"),
		Scope: fullScope(), Objective: "cut a release", CreatedAt: created, CurrentState: "notes are written",
		Decisions: []string{"no 32-bit builds"}, CompletedWork: []string{"notes"}, Blockers: []string{"signing key"},
		Verification: []string{"tests pass"}, FollowUps: []string{"announce"}, Sources: fullSources(),
		RequestedNextCapability: "propose",
	}
}

func fullFeedback() agentprotocol.Feedback {
	return agentprotocol.Feedback{
		SchemaVersion: agentprotocol.SchemaVersion, FeedbackID: "fb_1", Principal: fullPrincipal(),
		Scope: fullScope(), Kind: agentprotocol.FeedbackScopeTooWide, MemoryID: "mem_1",
		ContextRequestRef: "req_1", Comment: "only for this repository", CreatedAt: created,
	}
}

func fullDescriptor() agentprotocol.AdapterDescriptor {
	return agentprotocol.AdapterDescriptor{
		SchemaVersion: agentprotocol.AdapterSchemaVersion, AdapterID: "codex-cli", Runtime: "codex",
		SupportedVersions: []string{agentprotocol.SchemaVersion, "yeisme.agent_memory.v0"},
		Capabilities:      []agentprotocol.Capability{agentprotocol.CapabilityRead, agentprotocol.CapabilityPropose},
		MaxContextItems:   10, MaxContextChars: 4000,
		SupportsProposal: true, SupportsHandoff: true, SupportsFeedback: true,
		Metadata: map[string]string{"transport": "stdio"},
	}
}
