package main

import (
	"fmt"
	"path"
	"slices"

	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/internal/workspace"
	"longmemory.dev/lm/vault"
)

func (c *command) verifyCommand() *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "check every receipt and its history",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "rev", Usage: "the receipts at `REV` and its history, instead of HEAD's"},
			formatFlag(),
		},
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx); err != nil {
				return err
			}
			format, err := problemFormat(ctx)
			if err != nil {
				return err
			}
			return c.inVault(ctx, func(v *workspace.Vault) error {
				r, err := v.Verify(workspace.Revision{Rev: ctx.String("rev")})
				if err != nil {
					return err
				}
				errors := r.Errors()
				err = c.report(format, "verify", "Receipts stay as they were written, and their acts were possible", append(slices.Clone(r.Problems), unseen(v, format, r)...), r)
				if err == nil && r.Blind {
					err = exitError(exitIncomplete)
				}
				for _, what := range r.Unseen {
					c.note("not seen: %s", plain(what))
				}
				if format == "text" || format == "github" {
					signed := ""
					if r.Signed > 0 {
						signed = fmt.Sprintf(" (%d signed)", r.Signed)
					}
					c.note("%s%s in %s, %s, %s", count(r.Receipts, "receipt"), signed, count(r.Chains, "chain"), count(errors, "error"), count(len(r.Problems)-errors, "warning"))
				}
				return err
			})
		},
	}
}

// unseen are problems that tell of what could not be seen, for formats that have
// no other place for it.
func unseen(v *workspace.Vault, format string, r *workspace.Verification) []vault.Problem {
	var out []vault.Problem
	for _, what := range r.Unseen {
		if format == "github" || format == "sarif" {
			out = append(out, vault.Problem{Severity: vault.Warning, Path: path.Join(v.Prefix, vault.ConfigFile), Line: 1, Column: 1, Message: "not seen: " + what})
		}
	}
	return out
}
