package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"longmemory.dev/lm/internal/workspace"
)

// json prints a value for programs.
func (c *command) json(value any) error {
	encoder := json.NewEncoder(c.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// table prints rows for people. Cells are one line each and carry nothing that
// a terminal would act on.
func (c *command) table(head []string, rows [][]string) {
	w := table.NewWriter()
	style := table.StyleDefault
	style.Box = table.BoxStyle{PaddingRight: "  "}
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatDefault
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	w.AppendHeader(cells(head))
	for _, row := range rows {
		w.AppendRow(cells(row))
	}
	fmt.Fprintln(c.stdout, w.Render())
}

func cells(values []string) table.Row {
	row := make(table.Row, len(values))
	for i, value := range values {
		row[i] = plain(value)
	}
	return row
}

// plain makes text of somebody else safe to print on one line of a terminal.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, s)
}

// body is the content of an asset: as it is for programs, and without what a
// terminal would act on for people.
func (c *command) body(s string) string {
	if f, ok := c.stdout.(*output).Writer.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = plain(strings.ReplaceAll(lines[i], "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

// note tells the person something that is not the answer.
func (c *command) note(format string, args ...any) {
	fmt.Fprintf(c.stderr, format+"\n", args...)
}

func (c *command) say(format string, args ...any) {
	fmt.Fprintf(c.stdout, format+"\n", args...)
}

func hooksNote(c *command, hooks []string) {
	if len(hooks) > 0 {
		c.note("lm ran no commit hooks; this repository has %s", strings.Join(hooks, ", "))
	}
}

// detachedNote says how to keep a commit that no branch has.
func detachedNote(c *command, w *workspace.Written) {
	if w.Detached {
		c.say("  HEAD is on no branch; this keeps the commit: git branch <name> %.12s", w.Commit)
	}
}

// count is a number of things in words.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
