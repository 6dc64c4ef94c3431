package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/internal/workspace"
)

func (c *command) agentCommand() *cli.Command {
	return &cli.Command{
		Name: "agent", Usage: "agents, as other systems see them",
		Subcommands: []*cli.Command{c.manifestCommand()},
	}
}

// manifestFlags are those of a request, but for the agent, which is the
// argument, and those that would show a part of what the agent may use.
func manifestFlags() []cli.Flag {
	flags := slices.DeleteFunc(requestFlags(), func(f cli.Flag) bool {
		return slices.Contains([]string{"agent", "types", "bound-only"}, f.Names()[0])
	})
	return append(flags,
		&cli.StringFlag{Name: "query", Usage: "the task, as `TEXT`; without one, the loadout is what is bound"},
		&cli.StringFlag{Name: "name", Usage: "the agent's `NAME`; else its id"},
		&cli.StringFlag{Name: "description", Usage: "what the agent is for, as `TEXT`"},
		&cli.StringFlag{Name: "interface-url", Usage: "add the A2A card of the agent whose server listens at `URL`"},
		&cli.StringFlag{Name: "protocol-binding", Usage: "the A2A `BINDING` that server speaks: JSONRPC (if not given), GRPC, HTTP+JSON or the URI of another"},
	)
}

func (c *command) manifestCommand() *cli.Command {
	return &cli.Command{
		Name: "manifest", Usage: "print an agent's manifest, as JSON: what it may use, its loadout, its A2A card", ArgsUsage: "AGENT",
		Flags: manifestFlags(),
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "AGENT"); err != nil {
				return err
			}
			for _, flag := range []string{"interface-url", "protocol-binding"} {
				if ctx.IsSet(flag) && ctx.String(flag) == "" {
					return fmt.Errorf("%w: --%s is empty", workspace.ErrUsage, flag)
				}
			}
			ask, err := c.ask(ctx, ctx.String("query"))
			if err != nil {
				return err
			}
			ask.Agent = ctx.Args().First()
			return c.inVault(ctx, func(v *workspace.Vault) error {
				m, err := v.Manifest(ctx.Context, workspace.ManifestAsk{
					Ask: ask, Name: ctx.String("name"), Description: ctx.String("description"),
					InterfaceURL: ctx.String("interface-url"), ProtocolBinding: ctx.String("protocol-binding"),
				})
				if err != nil {
					return err
				}
				c.noteMissing(m.Loadout)
				return c.json(m)
			})
		},
	}
}
