package workspace

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

// Format mends the Markdown and YAML files below assets/, and vault.yaml, as they
// lie: only what vault.Repair mends without a judgement. Nothing is committed,
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
	out := &Formatted{Check: check, Done: []Repaired{}}
	for _, f := range at.files {
		markdown := strings.HasSuffix(f.Path, ".md")
		plain := f.Kind == vault.FileRegular || f.Kind == vault.FileExecutable
		if !plain || f.Data == nil || strings.HasPrefix(f.Path, "receipts/") || !markdown && !strings.HasSuffix(f.Path, ".yaml") || !under(f.Path, wanted) {
			continue
		}
		out.Files++
		data, done := vault.Repair(f.Data, markdown)
		if len(done) == 0 {
			continue
		}
		if !check {
			if err := v.rewrite(f, data); err != nil {
				return nil, err
			}
		}
		out.Done = append(out.Done, Repaired{Path: v.inRepo(f.Path), Repairs: done})
	}
	return out, nil
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
