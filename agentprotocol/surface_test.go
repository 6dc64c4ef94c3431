package agentprotocol_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSurface holds the exported surface, with every field, tag and constant
// value in order, against testdata/surface.txt. Other programs compile against
// it: a line there may be added, but none changed, so there is no -update.
func TestSurface(t *testing.T) {
	golden, err := os.ReadFile("testdata/surface.txt")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, file := range sourceFiles(t) {
		for _, decl := range file.Decls {
			lines = append(lines, exported(t, decl)...)
		}
	}
	slices.Sort(lines)
	got, want := strings.Split(strings.Join(lines, "\n"), "\n"), strings.Split(strings.TrimSpace(string(golden)), "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("line %d differs:\ngot  %q\nwant %q", i+1, got[i:min(i+3, len(got))], want[i:min(i+3, len(want))])
		}
	}
}

// TestImports keeps the contract free of anything but the standard library:
// an adapter must be able to depend on it alone.
func TestImports(t *testing.T) {
	for name, file := range sourceFiles(t) {
		for _, spec := range file.Imports {
			if root, _, _ := strings.Cut(strings.Trim(spec.Path.Value, `"`), "/"); strings.Contains(root, ".") {
				t.Errorf("%s imports %s", name, spec.Path.Value)
			}
		}
	}
}

func TestExportedNamesHaveComments(t *testing.T) {
	for name, file := range sourceFiles(t) {
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && !strings.HasPrefix(d.Doc.Text(), d.Name.Name+" ") {
					t.Errorf("%s: %s has no comment of its own", name, d.Name.Name)
				}
			case *ast.GenDecl:
				if d.Tok != token.IMPORT && d.Doc.Text() == "" && len(exported(t, d)) > 0 {
					t.Errorf("%s: %v has no comment", name, exported(t, d))
				}
			}
		}
	}
}

func sourceFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]*ast.File)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = file
	}
	if len(files) == 0 {
		t.Fatal("no source files")
	}
	return files
}

// exported returns one line for each exported name that decl declares.
func exported(t *testing.T, decl ast.Decl) []string {
	t.Helper()
	var lines []string
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() {
			break
		}
		receiver := ""
		if d.Recv != nil {
			receiver = "(" + types.ExprString(d.Recv.List[0].Type) + ") "
		}
		signature := strings.TrimPrefix(types.ExprString(d.Type), "func")
		lines = append(lines, "func "+receiver+d.Name.Name+signature)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					lines = append(lines, typeLine(s))
				}
			case *ast.ValueSpec:
				for i, name := range s.Names {
					if name.IsExported() {
						lines = append(lines, valueLine(d.Tok, s, i))
					}
				}
			}
		}
	}
	return lines
}

func typeLine(s *ast.TypeSpec) string {
	structure, ok := s.Type.(*ast.StructType)
	if !ok {
		return fmt.Sprintf("type %s %s", s.Name.Name, types.ExprString(s.Type))
	}
	line := fmt.Sprintf("type %s struct", s.Name.Name)
	for _, field := range structure.Fields.List {
		tag := ""
		if field.Tag != nil {
			tag = " " + field.Tag.Value
		}
		for _, name := range field.Names {
			line += fmt.Sprintf("\n\t%s %s%s", name.Name, types.ExprString(field.Type), tag)
		}
	}
	return line
}

func valueLine(tok token.Token, s *ast.ValueSpec, i int) string {
	line := tok.String() + " " + s.Names[i].Name
	if s.Type != nil {
		line += " " + types.ExprString(s.Type)
	}
	if i < len(s.Values) {
		line += " = " + types.ExprString(s.Values[i])
	}
	return line
}
