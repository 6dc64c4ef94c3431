package vault_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"longmemory.dev/lm/vault"
)

const config = "schema: lm.vault/v1\nproject: lm\ndefaults: {owner: alice}\n"

func note(id, more string) vault.File {
	return file("assets/wikis/"+id+".md", strings.Replace(strings.Replace(valid, "id: note", "id: "+id, 1), "owner: alice\n", "owner: alice\n"+more, 1))
}

func read(t *testing.T, files ...vault.File) *vault.Snapshot {
	t.Helper()
	s, err := vault.Read(append(files, file("vault.yaml", config)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// receipts makes a chain for an asset that goes through the given states.
func receipts(digest vault.Digest, states ...vault.Status) []vault.File {
	var out []vault.File
	var from vault.Status
	var prev vault.Digest
	for i, to := range states {
		r := vault.Receipt{Project: "lm", Subject: "asset/note", Kind: vault.ReceiptGoverned, Seq: i + 1, Version: 1,
			From: from, To: to, Digest: digest, Prev: prev, Actor: "user:alice", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
		out = append(out, r.File())
		from, prev = to, r.Hash()
	}
	return out
}

func TestStanding(t *testing.T) {
	approved := note("note", "status: approved\n")
	digest := parse(t, approved.Path, approved).Digest
	chain := receipts(digest, vault.StatusCandidate, vault.StatusApproved)
	edited := approved
	edited.Data = []byte(strings.Replace(string(approved.Data), "Body", "Boby", 1))
	other := chain[1]
	other.Data = []byte(strings.Replace(string(other.Data), "project: lm", "project: other", 1))
	for _, c := range []struct {
		name     string
		files    []vault.File
		approved bool
		says     string
	}{
		{"receipted", append([]vault.File{approved}, chain...), true, ""},
		{"by hand", []vault.File{approved}, false, "by hand"},
		{"edited after approval", append([]vault.File{edited}, chain...), false, "changed after receipt 0002"},
		{"last receipt says otherwise", append([]vault.File{approved}, chain[0]), false, "receipt 0001 says candidate"},
		{"a gap", []vault.File{approved, chain[1]}, false, "chain of receipts"},
		{"another project", []vault.File{approved, chain[0], other}, false, "project other"},
		{"moved", append([]vault.File{{Path: "assets/else/note.md", Data: approved.Data, Size: approved.Size}}, chain...), true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := read(t, c.files...)
			a, ok := s.Asset("note")
			if !ok || a.Approved() != c.approved {
				t.Fatalf("approved %v, want %v", a.Approved(), c.approved)
			}
			if all := fmt.Sprint(s.Problems); !strings.Contains(all, c.says) || (c.says == "") != (len(s.Problems) == 0) {
				t.Errorf("problems %s, want %q", all, c.says)
			}
		})
	}
}

func TestOneBadFileHidesNoOther(t *testing.T) {
	s := read(t, note("good", ""), file("assets/bad.md", "nonsense"), file("assets/worse.yaml", "\xff"))
	if len(s.Assets) != 1 || len(s.Invalid) != 2 || len(s.Problems) != 2 {
		t.Errorf("assets %d, invalid %v, problems %v", len(s.Assets), s.Invalid, s.Problems)
	}
}

func TestTwinsExcludeBoth(t *testing.T) {
	twin := note("note", "")
	twin.Path = "assets/other/note.md"
	s := read(t, note("note", ""), twin, note("good", ""))
	if len(s.Assets) != 1 || len(s.Invalid) != 2 || len(s.Problems) != 2 {
		t.Errorf("assets %d, invalid %v, problems %v", len(s.Assets), s.Invalid, s.Problems)
	}
}

func TestWhichFilesAreAssets(t *testing.T) {
	skill := "---\nname: tool\ndescription: d\n---\nDo.\n"
	s := read(t,
		note("one", ""),
		file("assets/README.md", "read me"), file("assets/_drafts/x.md", "draft"), file("assets/.hidden.md", "x"), file("docs/x.md", "not below assets"),
		file("assets/skills/tool/SKILL.md", skill), file("assets/skills/tool/README.md", "r"), file("assets/skills/tool/sub/SKILL.md", skill), file("assets/skills/tool/.cache/x", "c"),
		file("assets/outer/asset.yaml", "schema: lm.asset/v1\nid: outer\ntype: llm_wiki\nname: O\ndescription: d\nowner: a\n"),
		file("assets/outer/content.md", "The body.\r\n"),
		file("assets/stray.txt", "x"),
	)
	var ids []string
	for _, a := range s.Assets {
		ids = append(ids, string(a.ID))
	}
	if got := strings.Join(ids, " "); got != "one outer tool" {
		t.Errorf("assets: %s", got)
	}
	tool, _ := s.Asset("tool")
	var resources []string
	for _, f := range tool.Resources() {
		resources = append(resources, f.Path)
	}
	if got := strings.Join(resources, " "); got != "README.md sub/SKILL.md" {
		t.Errorf("resources: %s", got)
	}
	if outer, _ := s.Asset("outer"); outer.Body() != "The body.\n" {
		t.Errorf("body %q", outer.Body())
	}
	if len(s.Problems) != 1 || s.Problems[0].Path != "assets/stray.txt" || s.Problems[0].Severity != vault.Warning {
		t.Errorf("problems: %v", s.Problems)
	}
	s = read(t, file("assets/outer/SKILL.md", skill), file("assets/outer/in/asset.yaml", "x"))
	if len(s.Invalid) != 1 || !strings.Contains(fmt.Sprint(s.Problems), "below another asset") {
		t.Errorf("invalid %v, problems %v", s.Invalid, s.Problems)
	}
}

func TestNoVault(t *testing.T) {
	if _, err := vault.Read(nil, nil); !errors.Is(err, vault.ErrNoVault) {
		t.Errorf("got %v", err)
	}
}

func TestConfig(t *testing.T) {
	full := `schema: lm.vault/v1
project: lm
name: How we build lm
defaults: {owner: team:core, visibility: project, token_budget: 2048, tokenizer: o200k_base}
people:
  alice: {emails: [alice@example.org], github: alice, roles: [maintainer], capabilities: [read, propose, review, approve], trust: owner}
teams: {core: [alice]}
agents:
  reviewer: {framework: codex, roles: [developer], trust: adapter, capabilities: [read, propose, handoff, feedback], scope: "project:lm"}
scopes:
  - {kind: project, id: lm}
  - {kind: repository, id: lm-core, parent: "project:lm"}
policy:
  trusted_ref: origin/main
  approvers: [team:core]
  distinct_approver: true
  require_reason: true
  on_edit: last_approved
  signatures: off
  allowed_signers: allowed_signers
  relevance_floor: 0.05
  limits: {asset_bytes: 1048576, folder_bytes: 8388608, folder_files: 512}
  memory: {branch: lm/inbox, kinds: [fact, decision, preference, procedure, event, task, failure], max_risk: medium, auto_confirm: false, self_approval: false}
`
	c, err := vault.ParseConfig([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	if c.PersonWithEmail("Alice@Example.org") != "alice" || fmt.Sprint(c.TeamsOf("alice")) != "[core]" || c.Policy.RelevanceFloor != 500 {
		t.Errorf("%+v", c)
	}
	for bad, says := range map[string]string{
		"project: lm\n": "schema: this key is required",
		"schema: lm.vault/v1\nproject: lm\npolicy: {aprovers: [team:a]}":                 "did you mean approvers",
		"schema: lm.vault/v1\nproject: lm\nteams: {core: [bob]}":                         "none of the people",
		"schema: lm.vault/v2\nproject: lm\n":                                             "newer format",
		"schema: lm.vault/v1\nproject: lm\ndefaults: {token_budget: 10}":                 "too small",
		"schema: lm.vault/v1\nproject: lm\npeople: {a: {emails: [x]}, b: {emails: [X]}}": "an email of a as well",
	} {
		if _, err := vault.ParseConfig([]byte(bad)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", bad, err, says)
		}
	}
}
