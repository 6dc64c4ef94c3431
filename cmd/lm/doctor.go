package main

import (
	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/internal/workspace"
)

func (c *command) doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "what is wrong around the vault, and the commands that mend it",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "fix", Usage: "finish or undo an interrupted write, and build a damaged index anew"}},
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx); err != nil {
				return err
			}
			return c.inVault(ctx, func(v *workspace.Vault) error {
				d, err := v.Doctor(ctx.Context, ctx.Bool("fix"))
				if err != nil {
					return err
				}
				if ctx.Bool("json") {
					err = c.json(d)
				} else {
					c.printDiagnosis(d)
				}
				if err == nil && d.Errors() > 0 {
					err = exitError(exitInvalid)
				}
				return err
			})
		},
	}
}

func (c *command) printDiagnosis(d *workspace.Diagnosis) {
	for _, fixed := range d.Fixed {
		c.say("fixed: %s", fixed)
	}
	for _, f := range d.Findings {
		subject := ""
		if f.Subject != "" {
			subject = " " + plain(f.Subject)
		}
		c.say("%s: %s%s: %s", f.Severity, f.Check, subject, plain(f.Message))
		for _, step := range f.Mend {
			c.say("  %s", plain(step))
		}
	}
	if len(d.Findings) == 0 {
		c.note("nothing is wrong")
	}
}
