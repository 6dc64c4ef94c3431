package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/internal/workspace"
)

func (c *command) validateCommand() *cli.Command {
	return &cli.Command{
		Name: "validate", Usage: "say everything that is wrong with the files, or with a change", ArgsUsage: "[PATH…]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "rev", Usage: "the files at `REV` instead of the work tree"},
			&cli.StringFlag{Name: "base", Usage: "judge the change against `REV` by that one's rules; auto: what the CI job names, else the remote's default branch"},
			&cli.BoolFlag{Name: "changed", Usage: "only what is wrong with files that differ from HEAD, and the rest of their assets"},
			formatFlag(),
		},
		Action: func(ctx *cli.Context) error {
			format, err := problemFormat(ctx)
			if err != nil {
				return err
			}
			return c.inVault(ctx, func(v *workspace.Vault) error {
				r, err := validated(v, ctx)
				if err != nil {
					return err
				}
				errors := r.Errors()
				err = c.report(format, "validate", "A vault's files keep its format and its rules", r.Problems, r)
				if format == "text" || format == "github" {
					c.note("%s, %s, %s", count(r.Assets, "valid asset"), count(errors, "error"), count(len(r.Problems)-errors, "warning"))
				}
				return err
			})
		},
	}
}

func validated(v *workspace.Vault, ctx *cli.Context) (*workspace.Validation, error) {
	r, err := workspace.Revision{Rev: ctx.String("rev")}, error(nil)
	if ctx.Bool("changed") && r.Rev != "" {
		return nil, fmt.Errorf("%w: --changed is about the work tree, so it takes no --rev", workspace.ErrUsage)
	}
	var out *workspace.Validation
	if ctx.IsSet("base") {
		out, err = v.ValidateChange(r, ctx.String("base"), ctx.Args().Slice())
	} else {
		out, err = v.Validate(r, ctx.Args().Slice())
	}
	if err == nil && ctx.Bool("changed") {
		err = v.OnlyChanged(out)
	}
	return out, err
}
