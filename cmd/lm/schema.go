package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/internal/workspace"
	"longmemory.dev/lm/vault"
)

// schemaFiles says for which files each schema is.
var schemaFiles = map[string]string{
	"asset":   "assets/**/*.yaml, and the front matter of assets in Markdown",
	"vault":   "vault.yaml",
	"receipt": "receipts/*/*/*.yaml",
	"loadout": "loadouts/*.yaml",
}

func (c *command) schemaCommand() *cli.Command {
	return &cli.Command{
		Name: "schema", Usage: "the JSON Schema of a kind of file, for editors", ArgsUsage: "[KIND]",
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "[KIND]"); err != nil {
				return err
			}
			switch kind := ctx.Args().First(); {
			case kind != "":
				s := vault.JSONSchema(kind)
				if s == nil {
					return fmt.Errorf("%w: there is no schema of %q; use one of %s", workspace.ErrUsage, kind, strings.Join(vault.Schemas, ", "))
				}
				return c.json(s)
			case ctx.Bool("json"):
				all := map[string]any{}
				for _, kind := range vault.Schemas {
					all[kind] = vault.JSONSchema(kind)
				}
				return c.json(all)
			}
			rows := [][]string{}
			for _, kind := range vault.Schemas {
				rows = append(rows, []string{"lm schema " + kind, schemaFiles[kind]})
			}
			c.table([]string{"COMMAND", "FILES"}, rows)
			return nil
		},
	}
}
