package main

import (
	"fmt"
	"runtime"

	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/index"
	"longmemory.dev/lm/internal/workspace"
	"longmemory.dev/lm/vault"
)

// version is the one of the change log.
const version = "0.1.0-dev"

func (c *command) versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "the version of lm and of the formats that it reads and writes",
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx); err != nil {
				return err
			}
			if ctx.Bool("json") {
				return c.json(map[string]any{
					"version": version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
					"formats": []string{vault.ConfigSchema, vault.AssetSchema, vault.ReceiptSchema, vault.LoadoutSchema}, "index_format": index.Format, "analyzer": index.Analyzer,
				})
			}
			c.say("lm %s %s %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}

// completions are the scripts that ask lm itself what may come next.
var completions = map[string]string{
	"bash": `_lm() {
  COMPREPLY=($(compgen -W "$("${COMP_WORDS[@]:0:COMP_CWORD}" --generate-bash-completion 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _lm lm
`,
	"zsh": `#compdef lm
_lm() {
  local -a found
  found=("${(@f)$("${words[@]:0:$((CURRENT-1))}" --generate-bash-completion 2>/dev/null)}")
  _describe lm found
}
compdef _lm lm
`,
	"fish": `complete -c lm -a '(set -l words (commandline -opc); command $words --generate-bash-completion 2>/dev/null)'
`,
}

func (c *command) completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "a completion script for bash, zsh or fish", ArgsUsage: "SHELL",
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "SHELL"); err != nil {
				return err
			}
			script, ok := completions[ctx.Args().First()]
			if !ok {
				return fmt.Errorf("%w: there is no script for %q; use bash, zsh or fish", workspace.ErrUsage, ctx.Args().First())
			}
			if ctx.Bool("json") {
				return c.json(map[string]string{"shell": ctx.Args().First(), "script": script})
			}
			fmt.Fprint(c.stdout, script)
			return nil
		},
	}
}
