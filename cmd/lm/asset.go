package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/internal/workspace"
	"longmemory.dev/lm/vault"
)

func (c *command) assetCommand() *cli.Command {
	return &cli.Command{
		Name: "asset", Usage: "look at assets, add them and govern them",
		Subcommands: []*cli.Command{c.listCommand(), c.showCommand(), c.registerCommand(), c.governCommand(), c.explainCommand(), c.loadoutCommand(),
			c.historyCommand(), c.diffCommand(), c.editCommand(), c.revertCommand()},
	}
}

func (c *command) listCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list the assets at HEAD, whatever their state",
		Flags: append(append(subjectFlags(), revisionFlags()...),
			&cli.StringSliceFlag{Name: "types", Aliases: []string{"type"}, Usage: "only these `TYPES`"},
			&cli.StringSliceFlag{Name: "status", Usage: "only these `STATES`"},
		),
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx); err != nil {
				return err
			}
			ask := workspace.ListAsk{Subject: subject(ctx), Revision: revision(ctx)}
			for _, t := range ctx.StringSlice("types") {
				if !slices.Contains(vault.Types, vault.Type(t)) {
					return fmt.Errorf("%w: there is no asset type %q; the types are %v", workspace.ErrUsage, t, vault.Types)
				}
				ask.Types = append(ask.Types, vault.Type(t))
			}
			for _, s := range ctx.StringSlice("status") {
				if !slices.Contains(vault.Statuses, vault.Status(s)) {
					return fmt.Errorf("%w: there is no status %q; the states are %v", workspace.ErrUsage, s, vault.Statuses)
				}
				ask.Statuses = append(ask.Statuses, vault.Status(s))
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.List, error) { return v.List(ctx.Context, ask) }, c.printList)
		},
	}
}

func (c *command) printList(l *workspace.List) {
	rows := [][]string{}
	for _, a := range l.Assets {
		rows = append(rows, []string{string(a.ID), string(a.Type), strconv.Itoa(a.Version), state(a), string(a.Owner), a.Name})
	}
	if len(rows) > 0 {
		c.table([]string{"ID", "TYPE", "VERSION", "STATUS", "OWNER", "NAME"}, rows)
	}
	if l.Hidden > 0 {
		c.note("%d more that you may not read", l.Hidden)
	}
}

func state(a workspace.Row) string {
	switch {
	case a.Invalid:
		return "invalid"
	case a.Status == vault.StatusApproved && !a.Receipted:
		return "approved, unreceipted"
	}
	return string(a.Status)
}

// reference reads ID or ID@VERSION.
func reference(arg string) (vault.ID, int, error) {
	id, version, found := strings.Cut(arg, "@")
	if !found {
		return vault.ID(id), 0, nil
	}
	n, err := strconv.Atoi(version)
	if err != nil || n < 1 {
		return "", 0, fmt.Errorf("%w: %q is no version; write %s@1", workspace.ErrUsage, version, id)
	}
	return vault.ID(id), n, nil
}

func (c *command) showCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show one asset: its keys, its content, its receipts", ArgsUsage: "ID[@VERSION]",
		Flags: append(append(subjectFlags(), revisionFlags()...),
			&cli.BoolFlag{Name: "approved", Usage: "as loadouts see it: at the trusted revision, and only if it is approved there"},
		),
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "ID"); err != nil {
				return err
			}
			id, version, err := reference(ctx.Args().First())
			if err != nil {
				return err
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.Shown, error) {
				return v.Show(id, version, subject(ctx), revision(ctx), ctx.Bool("approved"))
			}, c.printShown)
		},
	}
}

func (c *command) printShown(a *workspace.Shown) {
	c.say("%s@%d  %s, %s\n%s\n%s\n", a.ID, a.Version, a.Type, state(a.Row), plain(a.Name), plain(a.Description))
	c.say("owner       %s", a.Owner)
	c.say("visibility  %s", a.Visibility)
	if a.ExpiresAt != "" {
		c.say("expires     %s", a.ExpiresAt)
	}
	for _, key := range []string{"source", "content_ref", "teams", "acl", "bindings", "priority", "confidence", "labels", "payload", "metadata"} {
		if value, ok := a.Keys[key]; ok {
			var b bytes.Buffer
			encoder := json.NewEncoder(&b)
			encoder.SetEscapeHTML(false)
			if encoder.Encode(value) == nil {
				c.say("%-11s %s", key, plain(strings.TrimSpace(b.String())))
			}
		}
	}
	c.say("file        %s", a.Path)
	c.say("digest      %s", a.Digest)
	for _, r := range a.Resources {
		c.say("beside it   %s", plain(r))
	}
	for _, r := range a.Receipts {
		from := string(r.From)
		if from == "" {
			from = "new"
		}
		c.say("receipt     %04d %s %s -> %s by %s %s", r.Seq, timeOf(r.At), from, r.To, r.Actor, plain(r.Reason))
	}
	if a.Body != "" {
		c.say("\n%s", c.body(strings.TrimRight(a.Body, "\n")))
	}
}

// changeFlags are the flags of register and govern (design.md §4).
func changeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "type", Usage: "`TYPE` skill, llm_wiki, chat_memory or code_graph"},
		&cli.StringFlag{Name: "name", Usage: "what people call it"},
		&cli.StringFlag{Name: "description", Usage: "what it answers, and when to use it"},
		&cli.StringFlag{Name: "owner", Usage: "`SUBJECT` user:<id> or team:<id>"},
		&cli.StringFlag{Name: "source-type", Usage: "where the content came from: manual, conversation, docs, repository or skill"},
		&cli.StringFlag{Name: "source-ref", Usage: "what names that place"},
		&cli.StringFlag{Name: "content-ref", Usage: "`URI` of the readable content, or a path inside the asset's folder"},
		&cli.StringFlag{Name: "status", Usage: "draft, candidate, approved, deprecated, archived or failed"},
		&cli.StringFlag{Name: "visibility", Usage: "private, project, team, restricted, agent or task"},
		&cli.StringSliceFlag{Name: "teams", Usage: "the teams that visibility team means"},
		&cli.StringSliceFlag{Name: "labels", Usage: "words of your own"},
		&cli.StringSliceFlag{Name: "agents", Usage: "bind it to these agents; replaces the bindings to agents"},
		&cli.StringSliceFlag{Name: "tasks", Usage: "bind it to these tasks; replaces the bindings to tasks"},
		&cli.StringSliceFlag{Name: "frameworks", Usage: "bind it to these frameworks; replaces the bindings to frameworks"},
		&cli.StringFlag{Name: "mode", Usage: "how the bound get it: direct, summary, tool or reference"},
		&cli.Float64Flag{Name: "priority", DefaultText: "unchanged; 0.25 at first", Usage: "0 to 1, of the bindings named here, else of the asset"},
		&cli.BoolFlag{Name: "required", Usage: "the bound must get it"},
		&cli.Float64Flag{Name: "confidence", DefaultText: "unchanged; 0.5 at first", Usage: "0 to 1"},
		&cli.StringFlag{Name: "expires-at", Usage: "a date or an RFC 3339 `TIME`"},
		&cli.StringFlag{Name: "content-file", Usage: "the content from `FILE`, - for standard input"},
		&cli.StringFlag{Name: "reason", Usage: "why, for the receipt"},
		keyFlag(),
		&cli.BoolFlag{Name: "dry-run", Usage: "show what would be written, and write nothing"},
	}
}

// change reads the flags of register and govern; jsonFlag names the one that
// carries keys as JSON.
func (c *command) change(ctx *cli.Context, jsonFlag string) (workspace.Change, error) {
	text := func(name string) *string {
		if !ctx.IsSet(name) {
			return nil
		}
		value := ctx.String(name)
		return &value
	}
	list := func(name string) *[]string {
		if !ctx.IsSet(name) {
			return nil
		}
		value := ctx.StringSlice(name)
		return &value
	}
	number := func(name string) *float64 {
		if !ctx.IsSet(name) {
			return nil
		}
		value := ctx.Float64(name)
		return &value
	}
	out := workspace.Change{
		Type: text("type"), Name: text("name"), Description: text("description"), Owner: text("owner"), SourceType: text("source-type"),
		SourceRef: text("source-ref"), ContentRef: text("content-ref"), Status: text("status"), Visibility: text("visibility"),
		Mode: text("mode"), ExpiresAt: text("expires-at"), Teams: list("teams"), Labels: list("labels"), Agents: list("agents"),
		Tasks: list("tasks"), Frameworks: list("frameworks"), Priority: number("priority"), Confidence: number("confidence"),
		Reason: ctx.String("reason"), ExpectVersion: ctx.Int("expect-version"), DryRun: ctx.Bool("dry-run"),
	}
	if ctx.IsSet("required") {
		required := ctx.Bool("required")
		out.Required = &required
	}
	var err error
	if value := ctx.String(jsonFlag); value != "" {
		if out.Keys, err = c.jsonInput(value, "--"+jsonFlag); err != nil {
			return out, err
		}
	}
	if name := ctx.String("content-file"); name != "" {
		if name == "-" && ctx.String(jsonFlag) == "-" {
			return out, fmt.Errorf("%w: --content-file and --%s cannot both be standard input", workspace.ErrUsage, jsonFlag)
		}
		if out.Body, err = c.readFile(name, "--content-file"); err != nil {
			return out, err
		}
		out.Body = append([]byte{}, bytes.ReplaceAll(out.Body, []byte("\r\n"), []byte("\n"))...)
	}
	return out, nil
}

func (c *command) registerCommand() *cli.Command {
	return &cli.Command{
		Name: "register", Usage: "add an asset: one file, one receipt, one commit",
		Flags: append(changeFlags(),
			&cli.StringFlag{Name: "id", Usage: "else one made of the name"},
			&cli.StringFlag{Name: "input-json", Aliases: []string{"patch-json"}, Usage: "keys as JSON: a `FILE`, - or the object itself; flags win over it"},
		),
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx); err != nil {
				return err
			}
			change, err := c.change(ctx, "input-json")
			if err != nil {
				return err
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.Written, error) {
				return v.Register(ctx.Context, vault.ID(ctx.String("id")), change)
			}, c.printWritten)
		},
	}
}

func (c *command) governCommand() *cli.Command {
	return &cli.Command{
		Name: "govern", Usage: "change an asset's state, keys or content, with a receipt, in one commit", ArgsUsage: "ID",
		Flags: append(changeFlags(),
			&cli.StringFlag{Name: "id", Usage: "the asset, if no argument names it"},
			&cli.StringFlag{Name: "patch-json", Aliases: []string{"input-json"}, Usage: "keys as a JSON merge patch: a `FILE`, - or the object itself; flags win over it"},
			&cli.IntFlag{Name: "expect-version", DefaultText: "any", Usage: "exit 5 unless the asset has version `N`"},
			&cli.BoolFlag{Name: "changed", Usage: "every asset that an edit or a merge left without a receipt, in one commit; with --status, --reason and --dry-run alone"},
			&cli.StringFlag{Name: "reviewer", Usage: "with --changed: in the name of `github:LOGIN`, who approved this very commit on the forge; for CI"},
			&cli.StringFlag{Name: "base", Usage: "with --reviewer: `REV` that the change goes to; its vault.yaml says who that is, and only what differs from it is governed; else what agents read"},
		),
		Action: func(ctx *cli.Context) error {
			if ctx.Bool("changed") {
				return c.governChanged(ctx)
			}
			id := ctx.Args().First()
			switch flag := ctx.String("id"); {
			case id == "":
				id = flag
			case flag != "" && flag != id:
				return fmt.Errorf("%w: the argument names %s and --id %s", workspace.ErrUsage, id, flag)
			}
			if id == "" {
				return arguments(ctx, "ID")
			}
			if ctx.IsSet("reviewer") || ctx.IsSet("base") {
				return fmt.Errorf("%w: --reviewer and --base go with --changed", workspace.ErrUsage)
			}
			if err := arguments(ctx, "[ID]"); err != nil {
				return err
			}
			change, err := c.change(ctx, "patch-json")
			if err != nil {
				return err
			}
			if ctx.IsSet("expect-version") && change.ExpectVersion < 1 {
				return fmt.Errorf("%w: --expect-version is a version, 1 or more", workspace.ErrUsage)
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.Written, error) {
				return v.Govern(ctx.Context, vault.ID(id), change)
			}, c.printWritten)
		},
	}
}

// governChanged governs all that waits for a receipt.
func (c *command) governChanged(ctx *cli.Context) error {
	if err := arguments(ctx); err != nil {
		return err
	}
	for _, name := range ctx.LocalFlagNames() {
		if !slices.Contains([]string{"changed", "status", "reason", "dry-run", "reviewer", "base", "key", "json", "C", "vault"}, name) {
			return fmt.Errorf("%w: --changed is about what is committed already, so --%s does not go with it", workspace.ErrUsage, name)
		}
	}
	change, err := c.change(ctx, "patch-json")
	if err != nil {
		return err
	}
	var review *workspace.Review
	if ctx.IsSet("reviewer") {
		review = &workspace.Review{Reviewer: ctx.String("reviewer"), Base: ctx.String("base")}
	} else if ctx.IsSet("base") {
		return fmt.Errorf("%w: --base goes with --reviewer", workspace.ErrUsage)
	}
	return answered(c, ctx, func(v *workspace.Vault) (*workspace.GovernedAll, error) {
		return v.GovernChanged(ctx.Context, change, review)
	}, c.printGoverned)
}

func (c *command) printGoverned(all *workspace.GovernedAll) {
	for _, w := range all.Assets {
		verb := ""
		if all.DryRun {
			verb = " (not written)"
		}
		c.say("%s@%d: %s -> %s, by %s%s", w.ID, w.Version, w.From, w.Status, w.Actor, verb)
	}
	if len(all.Assets) == 0 {
		c.note("nothing waits for a receipt, so nothing was written")
	} else if !all.DryRun {
		hooksNote(c, all.Assets[0].Hooks)
		c.say("  %s, commit %.12s", count(len(all.Assets), "receipt"), all.Commit)
		detachedNote(c, all.Assets[0])
		if reads := all.Assets[0].Reads; reads != "" {
			c.say("  agents read %s: push this commit there", reads)
		}
	}
	for _, id := range all.Withdrawn {
		c.note("%s: its state was changed by hand, so it is left alone; run: lm asset govern %s --status <state>", id, id)
	}
	if all.Hidden > 0 {
		c.note("%d more that you may not read", all.Hidden)
	}
}

// printWritten tells what a write did.
func (c *command) printWritten(w *workspace.Written) {
	hooksNote(c, w.Hooks)
	change := string(w.Status)
	if w.From != "" {
		change = fmt.Sprintf("%s -> %s", w.From, w.Status)
	}
	if w.DryRun {
		c.say("%s@%d: %s; nothing was written. %s would be:\n", w.ID, w.Version, change, w.Path)
		_, _ = c.stdout.Write(w.Content) // run looks whether everything was written
		return
	}
	c.say("%s@%d: %s, by %s", w.ID, w.Version, change, w.Actor)
	c.say("  %s, %s, commit %.12s", w.Path, w.Receipt, w.Commit)
	if len(w.Changed) > 0 {
		c.say("  changed: %s", strings.Join(w.Changed, ", "))
	}
	if w.Status == vault.StatusCandidate || w.Status == vault.StatusDraft {
		c.say("  no agent gets it before somebody approves it: %s", w.Approve)
	}
	detachedNote(c, w)
	if w.Reads != "" {
		c.say("  agents read %s: push this commit there", w.Reads)
	}
}

func (c *command) explainCommand() *cli.Command {
	return &cli.Command{
		Name: "explain", Usage: "run one asset through a request and show each decision", ArgsUsage: "ID",
		Flags: append(requestFlags(), &cli.StringFlag{Name: "query", Usage: "the task, as `TEXT`"}),
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "ID"); err != nil {
				return err
			}
			id, _, err := reference(ctx.Args().First())
			if err != nil {
				return err
			}
			ask, err := c.ask(ctx, ctx.String("query"))
			if err != nil {
				return err
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.Explanation, error) { return v.Explain(ctx.Context, id, ask) }, c.printExplanation)
		},
	}
}

func (c *command) printExplanation(e *workspace.Explanation) {
	if e.Version > 0 {
		c.say("%s@%d  %s, %s", e.ID, e.Version, e.Type, e.Status)
	}
	c.say("%s\n%s\n", snapshotText(e.Snapshot), requestText(e.Request))
	rows := [][]string{}
	for _, s := range e.Steps {
		mark := "ok"
		if !s.Passed {
			mark = "NO"
		}
		rows = append(rows, []string{mark, s.Name, s.Detail})
	}
	c.table([]string{"", "CHECK", "DETAIL"}, rows)
	c.say("\n%s: %s", e.ID, e.Decision)
}
