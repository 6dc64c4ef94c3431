package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/internal/workspace"
	"longmemory.dev/lm/vault/memoryfile"
)

func (c *command) contextCommand() *cli.Command {
	return &cli.Command{
		Name: "context", Usage: "the memories of a scope for a task, packed for an agent", ArgsUsage: "[TASK]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "task", Usage: "what is to be done"},
			&cli.StringFlag{Name: "intent", Usage: "what for"},
			&cli.StringSliceFlag{Name: "entities", Usage: "names of what it is about"},
			kindsFlag(),
			scopeFlag(),
			&cli.IntFlag{Name: "max-items", DefaultText: "20, or the adapter's", Usage: "at most `N` entries"},
			&cli.IntFlag{Name: "max-chars", DefaultText: "8000, or the adapter's", Usage: "at most `N` characters"},
			&cli.StringFlag{Name: "adapter", Usage: "whose maxima hold; else that of your runtime"},
			&cli.StringFlag{Name: "now", Usage: "as of `TIME`"},
			inputFlag("a ContextRequest"),
		},
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "[TASK]"); err != nil {
				return err
			}
			r, err := input[agentprotocol.ContextRequest](c, ctx)
			if err != nil {
				return err
			}
			if ctx.Args().Len() > 0 {
				r.Task = ctx.Args().First()
			}
			over(ctx, "task", &r.Task)
			over(ctx, "intent", &r.Intent)
			if err := overScope(ctx, &r.Scope); err != nil {
				return err
			}
			if ctx.IsSet("entities") {
				r.Entities = ctx.StringSlice("entities")
			}
			if ctx.IsSet("kinds") {
				r.KindFilter = kindsOf(ctx)
			}
			if ctx.IsSet("max-items") {
				r.Budget.MaxItems = ctx.Int("max-items")
			}
			if ctx.IsSet("max-chars") {
				r.Budget.MaxChars = ctx.Int("max-chars")
			}
			ask := workspace.ContextAsk{Request: r, Adapter: ctx.String("adapter")}
			now, err := whenFlag(ctx, "now")
			if err != nil {
				return err
			}
			if now != nil {
				ask.Now = *now
			}
			return answered(c, ctx, func(v *workspace.Vault) (*agentprotocol.ContextPack, error) { return v.Context(ctx.Context, ask) }, c.printPack)
		},
	}
}

// printPack writes a pack as text for an agent to read.
func (c *command) printPack(p *agentprotocol.ContextPack) {
	for _, s := range []struct {
		name    string
		entries []agentprotocol.ContextEntry
	}{{"Facts", p.Facts}, {"Decisions", p.Decisions}, {"Preferences", p.Preferences}, {"Procedures", p.Procedures}, {"Open tasks", p.OpenTasks}, {"Failed attempts", p.FailedAttempts}} {
		if len(s.entries) == 0 {
			continue
		}
		c.say("%s:", s.name)
		for _, e := range s.entries {
			text := strings.Join(strings.Fields(strings.Join([]string{e.Subject, e.Preview}, " ")), " ")
			if e.Summary != "" {
				text = strings.TrimPrefix(text+": "+strings.Join(strings.Fields(e.Summary), " "), ": ")
			}
			conflict := ""
			if e.State == agentprotocol.LifecycleConflicted {
				conflict = ", in conflict"
			}
			c.say("- %s [%s, confidence %s%s]", plain(text), e.MemoryID, e.Confidence, conflict)
		}
	}
	if len(p.NextActions) > 0 {
		c.say("Next:")
	}
	for _, a := range p.NextActions {
		c.say("- %s (%s)", plain(a.Command), plain(a.Reason))
	}
}

func (c *command) handoffCommand() *cli.Command {
	return &cli.Command{
		Name: "handoff", Usage: "hand work over to another session",
		Subcommands: []*cli.Command{
			{
				Name: "create", Usage: "write down where work stands, for whoever goes on",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "to", Usage: "`WHO` goes on: agent:<id>, user:<id>, or agent:* for whichever agent comes next"},
					&cli.StringFlag{Name: "objective", Usage: "what is to be reached"},
					&cli.StringFlag{Name: "state", Usage: "where it stands"},
					&cli.StringSliceFlag{Name: "decision", Usage: "what was decided"},
					&cli.StringSliceFlag{Name: "done", Usage: "what is done"},
					&cli.StringSliceFlag{Name: "blocker", Usage: "what is in the way"},
					&cli.StringSliceFlag{Name: "verification", Usage: "how it was checked"},
					&cli.StringSliceFlag{Name: "follow-up", Usage: "what is left to do"},
					&cli.StringSliceFlag{Name: "source", Usage: "`KIND:REF` of what to look at"},
					&cli.StringFlag{Name: "capability", Usage: "what the next one must be able to"},
					scopeFlag(), inputFlag("a Handoff"),
				},
				Action: c.createHandoff,
			},
			{
				Name: "list", Usage: "list handoffs, the newest first",
				Flags: []cli.Flag{scopeFlag(), &cli.BoolFlag{Name: "mine", Usage: "only those that are for you"}, &cli.IntFlag{Name: "limit", Value: 20, Usage: "at most `N`, 0 for all"}},
				Action: func(ctx *cli.Context) error {
					if err := arguments(ctx); err != nil {
						return err
					}
					return answered(c, ctx, func(v *workspace.Vault) (*workspace.HandoffList, error) {
						return v.Handoffs(ctx.Bool("mine"), ctx.String("scope"), ctx.Int("limit"))
					}, func(l *workspace.HandoffList) {
						rows := [][]string{}
						for _, h := range l.Handoffs {
							rows = append(rows, []string{h.HandoffID, h.CreatedAt.Format(time.DateOnly), h.FromPrincipal.PrincipalID, h.ToPrincipal.PrincipalID, memoryfile.ScopeName(h.Scope), cut(plain(h.Objective), 70)})
						}
						if len(rows) > 0 {
							c.table([]string{"HANDOFF", "DATE", "FROM", "TO", "SCOPE", "OBJECTIVE"}, rows)
						}
						c.note("%d of %s", len(l.Handoffs), count(l.Total, "handoff"))
					})
				},
			},
			{
				Name: "show", Usage: "show a handoff", ArgsUsage: "HANDOFF",
				Action: func(ctx *cli.Context) error {
					if err := arguments(ctx, "HANDOFF"); err != nil {
						return err
					}
					return answered(c, ctx, func(v *workspace.Vault) (*agentprotocol.Handoff, error) { return v.ShowHandoff(ctx.Args().First()) }, c.printHandoff)
				},
			},
		},
	}
}

func (c *command) createHandoff(ctx *cli.Context) error {
	if err := arguments(ctx); err != nil {
		return err
	}
	h, err := input[agentprotocol.Handoff](c, ctx)
	if err != nil {
		return err
	}
	over(ctx, "to", &h.ToPrincipal.PrincipalID)
	over(ctx, "objective", &h.Objective)
	over(ctx, "state", &h.CurrentState)
	over(ctx, "capability", &h.RequestedNextCapability)
	for flag, into := range map[string]*[]string{"decision": &h.Decisions, "done": &h.CompletedWork, "blocker": &h.Blockers, "verification": &h.Verification, "follow-up": &h.FollowUps} {
		if ctx.IsSet(flag) {
			*into = ctx.StringSlice(flag)
		}
	}
	if err := overScope(ctx, &h.Scope); err != nil {
		return err
	}
	if err := overSources(ctx, &h.Sources); err != nil {
		return err
	}
	if h.ToPrincipal.PrincipalID == "" {
		return fmt.Errorf("%w: a handoff needs --to, such as agent:* for whichever agent comes next", workspace.ErrUsage)
	}
	return answered(c, ctx, func(v *workspace.Vault) (*workspace.HandedOff, error) { return v.HandOff(ctx.Context, h) }, func(h *workspace.HandedOff) {
		c.say("%s: handed over to %s", h.HandoffID, h.ToPrincipal.PrincipalID)
		c.say("  %s, commit %.12s", strings.TrimPrefix(h.Branch, "refs/heads/"), h.Commit)
		for _, w := range h.Warnings {
			c.note("%s", plain(w))
		}
	})
}

func (c *command) printHandoff(h *agentprotocol.Handoff) {
	c.say("%s  %s, from %s to %s, %s", h.HandoffID, h.CreatedAt.Format(time.RFC3339), h.FromPrincipal.PrincipalID, h.ToPrincipal.PrincipalID, memoryfile.ScopeName(h.Scope))
	c.say("objective   %s", plain(h.Objective))
	if h.CurrentState != "" {
		c.say("state       %s", plain(h.CurrentState))
	}
	for _, list := range []struct {
		name  string
		items []string
	}{{"decision", h.Decisions}, {"done", h.CompletedWork}, {"blocker", h.Blockers}, {"verified", h.Verification}, {"follow-up", h.FollowUps}} {
		for _, item := range list.items {
			c.say("%-11s %s", list.name, plain(item))
		}
	}
	for _, s := range h.Sources {
		c.say("source      %s", plain(s.Kind+":"+s.Ref))
	}
}

func (c *command) feedbackCommand() *cli.Command {
	return &cli.Command{
		Name: "feedback", Usage: "say how a memory or a context served",
		Subcommands: []*cli.Command{
			{
				Name: "add", Usage: "give feedback; it shows in the inbox and rewrites nothing", ArgsUsage: "[MEMORY]",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "kind", Usage: "useful, irrelevant, stale, incorrect, missing, completed or scope_too_wide"},
					&cli.StringFlag{Name: "comment", Usage: "what was wrong, or right"},
					&cli.StringFlag{Name: "context", Usage: "the context request that it is about"},
					scopeFlag(), inputFlag("a Feedback"),
				},
				Action: func(ctx *cli.Context) error {
					if err := arguments(ctx, "[MEMORY]"); err != nil {
						return err
					}
					f, err := input[agentprotocol.Feedback](c, ctx)
					if err != nil {
						return err
					}
					over(ctx, "kind", &f.Kind)
					over(ctx, "comment", &f.Comment)
					over(ctx, "context", &f.ContextRequestRef)
					if err := overScope(ctx, &f.Scope); err != nil {
						return err
					}
					if id := ctx.Args().First(); id != "" {
						f.MemoryID = id
					}
					return answered(c, ctx, func(v *workspace.Vault) (*workspace.GivenFeedback, error) { return v.GiveFeedback(ctx.Context, f) }, func(f *workspace.GivenFeedback) {
						c.say("%s: %s", f.FeedbackID, strings.TrimSpace(string(f.Kind)+" "+f.MemoryID))
						c.say("  %s, commit %.12s", strings.TrimPrefix(f.Branch, "refs/heads/"), f.Commit)
					})
				},
			},
			{
				Name: "list", Usage: "list feedback, the newest first", ArgsUsage: "[MEMORY]",
				Flags: []cli.Flag{&cli.IntFlag{Name: "limit", Value: 20, Usage: "at most `N`, 0 for all"}},
				Action: func(ctx *cli.Context) error {
					if err := arguments(ctx, "[MEMORY]"); err != nil {
						return err
					}
					return answered(c, ctx, func(v *workspace.Vault) (*workspace.FeedbackList, error) {
						return v.Feedback(ctx.Args().First(), ctx.Int("limit"))
					}, func(l *workspace.FeedbackList) {
						rows := [][]string{}
						for _, f := range l.Feedback {
							rows = append(rows, []string{f.FeedbackID, f.CreatedAt.Format(time.DateOnly), string(f.Kind), f.MemoryID, f.Principal.PrincipalID, cut(plain(f.Comment), 70)})
						}
						if len(rows) > 0 {
							c.table([]string{"FEEDBACK", "DATE", "KIND", "MEMORY", "BY", "COMMENT"}, rows)
						}
						c.note("%d of %s", len(l.Feedback), count(l.Total, "note"))
					})
				},
			},
		},
	}
}

func (c *command) inboxCommand() *cli.Command {
	return &cli.Command{
		Name: "inbox", Usage: "what waits for a person, each with the command to run",
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx); err != nil {
				return err
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.Inbox, error) { return v.Inbox(ctx.Context) }, func(b *workspace.Inbox) {
				for _, w := range b.Items {
					c.say("%s %s %s", w.Kind, w.ID, plain(w.Title))
					c.say("  %s", plain(w.Detail))
					c.say("  %s", w.Command)
				}
				if b.Total == 0 {
					c.note("nothing waits")
				}
			})
		},
	}
}

func (c *command) adapterCommand() *cli.Command {
	return &cli.Command{
		Name: "adapter", Usage: "the agent hosts that lm gets along with",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the adapters that are built in and those of the vault",
				Action: func(ctx *cli.Context) error {
					if err := arguments(ctx); err != nil {
						return err
					}
					return answered(c, ctx, (*workspace.Vault).Adapters, func(a *workspace.Adapters) {
						rows := [][]string{}
						for _, d := range a.Adapters {
							rows = append(rows, []string{d.AdapterID, d.Runtime, strings.Join(d.SupportedVersions, ", "), fmt.Sprint(d.MaxContextItems), fmt.Sprint(d.MaxContextChars)})
						}
						c.table([]string{"ADAPTER", "RUNTIME", "VERSIONS", "ITEMS", "CHARS"}, rows)
					})
				},
			},
			{
				Name: "negotiate", Usage: "say how an adapter and this lm get along", ArgsUsage: "ADAPTER",
				Flags: []cli.Flag{
					&cli.StringSliceFlag{Name: "versions", Usage: "the versions that the caller speaks, the best first; else " + agentprotocol.SchemaVersion},
					&cli.StringSliceFlag{Name: "capabilities", Usage: "what the caller needs"},
				},
				Action: func(ctx *cli.Context) error {
					if err := arguments(ctx, "ADAPTER"); err != nil {
						return err
					}
					var wanted []agentprotocol.Capability
					for _, w := range ctx.StringSlice("capabilities") {
						wanted = append(wanted, agentprotocol.Capability(w))
					}
					return answered(c, ctx, func(v *workspace.Vault) (*agentprotocol.NegotiateResult, error) {
						return v.NegotiateAdapter(ctx.Args().First(), ctx.StringSlice("versions"), wanted)
					}, func(r *agentprotocol.NegotiateResult) {
						c.say("compatible: %t, version %s, degraded: %t", r.Compatible, r.NegotiatedVersion, r.Degraded)
						if r.Reason != "" {
							c.say("  %s", r.Reason)
						}
					})
				},
			},
		},
	}
}
