package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/internal/workspace"
)

func (c *command) testCommand() *cli.Command {
	return &cli.Command{
		Name: "test", Usage: "hold saved loadouts against what they promise; with --diff, say what a change does to them", ArgsUsage: "[NAME…]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "rev", Usage: "the vault at `REV`; else HEAD"},
			&cli.BoolFlag{Name: "worktree", Usage: "the files as they lie"},
			&cli.StringFlag{Name: "diff", Usage: "what enters, leaves and changes in each saved loadout since `REV`"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` text, json, github (annotations of a workflow) or sarif (2.1.0); with --diff text, json or markdown"},
		},
		Action: c.test,
	}
}

func (c *command) test(ctx *cli.Context) error {
	if ctx.IsSet("diff") {
		return c.testDiff(ctx)
	}
	format, err := problemFormat(ctx)
	if err != nil {
		return err
	}
	return c.inVault(ctx, func(v *workspace.Vault) error {
		r, err := v.Test(ctx.Context, revision(ctx), ctx.Args().Slice())
		if err != nil {
			return err
		}
		err = c.report(format, "test", "Saved loadouts hold what they promise", r.Problems, r)
		if format == "text" || format == "github" {
			c.noteTests(r)
		}
		return err
	})
}

func (c *command) noteTests(r *workspace.Tests) {
	passed := 0
	for _, t := range r.Tests {
		if t.Passed {
			passed++
		}
	}
	if len(r.Tests)+len(r.Problems) == 0 {
		c.note("there is no saved loadout at %s; docs/ci.md shows how to write one", snapshotText(r.Snapshot))
		return
	}
	c.note("%d of %s hold at %s", passed, count(len(r.Tests), "saved loadout"), snapshotText(r.Snapshot))
}

func (c *command) testDiff(ctx *cli.Context) error {
	format := ctx.String("format")
	if ctx.Bool("json") {
		format = "json"
	}
	if format != "text" && format != "json" && format != "markdown" {
		return fmt.Errorf("%w: there is no format %q of a difference; use text, json or markdown", workspace.ErrUsage, format)
	}
	return c.inVault(ctx, func(v *workspace.Vault) error {
		d, err := v.TestDiff(ctx.Context, ctx.String("diff"), revision(ctx), ctx.Args().Slice())
		if err != nil {
			return err
		}
		return c.printTestDiff(d, format)
	})
}

func (c *command) printTestDiff(d *workspace.TestDiff, format string) error {
	var err error
	switch format {
	case "json":
		err = c.json(d)
	case "markdown":
		c.say("%s", markdownDiff(d))
	default:
		c.textDiff(d)
	}
	if err == nil && len(d.Problems) > 0 {
		for _, p := range d.Problems {
			c.note("%s", plain(p.Error()))
		}
		err = exitError(exitInvalid)
	}
	return err
}

func (c *command) textDiff(d *workspace.TestDiff) {
	c.say("from %s", snapshotText(d.From))
	c.say("to   %s", snapshotText(d.To))
	for _, l := range d.Loadouts {
		c.say("\n%s: %s", l.Name, tokensText(l))
		if len(l.Changes) == 0 {
			c.say("unchanged")
			continue
		}
		rows := [][]string{}
		for _, ch := range l.Changes {
			rows = append(rows, []string{ch.Change, string(ch.ID), itemText(ch.Before), itemText(ch.After), ch.Why})
		}
		c.table([]string{"CHANGE", "ASSET", "BEFORE", "AFTER", "WHY NOT ON THE OTHER SIDE"}, rows)
	}
	for _, name := range d.Removed {
		c.say("\n%s: removed", name)
	}
	if len(d.Loadouts)+len(d.Removed) == 0 {
		c.note("there is no saved loadout on either side")
	}
}

func tokensText(l workspace.LoadoutDiff) string {
	out := fmt.Sprintf("%d of %d tokens", l.TokensAfter, l.TokenBudget)
	if l.TokensAfter != l.TokensBefore {
		out = fmt.Sprintf("%d -> %d of %d tokens (%+d)", l.TokensBefore, l.TokensAfter, l.TokenBudget, l.TokensAfter-l.TokensBefore)
	}
	if l.New {
		out += ", a new saved loadout"
	}
	return out
}

func itemText(i *workspace.TestedItem) string {
	if i == nil {
		return "out"
	}
	return fmt.Sprintf("v%d %s, %s", i.Version, i.Mode, count(i.Tokens, "token"))
}

// markdownDiff is what a change does to saved loadouts, as a comment on a pull
// request: the same files give the same text, and no text of a vault can make
// markup, links or mentions in it.
func markdownDiff(d *workspace.TestDiff) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### What agents get\n\nSaved loadouts, %s against %s.\n", code(snapshotText(d.To), false), code(snapshotText(d.From), false))
	unchanged := []string{}
	for _, l := range d.Loadouts {
		if len(l.Changes) == 0 && !l.New {
			unchanged = append(unchanged, code(l.Name, false))
			continue
		}
		fmt.Fprintf(&b, "\n#### %s\n\n", code(l.Name, false))
		if l.Subject != "" {
			fmt.Fprintf(&b, "For %s", code(cut(l.Subject, 200), false))
		} else {
			b.WriteString("For nobody in particular")
		}
		if l.Query != "" {
			fmt.Fprintf(&b, ", asking %s", code(cut(l.Query, 200), false))
		}
		fmt.Fprintf(&b, ": %s.\n", tokensText(l))
		if len(l.Changes) == 0 {
			continue
		}
		b.WriteString("\n| change | asset | before | after | why not on the other side |\n| --- | --- | --- | --- | --- |\n")
		for _, ch := range l.Changes {
			why := ""
			if ch.Why != "" {
				why = code(cut(ch.Why, 200), true)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", ch.Change, code(string(ch.ID), true), itemText(ch.Before), itemText(ch.After), why)
		}
	}
	for _, name := range d.Removed {
		fmt.Fprintf(&b, "\n#### %s\n\nRemoved.\n", code(name, false))
	}
	if len(unchanged) > 0 {
		fmt.Fprintf(&b, "\nUnchanged: %s.\n", strings.Join(unchanged, ", "))
	}
	if len(d.Loadouts)+len(d.Removed) == 0 {
		b.WriteString("\nThere is no saved loadout.\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// code is text as a Markdown code span on one line: nothing in it is markup.
// In a table a bar would end the cell, code span or not.
func code(s string, cell bool) string {
	s = plain(s)
	if cell {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || s == "" {
		s = " " + s + " "
	}
	return fence + s + fence
}
