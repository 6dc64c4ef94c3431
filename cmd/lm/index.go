package main

import (
	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/internal/workspace"
)

func (c *command) indexCommand() *cli.Command {
	return &cli.Command{
		Name: "index", Usage: "the static index that loadouts read; it is built by itself on need",
		Subcommands: []*cli.Command{
			{
				Name: "build", Usage: "make the index of what loadouts read current",
				Flags: []cli.Flag{&cli.StringFlag{Name: "rev", Usage: "the index of `REV`"}},
				Action: func(ctx *cli.Context) error {
					return c.index(ctx, func(v *workspace.Vault, r workspace.Revision) (workspace.IndexStatus, error) {
						return v.BuildIndex(ctx.Context, r)
					})
				},
			},
			{
				Name: "status", Usage: "whether it is current",
				Flags: []cli.Flag{&cli.StringFlag{Name: "rev", Usage: "the index of `REV`"}},
				Action: func(ctx *cli.Context) error {
					return c.index(ctx, func(v *workspace.Vault, r workspace.Revision) (workspace.IndexStatus, error) { return v.Index(r) })
				},
			},
			{Name: "gc", Usage: "drop all indexes but the current one and the newest few", Action: c.collect},
		},
	}
}

func (c *command) index(ctx *cli.Context, call func(*workspace.Vault, workspace.Revision) (workspace.IndexStatus, error)) error {
	if err := arguments(ctx); err != nil {
		return err
	}
	v, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer v.Close()
	s, err := call(v, workspace.Revision{Rev: ctx.String("rev")})
	if err != nil {
		return err
	}
	if ctx.Bool("json") {
		return c.json(s)
	}
	c.say("%s  %s", s.Status, s.Key)
	if s.Commit != "" {
		c.say("of      %s at %.12s", s.Ref, s.Commit)
	}
	if s.Bytes > 0 {
		c.say("in      %s, %d bytes", s.Root, s.Bytes)
	}
	if s.Detail != "" {
		c.say("%s", s.Detail)
	}
	return nil
}

func (c *command) collect(ctx *cli.Context) error {
	if err := arguments(ctx); err != nil {
		return err
	}
	v, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer v.Close()
	gone, err := v.CollectIndexes()
	if err != nil {
		return err
	}
	if ctx.Bool("json") {
		keys := []string{}
		for _, key := range gone {
			keys = append(keys, string(key))
		}
		return c.json(map[string]any{"removed": keys})
	}
	c.say("removed %d", len(gone))
	return nil
}
