package workspace

import (
	"context"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/vault"
)

// remembrance is a memory as a loadout takes it in.
type remembrance struct {
	LoadoutMemory
	text string
}

// remembrances are the confirmed memories for a loadout's agent, the best first:
// of the scope that vault.yaml gives the agent, if the caller may read that, else
// of the caller's own.
func (v *Vault) remembrances(ctx context.Context, at Snapshot, r governance.Request) ([]remembrance, error) {
	m, err := v.rememberAt(loaded{Snapshot: at}, agentprotocol.Principal{})
	if err != nil {
		return nil, err
	}
	m.now = r.Now
	scope := m.principal.Home
	if r.Agent != "" {
		agent, err := memory.PrincipalOf(m.config, vault.Subject("agent:"+r.Agent), "")
		if err != nil {
			return nil, err
		}
		if m.tree.Covers(m.principal, agent.Home) {
			scope = agent.Home
		}
	}
	var out []remembrance
	err = m.recall(ctx, scope, r.Query, func(x *memories, eligible []*memory.Candidate, _ memory.Loading) error {
		out = nil
		for _, c := range memory.Best(eligible, m.now, memory.DefaultItems) {
			form, err := x.Form(c.Place, vault.ModeSummary)
			if err != nil {
				return err
			}
			f := &x.Facts()[c.Place]
			out = append(out, remembrance{LoadoutMemory{string(f.ID), string(f.Type), string(f.Owner), form.Tokens}, form.Text})
		}
		return nil
	})
	return out, err
}
