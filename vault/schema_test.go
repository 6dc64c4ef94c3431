package vault

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

func compiled(t *testing.T, kind string) *jsonschema.Schema {
	data, err := json.Marshal(JSONSchema(kind))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(kind+".json", value); err != nil {
		t.Fatal(err)
	}
	out, err := compiler.Compile(kind + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// asJSON reads the keys of a file as an editor does, by YAML 1.2.
func asJSON(data []byte, markdown bool) (any, error) {
	keys, err := Keys(data, markdown)
	if err != nil {
		return nil, err
	}
	out, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(out))
}

// checkFiles holds the valid files of a vault against the schemas, and says how
// many there were.
func checkFiles(t *testing.T, where string, files []File, schemas map[string]*jsonschema.Schema) (n int) {
	check := func(kind string, f File) {
		n++
		value, err := asJSON(f.Data, strings.HasSuffix(f.Path, ".md"))
		if err == nil {
			err = schemas[kind].Validate(value)
		}
		if err != nil {
			t.Errorf("%s: %s: %v", where, f.Path, err)
		}
	}
	byPath := map[string]File{}
	for _, f := range files {
		byPath[f.Path] = f
		if _, err := ParseConfig(f.Data); f.Path == ConfigFile && err == nil {
			check("vault", f)
		}
		if _, err := ParseReceipt(f); strings.HasPrefix(f.Path, "receipts/") && err == nil {
			check("receipt", f)
		}
	}
	s, err := Read(files, nil)
	if err != nil {
		return n
	}
	for _, a := range s.Assets {
		if a.Layout != LayoutBareSkill {
			check("asset", byPath[a.KeyFile()])
		}
	}
	for _, l := range s.Loadouts {
		check("loadout", byPath[l.Path])
	}
	return n
}

func TestSchemasTakeWhatTheParserTakes(t *testing.T) {
	schemas := map[string]*jsonschema.Schema{}
	for _, kind := range Schemas {
		schemas[kind] = compiled(t, kind)
	}
	var example []File
	root := filepath.FromSlash("../examples/vault")
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(root, p)
		example = append(example, File{Path: filepath.ToSlash(rel), Data: data, Size: int64(len(data))})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := checkFiles(t, root, example, schemas); n < 30 {
		t.Errorf("only %d files of the example vault were checked", n)
	}
	stories, err := filepath.Glob(filepath.FromSlash("../cmd/lm/testdata/script/*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, story := range stories {
		archive, err := txtar.ParseFile(story)
		if err != nil {
			t.Fatal(err)
		}
		vaults := map[string][]File{"": {{Path: ConfigFile, Data: []byte("schema: lm.vault/v1\nproject: p\ndefaults: {owner: a}\n")}}}
		for _, f := range archive.Files {
			at, rest := "", f.Name
			if folder, below, ok := strings.Cut(f.Name, "/"); ok && folder != "assets" && folder != "receipts" && folder != LoadoutFolder {
				at, rest = folder, below
			}
			if at == "" && rest == ConfigFile {
				vaults[""] = vaults[""][1:]
			}
			vaults[at] = append(vaults[at], File{Path: rest, Data: f.Data, Size: int64(len(f.Data))})
		}
		for _, files := range vaults {
			n += checkFiles(t, story, files, schemas)
		}
	}
	if n < 30 {
		t.Errorf("only %d files of stories were checked", n)
	}
}

// with replaces the line of a key, or adds it.
func with(base, line string) string {
	key, _, _ := strings.Cut(line, ":")
	var out []string
	for _, old := range strings.SplitAfter(base, "\n") {
		if !strings.HasPrefix(old, key+":") {
			out = append(out, old)
		}
	}
	return strings.Join(out, "") + line + "\n"
}

func TestSchemasRefuseWhatTheParserRefuses(t *testing.T) {
	for kind, faults := range schemaFaults {
		s := compiled(t, kind)
		base := schemaBases[kind]
		if err := parsesAs(kind, base); err != nil {
			t.Fatal(err)
		}
		for _, key := range strings.Split(strings.TrimSpace(base), "\n") {
			faults = append(faults, "-"+key) // without it
		}
		for _, line := range faults {
			data := with(base, line)
			if key, removed := strings.CutPrefix(line, "-"); removed {
				data = strings.Replace(base, key+"\n", "", 1)
			}
			if parsesAs(kind, data) == nil {
				t.Errorf("%s: the parser takes %s", kind, line)
			}
			value, err := asJSON([]byte(data), false)
			if err != nil {
				t.Fatalf("%s: %s: %v", kind, line, err)
			}
			if s.Validate(value) == nil {
				t.Errorf("%s: the schema takes %s", kind, line)
			}
		}
	}
}

// TestSchemasAreNoStricter: whatever the parser takes, the schema takes.
func TestSchemasAreNoStricter(t *testing.T) {
	values := []string{
		"x", "42", "true", "2026-05-26", "2027-01-31T12:00:00Z", "\"\"", "null", "[]", "{}", "[x, 1]", "0.5", "1", "-1", "0x10", "user:a", "team:b", "agent:a", "task:a:b", "https://e.org/x",
		"a/b.md", "yes", "[{target: \"task:a:b\", priority: 1}]", "[{target: \"agent:a\", x-note: 1}]", "{summary: 1}", "{pages: [{id: 1, citations: [{ref: x}]}]}", "{type: docs, ref: 1}",
		"{a: [b]}", "{a: {emails: [x]}}", "{token_budget: 64}", "{limits: {folder_files: 1}}", "[{kind: project, id: 1}]", "{a: hidden}", "[{a: tool}]", "{query: \"\", now: 2026-01-01}", "project",
		"sha256:" + strings.Repeat("0", 64), "candidate", "private",
	}
	for _, kind := range Schemas {
		s := compiled(t, kind)
		keys := append(propertiesAt(t, kind), "x-own")
		rapid.Check(t, func(t *rapid.T) {
			data := schemaBases[kind]
			for range rapid.IntRange(1, 4).Draw(t, "lines") {
				data = with(data, rapid.SampledFrom(keys).Draw(t, "key")+": "+rapid.SampledFrom(values).Draw(t, "value"))
			}
			if parsesAs(kind, data) != nil {
				return
			}
			value, err := asJSON([]byte(data), false)
			if err == nil {
				err = s.Validate(value)
			}
			if err != nil {
				t.Fatalf("%s\n%v", data, err)
			}
		})
	}
}
