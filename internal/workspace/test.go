package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/index"
	"longmemory.dev/lm/vault"
)

// Tests is what saved loadouts (format.md §7) say of a snapshot. Paths in
// Problems are relative to the repository's root.
type Tests struct {
	Snapshot Snapshot        `json:"snapshot"`
	Tests    []TestResult    `json:"tests"`
	Problems []vault.Problem `json:"problems"` // files that cannot be read and broken promises, sorted
}

// TestResult is one saved loadout as it is now.
type TestResult struct {
	Name        string       `json:"name"`
	Passed      bool         `json:"passed"`
	Selected    []TestedItem `json:"selected"`
	TokensUsed  int          `json:"tokens_used"`
	TokenBudget int          `json:"token_budget"`
	Complete    bool         `json:"complete"`
}

// TestedItem is an asset in a saved loadout, in rank order.
type TestedItem struct {
	ID      vault.ID   `json:"id"`
	Version int        `json:"version"`
	Mode    vault.Mode `json:"mode"`
	Tokens  int        `json:"tokens"`
}

// outcome is the loadout of one saved request.
type outcome struct {
	test    *vault.LoadoutTest
	request governance.Request
	*Loadout
	// unread says, of each asset that the subject may not read, what decides
	// that. A loadout only counts them; whoever keeps saved loadouts has the
	// files themselves.
	unread map[vault.ID]string
}

// Test holds saved loadouts against what they promise: all, or those named. A
// Revision that names nothing is HEAD: what is committed is what an agent may
// get after a merge, its index is kept, and a check of a commit must not hang
// on what lies beside it.
func (v *Vault) Test(ctx context.Context, r Revision, names []string) (*Tests, error) {
	at, err := v.revision(r)
	if err != nil {
		return nil, err
	}
	tests, problems, err := v.saved(&at, names)
	if err != nil {
		return nil, err
	}
	out := &Tests{Snapshot: at.Snapshot, Tests: []TestResult{}, Problems: v.placed(notNil(problems))}
	outcomes, err := v.outcomes(ctx, at, tests, v.env.Now())
	if err != nil {
		return nil, err
	}
	for _, o := range outcomes {
		broken := v.placed(o.check())
		result := TestResult{Name: o.test.Name, Passed: len(broken) == 0, Selected: o.items(), TokensUsed: o.TokensUsed, TokenBudget: o.TokenBudget, Complete: o.Complete}
		out.Tests = append(out.Tests, result)
		out.Problems = append(out.Problems, broken...)
	}
	vault.SortProblems(out.Problems)
	return out, nil
}

// saved reads the saved loadouts of a snapshot: all, or those named, with what
// is wrong with those that cannot be read.
func (v *Vault) saved(at *loaded, names []string) ([]*vault.LoadoutTest, []vault.Problem, error) {
	files := at.files
	if files == nil {
		var err error
		files, err = v.filesAt(at.Commit, func(p string, folder bool) bool {
			return vault.Relevant(p, folder) && (p == vault.LoadoutFolder || strings.HasPrefix(p, vault.LoadoutFolder+"/"))
		})
		if err != nil {
			return nil, nil, err
		}
	}
	tests, problems := vault.ReadLoadouts(files)
	if len(names) == 0 {
		return tests, problems, nil
	}
	var wanted []*vault.LoadoutTest
	var faults []vault.Problem
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		file := vault.LoadoutFolder + "/" + name + ".yaml"
		i := slices.IndexFunc(tests, func(t *vault.LoadoutTest) bool { return t.Name == name })
		broken := slices.ContainsFunc(problems, func(p vault.Problem) bool { return p.Path == file })
		switch {
		case i >= 0:
			wanted = append(wanted, tests[i])
		case broken:
			faults = append(faults, slices.DeleteFunc(slices.Clone(problems), func(p vault.Problem) bool { return p.Path != file })...)
		default:
			return nil, nil, fmt.Errorf("%w: there is no %s at %s; commit it first, or use --worktree", ErrNotFound, file, at.Ref)
		}
	}
	return wanted, faults, nil
}

// outcomes resolves saved requests at one snapshot. Where the index turns out
// damaged on the way, it is built anew and all are made again.
func (v *Vault) outcomes(ctx context.Context, at loaded, tests []*vault.LoadoutTest, now time.Time) (out []*outcome, err error) {
	for first := true; len(tests) > 0; first = false {
		x, err := v.open(ctx, at)
		if err != nil {
			return nil, err
		}
		out = nil
		for _, t := range tests {
			var o *outcome
			if o, err = v.outcome(x, t, now); err != nil {
				break
			}
			out = append(out, o)
		}
		x.Close()
		if !first || !errors.Is(err, index.ErrDamaged) {
			return out, err
		}
		for _, root := range v.roots() {
			_ = index.Discard(root, key(at.Snapshot)) // what stays is found damaged again, and said
		}
	}
	return nil, nil
}

func (v *Vault) outcome(x *opened, t *vault.LoadoutTest, now time.Time) (*outcome, error) {
	request, err := v.stating(t.Request, x.config, now)
	if err != nil {
		return nil, fmt.Errorf("%s: request: %w", v.inRepo(t.Path), err)
	}
	ranking, err := x.Search(request.Query)
	if err != nil {
		return nil, err
	}
	l, err := x.loadout(request, ranking, nil)
	if err != nil {
		return nil, err
	}
	o := &outcome{test: t, request: request, Loadout: l, unread: map[vault.ID]string{}}
	facts := x.Facts()
	for i := range facts {
		if f := &facts[i]; !governance.Allowed(f, request.Who, vault.PermissionRead) {
			o.unread[f.ID] = governance.Why(f, request.Who, vault.PermissionRead)
		}
	}
	return o, nil
}

// stating makes the request that a saved loadout states: the same whoever runs
// it. Who runs it, and an identity that is bound to the process, do not count:
// the answer holds no content, and CI must judge as its authors do. Without a
// user it is on behalf of nobody, or of the one person of a vault that lists
// none, as a loadout is.
func (v *Vault) stating(r vault.SavedRequest, config *vault.Config, now time.Time) (governance.Request, error) {
	unbound := *v
	unbound.env.Getenv = func(string) string { return "" }
	if r.Now.IsZero() {
		r.Now = now
	}
	return unbound.request(config, Ask{
		Subject: Subject{
			User: r.User, NoUser: r.User == "" && len(config.People) > 0,
			Teams: r.Teams, Roles: r.Roles, Agent: r.Agent, Task: r.Task, Framework: r.Framework,
		},
		Query: r.Query, TokenBudget: r.TokenBudget, Types: r.Types, BoundOnly: r.BoundOnly, Now: r.Now,
	})
}

func (o *outcome) items() []TestedItem {
	out := []TestedItem{}
	for _, s := range o.Selected {
		out = append(out, TestedItem{s.ID, s.Version, s.Mode, s.Tokens})
	}
	return out
}
