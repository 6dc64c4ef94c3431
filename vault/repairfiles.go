package vault

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Mended is a file that RepairFiles has mended.
type Mended struct {
	File          // with the new Data
	Done []string // what was mended, in order
}

// RepairFiles mends a vault's files, sorted by path: vault.yaml and the files
// that hold an asset's keys as Repair does, SKILL.md too if its front matter
// cannot be read. All other content of an asset counts in its digest byte by
// byte but for line ends, so these are all that is mended there. CRLF becomes
// LF only where wantsLF says so. An asset that could be read keeps its digest.
func RepairFiles(files []File, wantsLF func(path string) (bool, error)) ([]Mended, error) {
	var out []Mended
	owned := map[string]bool{}
	for _, g := range discover(files, &findings{}) {
		var mended []Mended
		for _, f := range g.files {
			owned[f.Path] = true
			m, err := mend(f, g.role(f), wantsLF)
			if err != nil {
				return nil, err
			}
			if len(m.Done) > 0 {
				mended = append(mended, m)
			}
		}
		if g.same(mended) {
			out = append(out, mended...)
		}
	}
	for _, f := range files {
		role := roleContent
		switch {
		case f.Path == ConfigFile:
			role = roleKeys
		case owned[f.Path] || !strings.HasPrefix(f.Path, "assets/"):
			continue
		}
		m, err := mend(f, role, wantsLF)
		if err != nil {
			return nil, err
		}
		if len(m.Done) > 0 {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b Mended) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// role is what a file is to its asset.
type role uint8

const (
	roleContent  role = iota // hashed as it is
	roleKeys                 // YAML as a whole
	roleMarkdown             // an asset in one file, or a SKILL.md that cannot be read
)

func (g group) role(f File) role {
	switch rel := strings.TrimPrefix(f.Path, g.path+"/"); {
	case f.Path == g.path && strings.HasSuffix(f.Path, ".md"):
		return roleMarkdown
	case f.Path == g.path || rel == "asset.yaml":
		return roleKeys
	case rel == "SKILL.md":
		var found findings
		if frontMatter(f.Path, f.Data, &found); found.err() != nil {
			return roleMarkdown
		}
	}
	return roleContent
}

// same says whether an asset that could be read says what it said.
func (g group) same(mended []Mended) bool {
	if len(mended) == 0 {
		return true
	}
	before, err := ParseAsset(g.path, g.files, DefaultConfig())
	if err != nil {
		return true
	}
	files := slices.Clone(g.files)
	for i := range files {
		for _, m := range mended {
			if m.Path == files[i].Path {
				files[i] = m.File
			}
		}
	}
	after, err := ParseAsset(g.path, files, DefaultConfig())
	return err == nil && after.Digest == before.Digest
}

// mend mends one file in its role.
func mend(f File, as role, wantsLF func(string) (bool, error)) (Mended, error) {
	m := Mended{File: f}
	if f.Kind != FileRegular && f.Kind != FileExecutable || f.Data == nil {
		return m, nil
	}
	toLine := bytes.Contains(f.Data, []byte("\r\n"))
	// A CR before CRLF would make another CRLF of it, and so on.
	odd := bytes.Contains(f.Data, []byte("\r\r\n"))
	keep := false
	if toLine {
		wanted, err := wantsLF(f.Path)
		if err != nil {
			return m, err
		}
		keep = !wanted || odd
	}
	lines := bytes.Count(f.Data, []byte("\n"))
	switch {
	case as == roleContent && toLine && !keep && utf8.Valid(f.Data) && bytes.IndexByte(f.Data, 0) < 0 && !bytes.HasPrefix(f.Data, lfsMarker):
		m.Data, m.Done = toLF(f.Data), []string{madeLF}
	case as == roleContent || keep && (odd || bytes.Count(f.Data, []byte("\r\n")) < lines):
		return m, nil // of mixed line ends nobody can tell which are meant
	default:
		m.Data, m.Done = Repair(f.Data, as == roleMarkdown && path.Ext(f.Path) == ".md")
		if keep {
			m.Data = bytes.ReplaceAll(m.Data, []byte("\n"), []byte("\r\n"))
			m.Done = slices.DeleteFunc(m.Done, func(what string) bool { return what == madeLF })
		}
	}
	m.Size = int64(len(m.Data))
	return m, nil
}
