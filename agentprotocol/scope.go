package agentprotocol

import "slices"

// ScopeKind is the level of a scope.
type ScopeKind string

// The scope kinds, from wide to narrow.
const (
	ScopeKindOwner      ScopeKind = "owner"
	ScopeKindWorkspace  ScopeKind = "workspace"
	ScopeKindProject    ScopeKind = "project"
	ScopeKindRepository ScopeKind = "repository"
	ScopeKindSession    ScopeKind = "session"
	ScopeKindTask       ScopeKind = "task"
)

// scopeKinds is in the order that Contains compares by: wide to narrow.
var scopeKinds = []ScopeKind{
	ScopeKindOwner, ScopeKindWorkspace, ScopeKindProject,
	ScopeKindRepository, ScopeKindSession, ScopeKindTask,
}

// Scope names a place in the vault.
type Scope struct {
	// Kind is the level.
	Kind ScopeKind `json:"kind"`
	// ID is the name, unique among the scopes of its kind.
	ID string `json:"id"`
}

// Validate checks that the kind is known and that the ID is not empty. A
// failure has the code invalid_scope.
func (s Scope) Validate() error {
	if !slices.Contains(scopeKinds, s.Kind) {
		return NewStableError(ErrCodeInvalidScope, notOneOf("kind", s.Kind, scopeKinds))
	}
	if isBlank(s.ID) {
		return NewStableError(ErrCodeInvalidScope, "id is required")
	}
	return nil
}

// Contains reports whether s is of a wider kind than other, or of the same
// kind with an equal ID. It is false if either kind is unknown.
//
// Contains never authorizes. It compares levels only and does not know which
// project lies in which workspace; authorization walks the vault's own tree of
// scopes.
func (s Scope) Contains(other Scope) bool {
	width, otherWidth := slices.Index(scopeKinds, s.Kind), slices.Index(scopeKinds, other.Kind)
	if width < 0 || otherWidth < 0 {
		return false
	}
	if width == otherWidth {
		return s.ID == other.ID
	}
	return width < otherWidth
}
