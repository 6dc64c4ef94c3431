package memory

import (
	"slices"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/vault"
)

// Scope is where a memory holds.
type Scope = agentprotocol.Scope

// Tree is the vault's tree of scopes: that of vault.yaml, and the project, which
// is always there. agentprotocol.Scope.Contains compares levels only and
// authorizes nothing; this tree does.
type Tree struct {
	project Scope
	parent  map[Scope]Scope
	listed  map[Scope]bool
}

// NewTree reads the tree off vault.yaml.
func NewTree(config *vault.Config) *Tree {
	t := &Tree{project: Scope{Kind: agentprotocol.ScopeKindProject, ID: config.Project}, parent: map[Scope]Scope{}, listed: map[Scope]bool{}}
	t.listed[t.project] = true
	for _, s := range config.Scopes {
		node := t.Named(Scope{Kind: agentprotocol.ScopeKind(s.Kind), ID: s.ID})
		t.listed[node] = true
		if parent := vault.Subject(s.Parent); parent != "" {
			t.parent[node] = t.Named(Scope{Kind: agentprotocol.ScopeKind(parent.Kind()), ID: parent.ID()})
		}
	}
	return t
}

// Project is the scope of the vault's project.
func (t *Tree) Project() Scope { return t.project }

// Named gives the scope that a name stands for: project "current" is the vault's
// own.
func (t *Tree) Named(s Scope) Scope {
	if s.Kind == agentprotocol.ScopeKindProject && s.ID == "current" {
		return t.project
	}
	return s
}

// Line is a scope and those above it, the narrowest first, as a principal sees
// them whose home is another scope: a session or task that is not listed hangs
// under that one. Parents that come back to themselves end the line.
func (t *Tree) Line(s, home Scope) []Scope {
	var out []Scope
	seen := map[Scope]bool{}
	for s = t.Named(s); !seen[s]; {
		seen[s] = true
		out = append(out, s)
		parent, ok := t.parent[s]
		if !ok && !t.listed[s] && (s.Kind == agentprotocol.ScopeKindSession || s.Kind == agentprotocol.ScopeKindTask) {
			parent, ok = home, true
		}
		if !ok {
			break
		}
		s = parent
	}
	return out
}

// Sees says whether a principal sees what somebody else wrote in a scope of its
// line: an unlisted session or task hangs under its author's scope, not the
// reader's, so two that have the same name are not the same.
func (t *Tree) Sees(reader Principal, s, authorsHome Scope) bool {
	if t.listed[s] || s.Kind != agentprotocol.ScopeKindSession && s.Kind != agentprotocol.ScopeKindTask {
		return true
	}
	return slices.Contains(t.Line(reader.Home, reader.Home), authorsHome) || t.Covers(reader, authorsHome)
}

// Covers says whether a principal may speak for a scope: it is the one that the
// principal is bound to, or lies below it.
func (t *Tree) Covers(p Principal, s Scope) bool {
	return slices.Contains(t.Line(s, p.Home), p.Bound)
}

// Reaches says whether a principal may read what somebody wrote in a scope: it lies
// in the principal's own or above it, and Sees holds.
func (t *Tree) Reaches(reader Principal, s, authorsHome Scope) bool {
	return (t.Covers(reader, s) || slices.Contains(t.Line(reader.Home, reader.Home), s)) && t.Sees(reader, s, authorsHome)
}
