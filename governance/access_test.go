package governance_test

import (
	"errors"
	"testing"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
)

func rule(effect vault.Effect, subject vault.Subject, permissions ...vault.Permission) vault.Rule {
	return vault.Rule{Effect: effect, Subject: subject, Permissions: permissions}
}

func binding(target vault.Subject) vault.Binding {
	return vault.Binding{Target: target, Mode: vault.ModeReference, Priority: 2500, Enabled: true}
}

func TestAccessOrder(t *testing.T) {
	alice := governance.Who{User: "alice"}
	reviewer := governance.Who{Agent: "reviewer", Framework: "codex"}
	read := vault.PermissionRead
	for _, c := range []struct {
		name  string
		facts vault.Facts
		who   governance.Who
		asks  vault.Permission
		want  bool
	}{
		{"project is for everyone", vault.Facts{Visibility: vault.VisibilityProject}, governance.Who{}, read, true},
		{"private is for nobody else", vault.Facts{Visibility: vault.VisibilityPrivate, Owner: "user:bob"}, alice, read, false},
		{"the owner may", vault.Facts{Visibility: vault.VisibilityPrivate, Owner: "user:alice"}, alice, vault.PermissionShare, true},
		{"a member of the owning team may", vault.Facts{Visibility: vault.VisibilityPrivate, Owner: "team:core"}, governance.Who{User: "x", Teams: []string{"core"}}, vault.PermissionManage, true},
		{"a deny beats the owner", vault.Facts{Owner: "user:alice", ACL: []vault.Rule{rule(vault.Deny, "user:alice", read)}}, alice, read, false},
		{"a deny beats an allow, whatever the order", vault.Facts{ACL: []vault.Rule{rule(vault.Allow, "user:alice", read), rule(vault.Deny, "framework:codex", read)}}, governance.Who{User: "alice", Framework: "codex"}, read, false},
		{"a deny beats the one person of a vault", vault.Facts{ACL: []vault.Rule{rule(vault.Deny, "agent:reviewer", read)}}, governance.Who{Agent: "reviewer", Sole: true}, read, false},
		{"a deny of use leaves read", vault.Facts{Visibility: vault.VisibilityProject, ACL: []vault.Rule{rule(vault.Deny, "agent:reviewer", vault.PermissionUse)}}, reviewer, read, true},
		{"an allow opens restricted", vault.Facts{Visibility: vault.VisibilityRestricted, ACL: []vault.Rule{rule(vault.Allow, "role:dev", read)}}, governance.Who{Roles: []string{"dev"}}, read, true},
		{"an allow of read opens no manage", vault.Facts{Visibility: vault.VisibilityProject, ACL: []vault.Rule{rule(vault.Allow, "user:alice", read)}}, alice, vault.PermissionManage, false},
		{"visibility gives no manage", vault.Facts{Visibility: vault.VisibilityProject}, alice, vault.PermissionManage, false},
		{"a rule matches only what is stated", vault.Facts{Visibility: vault.VisibilityRestricted, ACL: []vault.Rule{rule(vault.Allow, "task:*", read)}}, alice, read, false},
		{"a star is any stated value", vault.Facts{Visibility: vault.VisibilityRestricted, ACL: []vault.Rule{rule(vault.Allow, "task:*", read)}}, governance.Who{Task: "t"}, read, true},
		{"a shared team", vault.Facts{Visibility: vault.VisibilityTeam, Teams: []string{"a", "b"}}, governance.Who{Teams: []string{"b"}}, read, true},
		{"no shared team", vault.Facts{Visibility: vault.VisibilityTeam, Teams: []string{"a"}}, governance.Who{Teams: []string{"b"}}, read, false},
		{"agent: a matching binding", vault.Facts{Visibility: vault.VisibilityAgent, Bindings: []vault.Binding{binding("agent:reviewer")}}, reviewer, read, true},
		{"agent: bound to another", vault.Facts{Visibility: vault.VisibilityAgent, Bindings: []vault.Binding{binding("agent:other")}}, reviewer, read, false},
		{"agent: bound by framework", vault.Facts{Visibility: vault.VisibilityAgent, Bindings: []vault.Binding{binding("framework:codex")}}, reviewer, read, false},
		{"agent: a disabled binding", vault.Facts{Visibility: vault.VisibilityAgent, Bindings: []vault.Binding{{Target: "agent:reviewer"}}}, reviewer, read, false},
		{"task: a matching binding", vault.Facts{Visibility: vault.VisibilityTask, Bindings: []vault.Binding{binding("task:t")}}, governance.Who{Task: "t"}, read, true},
		{"a binding overrides no private", vault.Facts{Visibility: vault.VisibilityPrivate, Bindings: []vault.Binding{binding("agent:reviewer")}}, reviewer, read, false},
		{"an invalid asset", vault.Facts{Invalid: true}, alice, read, false},
		{"an invalid asset, one person", vault.Facts{Invalid: true}, governance.Who{Sole: true}, read, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := governance.Allowed(&c.facts, c.who, c.asks); got != c.want {
				t.Errorf("allowed: %t, want %t", got, c.want)
			}
		})
	}
}

func TestWhoMayGovern(t *testing.T) {
	solo := vault.DefaultConfig()
	team := vault.DefaultConfig()
	team.People = map[string]vault.Person{"alice": {}, "bob": {}}
	team.Policy.Approvers = []vault.Subject{"team:core"}
	team.Policy.DistinctApprover = true
	reasons := vault.DefaultConfig()
	reasons.Policy.RequireReason = true

	person := func(id string, teams ...string) governance.Actor {
		return governance.Actor{Who: governance.Who{User: id, Teams: teams}, Subject: vault.Subject("user:" + id), Listed: true}
	}
	one := governance.Actor{Who: governance.Who{User: "me", Sole: true}, Subject: "user:me", Listed: true}
	robot := governance.Actor{Who: governance.Who{User: "me", Agent: "r", Sole: true}, Subject: "agent:r", Listed: true}
	stranger := person("eve")
	stranger.Listed = false
	f := vault.Facts{ID: "x", Owner: "user:alice", Visibility: vault.VisibilityProject}
	secret := f
	secret.Visibility = vault.VisibilityPrivate
	shared := f
	shared.ACL = []vault.Rule{rule(vault.Allow, "user:bob", vault.PermissionAssign)}
	for _, c := range []struct {
		name   string
		config *vault.Config
		facts  vault.Facts
		actor  governance.Actor
		act    governance.Act
		want   error
	}{
		{"one person does it all", solo, f, one, governance.Act{To: "approved", Changed: []string{"acl", "bindings", "body"}}, nil},
		{"an agent never approves", solo, f, robot, governance.Act{To: "approved"}, governance.ErrDenied},
		{"an agent may send a candidate", solo, f, robot, governance.Act{To: "candidate", Changed: []string{"body"}}, nil},
		{"a stranger may nothing", team, f, stranger, governance.Act{To: "deprecated"}, governance.ErrDenied},
		{"the owner manages", team, f, person("alice"), governance.Act{To: "deprecated"}, nil},
		{"another does not", team, f, person("bob"), governance.Act{To: "deprecated"}, governance.ErrDenied},
		{"another does not change content", team, f, person("bob"), governance.Act{To: "candidate", Changed: []string{"body"}}, governance.ErrDenied},
		{"assign is for bindings", team, shared, person("bob"), governance.Act{To: "candidate", Changed: []string{"bindings"}}, nil},
		{"assign is not share", team, shared, person("bob"), governance.Act{To: "candidate", Changed: []string{"bindings", "visibility"}}, governance.ErrDenied},
		{"an approver approves", team, f, person("bob", "core"), governance.Act{To: "approved", Authors: []string{"user:alice"}}, nil},
		{"the owner is no approver", team, f, person("alice"), governance.Act{To: "approved"}, governance.ErrDenied},
		{"nobody approves what they wrote", team, f, person("bob", "core"), governance.Act{To: "approved", Authors: []string{"user:bob"}}, governance.ErrDenied},
		{"nobody approves what they may not read", team, secret, person("bob", "core"), governance.Act{To: "approved"}, governance.ErrDenied},
		{"without approvers, whoever may manage", func() *vault.Config { c := *team; c.Policy.Approvers = nil; return &c }(), f, person("bob"), governance.Act{To: "approved"}, governance.ErrDenied},
		{"a reason is asked for", reasons, f, one, governance.Act{To: "approved"}, governance.ErrReason},
		{"a reason is given", reasons, f, one, governance.Act{To: "archived", Reason: "old"}, nil},
		{"a reason for each act", reasons, f, one, governance.Act{To: "candidate", Changed: []string{"priority"}}, governance.ErrReason},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := governance.MayGovern(c.config, &c.facts, c.actor, c.act)
			if c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestBornApproved(t *testing.T) {
	solo, distinct := vault.DefaultConfig(), vault.DefaultConfig()
	distinct.Policy.DistinctApprover = true
	one := governance.Actor{Who: governance.Who{User: "me", Sole: true}, Subject: "user:me", Listed: true}
	robot := governance.Actor{Who: governance.Who{User: "me", Sole: true}, Subject: "agent:r", Listed: true}
	skill := vault.Facts{Type: vault.TypeSkill, Status: vault.StatusApproved, Owner: "user:me"}
	wiki := vault.Facts{Type: vault.TypeWiki, Status: vault.StatusApproved, Owner: "user:me"}
	waiting := vault.Facts{Type: vault.TypeWiki, Status: vault.StatusCandidate, Owner: "user:else"}
	for _, c := range []struct {
		name   string
		config *vault.Config
		facts  vault.Facts
		actor  governance.Actor
		born   bool
		want   error
	}{
		{"a skill with all that is due", solo, skill, one, true, nil},
		{"a skill without validation", solo, skill, one, false, governance.ErrTransition},
		{"a wiki", solo, wiki, one, true, governance.ErrTransition},
		{"by an agent", solo, skill, robot, true, governance.ErrDenied},
		{"where approvers are distinct", distinct, skill, one, true, governance.ErrDenied},
		{"a candidate, by an agent, for another owner", solo, waiting, robot, false, nil},
		{"born archived", solo, vault.Facts{Status: vault.StatusArchived}, one, true, governance.ErrTransition},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := governance.MayRegister(c.config, &c.facts, c.actor, c.born, "")
			if c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}
