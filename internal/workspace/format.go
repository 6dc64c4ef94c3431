package workspace

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"longmemory.dev/lm/vault"
)

// Formatted is what a repair of files did, or with Check would do.
type Formatted struct {
	Check bool       `json:"check"`
	Files int        `json:"files"` // that were looked at
	Done  []Repaired `json:"repaired"`
}

// Repaired is one file that was mended. Path is relative to the repository's
// root.
type Repaired struct {
	Path    string   `json:"path"`
	Repairs []string `json:"repairs"`
}

// Format mends the files below assets/, and vault.yaml, as they lie: only what
// vault.RepairFiles mends without a judgement. Nothing is committed,
// no symlink is followed, and a file that somebody changes meanwhile is left to
// them. paths, relative to where the call was made, keep those files and folders
// only; check writes nothing.
func (v *Vault) Format(paths []string, check bool) (*Formatted, error) {
	if v.Dir == "" {
		return nil, fmt.Errorf("%w: a bare repository has no files to mend", ErrUsage)
	}
	wanted, err := v.wanted(paths)
	if err != nil {
		return nil, err
	}
	ref := RefWorktree
	if v.Repo == nil {
		ref = RefFolder
	}
	at, err := v.lying(ref)
	if err != nil {
		return nil, err
	}
	var inside []vault.File
	out := &Formatted{Check: check, Done: []Repaired{}}
	for _, f := range at.files {
		if f.Path == vault.ConfigFile || strings.HasPrefix(f.Path, "assets/") {
			inside = append(inside, f)
			if plain := f.Kind == vault.FileRegular || f.Kind == vault.FileExecutable; plain && under(f.Path, wanted) {
				out.Files++
			}
		}
	}
	mended, err := vault.RepairFiles(inside, v.wantsLF())
	if err != nil {
		return nil, err
	}
	before := map[string]vault.File{}
	for _, f := range inside {
		before[f.Path] = f
	}
	for _, m := range mended {
		if !under(m.Path, wanted) {
			continue
		}
		if !check {
			if err := v.rewrite(before[m.Path], m.Data); err != nil {
				return nil, err
			}
		}
		out.Done = append(out.Done, Repaired{Path: v.inRepo(m.Path), Repairs: m.Done})
	}
	return out, nil
}

// wantsLF says of a vault's files whether .gitattributes asks for LF line ends.
func (v *Vault) wantsLF() func(file string) (bool, error) {
	if v.Repo == nil {
		return func(string) (bool, error) { return false, nil }
	}
	rules := sync.OnceValues(v.Repo.WantsLF)
	return func(file string) (bool, error) {
		wants, err := rules()
		if err != nil {
			return false, err
		}
		return wants(v.inRepo(file))
	}
}

// rewrite replaces a file that still is what was read.
func (v *Vault) rewrite(f vault.File, data []byte) error {
	name := filepath.Join(v.Dir, filepath.FromSlash(f.Path))
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	now, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || !bytes.Equal(now, f.Data) {
		return fmt.Errorf("%w: %s was changed while lm looked at it; run lm fmt again", ErrConflict, v.inRepo(f.Path))
	}
	return WriteFile(name, data, info.Mode().Perm())
}
