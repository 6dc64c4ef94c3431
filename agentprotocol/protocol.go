// Package agentprotocol is the versioned, provider-neutral contract between
// agents and a vault of long-term memory: types, their validation, and stable
// error codes. It imports the standard library only and does no IO, so an
// adapter can depend on it without taking on a store, an index or a model.
//
// # What relates to what
//
// A [Principal] is whoever asks: a person, an agent, or the adapter of an
// agent runtime. It has a [TrustLevel] and an explicit list of [Capability]
// grants. Every request names the principal that makes it and the [Scope] it
// is about.
//
// A [Scope] is a place in the vault: an owner, a workspace, a project, a
// repository, a session or a task.
//
// A [MemoryRecord] is one remembered fact, decision, preference, procedure,
// event, task or failure. It belongs to one scope, cites its evidence in a
// [SourceRefList] and moves through the lifecycle that [ValidTransition]
// states. Only confirmed and conflicted records are recalled.
//
// Agents do not write records. They send a [Proposal]; the vault answers with
// a [ProposalReview], and a principal that may approve turns the proposal into
// a confirmed record. Each such act leaves a [Receipt].
//
// A [ContextRequest] asks what is known for a task, within a
// [ContextBudget]. The answer is a [ContextPack]: short [ContextEntry]
// values by section, the conflicts among them, and suggested next actions.
// A pack holds previews, never bodies; [ContextPack.AssertNoBody] guards it.
//
// A [Handoff] carries the working state of a task from one principal to
// another. It is not memory: what should outlive the task is proposed.
// [Feedback] says how a memory or a pack served. It never changes a record; a
// reviewer sees it.
//
// An [AdapterDescriptor] says what an adapter speaks, and [Negotiate] finds
// the version and the capabilities both sides share.
//
// # Validation is not authorization
//
// Validate says that a value is well formed. It says nothing about whether
// the principal may do what it asks. In particular [Scope.Contains] compares
// the levels of two scopes and never authorizes: it is true for any project
// under any owner. Whoever authorizes walks the vault's own tree of scopes.
//
// The checks of a Validate method run in the order its comment names and stop
// at the first failure. Each failure is a [*StableError] that errors.As finds:
// [ErrCodeInvalidScope] for a scope, wherever it is nested, and
// [ErrCodeValidationFailed] for anything else. A nested failure is wrapped
// with its path, as in
//
//	sources[2]: validation_failed: ref is required
//
// A string of white space only counts as empty in every check.
//
// # Wire format
//
// The wire format is JSON with the names in the struct tags. Times are RFC
// 3339, and producers write them in UTC. Characters, in limits and counts, are
// Unicode code points. Values of the string types are case-sensitive.
//
// # Versions
//
// A value names its schema in schema_version; an empty one is read as the
// current version, and any other than the type's own fails validation.
// Within a version the contract only grows: a reader ignores unknown JSON
// keys, at every level, and keeps a stored record of an unknown [MemoryKind]
// as a generic one, shown among the facts. Producers are held to the known
// kinds, which is why Validate refuses the others. The kinds of a [SourceRef]
// and of a [Receipt] are open sets.
package agentprotocol

// The schemas of the contract.
const (
	// SchemaVersion is the schema of Principal, MemoryRecord, Proposal,
	// Feedback and Receipt.
	SchemaVersion = "yeisme.agent_memory.v1"
	// ContextSchemaVersion is the schema of ContextRequest and ContextPack.
	ContextSchemaVersion = "yeisme.agent_context_pack.v1"
	// HandoffSchemaVersion is the schema of Handoff.
	HandoffSchemaVersion = "yeisme.agent_handoff.v1"
	// AdapterSchemaVersion is the schema of AdapterDescriptor.
	AdapterSchemaVersion = "yeisme.agent_adapter.v1"
)
