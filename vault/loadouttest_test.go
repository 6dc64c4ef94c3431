package vault_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"longmemory.dev/lm/vault"
)

const saved = `schema: lm.loadout-test/v1
request: {query: review the release, agent: "agent:reviewer", framework: codex, token_budget: 2048, now: 2026-12-01T00:00:00Z, types: [skill], bound_only: true}
select: [release-review: direct, other]
first: release-review
exclude: {old-release: status, secret-runbook: hidden}
max_tokens: 1500
complete: true
`

func TestParseLoadoutTest(t *testing.T) {
	got, err := vault.ParseLoadoutTest(file("loadouts/review.yaml", saved))
	if err != nil {
		t.Fatal(err)
	}
	want := &vault.LoadoutTest{
		Name: "review", Path: "loadouts/review.yaml",
		Request: vault.SavedRequest{Query: "review the release", Agent: "reviewer", Framework: "codex", TokenBudget: 2048,
			Types: []vault.Type{vault.TypeSkill}, BoundOnly: true, Now: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)},
		Select:    []vault.Promise{{Place: vault.Place{Line: 3, Column: 10}, ID: "release-review", Want: "direct"}, {Place: vault.Place{Line: 3, Column: 34}, ID: "other", Want: ""}},
		First:     &vault.Promise{Place: vault.Place{Line: 4, Column: 8}, ID: "release-review"},
		Exclude:   []vault.Promise{{Place: vault.Place{Line: 5, Column: 11}, ID: "old-release", Want: "status"}, {Place: vault.Place{Line: 5, Column: 32}, ID: "secret-runbook", Want: "hidden"}},
		MaxTokens: &vault.Limit{Place: vault.Place{Line: 6, Column: 13}, Most: 1500},
		Complete:  &vault.Truth{Place: vault.Place{Line: 7, Column: 11}, Want: true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestLoadoutTestFaults(t *testing.T) {
	minimal := "schema: lm.loadout-test/v1\nrequest: {query: q}\n"
	for _, c := range []struct{ path, data, want string }{
		{"loadouts/deep/x.yaml", minimal, "loadouts/deep/x.yaml:1:1: error: this is no place of a saved loadout"},
		{"loadouts/x.yml", minimal, "loadouts/x.yml:1:1: error: this is no place"},
		{"loadouts/X.yaml", minimal, `loadouts/X.yaml:1:1: error: "X" is no id`},
		{"loadouts/x.yaml", "schema: lm.loadout-test/v1\n", "loadouts/x.yaml:1:1: error: request: this key is required; add request"},
		{"loadouts/x.yaml", strings.Replace(minimal, "v1", "v2", 1), "loadouts/x.yaml:1:9: error: schema: newer format lm.loadout-test/v2"},
		{"loadouts/x.yaml", minimal + "select: [a, a]\n", "loadouts/x.yaml:3:13: error: select[1]: a stands twice"},
		{"loadouts/x.yaml", minimal + "first: a\nexclude: {a: status}\n", "loadouts/x.yaml:4:11: error: exclude.a: the same asset must be in and out"},
		{"loadouts/x.yaml", minimal + "max_tokens: -1\n", "loadouts/x.yaml:3:13: error: max_tokens: -1 is too small"},
	} {
		_, err := vault.ParseLoadoutTest(file(c.path, c.data))
		if problems := vault.Problems(err); len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.data, problems, c.want)
		}
	}
}

// TestLoadoutTestsCountForNothing: beside the saved loadouts themselves a
// snapshot says the same with and without them, whether or not they can be read.
func TestLoadoutTestsCountForNothing(t *testing.T) {
	files := []vault.File{file("vault.yaml", "schema: lm.vault/v1\nproject: p\n"), file("assets/note.md", valid)}
	without, err := vault.Read(files, nil)
	if err != nil {
		t.Fatal(err)
	}
	with, err := vault.Read(append(files, file("loadouts/a.yaml", saved), file("loadouts/bad.yaml", "x"), file("loadouts/README.md", "x"), file("loadouts/_x.yaml", "x")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(with.Loadouts) != 1 || len(with.LoadoutProblems) != 1 || !vault.Relevant("loadouts/a.yaml", false) || !vault.Relevant("loadouts", true) {
		t.Errorf("loadouts %v, problems %v", with.Loadouts, with.LoadoutProblems)
	}
	with.Loadouts, with.LoadoutProblems = nil, nil
	if !reflect.DeepEqual(with, without) {
		t.Errorf("got  %+v\nwant %+v", with, without)
	}
}
