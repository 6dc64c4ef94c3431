package main

import (
	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/internal/workspace"
)

func (c *command) policyCommand() *cli.Command {
	return &cli.Command{
		Name: "policy", Usage: "who may do what",
		Subcommands: []*cli.Command{{
			Name: "approve", Usage: "write the receipt for a committed change of vault.yaml's policy, people or teams, or of allowed_signers",
			Flags: []cli.Flag{&cli.StringFlag{Name: "reason", Usage: "`TEXT` for the receipt"}, keyFlag()},
			Action: func(ctx *cli.Context) error {
				if err := arguments(ctx); err != nil {
					return err
				}
				return answered(c, ctx, func(v *workspace.Vault) (*workspace.PolicyApproved, error) {
					return v.ApprovePolicy(ctx.Context, ctx.String("reason"))
				}, func(p *workspace.PolicyApproved) {
					c.say("Approved the policy by %s, commit %.12s.", p.Actor, p.Commit)
					c.say("  %s", p.Receipt)
					hooksNote(c, p.Hooks)
				})
			},
		}},
	}
}
