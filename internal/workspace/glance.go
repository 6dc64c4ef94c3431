package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
	"longmemory.dev/lm/vault/memoryfile"
)

// glance is what is known of a document of the memory branch without reading it.
type glance struct {
	path string // relative to the vault
	text string // of its note
}

func (g glance) id() string { return strings.TrimSuffix(path.Base(g.path), ".yaml") }

// note is what is looked for, as handoffNote and proposalNote have it; nil if it is
// not of so many words.
func (g glance) note(words int) (out []string) {
	if json.Unmarshal([]byte(g.text), &out) != nil || len(out) != words {
		return nil
	}
	return out
}

// glances lists the documents of a kind at a commit whose notes begin with a word,
// the newest first. A note is made once of the same file and kept beside the index:
// all that were ever written are many, and reading them costs far more than a
// context.
func glances[T memoryfile.DTO](v *Vault, commit gitstore.Hash, kind memoryfile.Kind, note func(T) []string, first ...string) ([]glance, error) {
	if commit == "" {
		return nil, nil
	}
	folder, err := v.Repo.Subtree(commit, v.inRepo(kind.In()))
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines, ok := v.keptNotes(folder, kind)
	if !ok {
		if lines, err = makeNotes(v, commit, kind, lines, note); err != nil {
			return nil, err
		}
		v.keepNotes(folder, kind, lines)
	}
	starts := make([]string, len(first))
	for i, word := range first {
		starts[i] = strings.TrimSuffix(noteText([]string{word}), "]")
	}
	var out []glance
	for _, line := range lines {
		_, rest, _ := strings.Cut(line, " ")
		file, text, _ := strings.Cut(rest, " ")
		if slices.ContainsFunc(starts, func(start string) bool { return strings.HasPrefix(text, start) }) {
			out = append(out, glance{kind.In() + "/" + file, text})
		}
	}
	return out, nil
}

// noteText is a note as a line has it.
func noteText(words []string) string {
	text, _ := json.Marshal(words)
	return string(text)
}

// makeNotes makes the lines of a commit: blob, path and note, the newest document
// first. What earlier lines say of the same file is taken over; a file that is no
// document has no note.
func makeNotes[T memoryfile.DTO](v *Vault, commit gitstore.Hash, kind memoryfile.Kind, earlier []string, note func(T) []string) ([]string, error) {
	known := map[string]string{}
	for _, line := range earlier {
		if end := strings.Index(line, ".yaml "); end >= 0 {
			known[line[:end+len(".yaml")]] = line
		}
	}
	files, err := v.Repo.List(commit, v.inRepo(kind.In()), nil)
	if err != nil {
		return nil, err
	}
	var lines []string
	unknown := map[string]bool{}
	for _, f := range files {
		if id, ok := strings.CutSuffix(path.Base(f.Path), ".yaml"); !ok || kind.Check(id) != nil || strings.ContainsAny(f.Path, " \t\n") {
			continue // nothing else can be a document
		}
		if line, ok := known[f.Object+" "+f.Path]; ok {
			lines = append(lines, line)
		} else {
			unknown[f.Path] = true
		}
	}
	if len(unknown) > 0 {
		if files, err = v.Repo.Files(commit, v.inRepo(kind.In()), maxConfig, func(p string, folder bool) bool { return folder || unknown[p] }); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		if !unknown[f.Path] {
			continue
		}
		line := f.Object + " " + f.Path + " "
		f.Path = kind.In() + "/" + f.Path
		if d, err := memoryfile.Read[T](f); err == nil {
			line += noteText(note(d.DTO))
		}
		lines = append(lines, line)
	}
	id := func(line string) string {
		_, p, _ := strings.Cut(line, " ")
		p, _, _ = strings.Cut(p, " ")
		return path.Base(p)
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(id(b), id(a)) })
	return lines, nil
}

// noteRules names how notes are made and kept.
const noteRules = "notes/1"

// keptNoteFiles is how many files of notes are kept.
const keptNoteFiles = 32

// noteFiles are where the notes of a kind are kept, the first choice first.
func (v *Vault) noteFiles(kind memoryfile.Kind) []string {
	sum := sha256.Sum256([]byte(v.Repo.CommonDir() + "\x00" + v.Prefix))
	files := v.roots()
	for i := range files {
		files[i] = filepath.Join(filepath.Dir(files[i]), "notes", kind.Folder+"-"+hex.EncodeToString(sum[:16]))
	}
	return files
}

// keptNotes reads the lines that were kept, and says whether they are of a folder as
// it is.
func (v *Vault) keptNotes(folder gitstore.Hash, kind memoryfile.Kind) (lines []string, ok bool) {
	for _, file := range v.noteFiles(kind) {
		if text, ok := readKept(file, noteRules); ok {
			lines = strings.Split(text, "\t")
			return lines[1:], lines[0] == string(folder)
		}
	}
	return nil, false
}

func (v *Vault) keepNotes(folder gitstore.Hash, kind memoryfile.Kind, lines []string) {
	text := strings.Join(append([]string{string(folder)}, lines...), "\t")
	for _, file := range v.noteFiles(kind) {
		if writeKept(file, noteRules, text) {
			Prune(filepath.Dir(file), keptNoteFiles)
			return
		}
	}
}

// handoffNote says whom a handoff is for, who gives it, where it holds, and what is
// to be reached.
func handoffNote(h agentprotocol.Handoff) []string {
	objective := []rune(h.Objective)
	return []string{h.ToPrincipal.PrincipalID, h.ToPrincipal.Runtime, h.FromPrincipal.PrincipalID, string(h.Scope.Kind), h.Scope.ID, string(objective[:min(len(objective), mostObjective)])}
}

// mostObjective is how many characters of an objective a note has: more than a next
// action shows.
const mostObjective = 400

// addressed are the newest handoffs for the principal that a request in a scope
// sees, at most shownHandoffs, as their notes have them; more says that there are
// others.
func (m *remembering) addressed(scope agentprotocol.Scope) (out []agentprotocol.Handoff, more bool, err error) {
	found, err := glances(m.v, m.tip, memoryfile.Handoffs, handoffNote, m.principal.PrincipalID, memory.AnyAgent)
	if err != nil {
		return nil, false, err
	}
	line := m.tree.Line(scope, m.principal.Home)
	for _, g := range found {
		note := g.note(6)
		if note == nil {
			continue
		}
		h := agentprotocol.Handoff{HandoffID: g.id(), Scope: agentprotocol.Scope{Kind: agentprotocol.ScopeKind(note[3]), ID: note[4]}, Objective: note[5]}
		h.ToPrincipal.PrincipalID, h.ToPrincipal.Runtime, h.FromPrincipal.PrincipalID = note[0], note[1], note[2]
		if !memory.Addressed(h, m.principal, line) || !m.sees(h.Scope, note[2]) {
			continue
		}
		if len(out) == shownHandoffs {
			return out, true, nil
		}
		out = append(out, h)
	}
	return out, false, nil
}

// proposalNote says what Replaces asks of a proposal.
func proposalNote(p memoryfile.Proposal) []string {
	return []string{p.Principal.PrincipalID, string(p.Review.Status), string(p.Scope.Kind), p.Scope.ID, string(p.Kind), p.Subject}
}

// earlier are the proposals that another takes the place of, and that are what their
// receipts say.
func (m *remembering) earlier(p agentprotocol.Proposal) ([]proposalDoc, error) {
	found, err := glances(m.v, m.tip, memoryfile.Proposals, proposalNote, p.Principal.PrincipalID)
	if err != nil {
		return nil, err
	}
	var out []proposalDoc
	for _, g := range found {
		note := g.note(6)
		if note == nil {
			continue
		}
		old := agentprotocol.Proposal{ProposalID: g.id(), Scope: agentprotocol.Scope{Kind: agentprotocol.ScopeKind(note[2]), ID: note[3]}, Kind: agentprotocol.MemoryKind(note[4]), Subject: note[5]}
		old.Principal.PrincipalID = note[0]
		if !memory.Replaces(p, old, agentprotocol.ProposalStatus(note[1])) {
			continue
		}
		f, err := m.v.Repo.File(m.tip, m.v.inRepo(g.path), maxConfig)
		if err != nil {
			return nil, err
		}
		f.Path = g.path
		d, err := memoryfile.Read[memoryfile.Proposal](f)
		if err != nil {
			return nil, err
		}
		chain, err := m.v.chainOf(m.tip, m.config, memoryfile.Proposals.SubjectOf(old.ProposalID))
		if err != nil && len(vault.Problems(err)) == 0 {
			return nil, err
		}
		if err == nil && memory.Proposed(d.DTO.Proposal, d.DTO.Review.Status, d.Digest, chain) == nil {
			out = append(out, d)
		}
	}
	slices.Reverse(out)
	return out, nil
}
