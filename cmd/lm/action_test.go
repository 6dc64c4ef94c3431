package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// TestActionRunsInAShallowClone runs the steps of action.yml, but for those
// that install Go and build lm, as a runner does: with bash -eo pipefail, in a
// clone of depth one, for a pull request that breaks a promise and for one that
// breaks nothing.
func TestActionRunsInAShallowClone(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash here")
	}
	data, err := os.ReadFile(filepath.FromSlash("../../action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Runs struct {
			Steps []struct{ Name, Uses, Shell, Run string }
		}
	}
	if err := yaml.Unmarshal(data, &action); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(filepath.Join(dir, "lm"), fmt.Appendf(nil, "#!/bin/sh\n%s=1 exec %s \"$@\"\n", asLM, binary), 0o755))
	must(os.WriteFile(filepath.Join(dir, ".gitconfig"), []byte("[user]\n\tname = A\n\temail = alice@example.org\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n"), 0o600))
	summary := filepath.Join(dir, "summary")
	env := append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "XDG_CACHE_HOME="+dir, "RUNNER_TEMP="+dir, "GITHUB_STEP_SUMMARY="+summary, "LM_VAULT=")
	shell := func(at, script string, more ...string) (string, error) {
		cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
		cmd.Dir, cmd.Env = at, append(env, more...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	setUp := `
git init -q origin && cd origin && ` + dir + `/lm init >/dev/null
mkdir loadouts
printf 'schema: lm.loadout-test/v1\nrequest: {query: add a skill to the vault}\nselect: [keep-the-vault]\n' >loadouts/all.yaml
git add loadouts && git commit -qm loadouts
git checkout -qb good && git commit -qm nothing --allow-empty
git checkout -qb bad main && ` + dir + `/lm asset govern keep-the-vault --status deprecated >/dev/null`
	if out, err := shell(dir, setUp); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for branch, want := range map[string]string{"good": "", "bad": "lm test"} {
		if out, err := shell(dir, "git clone -q --depth 1 --branch "+branch+" file://"+dir+"/origin "+branch); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		must(os.WriteFile(summary, nil, 0o600))
		ran, failed := 0, ""
		for _, step := range action.Runs.Steps {
			if step.Uses != "" || step.Name == "Build lm" {
				continue
			}
			ran++
			out, err := shell(filepath.Join(dir, branch), step.Run, "GITHUB_BASE_REF=main", "GITHUB_ACTIONS=true")
			if err != nil {
				failed += step.Name
			}
			if err != nil && step.Name != want {
				t.Errorf("%s: %s: %v\n%s", branch, step.Name, err, out)
			}
			if step.Name == "lm test" && branch == "bad" && !strings.Contains(out, "::error file=loadouts/all.yaml,line=3,col=10") {
				t.Errorf("no annotation:\n%s", out)
			}
		}
		if ran != 5 || failed != want {
			t.Errorf("%s: %d steps ran, %q failed, want %q", branch, ran, failed, want)
		}
		text, err := os.ReadFile(summary)
		must(err)
		if got := strings.Contains(string(text), "| leaves | `keep-the-vault` |"); got != (branch == "bad") {
			t.Errorf("%s: summary:\n%s", branch, text)
		}
	}
}
