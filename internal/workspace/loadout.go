package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/index"
	"longmemory.dev/lm/internal/render"
	"longmemory.dev/lm/vault"
)

// Ask is a request for a loadout, as a surface hands it in.
type Ask struct {
	Subject
	Revision
	Query       string
	TokenBudget int // 0: the vault's default
	Types       []vault.Type
	BoundOnly   bool
	Now         time.Time // zero: the time of the call
	// WithContext puts the confirmed memories of the agent's scope under the same
	// budget, after the required assets.
	WithContext bool
	// MaxChars bounds the context in characters as well; 0: only tokens count.
	// Where it would be more, the token budget is cut until it is not.
	MaxChars int
	// Brief leaves out what only JSON and tables show (Excluded, Problems,
	// Digest), which of a large vault costs more than the rest.
	Brief bool
}

// Loadout is schema lm.loadout/v1 (design.md §3).
type Loadout struct {
	Schema      string                 `json:"schema"`
	Project     string                 `json:"project"`
	Snapshot    Snapshot               `json:"snapshot"`
	Now         string                 `json:"now"`
	Request     Request                `json:"request"`
	Selected    []Selected             `json:"selected"`
	Excluded    []governance.Exclusion `json:"excluded"`
	Hidden      int                    `json:"hidden"`
	Problems    []vault.Problem        `json:"problems"`
	TokensUsed  int                    `json:"tokens_used"`
	TokenBudget int                    `json:"token_budget"`
	Complete    bool                   `json:"complete"`
	// Memories are those that are in; only where they were asked for.
	Memories []LoadoutMemory `json:"memories,omitempty"`
	Context  string          `json:"context"`
	Digest   vault.Digest    `json:"digest"`

	// Missing are the required assets that are not in.
	Missing []vault.ID `json:"-"`

	items    []string // the text of each selected asset
	memories string   // that of all memories
}

// LoadoutMemory is a memory in a loadout.
type LoadoutMemory struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Scope  string `json:"scope"`
	Tokens int    `json:"tokens"`
}

// Part is the context of some of the selected assets, with all memories behind
// the required ones: "" if there is neither.
func (l *Loadout) Part(keep func(Selected) bool) string {
	var text strings.Builder
	memories := l.memories
	for i, s := range l.Selected {
		if s.Binding == nil || !s.Binding.Required {
			text.WriteString(memories)
			memories = ""
		}
		if keep(s) {
			text.WriteString(l.items[i])
		}
	}
	text.WriteString(memories)
	if text.Len() == 0 {
		return ""
	}
	return render.Open(l.Project) + text.String() + render.Close()
}

// Request is the request that was used, every field filled in.
type Request struct {
	Query       string       `json:"query"`
	User        string       `json:"user"`
	Teams       []string     `json:"teams"`
	Roles       []string     `json:"roles"`
	Agent       string       `json:"agent"`
	Task        string       `json:"task"`
	Framework   string       `json:"framework"`
	TokenBudget int          `json:"token_budget"`
	Types       []vault.Type `json:"types"`
	BoundOnly   bool         `json:"bound_only"`
	Now         string       `json:"now,omitempty"`
}

// Selected is an asset in a loadout.
type Selected struct {
	ID           vault.ID     `json:"id"`
	Type         vault.Type   `json:"type"`
	Name         string       `json:"name"`
	Version      int          `json:"version"`
	Digest       vault.Digest `json:"digest"`
	Mode         vault.Mode   `json:"mode"`
	DegradedFrom vault.Mode   `json:"degraded_from"`
	Binding      *Binding     `json:"binding"`
	Score        Score        `json:"score"`
	Tokens       int          `json:"tokens"`
	Annotations  Annotations  `json:"annotations"`
	// EditWaits says that the file was edited after this version was approved.
	EditWaits bool `json:"edit_waits,omitempty"`
}

// Binding is the binding that applied.
type Binding struct {
	Target   vault.Subject `json:"target"`
	Priority vault.Ratio   `json:"priority"`
	Required bool          `json:"required"`
}

// Score is why an asset stands where it does.
type Score struct {
	Total      vault.Ratio `json:"total"`
	Priority   vault.Ratio `json:"priority"`
	Relevance  vault.Ratio `json:"relevance"`
	Confidence vault.Ratio `json:"confidence"`
	Terms      []Term      `json:"terms"`
}

// Term is what one word of the query contributed.
type Term struct {
	Term         string `json:"term"`
	Contribution int64  `json:"contribution"`
}

// Annotations are those of an MCP resource.
type Annotations struct {
	Audience     []string    `json:"audience"`
	Priority     vault.Ratio `json:"priority"`
	LastModified string      `json:"lastModified"`
}

// Loadout answers a request.
func (v *Vault) Loadout(ctx context.Context, ask Ask) (out *Loadout, err error) {
	err = v.answer(ctx, ask, func(x *opened, request governance.Request, ranking *index.Ranking) error {
		var known []remembrance
		if ask.WithContext {
			if known, err = v.remembrances(ctx, x.Snapshot, request); err != nil {
				return err
			}
			for _, m := range known {
				request.Remembered = append(request.Remembered, m.Tokens)
			}
		}
		for {
			if out, err = x.loadout(request, ranking, known); err != nil {
				return err
			}
			chars := utf8.RuneCountInString(out.Context)
			if ask.MaxChars == 0 || chars <= ask.MaxChars {
				return nil
			}
			// What is left out is at least in proportion to what is too much.
			request.TokenBudget = min(request.TokenBudget, out.TokensUsed) * ask.MaxChars / chars
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// answer opens what a request reads, ranks it and hands it on. Where the index
// turns out damaged on the way, it is built anew and the answer made again.
func (v *Vault) answer(ctx context.Context, ask Ask, make func(*opened, governance.Request, *index.Ranking) error) error {
	for first := true; ; first = false {
		x, request, err := v.ask(ctx, ask)
		if err != nil {
			return err
		}
		ranking, err := x.Search(request.Query)
		if err == nil {
			err = make(x, request, ranking)
		}
		x.Close()
		if !first || !errors.Is(err, index.ErrDamaged) {
			return err
		}
		discardAll(v.roots()) // what stays is found damaged again, and said
	}
}

// loadout resolves a request and renders what it selects.
func (x *opened) loadout(request governance.Request, ranking *index.Ranking, known []remembrance) (*Loadout, error) {
	facts := x.Facts()
	resolved := governance.Resolve(x.config, facts, request, ranking.Relevance, governance.Cost{Frame: x.frame, Form: x.FormTokens})
	out := &Loadout{
		Schema: "lm.loadout/v1", Project: x.config.Project, Snapshot: x.Snapshot,
		Now: vault.FormatTime(request.Now), Request: requestOf(request),
		Selected: []Selected{}, Excluded: notNil(resolved.Excluded), Hidden: resolved.Hidden,
		Problems: []vault.Problem{}, TokensUsed: resolved.Tokens, TokenBudget: request.TokenBudget,
		Complete: resolved.Complete(), Missing: resolved.Missing,
	}
	for _, s := range resolved.Selected {
		form, err := x.Form(s.Index, s.Mode)
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, form.Text)
		out.Selected = append(out.Selected, selected(&facts[s.Index], s, ranking.Terms(s.Index)))
	}
	for _, i := range resolved.Remembered {
		out.Memories = append(out.Memories, known[i].LoadoutMemory)
		out.memories += known[i].text
	}
	out.Context = out.Part(func(Selected) bool { return true })
	if !request.Brief {
		out.Problems = readable(x.Problems(), facts, request.Who)
		out.Digest = out.digest()
	}
	return out, nil
}

// ask opens what a request reads and fills the request in.
func (v *Vault) ask(ctx context.Context, ask Ask) (*opened, governance.Request, error) {
	at, err := v.trusted(ask.Revision)
	if err != nil {
		return nil, governance.Request{}, err
	}
	x, err := v.open(ctx, at)
	if err != nil {
		return nil, governance.Request{}, err
	}
	x.files = at.files
	request, err := v.request(x.config, ask)
	if err != nil {
		x.Close()
		return nil, governance.Request{}, err
	}
	return x, request, nil
}

func (v *Vault) request(config *vault.Config, ask Ask) (governance.Request, error) {
	who, err := v.who(config, ask.Subject)
	if err != nil {
		return governance.Request{}, err
	}
	r := governance.Request{Who: who, Query: ask.Query, TokenBudget: ask.TokenBudget, Types: slices.Clone(ask.Types), BoundOnly: ask.BoundOnly, Now: ask.Now, Brief: ask.Brief}
	if r.TokenBudget == 0 {
		r.TokenBudget = config.Defaults.TokenBudget
	}
	if r.TokenBudget < vault.LeastTokenBudget {
		return r, fmt.Errorf("%w: a token budget of %d is too small; %d is the least", ErrUsage, r.TokenBudget, vault.LeastTokenBudget)
	}
	for _, t := range r.Types {
		if !slices.Contains(vault.Types, t) {
			return r, fmt.Errorf("%w: there is no asset type %q; the types are %v", ErrUsage, t, vault.Types)
		}
	}
	slices.Sort(r.Types)
	r.Types = slices.Compact(r.Types)
	if r.Now.IsZero() {
		r.Now = v.env.Now()
	}
	r.Now = r.Now.UTC().Truncate(time.Second)
	return r, nil
}

func requestOf(r governance.Request) Request {
	return Request{
		Query: r.Query, User: r.User, Teams: notNil(r.Teams), Roles: notNil(r.Roles), Agent: r.Agent, Task: r.Task, Framework: r.Framework,
		TokenBudget: r.TokenBudget, Types: notNil(r.Types), BoundOnly: r.BoundOnly, Now: vault.FormatTime(r.Now),
	}
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func selected(f *vault.Facts, s governance.Selection, terms []index.TermScore) Selected {
	waits := f.Served != nil
	f = f.Standing()
	out := Selected{
		EditWaits: waits,
		ID:        f.ID, Type: f.Type, Name: f.Name, Version: f.Version, Digest: f.Digest, Mode: s.Mode, DegradedFrom: s.DegradedFrom,
		Score:  Score{Total: s.Score.Total, Priority: s.Score.Priority, Relevance: s.Score.Relevance, Confidence: s.Score.Confidence, Terms: termsOf(terms)},
		Tokens: s.Tokens,
		Annotations: Annotations{
			Audience: []string{"assistant"}, Priority: s.Score.Priority, LastModified: vault.FormatTime(f.Modified),
		},
	}
	if s.Binding != nil {
		out.Binding = &Binding{Target: s.Binding.Target, Priority: s.Binding.Priority, Required: s.Binding.Required}
	}
	return out
}

func termsOf(scores []index.TermScore) []Term {
	out := make([]Term, len(scores))
	for i, t := range scores {
		out[i] = Term(t)
	}
	return out
}

// readable leaves out the problems of assets that the subject may not read:
// they would name what is only counted.
func readable(problems []vault.Problem, facts []vault.Facts, who governance.Who) []vault.Problem {
	out := []vault.Problem{}
	if len(problems) == 0 {
		return out
	}
	hidden := map[string]bool{}
	for i := range facts {
		if !governance.Allowed(&facts[i], who, vault.PermissionRead) {
			hidden[facts[i].Path] = true
			hidden["receipts/asset/"+string(facts[i].ID)] = true
		}
	}
	for _, p := range problems {
		named := false
		for i, r := range p.Path + "/" {
			named = named || r == '/' && hidden[p.Path[:i]]
		}
		if !named {
			out = append(out, p)
		}
	}
	return out
}

// digest is over what a loadout says but for the time: the same for the same
// files and the same request.
func (l *Loadout) digest() vault.Digest {
	request := l.Request
	request.Now = ""
	return vault.CanonicalDigest(struct {
		Tree     any `json:"vault_tree"`
		Request  any `json:"request"`
		Selected any `json:"selected"`
		Excluded any `json:"excluded"`
	}{l.Snapshot.Tree, request, l.Selected, l.Excluded})
}
