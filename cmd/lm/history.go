package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/internal/workspace"
	"longmemory.dev/lm/vault"
)

func (c *command) historyCommand() *cli.Command {
	return &cli.Command{
		Name: "history", Usage: "every version of an asset and every act on it, newest first", ArgsUsage: "ID",
		Flags: append(subjectFlags(), &cli.StringFlag{Name: "rev", Usage: "as of `REV`; else HEAD"}),
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "ID"); err != nil {
				return err
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.History, error) {
				return v.History(vault.ID(ctx.Args().First()), subject(ctx), revision(ctx))
			}, c.printHistory)
		},
	}
}

func (c *command) printHistory(h *workspace.History) {
	rows := [][]string{}
	for _, e := range h.Events {
		commit, date, by := string(e.Commit), e.Date, e.Author
		if e.Commit == "" {
			commit, date = "not here", e.At
		}
		if e.Actor != "" {
			by = string(e.Actor)
		}
		version := strconv.Itoa(e.Version)
		if e.Version == 0 {
			version = "-"
		}
		file := e.Path
		if e.Was != "" {
			file += ", was " + e.Was
		}
		rows = append(rows, []string{version, short(commit), date, happened(e), by, e.Reason, file})
	}
	c.table([]string{"VERSION", "COMMIT", "DATE", "WHAT", "BY", "REASON", "FILE"}, rows)
	if !h.Complete {
		c.note("older commits are not in this clone: who made \"not here\" cannot be seen, nor what nobody gave a receipt for; run: git fetch --unshallow")
	}
}

func short(commit string) string { return commit[:min(12, len(commit))] }

// happened tells an event in a few words.
func happened(e workspace.Event) string {
	from := string(e.From)
	if from == "" {
		from = "new"
	}
	switch {
	case e.Kind == workspace.EventRemoved:
		return "removed"
	case e.Kind == workspace.EventMoved:
		return "moved"
	case e.Invalid:
		return "edited: invalid"
	case e.Seq > 0:
		return fmt.Sprintf("%s -> %s, receipt %04d", from, e.To, e.Seq)
	case e.From == e.To:
		return "edited"
	}
	return fmt.Sprintf("edited: %s -> %s", from, e.To)
}

// versions reads ID, ID@A or ID@A..B; 0 is a version that is not named.
func versions(arg string) (id vault.ID, from, to int, err error) {
	name, span, _ := strings.Cut(arg, "@")
	first, second, both := strings.Cut(span, "..")
	if id, from, err = reference(strings.TrimSuffix(name+"@"+first, "@")); err == nil && both {
		_, to, err = reference(name + "@" + second)
	}
	if err != nil || strings.HasSuffix(arg, "@") || both && from == 0 {
		return "", 0, 0, fmt.Errorf("%w: %q names no versions; write %s, %s@1 or %s@1..2", workspace.ErrUsage, arg, name, name, name)
	}
	return id, from, to, nil
}

func (c *command) diffCommand() *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "what changed since an asset was approved, or between two of its versions", ArgsUsage: "ID[@A[..B]]",
		Flags: append(subjectFlags(), revisionFlags()...),
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "ID[@A[..B]]"); err != nil {
				return err
			}
			id, from, to, err := versions(ctx.Args().First())
			if err != nil {
				return err
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.Diff, error) {
				return v.Diff(id, from, to, subject(ctx), revision(ctx))
			}, c.printDiff)
		},
	}
}

func (c *command) printDiff(d *workspace.Diff) {
	if len(d.Files) == 0 {
		c.note("%s: %s and %s do not differ", d.ID, side(d.From, string(d.FromCommit)), side(d.To, string(d.ToCommit)))
		return
	}
	for _, f := range d.Files {
		for line := range strings.Lines(f.Diff) {
			// A tab is harmless, and with it a plain diff can be applied.
			parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			for i := range parts {
				parts[i] = plain(parts[i])
			}
			c.say("%s", strings.Join(parts, "\t"))
		}
	}
}

func side(version int, commit string) string {
	if commit == "" {
		return fmt.Sprintf("version %d", version)
	}
	return fmt.Sprintf("version %d (commit %s)", version, short(commit))
}

// writeFlags are those of edit and revert.
func writeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "status", Usage: "the state that it gets, such as approved; else it goes back to candidate"},
		&cli.StringFlag{Name: "reason", Usage: "why, for the receipt"},
		keyFlag(),
		&cli.IntFlag{Name: "expect-version", DefaultText: "any", Usage: "exit 5 unless the asset has version `N`"},
		&cli.BoolFlag{Name: "dry-run", Usage: "show what would be written, and write nothing"},
	}
}

// writeChange reads writeFlags.
func writeChange(ctx *cli.Context) (workspace.Change, error) {
	out := workspace.Change{Reason: ctx.String("reason"), ExpectVersion: ctx.Int("expect-version"), DryRun: ctx.Bool("dry-run")}
	if ctx.IsSet("status") {
		status := ctx.String("status")
		out.Status = &status
	}
	if ctx.IsSet("expect-version") && out.ExpectVersion < 1 {
		return out, fmt.Errorf("%w: --expect-version is a version, 1 or more", workspace.ErrUsage)
	}
	return out, nil
}

func (c *command) revertCommand() *cli.Command {
	return &cli.Command{
		Name: "revert", Usage: "make the content of an old version a new version, in one commit", ArgsUsage: "ID@VERSION",
		Flags: writeFlags(),
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "ID@VERSION"); err != nil {
				return err
			}
			id, version, err := reference(ctx.Args().First())
			if err == nil && version == 0 {
				err = fmt.Errorf("%w: say which version: lm asset revert %s@N; lm asset history %[2]s lists them", workspace.ErrUsage, id)
			}
			if err != nil {
				return err
			}
			change, err := writeChange(ctx)
			if err != nil {
				return err
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.Written, error) {
				return v.Revert(ctx.Context, id, version, change)
			}, c.printWritten)
		},
	}
}
