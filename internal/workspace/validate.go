package workspace

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/vault"
)

// Validation is what is wrong with a vault's files. Paths are relative to the
// repository's root, so that an editor or a platform finds them.
type Validation struct {
	Snapshot Snapshot        `json:"snapshot"`
	Problems []vault.Problem `json:"problems"`
	Assets   int             `json:"assets"` // valid ones
}

// Errors counts the problems that make something invalid.
func (r *Validation) Errors() int {
	n := 0
	for _, p := range r.Problems {
		if p.Severity == vault.Error {
			n++
		}
	}
	return n
}

// Validate reads the files as they lie, or at a revision, and says everything
// that is wrong with them. paths, relative to where the call was made or to
// the vault, keep the problems of those files and folders only.
func (v *Vault) Validate(r Revision, paths []string) (*Validation, error) {
	if r.Rev == "" && v.Dir != "" {
		r.Worktree = v.Repo != nil
	}
	out := &Validation{Problems: []vault.Problem{}}
	at, err := v.revision(r)
	var s *vault.Snapshot
	if err == nil {
		out.Snapshot = at.Snapshot
		s, err = v.read(&at)
	}
	if problems := vault.Problems(err); len(problems) > 0 && !errors.Is(err, vault.ErrNoVault) {
		if s != nil {
			problems = s.Problems
		}
		out.Problems = v.placed(problems)
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	out.Assets = len(s.Assets)
	memories, err := v.memoryFiles(at)
	if err != nil {
		return nil, err
	}
	adapters, err := v.lyingIn(at, AdapterFolder)
	if err != nil {
		return nil, err
	}
	all := append(append(s.Problems, s.LoadoutProblems...), blind(s)...)
	all = append(append(append(all, memoryProblems(s, memories)...), memory.Problems(s.Config)...), adapterProblems(adapters)...)
	vault.SortProblems(all)
	wanted, err := v.wanted(paths)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if under(p.Path, wanted) {
			out.Problems = append(out.Problems, p)
		}
	}
	v.placed(out.Problems)
	return out, nil
}

// placed makes the problems' paths relative to the repository's root.
func (v *Vault) placed(problems []vault.Problem) []vault.Problem {
	for i := range problems {
		problems[i].Path = v.inRepo(problems[i].Path)
	}
	return problems
}

// blind finds approved assets that are bound to somebody who may not use them.
func blind(s *vault.Snapshot) []vault.Problem {
	var out []vault.Problem
	for _, a := range s.Assets {
		for i, target := range governance.Blind(s.Config, &a.Facts) {
			if target == "" {
				continue
			}
			line, column := a.Place(fmt.Sprintf("bindings[%d]", i))
			out = append(out, vault.Problem{Severity: vault.Warning, Path: a.KeyFile(), Line: line, Column: column, Field: "bindings",
				Message: "bound to " + string(target) + ", who may not use it; a binding overrides no deny and no visibility",
				Mend:    "allow it in acl or visibility, or remove the binding"})
		}
	}
	return out
}

// wanted makes paths of a call relative to the vault.
func (v *Vault) wanted(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		abs := p
		if !filepath.IsAbs(p) {
			dir, err := realDir(v.env.Dir)
			if err != nil {
				return nil, err
			}
			abs = filepath.Join(dir, p)
		}
		rel, err := filepath.Rel(v.Dir, abs)
		if err != nil || v.Dir == "" || strings.HasPrefix(rel, "..") {
			return nil, fmt.Errorf("%w: %s lies outside of the vault", ErrNotFound, p)
		}
		if _, err := os.Lstat(abs); err != nil {
			return nil, fmt.Errorf("%w: there is no %s", ErrNotFound, p)
		}
		out = append(out, path.Clean(filepath.ToSlash(rel)))
	}
	return out, nil
}

func under(p string, wanted []string) bool {
	for _, w := range wanted {
		if w == "." || p == w || strings.HasPrefix(p, w+"/") {
			return true
		}
	}
	return len(wanted) == 0
}
