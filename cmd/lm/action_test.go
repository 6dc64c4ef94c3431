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

// runner is what runs the steps of action.yml, but for those that install Go and
// build lm: bash -eo pipefail in a folder of its own.
type runner struct {
	*testing.T
	dir   string
	env   []string
	steps []struct{ Name, Uses, Shell, Run string }
}

func newRunner(t *testing.T) *runner {
	t.Helper()
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
	r := &runner{T: t, dir: t.TempDir(), steps: action.Runs.Steps}
	binary, err := os.Executable()
	r.must(err)
	r.must(os.WriteFile(filepath.Join(r.dir, "lm"), fmt.Appendf(nil, "#!/bin/sh\n%s=1 exec %s \"$@\"\n", asLM, binary), 0o755))
	r.must(os.WriteFile(filepath.Join(r.dir, ".gitconfig"), []byte("[user]\n\tname = A\n\temail = alice@example.org\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n"), 0o600))
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "CLAUDECODE=") && !strings.HasPrefix(entry, "CODEX_") {
			r.env = append(r.env, entry)
		}
	}
	r.env = append(r.env, "HOME="+r.dir, "GIT_CONFIG_NOSYSTEM=1", "XDG_CACHE_HOME="+r.dir, "RUNNER_TEMP="+r.dir, "GITHUB_STEP_SUMMARY="+filepath.Join(r.dir, "summary"), "LM_VAULT=")
	return r
}

func (r *runner) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *runner) try(at, script string, more ...string) (string, error) {
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = at, append(r.env, more...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *runner) do(at, script string, more ...string) string {
	r.Helper()
	out, err := r.try(at, script, more...)
	if err != nil {
		r.Fatalf("%v\n%s", err, out)
	}
	return out
}

// The steps run in a clone of depth one that has no old blobs, for a pull request that breaks a
// promise and for one that breaks nothing.
func TestActionRunsInAShallowClone(t *testing.T) {
	r := newRunner(t)
	r.do(r.dir, `
git init -q origin && cd origin && git config uploadpack.allowFilter true && ../lm init >/dev/null
mkdir loadouts
printf 'schema: lm.loadout-test/v1\nrequest: {query: add a skill to the vault}\nselect: [keep-the-vault]\n' >loadouts/all.yaml
git add loadouts && git commit -qm loadouts
git checkout -qb good && git commit -qm nothing --allow-empty
git checkout -qb bad main && ../lm asset govern keep-the-vault --status deprecated >/dev/null`)
	summary := filepath.Join(r.dir, "summary")
	for branch, want := range map[string]string{"good": "", "bad": "lm test"} {
		r.do(r.dir, "git clone -q --depth 1 --filter=blob:none --branch "+branch+" file://"+r.dir+"/origin "+branch)
		r.must(os.WriteFile(summary, nil, 0o600))
		ran, failed := 0, ""
		for _, step := range r.steps {
			if step.Uses != "" || step.Name == "Build lm" || step.Name == reviewStep {
				continue
			}
			ran++
			out, err := r.try(filepath.Join(r.dir, branch), step.Run, "GITHUB_BASE_REF=main", "GITHUB_ACTIONS=true")
			if err != nil {
				failed += step.Name
			}
			if err != nil && step.Name != want {
				t.Errorf("%s: %s: %v\n%s", branch, step.Name, err, out)
			}
			if step.Name == "lm verify" && strings.Contains(out, "not seen") {
				t.Errorf("%s: %s", branch, out)
			}
			if step.Name == "lm test" && branch == "bad" && !strings.Contains(out, "::error file=loadouts/all.yaml,line=3,col=10") {
				t.Errorf("no annotation:\n%s", out)
			}
		}
		if ran != 5 || failed != want {
			t.Errorf("%s: %d steps ran, %q failed, want %q", branch, ran, failed, want)
		}
		text, err := os.ReadFile(summary)
		r.must(err)
		if got := strings.Contains(string(text), "| leaves | `keep-the-vault` |"); got != (branch == "bad") {
			t.Errorf("%s: summary:\n%s", branch, text)
		}
	}
}

const reviewStep = "An approving review becomes receipts"

// Alice edits, Bob approves the pull request: the branch gets Bob's receipt, by
// the base's vault.yaml. Alice's own review, a stranger's, one of an older commit
// and one of a change of the people give nothing.
func TestActionWritesReceiptsOfAReview(t *testing.T) {
	r := newRunner(t)
	r.do(r.dir, `
git init -q origin && cd origin && git config receive.denyCurrentBranch ignore
printf 'schema: lm.vault/v1
project: p
people:
  alice: {emails: [alice@example.org], github: Alice-GH}
  bob: {emails: [bob@example.org], github: bob-gh}
teams: {core: [alice, bob]}
policy: {approvers: ["team:core"], distinct_approver: true, require_reason: true}
' >vault.yaml
mkdir assets
printf -- '---\nschema: lm.asset/v1\nid: page\ntype: llm_wiki\nname: Page\ndescription: A page\nowner: team:core\n---\nText.\n' >assets/page.md
git add . && git commit -qm Start
git checkout -qb change && echo More. >>assets/page.md && git commit -qam More
git checkout -qb people && sed -i 's/bob-gh/mallory/' vault.yaml && git commit -qam 'Be Bob'
git checkout -q main
cd .. && git clone -q --depth 1 --branch change file://$PWD/origin work`)
	work := filepath.Join(r.dir, "work")
	var script string
	for _, step := range r.steps {
		switch step.Name {
		case "Fetch history and base":
			r.do(work, step.Run, "GITHUB_BASE_REF=")
		case reviewStep:
			script = step.Run
		}
	}
	review := func(login, branch, commit string) (string, error) {
		return r.try(work, script, "LOGIN="+login, "REVIEWED="+commit, "URL=https://example.org/r/1", "BRANCH="+branch, "BASE=main", "GITHUB_ACTIONS=true")
	}
	at := func(rev string) string {
		return strings.TrimSpace(r.do(filepath.Join(r.dir, "origin"), "git rev-parse "+rev))
	}
	for _, c := range []struct{ name, login, branch, commit, want string }{
		{"the author's", "alice-gh", "change", at("change"), "author"},
		{"a stranger's", "mallory", "change", at("change"), "GitHub's mallory is none of the people"},
		{"of an older commit", "bob-gh", "change", at("main"), "has moved on since the review"},
		{"of other people", "mallory", "people", at("people"), "are others than at origin/main"},
	} {
		before := at(c.branch)
		if out, err := review(c.login, c.branch, c.commit); err == nil || !strings.Contains(out, c.want) || at(c.branch) != before {
			t.Errorf("%s: %v, want %q\n%s", c.name, err, c.want, out)
		}
	}
	if out, err := review("Bob-GH", "change", at("change")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := r.do(filepath.Join(r.dir, "origin"), "git show change:receipts/asset/page/0001.yaml && git checkout -q change && ../lm verify 2>&1 && ../lm loadout 'page' --no-user")
	for _, want := range []string{"actor: user:bob", "- user:alice", "x-identity: user:bob by the approving review of github:Bob-GH", "reason: Approved in the review https://example.org/r/1", "0 errors", `id="page"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
