package workspace

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/index"
	"longmemory.dev/lm/vault"
)

// Hit is an asset that a search found.
type Hit struct {
	ID          vault.ID    `json:"id"`
	Type        vault.Type  `json:"type"`
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Version     int         `json:"version"`
	Relevance   vault.Ratio `json:"relevance"`
	Terms       []Term      `json:"terms"`
}

// Hits is the answer to a search: the first of Total, the most relevant first.
type Hits struct {
	Snapshot Snapshot `json:"snapshot"`
	Hits     []Hit    `json:"hits"`
	Total    int      `json:"total"`
}

// Search finds approved assets by the words of a query, through the access
// gate of a loadout: what the subject may not read or use, and what has
// expired, is not found. limit 0 gives every hit.
func (v *Vault) Search(ctx context.Context, ask Ask, limit int) (*Hits, error) {
	var out *Hits
	err := v.answer(ctx, ask, func(x *opened, request governance.Request, ranking *index.Ranking) error {
		out = x.hits(request, ranking, limit)
		return nil
	})
	return out, err
}

func (x *opened) hits(request governance.Request, ranking *index.Ranking, limit int) *Hits {
	facts := x.Facts()
	var found []int
	for i := range facts {
		if ranking.Relevance(i) > 0 && governance.Reachable(&facts[i], request) {
			found = append(found, i)
		}
	}
	slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(ranking.Relevance(b), ranking.Relevance(a)) })
	out := &Hits{Snapshot: x.Snapshot, Hits: []Hit{}, Total: len(found)}
	if limit > 0 && len(found) > limit {
		found = found[:limit]
	}
	for _, i := range found {
		f := facts[i].Standing()
		out.Hits = append(out.Hits, Hit{ID: f.ID, Type: f.Type, Name: f.Name, Description: f.Description, Version: f.Version,
			Relevance: ranking.Relevance(i), Terms: termsOf(ranking.Terms(i))})
	}
	return out
}

// Explanation is one asset's way through a request.
type Explanation struct {
	ID       vault.ID          `json:"id"`
	Type     vault.Type        `json:"type"`
	Name     string            `json:"name"`
	Version  int               `json:"version"`
	Status   vault.Status      `json:"status"`
	Snapshot Snapshot          `json:"snapshot"`
	Request  Request           `json:"request"`
	Steps    []governance.Step `json:"steps"`
	// Decision is "selected" or the reason of the exclusion.
	Decision string `json:"decision"`
	Detail   string `json:"detail"`
	// Selected is how the asset stands in the loadout; null if it does not.
	Selected *Selected `json:"selected"`
}

// Explain runs one asset through a request and shows each decision, the budget
// last. An asset that may not be read is not found.
func (v *Vault) Explain(ctx context.Context, id vault.ID, ask Ask) (*Explanation, error) {
	var out *Explanation
	err := v.answer(ctx, ask, func(x *opened, request governance.Request, ranking *index.Ranking) (err error) {
		out, err = x.explain(id, request, ranking)
		return err
	})
	return out, err
}

func (x *opened) explain(id vault.ID, request governance.Request, ranking *index.Ranking) (*Explanation, error) {
	facts := x.Facts()
	i, found := placeOf(x.Index, id)
	if !found || !governance.Allowed(&facts[i], request.Who, vault.PermissionRead) {
		return nil, fmt.Errorf("%w: there is no asset %s at %s that this subject may read", ErrNotFound, id, x.Ref)
	}
	f := &facts[i]
	steps := governance.Explain(x.config, f, request, ranking.Relevance(i))
	out := &Explanation{ID: f.ID, Type: f.Type, Name: f.Name, Version: f.Version, Status: f.Status, Snapshot: x.Snapshot, Request: requestOf(request), Steps: steps}
	resolved := governance.Resolve(x.config, facts, request, ranking.Relevance, governance.Cost{Frame: x.frame, Form: x.FormTokens})
	for _, e := range resolved.Excluded {
		if e.ID == id {
			out.Decision, out.Detail = string(e.Reason), e.Detail
		}
	}
	for _, s := range resolved.Selected {
		if s.Index == i {
			one := selected(f, s, ranking.Terms(i))
			out.Decision, out.Selected = "selected", &one
		}
	}
	if last := steps[len(steps)-1]; last.Passed {
		out.Steps = append(out.Steps, governance.Step{Name: string(governance.ReasonOverBudget), Passed: out.Selected != nil, Detail: out.fits()})
	}
	return out, nil
}

func (e *Explanation) fits() string {
	if e.Selected == nil {
		return e.Detail
	}
	return fmt.Sprintf("%s, %d tokens", e.Selected.Mode, e.Selected.Tokens)
}
