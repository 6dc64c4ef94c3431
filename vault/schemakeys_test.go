package vault

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// schemaPlaces says which part of which schema holds the keys of each map of
// key readers, by the function that has it and its place in there.
var schemaPlaces = map[string]string{
	"readKeys 0": "asset", "readSource 0": "asset properties source", "readACL 0": "asset properties acl items", "readBindings 0": "asset properties bindings items",
	"read Config 0": "vault", "readDefaults 0": "vault properties defaults", "readPeople 0": "vault properties people additionalProperties",
	"readAgents 0": "vault properties agents additionalProperties", "readScopes 0": "vault properties scopes items",
	"readPolicy 0": "vault properties policy", "readPolicy 1": "vault properties policy properties limits", "readPolicy 2": "vault properties policy properties memory",
	"read Receipt 0": "receipt", "read LoadoutTest 0": "loadout", "readRequest 0": "loadout properties request",
}

// TestSchemasKnowEveryKey holds the parser's source against the schemas: a key
// that only one of them knows fails it, and so does a new map of keys.
func TestSchemasKnowEveryKey(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			for i, keys := range readerKeys(f) {
				found++
				place, ok := schemaPlaces[fmt.Sprintf("%s %d", funcName(f), i)]
				if !ok {
					t.Errorf("%s: the map of keys %d in %s is in no schema: add it there and to schemaPlaces", name, i, funcName(f))
					continue
				}
				if got := propertiesAt(t, place); !slices.Equal(got, keys) {
					t.Errorf("%s: the schema has %v, the parser %v", place, got, keys)
				}
			}
		}
	}
	if found != len(schemaPlaces) {
		t.Errorf("%d maps of keys, want %d", found, len(schemaPlaces))
	}
	for _, kind := range Types {
		checkPayload(t, string(kind), payloadSchemas[kind], payloadKeys[kind])
	}
}

func checkPayload(t *testing.T, at string, s schema, keys map[string]valueReader) {
	if got, want := slices.Sorted(maps.Keys(s)), slices.Sorted(maps.Keys(keys)); !slices.Equal(got, want) {
		t.Errorf("payload of %s: the schema has %v, the parser %v", at, got, want)
	}
}

func funcName(f *ast.FuncDecl) string {
	if f.Name.Name != "read" || f.Recv == nil {
		return f.Name.Name
	}
	return "read " + f.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name
}

// readerKeys are the keys of each map of key readers that a function writes
// out, in the order of the source.
func readerKeys(f *ast.FuncDecl) (out [][]string) {
	ast.Inspect(f, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok || len(literal.Elts) == 0 {
			return true
		}
		m, ok := literal.Type.(*ast.MapType)
		if !ok {
			return true
		}
		if value, ok := m.Value.(*ast.Ident); !ok || value.Name != "keyReader" {
			return true
		}
		var keys []string
		for _, e := range literal.Elts {
			key, err := strconv.Unquote(e.(*ast.KeyValueExpr).Key.(*ast.BasicLit).Value)
			if err != nil {
				panic(err)
			}
			keys = append(keys, key)
		}
		slices.Sort(keys)
		out = append(out, keys)
		return true
	})
	return out
}

func propertiesAt(t *testing.T, place string) []string {
	steps := strings.Fields(place)
	data, err := json.Marshal(JSONSchema(steps[0]))
	if err != nil {
		t.Fatal(err)
	}
	var at map[string]any
	if err := json.Unmarshal(data, &at); err != nil {
		t.Fatal(err)
	}
	for _, step := range append(steps[1:], "properties") {
		at, _ = at[step].(map[string]any)
	}
	return slices.Sorted(maps.Keys(at))
}
