package vault_test

import (
	"fmt"
	"strings"
	"testing"

	"longmemory.dev/lm/vault"
)

// valid is a small asset; each case changes one line of it.
const valid = `---
schema: lm.asset/v1
id: note
type: llm_wiki
name: A note
description: What it is about
owner: alice
---
Body.
`

func TestFaultsSayWhereAndWhatToDo(t *testing.T) {
	with := func(line string) string {
		return strings.Replace(valid, "owner: alice\n", "owner: alice\n"+line+"\n", 1)
	}
	swap := func(old, new string) string { return strings.Replace(valid, old, new, 1) }
	for _, c := range []struct{ name, data, at, message, mend string }{
		{"unknown key", with("visibilty: private"), "8:1", "visibilty: this key is not known", "visibility"},
		{"unknown key of a binding", with("bindings:\n  - {target: agent:a, prio: 1}"), "9:23", "bindings[0].prio: this key is not known", ""},
		{"unknown key of a payload", with("payload: {page: []}"), "8:11", "payload.page", "pages"},
		{"duplicate key", with("name: Other"), "8:1", "stands twice, first on line 5", "keep one"},
		{"no closing fence", strings.Replace(valid, "---\nBody", "Body", 1), "1:1", "no closing fence", "---"},
		{"a blank after the fence", swap("alice\n---\n", "alice\n--- \n"), "8:4", "a blank after the fence", "alone"},
		{"no front matter", "Hello\n", "1:1", "no front matter", "---"},
		{"tab", swap("name: A note", "payload:\n\tsummary: x\nname: A note"), "6:1", "a tab in the indentation", "spaces"},
		{"not UTF-8", swap("A note", "A n\xffote"), "5:10", "not UTF-8", "UTF-8"},
		{"alias bomb", with("metadata:\n  a: &a [x,x,x,x,x,x,x,x,x,x]\n  b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n  c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n  d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n  e: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]"), "9:", "grows past", "aliases"},
		{"deep nesting", with("metadata: " + strings.Repeat("[", 40) + strings.Repeat("]", 40)), "8:", "nest deeper than 32", "less"},
		{"large integer", with("metadata: {n: 9007199254740993}"), "8:15", "2^53", "string"},
		{"not finite", with("metadata: {n: .inf}"), "8:15", "no finite number", "quotes"},
		{"priority not finite", with("priority: .nan"), "8:11", "no finite number", "0 to 1"},
		{"priority out of range", with("priority: 1.5"), "8:11", "out of range", "0 to 1"},
		{"null", swap("name: A note", "name:"), "5:6", "there is no value", "give it a value"},
		{"blank", swap("name: A note", `name: "  "`), "5:7", "there is no value", ""},
		{"LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n", "1:1", "Git LFS pointer", "untrack"},
		{"plain value with a colon", swap("What it is about", "Use it: always"), "6:14", "`: `", `description: "Use it: always"`},
		{"no YAML", swap("name: A note", "name: [A note"), "", "no YAML", "brackets"},
		{"newer format", swap("lm.asset/v1", "lm.asset/v2"), "2:9", "newer format", ""},
		{"missing key", swap("owner: alice\n", ""), "2:1", "owner: this key is required", "user:<id>"},
		{"wrong id", swap("id: note", "id: other"), "3:5", "not the name note", "id: note"},
		{"bad id", swap("id: note", "id: Note!"), "3:5", "is no id", ""},
		{"path in one file", with("content_ref: docs/a.md"), "8:14", "one file has no folder", "asset.yaml"},
		{"path out of the folder", with("content_ref: ../a.md"), "8:14", "..", "inside"},
		{"list is no list", with("labels: one"), "8:9", "not a list", "[one]"},
		{"bad time", with("expires_at: tomorrow"), "8:13", "neither a date", "2027-01-31"},
		{"bad subject", with("acl:\n  - {effect: deny, subject: bob, permissions: [read]}"), "9:29", "names no kind", "user:<id>"},
		{"star in a binding", with("bindings:\n  - target: agent:*"), "9:13", "has a *", ""},
		{"version", with("version: 0"), "8:10", "too small", "1 or more"},
		{"boolean", with("bindings: [{target: agent:a, required: yes}]"), "8:40", "not true or false", ""},
		{"tag", swap("name: A note", "name: !!binary aGk="), "5:7", "tag", "remove"},
		{"name too long", swap("A note", strings.Repeat("x", 201)), "5:7", "200 are the most", "cut"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := vault.ParseAsset("assets/note.md", []vault.File{file("assets/note.md", c.data)}, vault.DefaultConfig())
			problems := vault.Problems(err)
			if len(problems) != 1 {
				t.Fatalf("%d problems, one is due:\n%v", len(problems), err)
			}
			line := problems[0].Error()
			if !strings.HasPrefix(line, "assets/note.md:"+c.at) || !strings.Contains(line, c.message) || !strings.Contains(problems[0].Mend, c.mend) || problems[0].Mend == "" {
				t.Errorf("got  %s\nwant %s … %s … %s", line, c.at, c.message, c.mend)
			}
		})
	}
}

func TestAllProblemsAtOnceAndSorted(t *testing.T) {
	data := `---
schema: lm.asset/v1
id: note
type: novel
name: Rules: first
description: More: colons
owner: alice
colour: red
priority: 7
---
`
	_, err := vault.ParseAsset("assets/note.md", []vault.File{file("assets/note.md", data)}, vault.DefaultConfig())
	var lines []string
	for _, p := range vault.Problems(err) {
		lines = append(lines, fmt.Sprintf("%d:%d", p.Line, p.Column))
	}
	if got := strings.Join(lines, " "); got != "4:7 5:7 6:14 8:1 9:11" {
		t.Errorf("problems at %s\n%v", got, err)
	}
}

func TestStringsAreTheirSourceText(t *testing.T) {
	data := strings.NewReplacer("A note", "yes", "What it is about", "2026-05-26").Replace(valid)
	data = strings.Replace(data, "owner: alice\n", "owner: alice\nlabels: [no, 017, 1.0, ~x]\nmetadata: {a: 017, b: 0o17, c: 1e3, d: yes, e: 2026-05-26, f: ~}\n", 1)
	a := parse(t, "assets/note.md", file("assets/note.md", data))
	if a.Name != "yes" || a.Description != "2026-05-26" || strings.Join(a.Labels, " ") != "no 017 1.0 ~x" {
		t.Errorf("name %q, description %q, labels %q", a.Name, a.Description, a.Labels)
	}
	if got := fmt.Sprint(a.Metadata); got != "map[a:17 b:15 c:1000 d:yes e:2026-05-26 f:<nil>]" {
		t.Errorf("metadata %s", got)
	}
}

func TestSkillFolders(t *testing.T) {
	config := vault.DefaultConfig()
	config.Defaults.Owner = "team:core"
	skill := "---\nname: Other\ndescription: " + strings.Repeat("y", 1100) + "\ncolour: red\n---\r\nDo it.\r\n"
	a, err := vault.ParseAsset("assets/skills/doit", []vault.File{file("assets/skills/doit/SKILL.md", skill)}, config)
	if err != nil {
		t.Fatal(err)
	}
	if a.Layout != vault.LayoutBareSkill || a.Status != vault.StatusCandidate || a.Owner != "team:core" || a.Body() != "Do it.\n" {
		t.Errorf("layout %v, status %s, owner %s, body %q", a.Layout, a.Status, a.Owner, a.Body())
	}
	if len(a.Warnings) != 3 {
		t.Errorf("warnings: %v", a.Warnings)
	}
	if _, err = vault.ParseAsset("assets/skills/doit", []vault.File{file("assets/skills/doit/SKILL.md", skill)}, vault.DefaultConfig()); err == nil {
		t.Error("a skill without an owner, in a vault without a default owner, is valid")
	}
	_, err = vault.ParseAsset("assets/skills/doit", []vault.File{file("assets/skills/doit/SKILL.md", "---\nname: doit\n---\n")}, config)
	if err == nil || !strings.Contains(err.Error(), "description") {
		t.Errorf("a skill without a description: %v", err)
	}
}

func TestLimits(t *testing.T) {
	for name, files := range map[string][]vault.File{
		"file":    {{Path: "assets/x.md", Size: 100 << 20}},
		"symlink": {{Path: "assets/x.md", Kind: vault.FileSymlink, Size: 3}},
		"folder": {file("assets/x/asset.yaml", "x: y"),
			{Path: "assets/x/a", Size: 5 << 20, Data: []byte("a")}, {Path: "assets/x/b", Size: 5 << 20, Data: []byte("b")}},
	} {
		t.Run(name, func(t *testing.T) {
			at := "assets/x"
			if len(files) == 1 {
				at = "assets/x.md"
			}
			if _, err := vault.ParseAsset(at, files, vault.DefaultConfig()); err == nil {
				t.Error("no problem")
			}
		})
	}
}

func TestPaths(t *testing.T) {
	for _, bad := range []string{"", "/a", "a/../b", "./a", "a//b", `a\b`, "c:a", ".git/config", "a/.GIT/x", "a/.git. /x", "git~1/x", "a/.g\u200cit/x", "a\nb"} {
		if vault.CheckPath(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	for _, good := range []string{"a", "a/b.md", "a/.gitignore", "中/文.md"} {
		if err := vault.CheckPath(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "A", "-a", "a.", "con", "nul.x", "com1", "a b", strings.Repeat("a", 129)} {
		if vault.CheckID(bad) == nil {
			t.Errorf("the id %q is taken", bad)
		}
	}
}
