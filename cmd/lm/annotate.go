package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/internal/workspace"
	"longmemory.dev/lm/vault"
)

// formats are the ways in which problems are printed.
var formats = []string{"text", "json", "github", "sarif"}

func formatFlag() cli.Flag {
	return &cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` text, json, github (annotations of a workflow) or sarif (2.1.0)"}
}

// problemFormat is the format that a call asks for.
func problemFormat(ctx *cli.Context) (string, error) {
	format := ctx.String("format")
	if ctx.Bool("json") {
		format = "json"
	}
	if !slices.Contains(formats, format) {
		return "", fmt.Errorf("%w: there is no format %q; use text or json, in a workflow github or sarif", workspace.ErrUsage, format)
	}
	return format, nil
}

// report prints problems in a format; answer is the whole of what JSON tells.
// Errors among them end the command with exitInvalid.
func (c *command) report(format, rule, what string, problems []vault.Problem, answer any) error {
	var err error
	switch format {
	case "json":
		err = c.json(answer)
	case "github":
		c.annotate(problems)
	case "sarif":
		err = c.sarif(rule, what, problems)
	default:
		for _, p := range problems {
			c.say("%s", plain(p.Error()))
		}
	}
	if err == nil && slices.ContainsFunc(problems, func(p vault.Problem) bool { return p.Severity == vault.Error }) {
		err = exitError(exitInvalid)
	}
	return err
}

// most is how many annotations of each severity GitHub keeps of one step.
const most = 10

// annotate prints problems as workflow commands of GitHub Actions, errors
// first. What is beyond the limit follows as plain lines, under its count.
func (c *command) annotate(problems []vault.Problem) {
	var beyond []vault.Problem
	var counts []string
	for _, severity := range []vault.Severity{vault.Error, vault.Warning} {
		n := 0
		for _, p := range problems {
			if p.Severity != severity {
				continue
			}
			if n++; n > most {
				beyond = append(beyond, p)
				continue
			}
			c.say("::%s file=%s,line=%d,col=%d,title=lm::%s", severity, escape(p.Path, true), p.Line, p.Column, escape(said(p), false))
		}
		if n > most {
			counts = append(counts, count(n-most, string(severity)))
		}
	}
	if len(beyond) == 0 {
		return
	}
	c.say("::notice title=lm::%s more than GitHub shows of one step; the log has them all", escape(strings.Join(counts, " and "), false))
	for _, p := range beyond {
		c.say("  %s", plain(p.Error()))
	}
}

// said is a problem without its place and severity.
func said(p vault.Problem) string {
	var parts []string
	for _, part := range []string{p.Field, p.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	text := strings.Join(parts, ": ")
	if p.Mend != "" {
		text += "; " + p.Mend
	}
	return plain(text)
}

// escape writes a value of a workflow command, so that it cannot end it or
// begin another.
func escape(s string, property bool) string {
	pairs := []string{"%", "%25", "\r", "%0D", "\n", "%0A"}
	if property {
		pairs = append(pairs, ":", "%3A", ",", "%2C")
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// sarif prints problems as a SARIF 2.1.0 report of one run.
func (c *command) sarif(rule, what string, problems []vault.Problem) error {
	report := sarif.NewReport()
	run := sarif.NewRunWithInformationURI("lm", "https://longmemory.dev/lm")
	run.Tool.Driver.WithVersion(version)
	run.WithColumnKind("unicodeCodePoints")
	text := func(s string) *sarif.MultiformatMessageString {
		return &sarif.MultiformatMessageString{Text: &s}
	}
	run.Tool.Driver.AddRule(sarif.NewRule(rule).WithShortDescription(text(what)))
	for _, p := range problems {
		message, place := said(p), (&url.URL{Path: p.Path}).EscapedPath()
		run.AddResult(sarif.NewRuleResult(rule).WithLevel(string(p.Severity)).WithMessage(sarif.NewTextMessage(message)).AddLocation(
			sarif.NewLocation().WithPhysicalLocation(sarif.NewPhysicalLocation().
				WithArtifactLocation(sarif.NewArtifactLocation().WithURI(place)).
				WithRegion(sarif.NewRegion().WithStartLine(p.Line).WithStartColumn(p.Column)))))
	}
	report.AddRun(run)
	return report.PrettyWrite(c.stdout)
}
