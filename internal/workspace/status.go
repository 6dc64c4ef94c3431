package workspace

import (
	"context"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
)

// Status is where a vault stands.
type Status struct {
	Project  string         `json:"project"`
	Name     string         `json:"name"`
	Vault    string         `json:"vault"` // relative to the repository's root; "" is the root
	Head     Snapshot       `json:"head"`
	Trusted  Snapshot       `json:"trusted"` // what loadouts read
	Assets   int            `json:"assets"`  // that you may read
	Hidden   int            `json:"hidden"`
	ByStatus map[string]int `json:"by_status"`
	ByType   map[string]int `json:"by_type"`
	// Unreceipted lists what says approved without a receipt for this content.
	Unreceipted []vault.ID `json:"unreceipted"`
	Invalid     []vault.ID `json:"invalid"`
	// InvalidCount counts also those that you may not read.
	InvalidCount int         `json:"invalid_count"`
	Problems     int         `json:"problems"`
	Index        IndexStatus `json:"index"`
	Hooks        []string    `json:"hooks_not_run"`
	Shallow      bool        `json:"shallow"`

	Dir string `json:"-"`
	// Waits says why one of Unreceipted is, and what to do.
	Waits func(vault.ID) string `json:"-"`
}

// Status tells where the vault stands at HEAD, and what loadouts read.
func (v *Vault) Status(ctx context.Context) (*Status, error) {
	index, err := v.Index(Revision{})
	if err != nil {
		return nil, err
	}
	head, err := v.revision(Revision{})
	if err != nil {
		return nil, err
	}
	trusted, err := v.trusted(Revision{})
	if err != nil {
		return nil, err
	}
	x, err := v.open(ctx, head)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	out := &Status{
		Project: x.config.Project, Name: x.config.Name, Vault: v.Prefix, Dir: v.Dir, Head: head.Snapshot, Trusted: trusted.Snapshot,
		ByStatus: map[string]int{}, ByType: map[string]int{}, Unreceipted: []vault.ID{}, Invalid: []vault.ID{},
		Index: index, Hooks: []string{},
	}
	config := x.config
	broken := map[vault.ID]bool{}
	out.Waits = func(id vault.ID) string {
		if broken[id] {
			return "its chain of receipts is broken; run: lm doctor"
		}
		return "no receipt for its content; review it and run: " + config.GovernCommand(id, vault.StatusApproved)
	}
	who, err := v.who(x.config, Subject{})
	if err != nil {
		return nil, err
	}
	out.Problems = len(readable(x.Problems(), x.Facts(), who))
	for i := range x.Facts() {
		f := &x.Facts()[i]
		if f.Invalid {
			out.InvalidCount++
		}
		if !governance.Allowed(f, who, vault.PermissionRead) {
			out.Hidden++
			continue
		}
		out.Assets++
		switch {
		case f.Invalid:
			out.Invalid = append(out.Invalid, f.ID)
			continue
		case f.Status == vault.StatusApproved && !f.Receipted:
			out.Unreceipted, broken[f.ID] = append(out.Unreceipted, f.ID), f.Broken
		}
		out.ByStatus[string(f.Status)]++
		out.ByType[string(f.Type)]++
	}
	if v.Repo == nil {
		return out, nil
	}
	out.Hooks = notNil(v.Repo.Hooks())
	out.Shallow, err = v.Repo.Shallow()
	return out, err
}
