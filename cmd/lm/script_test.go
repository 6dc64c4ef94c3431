package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if os.Getenv(asLM) != "" {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	testscript.Main(m, map[string]func(){
		"lm": func() { os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

var update = flag.Bool("update", false, "write what the stories' cmp finds into their goldens")

// TestScript runs the stories of testdata/script: what a person types, and
// what they see. Each runs in a folder and a home of its own, as alice.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			config := "[user]\n\tname = Alice\n\temail = alice@example.org\n[init]\n\tdefaultBranch = main\n"
			home, err := os.MkdirTemp("", "lm-home-")
			if err != nil {
				return err
			}
			env.Defer(func() { os.RemoveAll(home) })
			env.Setenv("HOME", home)
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			env.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
			return os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o666)
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" { // whom permission bits do not stop
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("there is no condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"json": checkJSON,
			"keep": keepJSON,
			"exit": checkExit,
		},
	})
}

// checkExit runs lm and checks its exit code: exit 3 validate --json. Standard
// output and error are for the commands after it.
func checkExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE ARGS…")
	}
	err := ts.Exec("sh", append([]string{"-c", `lm "$@"; echo $? >.exit`, "lm"}, args[1:]...)...)
	ts.Check(err)
	code := strings.TrimSpace(ts.ReadFile(".exit"))
	ts.Check(os.Remove(ts.MkAbs(".exit")))
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}

var step = regexp.MustCompile(`[^.\[\]]+|\[\d+\]`)

// checkJSON looks into the JSON of the last command: json selected[0].id wiki.
// Without a value the path must be there; negated, it must not, or be another.
// "#" is the length of a list.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: [!] json PATH [VALUE]")
	}
	if strings.HasSuffix(args[0], ".") {
		ts.Fatalf("%s ends early: in a script a bare # begins a comment, so write '%s#'", args[0], args[0])
	}
	value, found := lookUp(ts, args[0])
	got := fmt.Sprint(value)
	same := found && (len(args) == 1 || got == args[1])
	if same == neg {
		ts.Fatalf("%s is %s (there: %t)\n%s", args[0], got, found, ts.ReadFile("stdout"))
	}
}

// keepJSON keeps a value of the last command's JSON for the commands after it:
// keep P proposal_id, and then $P.
func keepJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: keep NAME PATH")
	}
	value, found := lookUp(ts, args[1])
	if !found {
		ts.Fatalf("there is no %s\n%s", args[1], ts.ReadFile("stdout"))
	}
	ts.Setenv(args[0], fmt.Sprint(value))
}

// lookUp finds a path in the JSON of the last command.
func lookUp(ts *testscript.TestScript, path string) (value any, found bool) {
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &value))
	found = true
	for _, s := range step.FindAllString(path, -1) {
		switch v := value.(type) {
		case map[string]any:
			value, found = v[s]
		case []any:
			if s == "#" {
				value = float64(len(v))
				break
			}
			i, err := strconv.Atoi(strings.Trim(s, "[]"))
			if found = err == nil && i < len(v); found {
				value = v[i]
			}
		default:
			found = false
		}
		if !found {
			break
		}
	}
	return value, found
}
