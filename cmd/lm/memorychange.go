package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/internal/workspace"
)

func (c *command) printChanged(m *workspace.ChangedMemory) {
	for _, r := range m.Records {
		c.say("%s: %s", r.ID, r.State)
	}
	where := ""
	if m.Branch != "" {
		where = strings.TrimPrefix(m.Branch, "refs/heads/") + ", "
	}
	c.say("  %scommit %.12s", where, m.Commit)
}

func (c *command) supersedeCommand() *cli.Command {
	return &cli.Command{
		Name: "supersede", Usage: "take a memory out of use", ArgsUsage: "MEMORY",
		Flags: []cli.Flag{&cli.StringFlag{Name: "by", Usage: "the memory `ID` that stands for it"}, reasonFlag(), keyFlag()},
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "MEMORY"); err != nil {
				return err
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.ChangedMemory, error) {
				return v.SupersedeMemory(ctx.Context, ctx.Args().First(), ctx.String("by"), ctx.String("reason"))
			}, c.printChanged)
		},
	}
}

func (c *command) expireCommand() *cli.Command {
	return &cli.Command{
		Name: "expire", Usage: "end a memory", ArgsUsage: "MEMORY",
		Flags: []cli.Flag{reasonFlag(), keyFlag()},
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "MEMORY"); err != nil {
				return err
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.ChangedMemory, error) {
				return v.ExpireMemory(ctx.Context, ctx.Args().First(), ctx.String("reason"))
			}, c.printChanged)
		},
	}
}

func (c *command) resolveCommand() *cli.Command {
	return &cli.Command{
		Name: "resolve", Usage: "end a conflict in favour of a memory", ArgsUsage: "MEMORY",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "supersede", Usage: "only the memory `ID` gives way; else all that it is in conflict with"},
			&cli.BoolFlag{Name: "keep-both", Usage: "all hold: none contradicts the other"},
			reasonFlag(), keyFlag(),
		},
		Action: func(ctx *cli.Context) error {
			supersede, err := superseding(ctx, "MEMORY")
			if err != nil {
				return err
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.ChangedMemory, error) {
				return v.ResolveMemory(ctx.Context, ctx.Args().First(), supersede, ctx.Bool("keep-both"), ctx.String("reason"))
			}, c.printChanged)
		},
	}
}

func (c *command) restoreCommand() *cli.Command {
	return &cli.Command{
		Name: "restore", Usage: "confirm a memory again that was superseded or has expired", ArgsUsage: "MEMORY",
		Flags: []cli.Flag{&cli.StringFlag{Name: "expires-at", Usage: "a date or an RFC 3339 `TIME`; \"\" for never"}, reasonFlag(), keyFlag()},
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "MEMORY"); err != nil {
				return err
			}
			expires, err := whenFlag(ctx, "expires-at")
			if err != nil {
				return err
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.ChangedMemory, error) {
				return v.RestoreMemory(ctx.Context, ctx.Args().First(), expires, ctx.String("reason"))
			}, c.printChanged)
		},
	}
}

func (c *command) syncCommand() *cli.Command {
	return &cli.Command{
		Name: "sync", Usage: "pull and push the branch that holds proposals, handoffs and feedback", ArgsUsage: "[REMOTE]",
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "[REMOTE]"); err != nil {
				return err
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.Synced, error) {
				return v.SyncMemory(ctx.Context, ctx.Args().First())
			}, func(s *workspace.Synced) {
				pushed := "nothing to push"
				if s.Pushed {
					pushed = "pushed"
				}
				c.say("%s and %s: %s pulled, %s", s.Branch, s.Remote, count(s.Pulled, "file"), pushed)
				for _, id := range s.Pruned {
					c.say("  pruned %s", id)
				}
				for _, id := range s.Kept {
					c.note("%s was changed on both sides; what a person did here stands: lm memory show %s", id, id)
				}
				for _, id := range s.Replaced {
					c.note("%s was changed on both sides; what %s had stands: lm memory show %s", id, s.Remote, id)
				}
			})
		},
	}
}
