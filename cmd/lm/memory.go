package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/internal/workspace"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/memoryfile"
)

func (c *command) memoryCommand() *cli.Command {
	return &cli.Command{
		Name: "memory", Usage: "what agents propose, people approve and agents recall",
		Subcommands: []*cli.Command{
			c.proposeCommand(), c.submitCommand(), c.proposalsCommand(), c.memoryShowCommand(), c.approveCommand(), c.rejectCommand(), c.recallCommand(),
			c.supersedeCommand(), c.expireCommand(), c.resolveCommand(), c.restoreCommand(), c.syncCommand(),
		},
	}
}

// inputFlag takes a struct of the contract.
func inputFlag(dto string) cli.Flag {
	return &cli.StringFlag{Name: "input-json", Usage: dto + " as JSON: a `FILE`, - for standard input, or the object itself; flags win over it"}
}

func scopeFlag() cli.Flag {
	return &cli.StringFlag{Name: "scope", Usage: "`KIND:ID`, such as project:lm; else your own of vault.yaml"}
}

func kindsFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "kinds", Usage: "only these kinds of memory"}
}

func kindsOf(ctx *cli.Context) []agentprotocol.MemoryKind {
	var out []agentprotocol.MemoryKind
	for _, kind := range ctx.StringSlice("kinds") {
		out = append(out, agentprotocol.MemoryKind(kind))
	}
	return out
}

func reasonFlag() cli.Flag { return &cli.StringFlag{Name: "reason", Usage: "why, for the receipt"} }

// over lets a flag win over what the input says.
func over[T ~string](ctx *cli.Context, flag string, into *T) {
	if ctx.IsSet(flag) {
		*into = T(ctx.String(flag))
	}
}

func overScope(ctx *cli.Context, into *agentprotocol.Scope) error {
	if !ctx.IsSet("scope") {
		return nil
	}
	s, err := memoryfile.ParseScope(ctx.String("scope"))
	if err != nil {
		return fmt.Errorf("--scope %q: %w; write kind:id, such as project:lm", ctx.String("scope"), err)
	}
	*into = s
	return nil
}

// overSources reads kind:ref flags.
func overSources(ctx *cli.Context, into *agentprotocol.SourceRefList) error {
	if !ctx.IsSet("source") {
		return nil
	}
	*into = nil
	for _, value := range ctx.StringSlice("source") {
		kind, ref, ok := strings.Cut(value, ":")
		if !ok {
			return fmt.Errorf("%w: --source %q: write kind:ref, such as file:docs/deploy.md", workspace.ErrUsage, value)
		}
		*into = append(*into, agentprotocol.SourceRef{Kind: kind, Ref: ref})
	}
	return nil
}

// whenFlag reads a time; nil if the flag is not set, the zero time if it is "".
func whenFlag(ctx *cli.Context, flag string) (*time.Time, error) {
	if !ctx.IsSet(flag) {
		return nil, nil
	}
	if ctx.String(flag) == "" {
		return &time.Time{}, nil
	}
	at, err := vault.ParseTime(ctx.String(flag))
	if err != nil {
		return nil, fmt.Errorf("%w: --%s: %w", workspace.ErrUsage, flag, err)
	}
	return &at, nil
}

func (c *command) proposeCommand() *cli.Command {
	return &cli.Command{
		Name: "propose", Usage: "propose a memory; a person approves it", ArgsUsage: "[SUMMARY]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "kind", Usage: "fact, decision, preference, procedure, event, task or failure"},
			scopeFlag(),
			&cli.StringFlag{Name: "subject", Usage: "what it is about"},
			&cli.StringFlag{Name: "object", Usage: "what is said of it, in short: two objects of one subject are a conflict"},
			&cli.StringFlag{Name: "summary", Usage: "what is said of it"},
			&cli.StringSliceFlag{Name: "source", Usage: "where that is known from, `KIND:REF`, such as file:docs/deploy.md"},
			&cli.StringFlag{Name: "risk", Usage: "low, medium or high"},
			reasonFlag(),
			&cli.BoolFlag{Name: "confirm", Usage: "ask to confirm it without approval, where policy and principal may"},
			&cli.BoolFlag{Name: "draft", Usage: "only save it; lm memory submit has it reviewed"},
			inputFlag("a Proposal"),
		},
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "[SUMMARY]"); err != nil {
				return err
			}
			p, err := input[agentprotocol.Proposal](c, ctx)
			if err != nil {
				return err
			}
			if ctx.Args().Len() > 0 {
				p.Summary = ctx.Args().First()
			}
			over(ctx, "kind", &p.Kind)
			over(ctx, "subject", &p.Subject)
			over(ctx, "object", &p.Object)
			over(ctx, "summary", &p.Summary)
			over(ctx, "risk", &p.Risk)
			over(ctx, "reason", &p.Reason)
			if ctx.Bool("confirm") {
				p.RequestedState = agentprotocol.LifecycleConfirmed
			}
			if err := overScope(ctx, &p.Scope); err != nil {
				return err
			}
			if err := overSources(ctx, &p.Sources); err != nil {
				return err
			}
			if strings.TrimSpace(p.Subject+p.Summary+p.Object) == "" {
				return fmt.Errorf("%w: a memory says something: give --summary, --subject or --object", workspace.ErrUsage)
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.Proposed, error) {
				return v.Propose(ctx.Context, p, ctx.Bool("draft"))
			}, c.printProposed)
		},
	}
}

func (c *command) printProposed(p *workspace.Proposed) {
	c.say("%s: %s, %s", p.ProposalID, p.Review.Status, p.Review.Reason)
	if p.Review.Message != "" {
		c.say("  %s", plain(p.Review.Message))
	}
	for _, id := range p.Superseded {
		c.say("  takes the place of %s", id)
	}
	if p.Commit != "" {
		c.say("  %s, commit %.12s", strings.TrimPrefix(p.Branch, "refs/heads/"), p.Commit)
	}
	switch p.Review.Status {
	case agentprotocol.ProposalStatusApprovalRequired:
		c.say("  a person decides: lm memory approve %s", p.ProposalID)
	case agentprotocol.ProposalStatusConflictRequired:
		c.say("  a person decides: lm memory approve %s --supersede %s, or --keep-both", p.ProposalID, strings.Join(p.Review.ConflictingMemoryIDs, " --supersede "))
	case agentprotocol.ProposalStatusDraftSaved:
		c.say("  to have it reviewed: lm memory submit %s", p.ProposalID)
	case agentprotocol.ProposalStatusApproved:
		if p.Record != nil {
			c.say("  remembered as %s", p.Record.ID)
		}
	}
}

func (c *command) submitCommand() *cli.Command {
	return &cli.Command{
		Name: "submit", Usage: "have a draft reviewed", ArgsUsage: "PROPOSAL",
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "PROPOSAL"); err != nil {
				return err
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.Proposed, error) {
				return v.Submit(ctx.Context, ctx.Args().First())
			}, c.printProposed)
		},
	}
}

func (c *command) proposalsCommand() *cli.Command {
	return &cli.Command{
		Name: "proposals", Usage: "list the proposals that wait",
		Flags: []cli.Flag{scopeFlag(), &cli.BoolFlag{Name: "all", Usage: "also those that were approved, rejected or superseded"}},
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx); err != nil {
				return err
			}
			ask := workspace.ProposalsAsk{All: ctx.Bool("all"), Scope: ctx.String("scope")}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.ProposalList, error) { return v.Proposals(ask) }, func(l *workspace.ProposalList) {
				rows := [][]string{}
				for _, p := range l.Proposals {
					rows = append(rows, []string{p.ProposalID, string(p.Review.Status), string(p.Kind), memoryfile.ScopeName(p.Scope), p.Principal.PrincipalID, inShort(p.Subject, p.Object, p.Summary)})
				}
				if len(rows) > 0 {
					c.table([]string{"PROPOSAL", "STATUS", "KIND", "SCOPE", "BY", "SAYS"}, rows)
				}
				c.note("%s", count(l.Total, "proposal"))
			})
		},
	}
}

// inShort is a memory on one line.
func inShort(subject, object, summary string) string {
	parts := []string{}
	for _, part := range []string{subject, object, summary} {
		if part = strings.Join(strings.Fields(part), " "); part != "" {
			parts = append(parts, part)
		}
	}
	return cut(plain(strings.Join(parts, ": ")), 80)
}

func (c *command) memoryShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show a memory or a proposal with its receipts", ArgsUsage: "ID",
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "ID"); err != nil {
				return err
			}
			id := ctx.Args().First()
			if strings.HasPrefix(id, memoryfile.Proposals.Prefix) {
				return answered(c, ctx, func(v *workspace.Vault) (*workspace.ShownProposal, error) { return v.ShowProposal(id) }, func(p *workspace.ShownProposal) {
					c.say("%s  %s of %s by %s, %s", p.ProposalID, p.Kind, memoryfile.ScopeName(p.Scope), p.Principal.PrincipalID, p.Review.Status)
					c.printSaid(p.Subject, "", p.Object, p.Summary, p.Sources)
					if p.Review.Message != "" {
						c.say("review      %s", plain(p.Review.Message))
					}
					c.printKept(p.Kept)
				})
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.ShownMemory, error) { return v.ShowMemory(id) }, func(r *workspace.ShownMemory) {
				c.say("%s  %s of %s, %s", r.ID, r.Kind, memoryfile.ScopeName(r.Scope), r.State)
				c.printSaid(r.Subject, r.Predicate, r.Object, r.Summary, r.Sources)
				c.say("confidence  %s", r.Confidence)
				c.say("by          %s", r.CreatorID)
				if r.ExpiresAt != nil {
					c.say("expires     %s", r.ExpiresAt.Format(time.RFC3339))
				}
				if len(r.ConflictsWith) > 0 {
					c.say("conflicts   %s", strings.Join(r.ConflictsWith, ", "))
				}
				c.printKept(r.Kept)
			})
		},
	}
}

func (c *command) printSaid(subject, predicate, object, summary string, sources agentprotocol.SourceRefList) {
	for _, line := range []struct{ name, text string }{{"subject", subject}, {"predicate", predicate}, {"object", object}, {"summary", summary}} {
		if line.text != "" {
			c.say("%-11s %s", line.name, plain(line.text))
		}
	}
	for _, s := range sources {
		c.say("source      %s", plain(s.Kind+":"+s.Ref))
	}
}

func (c *command) printKept(k workspace.Kept) {
	where := k.Path
	if k.Branch != "" {
		where += " on " + k.Branch
	}
	c.say("file        %s", where)
	for _, r := range k.Receipts {
		from := string(r.LifecycleFrom)
		if from == "" {
			from = "new"
		}
		c.say("receipt     %s %s %s -> %s by %s", r.CreatedAt.Format(time.DateOnly), r.Kind, from, r.LifecycleTo, r.PrincipalID)
	}
}

func (c *command) approveCommand() *cli.Command {
	return &cli.Command{
		Name: "approve", Usage: "make a memory of a proposal, on the branch that is checked out", ArgsUsage: "PROPOSAL",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "confidence", Usage: "low, medium, high or verified; else medium"},
			&cli.StringFlag{Name: "expires-at", Usage: "a date or an RFC 3339 `TIME`"},
			&cli.StringSliceFlag{Name: "supersede", Usage: "the memory `ID` gives way to this one"},
			&cli.BoolFlag{Name: "keep-both", Usage: "what says something else stays, and all are marked as in conflict"},
			reasonFlag(), keyFlag(),
		},
		Action: func(ctx *cli.Context) error {
			supersede, err := superseding(ctx, "PROPOSAL")
			if err != nil {
				return err
			}
			a := memory.Approval{Confidence: agentprotocol.Confidence(ctx.String("confidence")), Supersede: supersede, KeepBoth: ctx.Bool("keep-both")}
			if a.ExpiresAt, err = whenFlag(ctx, "expires-at"); err != nil {
				return err
			}
			if a.ExpiresAt != nil && a.ExpiresAt.IsZero() {
				a.ExpiresAt = nil
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.ApprovedMemory, error) {
				return v.Approve(ctx.Context, ctx.Args().First(), a, ctx.String("reason"))
			}, func(m *workspace.ApprovedMemory) {
				c.say("%s: %s, remembered of %s", m.ID, m.State, m.ProposalID)
				for _, id := range m.Superseded {
					c.say("  %s is superseded", id)
				}
				if len(m.ConflictsWith) > 0 {
					c.say("  in conflict with %s", strings.Join(m.ConflictsWith, ", "))
				}
				c.say("  commit %.12s", m.Commit)
				if m.ExpiresAt != nil && !m.ExpiresAt.After(m.UpdatedAt) {
					c.note("its time ended before it began (%s), so nobody gets it", m.ExpiresAt.Format(time.RFC3339))
				}
				if m.Reads != "" {
					c.say("  agents read %s: push this commit there", m.Reads)
				}
			})
		},
	}
}

// superseding reads --supersede ID…, whose further ids stand as arguments behind
// the one that the command is about.
func superseding(ctx *cli.Context, about string) ([]string, error) {
	names := []string{about}
	if ctx.IsSet("supersede") {
		names = append(names, "[MEMORY…]")
	}
	if err := arguments(ctx, names...); err != nil {
		return nil, err
	}
	var out []string
	for _, id := range append(ctx.StringSlice("supersede"), ctx.Args().Tail()...) {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

func (c *command) rejectCommand() *cli.Command {
	return &cli.Command{
		Name: "reject", Usage: "end a proposal, with a reason", ArgsUsage: "PROPOSAL",
		Flags: []cli.Flag{reasonFlag()},
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "PROPOSAL"); err != nil {
				return err
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.Proposed, error) {
				return v.Reject(ctx.Context, ctx.Args().First(), ctx.String("reason"))
			}, c.printProposed)
		},
	}
}

func (c *command) recallCommand() *cli.Command {
	return &cli.Command{
		Name: "recall", Usage: "find memories of a scope and those above it", ArgsUsage: "[TEXT]",
		Flags: []cli.Flag{
			scopeFlag(),
			&cli.StringFlag{Name: "query-file", Usage: "the text from `FILE`, - for standard input"},
			kindsFlag(),
			&cli.IntFlag{Name: "limit", Value: 20, Usage: "at most `N`, 0 for all"},
			&cli.StringFlag{Name: "now", Usage: "decide what has expired at `TIME`"},
		},
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "[TEXT]"); err != nil {
				return err
			}
			ask := workspace.RecallAsk{Text: ctx.Args().First(), Scope: ctx.String("scope"), Kinds: kindsOf(ctx), Limit: ctx.Int("limit")}
			if ask.Limit < 0 {
				return fmt.Errorf("%w: --limit is 0 or more", workspace.ErrUsage)
			}
			if name := ctx.String("query-file"); name != "" {
				data, err := c.readFile(name, "--query-file")
				if err != nil {
					return err
				}
				ask.Text = string(data)
			}
			now, err := whenFlag(ctx, "now")
			if err != nil {
				return err
			}
			if now != nil {
				ask.Now = *now
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.Recalled, error) { return v.Recall(ctx.Context, ask) }, func(found *workspace.Recalled) {
				rows := [][]string{}
				for _, r := range found.Records {
					rows = append(rows, []string{r.ID, string(r.Kind), memoryfile.ScopeName(r.Scope), string(r.State), string(r.Confidence), inShort(r.Subject, r.Object, r.Summary)})
				}
				if len(rows) > 0 {
					c.table([]string{"MEMORY", "KIND", "SCOPE", "STATE", "CONFIDENCE", "SAYS"}, rows)
				}
				c.note("%d of %s", len(found.Records), count(found.Total, "record"))
			})
		},
	}
}
