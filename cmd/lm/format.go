package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/internal/workspace"
)

func (c *command) formatCommand() *cli.Command {
	return &cli.Command{
		Name: "fmt", Usage: "mend what can be mended without a judgement: byte order marks, CRLF, fences, tabs, values with a colon", ArgsUsage: "[PATH…]",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "check", Usage: "write nothing; exit 3 if something would be mended"}},
		Action: func(ctx *cli.Context) error {
			check := ctx.Bool("check")
			var mended int
			err := answered(c, ctx, func(v *workspace.Vault) (*workspace.Formatted, error) {
				f, err := v.Format(ctx.Args().Slice(), check)
				if err == nil {
					mended = len(f.Done)
				}
				return f, err
			}, c.printFormatted)
			if err == nil && check && mended > 0 {
				err = exitError(exitInvalid)
			}
			return err
		},
	}
}

func (c *command) printFormatted(f *workspace.Formatted) {
	for _, file := range f.Done {
		c.say("%s: %s", plain(file.Path), strings.Join(file.Repairs, ", "))
	}
	what := "mended"
	if f.Check {
		what = "to mend"
	}
	c.note("%s looked at, %d %s", count(f.Files, "file"), len(f.Done), what)
}
