package governance

import (
	"slices"

	"longmemory.dev/lm/vault"
)

// Who is the subject of a request: what it states about itself. Nothing is
// inferred here; an empty field matches nothing.
type Who struct {
	User      string
	Teams     []string
	Roles     []string
	Agent     string
	Task      string
	Framework string

	// Sole marks the one person of a vault that lists no people, who counts as
	// the owner of every asset (format.md §5).
	Sole bool
}

// Is says whether the subject states what s names. "*" stands for any value
// of its kind that is stated.
func (w Who) Is(s vault.Subject) bool {
	var stated []string
	switch s.Kind() {
	case vault.KindUser:
		stated = []string{w.User}
	case vault.KindTeam:
		stated = w.Teams
	case vault.KindRole:
		stated = w.Roles
	case vault.KindAgent:
		stated = []string{w.Agent}
	case vault.KindTask:
		stated = []string{w.Task}
	case vault.KindFramework:
		stated = []string{w.Framework}
	}
	return slices.ContainsFunc(stated, func(id string) bool {
		return id != "" && (id == s.ID() || s.ID() == "*")
	})
}

// Owns says whether the subject is the asset's owner, or one of the team that
// is.
func (w Who) Owns(f *vault.Facts) bool { return w.Sole || w.Is(f.Owner) }

// Allowed says whether the subject has a permission on an asset: a matching
// deny, the owner, a matching allow, then for read and use the visibility
// (design.md §3). Of an invalid asset the rules are unknown, so only the one
// person of a vault without people may read it.
func Allowed(f *vault.Facts, w Who, p vault.Permission) bool {
	allowed, _ := access(f, w, p)
	return allowed
}

// verdict is what decided about a permission.
type verdict struct {
	by   string
	rule *vault.Rule
}

// Why says what decides about a permission, for people.
func Why(f *vault.Facts, w Who, p vault.Permission) string {
	switch _, v := access(f, w, p); {
	case v.rule != nil:
		return v.by + string(v.rule.Subject)
	case v.by == "visibility":
		return "visibility " + string(f.Visibility)
	case v.by == "needs":
		return "needs " + string(p)
	default:
		return v.by
	}
}

func access(f *vault.Facts, w Who, p vault.Permission) (bool, verdict) {
	if f.Invalid {
		return w.Sole, verdict{by: "its rules are unknown"}
	}
	if rule := matching(f.ACL, vault.Deny, w, p); rule != nil {
		return false, verdict{"denied to ", rule}
	}
	if w.Owns(f) {
		return true, verdict{by: "owner"}
	}
	if rule := matching(f.ACL, vault.Allow, w, p); rule != nil {
		return true, verdict{"allowed to ", rule}
	}
	if p != vault.PermissionRead && p != vault.PermissionUse {
		return false, verdict{by: "needs"}
	}
	return visible(f, w), verdict{by: "visibility"}
}

func visible(f *vault.Facts, w Who) bool {
	switch f.Visibility {
	case vault.VisibilityProject:
		return true
	case vault.VisibilityTeam:
		return slices.ContainsFunc(f.Teams, func(team string) bool { return slices.Contains(w.Teams, team) })
	case vault.VisibilityAgent:
		return boundTo(f, w, vault.KindAgent)
	case vault.VisibilityTask:
		return boundTo(f, w, vault.KindTask)
	}
	return false
}

func matching(rules []vault.Rule, effect vault.Effect, w Who, p vault.Permission) *vault.Rule {
	for i := range rules {
		if r := &rules[i]; r.Effect == effect && slices.Contains(r.Permissions, p) && w.Is(r.Subject) {
			return r
		}
	}
	return nil
}

func boundTo(f *vault.Facts, w Who, kind string) bool {
	return slices.ContainsFunc(f.Bindings, func(b vault.Binding) bool {
		return b.Enabled && b.Target.Kind() == kind && w.Is(b.Target)
	})
}

// Blind finds the bindings of an approved asset whose target may not use it:
// it gives, for each binding, its target, or "" if all is well. A team's asset
// may be bound to an agent that works for the team's people, so only what no
// person could change by who they are counts.
func Blind(config *vault.Config, f *vault.Facts) []vault.Subject {
	out := make([]vault.Subject, len(f.Bindings))
	if !f.Approved() {
		return out
	}
	for i, b := range f.Bindings {
		if !b.Enabled {
			continue
		}
		w := Who{Sole: len(config.People) == 0}
		if f.Visibility == vault.VisibilityTeam {
			w.Teams = f.Teams
		}
		switch b.Target.Kind() {
		case vault.KindAgent:
			agent := config.Agents[b.Target.ID()]
			w.Agent, w.Framework, w.Roles = b.Target.ID(), agent.Framework, agent.Roles
		case vault.KindTask:
			w.Task = b.Target.ID()
		case vault.KindFramework:
			w.Framework = b.Target.ID()
		}
		if !Allowed(f, w, vault.PermissionRead) || !Allowed(f, w, vault.PermissionUse) {
			out[i] = b.Target
		}
	}
	return out
}
