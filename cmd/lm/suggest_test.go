package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// parses takes a command line through the command tree without doing anything.
func parses(words []string) error {
	c := &command{stdin: strings.NewReader(""), stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)}
	app := c.app()
	ran := false
	var still func([]*cli.Command)
	still = func(commands []*cli.Command) {
		for _, cmd := range commands {
			still(cmd.Subcommands)
			if len(cmd.Subcommands) == 0 {
				cmd.Action = func(*cli.Context) error { ran = true; return nil }
			}
		}
	}
	still(app.Commands)
	arranged, err := arrange(app, words)
	if err == nil {
		err = app.Run(append([]string{"lm"}, arranged...))
	}
	if err == nil && !ran {
		err = fmt.Errorf("it is no command")
	}
	return err
}

// shellWords splits a command as a shell does.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.Command("sh", "-c", "for w in "+line+"; do printf '%s\\0' \"$w\"; done").Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

var suggested = regexp.MustCompile(`(^|run: |[ (\n"'` + "`" + `])lm ([a-z][a-z-]*(?: [^\n;,)` + "`" + `]*)?)`)

// TestSuggestions: every command of lm that a string of the product names is one,
// with its subcommand and its flags.
func TestSuggestions(t *testing.T) {
	app := (&command{}).app()
	checked := 0
	for _, glob := range []string{"*.go", "../../internal/*/*.go", "../../governance/*.go", "../../governance/*/*.go", "../../vault/*.go", "../../vault/*/*.go", "../../index/*.go"} {
		files, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range suggested.FindAllStringSubmatch(text, -1) {
					checked += checkSuggestion(t, app, file, m[1] == "run: ", m[2])
				}
				return true
			})
		}
	}
	if checked < 50 {
		t.Errorf("only %d suggestions were found", checked)
	}
}

var flagWord = regexp.MustCompile(`^--?([a-zA-Z][a-z-]*)`)

// checkSuggestion holds a suggestion against the command tree; prose that begins
// with lm is none.
func checkSuggestion(t *testing.T, app *cli.App, file string, sure bool, text string) int {
	words := strings.Fields(text)
	cmd := find(app.Commands, words[0])
	if cmd == nil {
		if sure {
			t.Errorf("%s suggests lm %s: there is no such command", file, text)
		}
		return 0
	}
	words = words[1:]
	for len(cmd.Subcommands) > 0 && len(words) > 0 {
		sub := find(cmd.Subcommands, strings.TrimRight(words[0], ".:"))
		if sub == nil {
			if sure {
				t.Errorf("%s suggests lm %s: %s has no %s", file, text, cmd.Name, words[0])
			}
			return 0
		}
		cmd, words = sub, words[1:]
	}
	for _, word := range words {
		m := flagWord.FindStringSubmatch(word)
		if m == nil {
			continue
		}
		known := false
		for _, f := range cmd.Flags {
			for _, name := range f.Names() {
				known = known || name == m[1]
			}
		}
		if !known {
			t.Errorf("%s suggests lm %s: %s takes no --%s", file, text, cmd.FullName(), m[1])
		}
	}
	return 1
}

// TestNextActionsParse: what a context, the inbox and the doctor say to run next
// is what the command tree takes, for every kind of thing that waits.
func TestNextActionsParse(t *testing.T) {
	f := newForger(t)
	f.write("vault.yaml", strings.Replace(string(f.read("vault.yaml")), "distinct_approver: true, require_reason: true", "memory: {self_approval: true}", 1))
	f.commit("rules")
	propose := func(subject, object string, more ...string) string {
		var p struct {
			ID string `json:"proposal_id"`
		}
		args := append([]string{"memory", "propose", "--kind", "fact", "--subject", subject, "--object", object, "--source", "file:x", "--json"}, more...)
		if err := json.Unmarshal([]byte(f.lm(0, args...)), &p); err != nil {
			t.Fatal(err)
		}
		return p.ID
	}
	memory := func(proposal string, more ...string) string {
		f.lm(0, append([]string{"memory", "approve", proposal}, more...)...)
		return "mem_" + strings.TrimPrefix(proposal, "prop_")
	}
	f.lm(0, "context", "--json")
	first := memory(propose("it's a \"subject\"; $(x)", "one"))
	memory(propose("it's a \"subject\"; $(x)", "two"), "--keep-both")
	memory(propose("old", "x"), "--expires-at", "2020-01-01")
	propose("waits", "x")
	propose("it's a \"subject\"; $(x)", "three")
	propose("draft", "x", "--draft")
	f.lm(0, "feedback", "add", first, "--kind", "stale")
	f.lm(0, "feedback", "add", first, "--kind", "irrelevant")
	f.lm(0, "feedback", "add", "--kind", "missing")
	f.lm(0, "handoff", "create", "--to", "user:alice", "--objective", "go on")
	f.replace(pageFile, "text\n", "edited\n")
	f.commit("edit")
	f.write("assets/bad.md", "nothing")
	f.commit("bad")
	f.sh("cp " + page2 + " " + page3)
	f.commit("break a chain")
	f.write(".git/lm/journal.new", "")
	f.write(".git/index.lock", "")

	var lines []string
	var pack struct {
		Next []struct{ Command string } `json:"next_actions"`
	}
	for _, args := range [][]string{{"context", "--json"}, {"context", "--max-items", "1", "--task", "it's", "--json"}, {"context", "--scope", "session:s 1", "--kinds", "event", "--json"}} {
		if err := json.Unmarshal([]byte(f.lm(0, args...)), &pack); err != nil {
			t.Fatal(err)
		}
		for _, a := range pack.Next {
			lines = append(lines, a.Command)
		}
	}
	var inbox struct {
		Items []struct{ Kind, Command string }
	}
	if err := json.Unmarshal([]byte(f.lm(0, "inbox", "--json")), &inbox); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, item := range inbox.Items {
		kinds[item.Kind] = true
		lines = append(lines, item.Command)
	}
	for _, kind := range []string{"proposal", "conflict", "expired", "feedback", "unreceipted"} {
		if !kinds[kind] {
			t.Errorf("the inbox has no %s", kind)
		}
	}
	var found struct{ Findings []struct{ Mend []string } }
	if err := json.Unmarshal([]byte(f.lm(exitInvalid, "doctor", "--json")), &found); err != nil {
		t.Fatal(err)
	}
	for _, finding := range found.Findings {
		lines = append(lines, finding.Mend...)
	}
	own := 0
	for _, line := range lines {
		if !strings.HasPrefix(line, "lm ") {
			continue
		}
		own++
		if err := parses(shellWords(t, line)[1:]); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if own < 12 {
		t.Errorf("only %d commands of lm among %q", own, lines)
	}
}
