package main

import (
	"strconv"

	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/index"
	"longmemory.dev/lm/internal/workspace"
)

func (c *command) indexCommand() *cli.Command {
	return &cli.Command{
		Name: "index", Usage: "the static index that loadouts read; it is built by itself on need",
		Subcommands: []*cli.Command{
			{
				Name: "build", Usage: "make the index of what loadouts read current",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "rev", Usage: "the index of `REV`"},
					&cli.BoolFlag{Name: "once", Usage: "do nothing if another process is at it with this flag"},
				},
				Action: func(ctx *cli.Context) error {
					return c.index(ctx, func(v *workspace.Vault, r workspace.Revision) (workspace.IndexStatus, error) {
						if ctx.Bool("once") {
							unlock, ok, err := v.BuildAlone()
							if err != nil || !ok {
								return workspace.IndexStatus{Status: "being built"}, err
							}
							defer unlock()
						}
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
	return answered(c, ctx, func(v *workspace.Vault) (workspace.IndexStatus, error) {
		return call(v, workspace.Revision{Rev: ctx.String("rev")})
	}, c.printIndex)
}

func (c *command) printIndex(s workspace.IndexStatus) {
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
}

func (c *command) collect(ctx *cli.Context) error {
	if err := arguments(ctx); err != nil {
		return err
	}
	type removed struct {
		Keys []index.Key `json:"removed"`
	}
	return answered(c, ctx, func(v *workspace.Vault) (removed, error) {
		keys, err := v.CollectIndexes()
		return removed{append([]index.Key{}, keys...)}, err
	}, func(r removed) { c.say("removed %s", strconv.Itoa(len(r.Keys))) })
}
