package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// TestDiff is what a change does to saved loadouts. Both sides answer the
// requests of the newer one, at one time.
type TestDiff struct {
	From     Snapshot        `json:"from"`
	To       Snapshot        `json:"to"`
	Loadouts []LoadoutDiff   `json:"loadouts"`
	Removed  []string        `json:"removed"`  // saved loadouts that only From has
	Problems []vault.Problem `json:"problems"` // saved loadouts of To that cannot be read
}

// LoadoutDiff is what a change does to one saved loadout. Changes are sorted by
// id; of an asset that is in on both sides there is one if its mode, version or
// tokens differ.
type LoadoutDiff struct {
	Name         string       `json:"name"`
	New          bool         `json:"new"` // From has no such saved loadout
	Query        string       `json:"query"`
	Subject      string       `json:"subject"`
	Changes      []ItemChange `json:"changes"`
	TokensBefore int          `json:"tokens_before"`
	TokensAfter  int          `json:"tokens_after"`
	TokenBudget  int          `json:"token_budget"`
}

// ItemChange is one asset that enters, leaves or changes. Why says what keeps
// it out on the side where it is not: a reason and its detail, Hidden, or that
// there is no such asset.
type ItemChange struct {
	ID     vault.ID    `json:"id"`
	Change string      `json:"change"` // enters, leaves, changes
	Before *TestedItem `json:"before"`
	After  *TestedItem `json:"after"`
	Why    string      `json:"why"`
}

// TestDiff compares what saved loadouts select at a revision and now.
func (v *Vault) TestDiff(ctx context.Context, base string, r Revision, names []string) (*TestDiff, error) {
	if v.Repo == nil {
		return nil, fmt.Errorf("%w: %s is no Git repository, so it has no revision %s", gitstore.ErrNotFound, v.Dir, base)
	}
	from, err := v.commit(base)
	if err != nil {
		return nil, err
	}
	to, err := v.revision(r)
	if err != nil {
		return nil, err
	}
	tests, problems, err := v.saved(&to, names)
	if err != nil {
		return nil, err
	}
	old, _, err := v.saved(&from, nil)
	if err != nil {
		return nil, err
	}
	now := v.env.Now()
	before, err := v.outcomes(ctx, from, tests, now)
	if err != nil {
		return nil, fmt.Errorf("at %s: %w", base, err)
	}
	after, err := v.outcomes(ctx, to, tests, now)
	if err != nil {
		return nil, err
	}
	out := &TestDiff{From: from.Snapshot, To: to.Snapshot, Loadouts: []LoadoutDiff{}, Removed: []string{}, Problems: v.placed(notNil(problems))}
	known := map[string]bool{}
	for _, t := range old {
		known[t.Name] = true
	}
	for i, t := range tests {
		d := effect(before[i], after[i])
		d.New = !known[t.Name]
		out.Loadouts = append(out.Loadouts, d)
	}
	for _, t := range old {
		if len(names) == 0 && !slices.ContainsFunc(tests, func(n *vault.LoadoutTest) bool { return n.Name == t.Name }) {
			out.Removed = append(out.Removed, t.Name)
		}
	}
	return out, nil
}

func effect(before, after *outcome) LoadoutDiff {
	d := LoadoutDiff{
		Name: after.test.Name, Query: after.request.Query, Subject: subjectOf(after.Request), Changes: []ItemChange{},
		TokensBefore: before.TokensUsed, TokensAfter: after.TokensUsed, TokenBudget: after.TokenBudget,
	}
	old, now := before.items(), after.items()
	for i := range old {
		j := slices.IndexFunc(now, func(n TestedItem) bool { return n.ID == old[i].ID })
		switch {
		case j < 0:
			d.Changes = append(d.Changes, ItemChange{ID: old[i].ID, Change: "leaves", Before: &old[i], Why: after.why(old[i].ID)})
		case now[j] != old[i]:
			d.Changes = append(d.Changes, ItemChange{ID: old[i].ID, Change: "changes", Before: &old[i], After: &now[j]})
		}
	}
	for j := range now {
		if !slices.ContainsFunc(old, func(o TestedItem) bool { return o.ID == now[j].ID }) {
			d.Changes = append(d.Changes, ItemChange{ID: now[j].ID, Change: "enters", After: &now[j], Why: before.why(now[j].ID)})
		}
	}
	slices.SortFunc(d.Changes, func(a, b ItemChange) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return d
}

// subjectOf names who a request is for, on one line.
func subjectOf(r Request) string {
	var out []string
	for _, s := range [][2]string{{"user", r.User}, {"agent", r.Agent}, {"task", r.Task}, {"framework", r.Framework}} {
		if s[1] != "" {
			out = append(out, s[0]+":"+s[1])
		}
	}
	return strings.Join(out, " ")
}
