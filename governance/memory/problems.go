package memory

import (
	"fmt"
	"slices"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/vault"
)

// Problems are what contradicts itself in vault.yaml's people, agents and scopes:
// capabilities that need another trust, parents that are not listed or that come
// back to themselves.
func Problems(config *vault.Config) []vault.Problem {
	var out []vault.Problem
	add := func(field, mend, format string, args ...any) {
		out = append(out, vault.Problem{Severity: vault.Error, Path: vault.ConfigFile, Line: 1, Column: 1, Field: field, Message: fmt.Sprintf(format, args...), Mend: mend})
	}
	for _, list := range []struct {
		kind, at string
		ids      []string
	}{{vault.KindUser, "people.", keys(config.People)}, {vault.KindAgent, "agents.", keys(config.Agents)}} {
		for _, id := range list.ids {
			p, err := PrincipalOf(config, vault.Subject(list.kind+":"+id), "")
			if err != nil {
				add(list.at+id, "give it the trust that this needs, or take the capability away", "%v", err)
			} else if tree := NewTree(config); list.kind == vault.KindAgent && !tree.listed[p.Bound] {
				add(list.at+id+".scope", fmt.Sprintf("add {kind: %s, id: %s} to scopes", p.Bound.Kind, p.Bound.ID), "%s:%s is none of the scopes", p.Bound.Kind, p.Bound.ID)
			}
		}
	}
	tree := NewTree(config)
	for i, s := range config.Scopes {
		node := tree.Named(Scope{Kind: agentprotocol.ScopeKind(s.Kind), ID: s.ID})
		parent, ok := tree.parent[node]
		field := fmt.Sprintf("scopes[%d].parent", i)
		switch {
		case ok && !tree.listed[parent]:
			add(field, fmt.Sprintf("add {kind: %s, id: %s} to scopes", parent.Kind, parent.ID), "%s:%s is none of the scopes", parent.Kind, parent.ID)
		case ok && slices.Contains(tree.Line(parent, node), node):
			add(field, "let one of them hang under something else", "%s:%s hangs under itself", node.Kind, node.ID)
		}
	}
	return out
}

func keys[T any](m map[string]T) []string {
	out := make([]string, 0, len(m))
	for id := range m {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}
