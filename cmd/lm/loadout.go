package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/internal/workspace"
	"longmemory.dev/lm/vault"
)

// subjectFlags name who a request is for.
func subjectFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "user", Usage: "the person `ID`; else the one whose Git email vault.yaml lists"},
		&cli.BoolFlag{Name: "no-user", Usage: "on behalf of nobody"},
		&cli.StringSliceFlag{Name: "teams", Aliases: []string{"team"}, Usage: "`TEAMS`, among those that vault.yaml gives a listed person"},
		&cli.StringSliceFlag{Name: "roles", Aliases: []string{"role"}, Usage: "`ROLES`, among those that vault.yaml gives a listed subject"},
		&cli.StringFlag{Name: "agent", Usage: "the agent `ID`"},
		&cli.StringFlag{Name: "task", Usage: "the task `ID`"},
		&cli.StringFlag{Name: "framework", Usage: "the agent's `FRAMEWORK`, such as codex"},
	}
}

func revisionFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "rev", Usage: "read the vault at `REV`"},
		&cli.BoolFlag{Name: "worktree", Usage: "read the files as they lie"},
	}
}

func requestFlags() []cli.Flag {
	flags := append(subjectFlags(), revisionFlags()...)
	return append(flags,
		&cli.StringSliceFlag{Name: "types", Aliases: []string{"type"}, Usage: "only assets of these `TYPES`"},
		&cli.BoolFlag{Name: "bound-only", Usage: "only what is bound to the subject"},
		&cli.IntFlag{Name: "token-budget", Aliases: []string{"budget"}, DefaultText: "the vault's", Usage: "at most `N` tokens; else the vault's default"},
		&cli.StringFlag{Name: "now", Usage: "decide what has expired as of `TIME`"},
		&cli.StringFlag{Name: "query-file", Usage: "read the query from `FILE`, - for standard input"},
	)
}

func subject(ctx *cli.Context) workspace.Subject {
	return workspace.Subject{
		User: ctx.String("user"), NoUser: ctx.Bool("no-user"), Teams: ctx.StringSlice("teams"), Roles: ctx.StringSlice("roles"),
		Agent: ctx.String("agent"), Task: ctx.String("task"), Framework: ctx.String("framework"),
	}
}

func revision(ctx *cli.Context) workspace.Revision {
	return workspace.Revision{Rev: ctx.String("rev"), Worktree: ctx.Bool("worktree")}
}

// ask is the request that flags and the query make.
func (c *command) ask(ctx *cli.Context, query string) (workspace.Ask, error) {
	a := workspace.Ask{Subject: subject(ctx), Revision: revision(ctx), Query: query, TokenBudget: ctx.Int("token-budget"), BoundOnly: ctx.Bool("bound-only")}
	if ctx.IsSet("token-budget") && a.TokenBudget < vault.LeastTokenBudget {
		return a, fmt.Errorf("%w: a token budget of %d is too small; %d is the least", workspace.ErrUsage, a.TokenBudget, vault.LeastTokenBudget)
	}
	for _, t := range ctx.StringSlice("types") {
		a.Types = append(a.Types, vault.Type(strings.TrimSpace(t)))
	}
	if now := ctx.String("now"); now != "" {
		t, err := vault.ParseTime(now)
		if err != nil {
			return a, fmt.Errorf("%w: --now: %w", workspace.ErrUsage, err)
		}
		a.Now = t
	}
	if file := ctx.String("query-file"); file != "" {
		if query != "" {
			return a, fmt.Errorf("%w: give the query as an argument or in a file, not both", workspace.ErrUsage)
		}
		data, err := c.readFile(file, "--query-file")
		if a.Query = string(data); err == nil && len(data) > maxQuery {
			err = fmt.Errorf("%w: --query-file: more than %d bytes", workspace.ErrUsage, maxQuery)
		}
		return a, err
	}
	return a, nil
}

// maxQuery bounds a query, in bytes.
const maxQuery = 1 << 20

// maxInput bounds what is read from a file or from standard input, in bytes.
const maxInput = 64 << 20

func (c *command) readFile(name, flag string) ([]byte, error) {
	var r io.Reader = c.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", workspace.ErrUsage, flag, err)
		}
		defer f.Close()
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %s: %w", workspace.ErrUsage, flag, err)
	case len(data) > maxInput:
		return nil, fmt.Errorf("%w: %s: more than %d bytes", workspace.ErrUsage, flag, maxInput)
	case !utf8.Valid(data):
		return nil, fmt.Errorf("%w: %s: %s is not UTF-8", workspace.ErrUsage, flag, name)
	}
	return data, nil
}

// query is the query of a command: its argument, or none if a file has it.
func query(ctx *cli.Context) (string, error) {
	if ctx.String("query-file") != "" {
		return ctx.Args().First(), arguments(ctx, "[QUERY]")
	}
	if ctx.Args().Len() == 0 {
		return "", fmt.Errorf(`%w: %s needs a QUERY, or --query-file; "" asks for what is bound`, workspace.ErrUsage, ctx.Command.HelpName)
	}
	return ctx.Args().First(), arguments(ctx, "QUERY")
}

func (c *command) loadoutCommand() *cli.Command {
	return &cli.Command{
		Name: "loadout", Usage: "what an agent gets for a task: approved, fitting, within the budget", ArgsUsage: "QUERY",
		Flags: append(requestFlags(),
			&cli.BoolFlag{Name: "with-context", Usage: "the confirmed memories of the agent's scope too, after the required assets"},
			&cli.BoolFlag{Name: "strict", Usage: "exit 4 if a required asset is missing"},
			&cli.BoolFlag{Name: "explain", Usage: "print a table of everything in and everything out"},
		),
		Action: c.loadout,
	}
}

func (c *command) loadout(ctx *cli.Context) error {
	text, err := query(ctx)
	if err != nil {
		return err
	}
	ask, err := c.ask(ctx, text)
	if err != nil {
		return err
	}
	ask.WithContext = ctx.Bool("with-context")
	ask.Brief = !ctx.Bool("json") && !ctx.Bool("explain")
	return c.inVault(ctx, func(v *workspace.Vault) error {
		l, err := v.Loadout(ctx.Context, ask)
		if err != nil {
			return err
		}
		switch {
		case ctx.Bool("json"):
			err = c.json(l)
		case ctx.Bool("explain"):
			c.explainLoadout(l)
		default:
			_, err = io.WriteString(c.stdout, l.Context)
		}
		c.noteMissing(l)
		c.noteEdited(l)
		if err == nil && ctx.Bool("strict") && !l.Complete {
			err = exitError(exitIncomplete)
		}
		return err
	})
}

// noteMissing names what the subject must have and does not get.
func (c *command) noteMissing(l *workspace.Loadout) {
	for _, id := range l.Missing {
		c.note("lm: required and missing: %s; run: lm asset explain %s%s", id, id, flagsOf(l.Request))
	}
}

// noteEdited names what was edited since it was approved.
func (c *command) noteEdited(l *workspace.Loadout) {
	for _, s := range l.Selected {
		if s.EditWaits {
			c.note("lm: %s@%d was edited since, and is as it was approved; run: lm asset explain %s%s", s.ID, s.Version, s.ID, flagsOf(l.Request))
		}
	}
}

// flagsOf are the flags that make a request again.
func flagsOf(r workspace.Request) string {
	var b strings.Builder
	add := func(flag, value string) {
		if value != "" {
			fmt.Fprintf(&b, " --%s '%s'", flag, strings.ReplaceAll(cut(plain(value), 200), "'", `'\''`))
		}
	}
	add("query", r.Query)
	add("user", r.User)
	add("agent", r.Agent)
	add("task", r.Task)
	add("framework", r.Framework)
	return b.String()
}

func (c *command) explainLoadout(l *workspace.Loadout) {
	c.say("%s, %s", l.Project, snapshotText(l.Snapshot))
	c.say("%s", requestText(l.Request))
	c.say("%d of %d tokens, complete: %t\n", l.TokensUsed, l.TokenBudget, l.Complete)
	if len(l.Selected) > 0 {
		rows := [][]string{}
		for _, s := range l.Selected {
			why := "unbound"
			if s.Binding != nil {
				why = string(s.Binding.Target)
				if s.Binding.Required {
					why += ", required"
				}
			}
			mode := string(s.Mode)
			if s.DegradedFrom != "" {
				mode += " (from " + string(s.DegradedFrom) + ")"
			}
			rows = append(rows, []string{fmt.Sprintf("%s@%d", s.ID, s.Version), mode, why, s.Score.Total.String(), s.Score.Priority.String(),
				s.Score.Relevance.String(), s.Score.Confidence.String(), fmt.Sprint(s.Tokens), terms(s.Score.Terms)})
		}
		c.table([]string{"SELECTED", "MODE", "WHY", "SCORE", "PRIORITY", "RELEVANCE", "CONFIDENCE", "TOKENS", "TERMS"}, rows)
	}
	if len(l.Excluded) > 0 {
		rows := [][]string{}
		for _, e := range l.Excluded {
			rows = append(rows, []string{string(e.ID), string(e.Reason), e.Detail})
		}
		if len(l.Selected) > 0 {
			c.say("")
		}
		c.table([]string{"EXCLUDED", "REASON", "DETAIL"}, rows)
	}
	if l.Hidden > 0 {
		c.say("\n%d more that this subject may not read.", l.Hidden)
	}
	for _, p := range l.Problems {
		c.note("%s", plain(p.Error()))
	}
}

// terms are the words that counted most.
func terms(all []workspace.Term) string {
	var out []string
	for i, t := range all {
		if i == 5 {
			out = append(out, "…")
			break
		}
		out = append(out, t.Term)
	}
	return strings.Join(out, " ")
}

func requestText(r workspace.Request) string {
	out := []string{fmt.Sprintf("%q", cut(r.Query, 80))}
	add := func(kind, value string) {
		if value != "" {
			out = append(out, kind+" "+value)
		}
	}
	add("user", r.User)
	add("teams", strings.Join(r.Teams, ","))
	add("roles", strings.Join(r.Roles, ","))
	add("agent", r.Agent)
	add("task", r.Task)
	add("framework", r.Framework)
	add("now", r.Now)
	return strings.Join(out, ", ")
}

func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

func (c *command) searchCommand() *cli.Command {
	return &cli.Command{
		Name: "search", Usage: "find approved assets by their words", ArgsUsage: "QUERY",
		Flags: append(requestFlags(), &cli.IntFlag{Name: "limit", Value: 20, Usage: "at most `N` hits, 0 for all"}),
		Action: func(ctx *cli.Context) error {
			text, err := query(ctx)
			if err != nil {
				return err
			}
			ask, err := c.ask(ctx, text)
			if err != nil {
				return err
			}
			if ctx.Int("limit") < 0 {
				return fmt.Errorf("%w: --limit is 0 or more", workspace.ErrUsage)
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.Hits, error) {
				return v.Search(ctx.Context, ask, ctx.Int("limit"))
			}, c.printHits)
		},
	}
}

func (c *command) printHits(found *workspace.Hits) {
	rows := [][]string{}
	for _, h := range found.Hits {
		rows = append(rows, []string{string(h.ID), string(h.Type), h.Relevance.String(), h.Name, cut(h.Description, 70)})
	}
	if len(rows) > 0 {
		c.table([]string{"ID", "TYPE", "RELEVANCE", "NAME", "DESCRIPTION"}, rows)
	}
	c.note("%d of %d hits", len(found.Hits), found.Total)
}

func timeOf(s string) string {
	if t, err := vault.ParseTime(s); err == nil {
		return t.Format(time.DateOnly)
	}
	return s
}
