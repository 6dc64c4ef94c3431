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

// remembrances are the confirmed memories for a loadout, the best first: those that
// the one whom it is for may have, in the scope that vault.yaml gives them. A caller
// who asks for somebody else has to be one who may read that scope.
func (v *Vault) remembrances(ctx context.Context, at Snapshot, r governance.Request) ([]remembrance, error) {
	m, err := v.rememberAt(loaded{Snapshot: at}, agentprotocol.Principal{})
	if err != nil {
		return nil, err
	}
	m.now, m.who = r.Now, r.Who
	subject := vault.Subject("user:" + r.User)
	if r.Agent != "" {
		subject = vault.Subject("agent:" + r.Agent)
	}
	if subject.ID() != "" && string(subject) != m.principal.PrincipalID {
		reader, err := memory.PrincipalOf(m.config, subject, "")
		if err == nil {
			err = m.principal.Needs(m.tree, agentprotocol.CapabilityRead, reader.Home)
		}
		if err != nil {
			return nil, err
		}
		m.principal = reader
	}
	var out []remembrance
	err = m.recall(ctx, m.principal.Home, r.Query, func(x *memories, eligible []*memory.Candidate, _ memory.Loading) error {
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
