package memory

import (
	"fmt"
	"slices"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
)

// Principal is who acts, with the scope that vault.yaml binds it to. Home is where
// it is when it says nothing: an agent's own scope, a person's project; a person
// is bound to all that the project lies in.
type Principal struct {
	agentprotocol.Principal
	Bound, Home Scope
}

// Agent says that no person acts.
func (p Principal) Agent() bool { return vault.Subject(p.PrincipalID).Kind() == vault.KindAgent }

// may says whether the principal has a capability, or the trust that stands for
// all.
func (p Principal) may(c agentprotocol.Capability) bool {
	return p.Trust == agentprotocol.TrustLevelOwner && !p.Agent() || p.HasCapability(c)
}

// PrincipalOf is somebody as vault.yaml has them; nothing comes from the caller.
// who is "user:<id>" or "agent:<id>", owner the person for whom an agent works.
//
// The one person of a vault without people has trust owner and every capability.
// A listed person without trust has owner if they are among policy.approvers,
// or nobody is, else collaborator; without capabilities, all that their trust
// may have but confirm. An agent that is not listed, or lists no capabilities,
// is agentprotocol.DefaultAdapterPrincipal. What contradicts itself in vault.yaml
// is validation_failed.
func PrincipalOf(config *vault.Config, who, owner vault.Subject) (Principal, error) {
	tree := NewTree(config)
	p := Principal{Bound: tree.Project(), Home: tree.Project()}
	p.Principal = agentprotocol.Principal{SchemaVersion: agentprotocol.SchemaVersion, PrincipalID: string(who)}
	at := "people." + who.ID()
	if who.Kind() == vault.KindAgent {
		at = "agents." + who.ID()
		if err := p.agent(config, who, owner); err != nil {
			return p, err
		}
	} else if err := p.person(config, who); err != nil {
		return p, err
	}
	if p.Capabilities == nil {
		p.Capabilities = []agentprotocol.Capability{}
	}
	if err := p.Validate(); err != nil {
		return p, fmt.Errorf("vault.yaml: %s: %w", at, err)
	}
	return p, nil
}

func (p *Principal) agent(config *vault.Config, who, owner vault.Subject) error {
	listed := config.Agents[who.ID()]
	p.Principal = agentprotocol.DefaultAdapterPrincipal(string(who), listed.Framework)
	p.AgentID, p.OwnerID = who.ID(), string(owner)
	if listed.Trust != "" {
		p.Trust = agentprotocol.TrustLevel(listed.Trust)
	}
	if len(listed.Capabilities) > 0 {
		p.Capabilities = capabilities(listed.Capabilities)
	}
	if listed.Scope != "" {
		s := vault.Subject(listed.Scope)
		p.Bound = NewTree(config).Named(Scope{Kind: agentprotocol.ScopeKind(s.Kind()), ID: s.ID()})
		p.Home = p.Bound
	}
	return nil
}

// everything but confirm, which is granted by name only.
var everything = []agentprotocol.Capability{
	agentprotocol.CapabilityRead, agentprotocol.CapabilityPropose, agentprotocol.CapabilityReview, agentprotocol.CapabilityApprove,
	agentprotocol.CapabilityHandoff, agentprotocol.CapabilityFeedback,
}

func (p *Principal) person(config *vault.Config, who vault.Subject) error {
	listed, ok := config.People[who.ID()]
	if !ok && len(config.People) > 0 {
		return refuse(agentprotocol.ErrCodeInsufficientScope, "%s is none of the people in vault.yaml; ask one of them to add you", who)
	}
	line := NewTree(config).Line(p.Home, p.Home)
	p.Bound = line[len(line)-1]
	p.Trust = agentprotocol.TrustLevel(listed.Trust)
	if p.Trust == "" {
		p.Trust = agentprotocol.TrustLevelCollaborator
		w := governance.Who{User: who.ID(), Teams: config.TeamsOf(who.ID()), Roles: listed.Roles}
		if approvers := config.Policy.Approvers; len(approvers) == 0 || slices.ContainsFunc(approvers, w.Is) {
			p.Trust = agentprotocol.TrustLevelOwner
		}
	}
	p.Capabilities = capabilities(listed.Capabilities)
	if len(listed.Capabilities) == 0 {
		p.Capabilities = allowed(everything, p.Trust)
	}
	return nil
}

// allowed are the capabilities among some that somebody of a trust may have.
func allowed(all []agentprotocol.Capability, trust agentprotocol.TrustLevel) []agentprotocol.Capability {
	return slices.DeleteFunc(slices.Clone(all), func(c agentprotocol.Capability) bool {
		return c == agentprotocol.CapabilityApprove && trust != agentprotocol.TrustLevelOwner || c == agentprotocol.CapabilityReview && trust == agentprotocol.TrustLevelAdapter
	})
}

func capabilities(words []string) []agentprotocol.Capability {
	var out []agentprotocol.Capability
	for _, word := range words {
		out = append(out, agentprotocol.Capability(word))
	}
	return out
}

// Narrow is the principal as a call states it, which may be less than vault.yaml
// gives and never more: another id, a wider trust or another capability is
// insufficient_scope. A lower trust alone takes with it what that trust may not
// have. A zero stated principal changes nothing.
func (p Principal) Narrow(stated agentprotocol.Principal) (Principal, error) {
	given := p
	if stated.PrincipalID != "" && stated.PrincipalID != p.PrincipalID {
		return p, refuse(agentprotocol.ErrCodeInsufficientScope, "this process acts as %s, not as %s; identity comes from vault.yaml and the surroundings", p.PrincipalID, stated.PrincipalID)
	}
	if stated.Trust != "" {
		levels := []agentprotocol.TrustLevel{agentprotocol.TrustLevelAdapter, agentprotocol.TrustLevelCollaborator, agentprotocol.TrustLevelOwner}
		if slices.Index(levels, stated.Trust) > slices.Index(levels, p.Trust) {
			return p, refuse(agentprotocol.ErrCodeInsufficientScope, "vault.yaml gives %s trust %s, not %s", p.PrincipalID, p.Trust, stated.Trust)
		}
		p.Trust, p.Capabilities = stated.Trust, allowed(p.Capabilities, stated.Trust)
	}
	if stated.Capabilities != nil {
		for _, c := range stated.Capabilities {
			if !given.may(c) {
				return p, refuse(agentprotocol.ErrCodeInsufficientScope, "vault.yaml gives %s no capability %q", p.PrincipalID, c)
			}
		}
		p.Capabilities = slices.Clone(stated.Capabilities)
	}
	if err := p.Validate(); err != nil {
		return p, fmt.Errorf("principal: %w", err)
	}
	return p, nil
}

// Needs says why the principal may not do what needs a capability in a scope, or
// nil.
func (p Principal) Needs(t *Tree, c agentprotocol.Capability, s Scope) error {
	if err := s.Validate(); err != nil {
		return fmt.Errorf("scope: %w", err)
	}
	if !p.may(c) {
		return refuse(agentprotocol.ErrCodeInsufficientScope, "%s has no capability %q; vault.yaml grants it", p.PrincipalID, c)
	}
	if !t.Covers(p, s) {
		return refuse(agentprotocol.ErrCodeInsufficientScope, "%s is bound to %s:%s, and %s:%s does not lie in it", p.PrincipalID, p.Bound.Kind, p.Bound.ID, s.Kind, s.ID)
	}
	return nil
}
