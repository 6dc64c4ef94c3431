package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// lab is a folder with the programs to measure, and the surroundings in which
// they run: nothing of the user's own settings gets in, or is touched.
type lab struct {
	ctx    context.Context
	stderr io.Writer
	dir    string
	module string   // the folder of lm's module
	env    []string // of all that is measured
	lm     string   // the program
	empty  string   // the one that links the same and does nothing
}

// gitConfig is all that Git knows beside the repository itself. The vault is
// packed once; nothing packs it again beside a measurement.
const gitConfig = "[user]\n\tname = Alice\n\temail = alice@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"

func newLab(ctx context.Context, stderr io.Writer) (*lab, error) {
	dir, err := os.MkdirTemp("", "lm-bench-")
	if err != nil {
		return nil, err
	}
	l := &lab{ctx: ctx, stderr: stderr, dir: dir, lm: filepath.Join(dir, "lm"), empty: filepath.Join(dir, "empty")}
	if err := l.fill(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return l, nil
}

func (l *lab) fill() error {
	home, config := filepath.Join(l.dir, "home"), filepath.Join(l.dir, "gitconfig")
	if err := os.Mkdir(home, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(config, []byte(gitConfig), 0o644); err != nil {
		return err
	}
	// Go needs its caches where they are; what is measured gets none of it.
	l.env = os.Environ()
	module, err := l.output(".", "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return err
	}
	l.module = strings.TrimSpace(string(module))
	fmt.Fprintln(l.stderr, "building lm and an empty program that links the same")
	if _, err := l.output(l.module, "go", "build", "-o", l.lm, "./cmd/lm"); err != nil {
		return err
	}
	if err := l.buildEmpty(); err != nil {
		return err
	}
	l.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_CACHE_HOME=" + home, "TMPDIR=" + l.dir,
		"GIT_CONFIG_GLOBAL=" + config, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
	}
	return nil
}

// buildEmpty builds the program that lm version is held against. Its source
// lies in the module by an overlay only, as it may import what is internal.
func (l *lab) buildEmpty() error {
	listed, err := l.output(l.module, "go", "list", "-deps", "-json=ImportPath,Imports,Module", "./cmd/lm")
	if err != nil {
		return err
	}
	source, err := emptySource(string(listed))
	if err != nil {
		return err
	}
	file, overlay := filepath.Join(l.dir, "empty.go"), filepath.Join(l.dir, "overlay.json")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		return err
	}
	inModule := filepath.Join(l.module, "internal", "bench", "empty", "main.go")
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{inModule: file}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(overlay, data, 0o644); err != nil {
		return err
	}
	_, err = l.output(l.module, "go", "build", "-overlay", overlay, "-o", l.empty, "./internal/bench/empty")
	return err
}

// emptySource is a program that does nothing and imports the packages of lm's
// module that the command is made of, and all of others that these import.
func emptySource(listed string) (string, error) {
	type pkg struct {
		ImportPath string
		Imports    []string
		Module     *struct{ Main bool }
	}
	others := map[string]bool{}
	var own []pkg
	for list := json.NewDecoder(strings.NewReader(listed)); ; {
		var p pkg
		if err := list.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return "", err
		}
		switch {
		case p.Module == nil: // the standard library comes with the others
		case p.Module.Main:
			own = append(own, p)
		default:
			others[p.ImportPath] = true
		}
	}
	if len(own) == 0 {
		return "", fmt.Errorf("go list names no package of lm")
	}
	command := own[len(own)-1].ImportPath // go list names a package after all that it imports
	imports := map[string]bool{}
	for _, p := range own {
		if p.ImportPath != command {
			imports[p.ImportPath] = true
		}
		for _, path := range p.Imports {
			if others[path] {
				imports[path] = true
			}
		}
	}
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	var sorted []string
	for path := range imports {
		sorted = append(sorted, path)
	}
	slices.Sort(sorted)
	for _, path := range sorted {
		fmt.Fprintf(&b, "\t_ %q\n", path)
	}
	b.WriteString(")\n\nfunc main() {}\n")
	return b.String(), nil
}
