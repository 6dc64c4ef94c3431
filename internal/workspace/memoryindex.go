package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/index"
	"longmemory.dev/lm/internal/render"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
	"longmemory.dev/lm/vault/memoryfile"
)

// memoryRules names how records are judged, rendered and kept in an index.
const memoryRules = "memory/3"

// memories is the index of the records that count at a snapshot and can be
// recalled. It lies beside the assets' and has statistics of its own.
type memories struct {
	*index.Index
	config *vault.Config
}

// memoryHeader is what the index keeps of the vault itself.
type memoryHeader struct {
	Key    index.Key     `json:"key"`
	Trees  memoryTrees   `json:"trees"`
	Config *vault.Config `json:"config"`
}

// memoryTrees are what an index of memories is made of: where the trusted
// revision keeps records, their receipts and the vault's rules, and the memory
// branch where it may hold records of its own.
type memoryTrees struct {
	Records  gitstore.Hash `json:"records"` // "" where there are none
	Receipts gitstore.Hash `json:"receipts"`
	Config   gitstore.Hash `json:"config"`
	Signers  gitstore.Hash `json:"signers"`
	Branch   gitstore.Hash `json:"branch"` // the tip, only if agents may confirm
}

func (t memoryTrees) key() index.Key {
	return index.KeyOf(strings.Join([]string{string(t.Records), string(t.Receipts), string(t.Config), string(t.Signers)}, " "), string(t.Branch), memoryRules+"/"+vault.RulesVersion+"/"+render.Version, render.TokensVersion)
}

// memoryRoots are where indexes of memories lie, the first choice first.
func (v *Vault) memoryRoots() []string {
	roots := v.roots()
	for i := range roots {
		roots[i] = filepath.Join(filepath.Dir(roots[i]), "memory")
	}
	return roots
}

// memoryRef is the branch that agents write to.
func memoryRef(config *vault.Config) string {
	return "refs/heads/" + strings.TrimPrefix(config.Policy.Memory.Branch, "refs/heads/")
}

// memoryTip is the commit of the memory branch: this clone's own, else what the
// remotes brought; "" if there is none.
func (v *Vault) memoryTip(config *vault.Config) (gitstore.Hash, error) {
	name := strings.TrimPrefix(memoryRef(config), "refs/heads/")
	refs := []string{"refs/heads/" + name}
	for _, remote := range v.Repo.Remotes() {
		refs = append(refs, "refs/remotes/"+remote+"/"+name)
	}
	for _, ref := range refs {
		tip, err := v.Repo.Resolve(ref)
		if err == nil || !errors.Is(err, gitstore.ErrNotFound) {
			return tip, err
		}
	}
	return "", nil
}

// treesAt finds what an index of memories at a commit is made of, with the
// vault's rules there.
func (v *Vault) treesAt(at Snapshot) (memoryTrees, *vault.Config, error) {
	f, err := v.memoryFact(at.Commit)
	t, config := f.Trees, f.Config
	if err != nil {
		return t, nil, err
	}
	if config.Policy.Memory.AutoConfirm {
		t.Branch, err = v.memoryTip(config)
	}
	return t, config, err
}

// memories opens the index of the memories at a snapshot, and builds it if need
// be; where nothing can be written, and without a commit, in memory.
func (v *Vault) memories(ctx context.Context, at loaded) (*memories, error) {
	if at.Commit == "" {
		return nil, fmt.Errorf("%w: memories are read from commits; leave --worktree out", ErrUsage)
	}
	t, config, err := v.treesAt(at.Snapshot)
	if err != nil {
		return nil, err
	}
	if t.Records == "" && t.Branch == "" {
		x, err := index.Memory(index.Contents{})
		return &memories{x, config}, err
	}
	for _, root := range v.memoryRoots() {
		if x, status, _ := index.Open(root, t.key()); status == index.Current {
			return &memories{x, config}, nil
		}
	}
	for _, root := range v.memoryRoots() {
		if x := v.deriveMemories(ctx, root, at.Snapshot, t, config); x != nil {
			_, _ = index.GC(root, keptIndexes, t.key())
			return &memories{x, config}, nil
		}
	}
	contents, err := v.memoryContents(at.Snapshot, t, config)
	if err != nil {
		return nil, err
	}
	for _, root := range v.memoryRoots() {
		if index.Build(ctx, root, t.key(), contents, v.env.Progress) != nil {
			continue
		}
		if x, status, _ := index.Open(root, t.key()); status == index.Current {
			_, _ = index.GC(root, keptIndexes, t.key())
			return &memories{x, config}, nil
		}
	}
	x, err := index.Memory(contents)
	return &memories{x, config}, err
}

// withMemories hands on the index of the memories at a snapshot. Where it turns out
// damaged on the way, it is built anew and read once more.
func (v *Vault) withMemories(ctx context.Context, at loaded, read func(*memories) error) error {
	for first := true; ; first = false {
		x, err := v.memories(ctx, at)
		if err != nil {
			return err
		}
		err = read(x)
		x.Close()
		if !first || !errors.Is(err, index.ErrDamaged) {
			return err
		}
		discardAll(v.memoryRoots())
	}
}

// memoryContents reads all records that count.
func (v *Vault) memoryContents(at Snapshot, t memoryTrees, config *vault.Config) (index.Contents, error) {
	counter, err := render.NewCounter(config.Defaults.Tokenizer)
	if err != nil {
		return index.Contents{}, err
	}
	paths := append(v.memoryPaths(config), memoryfile.Records.In(), memoryfile.Records.Receipts())
	docs, err := v.memoryDocuments(at.Commit, paths, config, false, counter)
	if err == nil && t.Branch != "" {
		// The rules are the trusted revision's, whatever lies on the branch.
		var more []index.Document
		more, err = v.branchDocuments(at.Commit, t.Branch, config, counter)
		known := map[vault.ID]bool{}
		for _, d := range docs {
			known[d.Facts.ID] = true
		}
		for _, d := range more {
			if !known[d.Facts.ID] {
				docs = append(docs, d)
			}
		}
	}
	if err != nil {
		return index.Contents{}, err
	}
	h, err := json.Marshal(memoryHeader{Key: t.key(), Trees: t, Config: config})
	return index.Contents{Vault: h, Documents: docs}, err
}

// memoryPaths are the files that say whose receipts count.
func (v *Vault) memoryPaths(config *vault.Config) []string {
	return []string{vault.ConfigFile, config.Policy.AllowedSigners}
}

func (v *Vault) branchDocuments(trusted, tip gitstore.Hash, config *vault.Config, counter *render.Counter) ([]index.Document, error) {
	rules, err := v.Repo.Some(trusted, v.Prefix, v.memoryPaths(config), maxConfig)
	if err != nil {
		return nil, err
	}
	files, err := v.Repo.Some(tip, v.Prefix, []string{memoryfile.Records.In(), memoryfile.Records.Receipts()}, maxConfig)
	if err != nil {
		if errors.Is(err, gitstore.ErrNotFound) { // the branch has no such folder
			return nil, nil
		}
		return nil, err
	}
	return memoryDocuments(append(rules, files...), config, true, counter)
}

// memoryDocuments reads the records at some paths of a commit.
func (v *Vault) memoryDocuments(commit gitstore.Hash, paths []string, config *vault.Config, auto bool, counter *render.Counter) ([]index.Document, error) {
	files, err := v.Repo.Some(commit, v.Prefix, paths, maxConfig)
	if err != nil {
		return nil, err
	}
	return memoryDocuments(files, config, auto, counter)
}

func memoryDocuments(files []vault.File, config *vault.Config, auto bool, counter *render.Counter) ([]index.Document, error) {
	records, err := countedRecords(files, config, auto)
	if err != nil {
		return nil, err
	}
	var out []index.Document
	for _, d := range records {
		if d.DTO.IsRecallable() {
			out = append(out, memoryDocument(d, counter))
		}
	}
	return out, nil
}

// countedRecords are the records among some files that count: each with a chain
// of receipts that stands behind it.
func countedRecords(files []vault.File, config *vault.Config, auto bool) ([]*memoryfile.Document[memory.Record], error) {
	s, err := vault.Read(files, nil)
	if err != nil {
		return nil, err
	}
	var out []*memoryfile.Document[memory.Record]
	for _, f := range files {
		if !strings.HasPrefix(f.Path, memoryfile.Records.In()+"/") {
			continue
		}
		d, err := memoryfile.Read[memory.Record](f)
		if err != nil {
			continue // lm validate says what is wrong
		}
		if standing(s, d, config, auto) == nil {
			out = append(out, d)
		}
	}
	return out, nil
}

// standing says why a record counts for nothing, or nil. branch: it lies on the
// memory branch, where what agents confirm may count.
func standing(s *vault.Snapshot, d *memoryfile.Document[memory.Record], config *vault.Config, branch bool) error {
	chain := s.Receipts[memoryfile.Records.SubjectOf(d.DTO.ID)]
	var rules memory.Unapproved
	if branch {
		if rules = memory.AutoConfirmed(config); rules == nil {
			return fmt.Errorf("nothing on %s counts by itself", config.Policy.Memory.Branch)
		}
	}
	if err := memory.Standing(&d.DTO, d.Digest, chain, config.Project, rules); err != nil {
		return err
	}
	return s.Unsigned(chain.Last())
}

// Records and the index's facts: what ranking and rules look at is kept in the
// columns that assets have, under other names.
var confidences = []agentprotocol.Confidence{"", agentprotocol.ConfidenceLow, agentprotocol.ConfidenceMedium, agentprotocol.ConfidenceHigh, agentprotocol.ConfidenceVerified}

const openSource = "open" // there is a source that nobody has to be asked about

func memoryDocument(d *memoryfile.Document[memory.Record], counter *render.Counter) index.Document {
	r := d.DTO
	f := vault.Facts{
		ID: vault.ID(r.ID), Type: vault.Type(r.Kind), Name: r.Subject, Owner: vault.Subject(memoryfile.ScopeName(r.Scope)), Version: memory.Chars(r),
		Digest: d.Digest, Status: vault.StatusApproved, Receipted: true, Visibility: vault.Visibility(r.State),
		ContentRef: r.CreatorID, Priority: vault.Ratio(max(slices.Index(confidences, r.Confidence), 0)), Modified: r.UpdatedAt.UTC(), Path: d.File.Path,
	}
	if r.ExpiresAt != nil {
		f.Expires = r.ExpiresAt.UTC()
	}
	for _, s := range r.Sources {
		if s.Kind == "asset" || s.Kind == "receipt" {
			f.Teams = append(f.Teams, s.Kind+":"+s.Ref)
		} else {
			f.Description = openSource
		}
	}
	text, _ := json.Marshal(r) // strings and times only
	item := render.Remembered(render.Memory{
		ID: r.ID, Kind: string(r.Kind), Scope: memoryfile.ScopeName(r.Scope), State: string(r.State), Confidence: cmp.Or(string(r.Confidence), "none"),
		Subject: r.Subject, Predicate: r.Predicate, Object: r.Object, Summary: r.Summary,
	})
	out := index.Document{Facts: f, Text: index.Text{Name: r.Subject, Description: strings.TrimSpace(r.Predicate + " " + r.Object), Body: r.Summary}}
	out.Forms[slices.Index(vault.Modes, vault.ModeDirect)] = index.Form{Text: string(text)}
	out.Forms[slices.Index(vault.Modes, vault.ModeSummary)] = index.Form{Text: item, Tokens: counter.Count(item)}
	return out
}

// candidates are the memories as the rules look at them; ranking nil: nothing
// was asked.
func (m *memories) candidates(ranking *index.Ranking) []memory.Candidate {
	out := make([]memory.Candidate, len(m.Facts()))
	open := agentprotocol.SourceRefList{{Kind: openSource, Ref: openSource}}
	open = open[:1:1] // all share it: who adds to it gets another
	for i := range m.Facts() {
		f := &m.Facts()[i]
		c := memory.Candidate{Place: i, Chars: f.Version, Record: memory.Record{
			ID: string(f.ID), Kind: agentprotocol.MemoryKind(f.Type), Subject: f.Name, State: agentprotocol.LifecycleState(f.Visibility), UpdatedAt: f.Modified,
			Scope:     agentprotocol.Scope{Kind: agentprotocol.ScopeKind(f.Owner.Kind()), ID: f.Owner.ID()},
			CreatorID: f.ContentRef, Confidence: confidences[min(max(int(f.Priority), 0), len(confidences)-1)],
		}}
		if !f.Expires.IsZero() {
			c.Record.ExpiresAt = &f.Expires
		}
		if f.Description == openSource {
			c.Record.Sources = open
		}
		for _, name := range f.Teams {
			kind, ref, _ := strings.Cut(name, ":")
			c.Record.Sources = append(c.Record.Sources, agentprotocol.SourceRef{Kind: kind, Ref: ref})
		}
		if ranking != nil {
			c.Relevance = ranking.Relevance(i)
		}
		out[i] = c
	}
	return out
}

// record reads a whole record.
func (m *memories) record(place int) (memory.Record, error) {
	var r memory.Record
	form, err := m.Form(place, vault.ModeDirect)
	if err == nil {
		err = json.Unmarshal([]byte(form.Text), &r)
	}
	return r, err
}

// deriveMemories makes the index of one of the newest under root and of what has
// changed since; nil where that does not work.
func (v *Vault) deriveMemories(ctx context.Context, root string, at Snapshot, t memoryTrees, config *vault.Config) *index.Index {
	near := index.Newest(root)
	for _, baseKey := range near[:min(len(near), 2)] {
		base, status, _ := index.Open(root, baseKey)
		if status != index.Current {
			continue
		}
		var x *index.Index
		if c, ok := v.changedMemories(at, base, t, config); ok {
			x, _ = index.Derive(ctx, root, t.key(), base, c, v.env.Progress)
		}
		base.Close()
		if x != nil || ctx.Err() != nil {
			return x
		}
	}
	return nil
}

func (v *Vault) changedMemories(at Snapshot, base *index.Index, t memoryTrees, config *vault.Config) (index.Contents, bool) {
	var h memoryHeader
	none := index.Contents{}
	if json.Unmarshal(base.Vault(), &h) != nil || h.Trees.Config != t.Config || h.Trees.Signers != t.Signers || h.Trees.Branch != "" || t.Branch != "" || h.Trees.Records == "" || h.Trees.Receipts == "" || t.Receipts == "" {
		return none, false
	}
	ids, paths := map[string]bool{}, map[string]bool{}
	records, err := v.Repo.Changes(h.Trees.Records, t.Records, nil)
	if err != nil {
		return none, false
	}
	for _, p := range records {
		paths[memoryfile.Records.In()+"/"+p] = true
		ids[strings.TrimSuffix(filepath.Base(p), ".yaml")] = true
	}
	receipts, err := v.Repo.Changes(h.Trees.Receipts, t.Receipts, nil)
	if err != nil {
		return none, false
	}
	for _, p := range receipts {
		id, _, _ := strings.Cut(p, "/")
		ids[id] = true
	}
	if len(ids) > 100+len(base.Facts())/50 {
		return none, false
	}
	c := none
	for i, f := range base.Facts() {
		if ids[string(f.ID)] {
			paths[f.Path] = true
			continue
		}
		c.Documents = append(c.Documents, index.Document{Facts: f, Base: i + 1})
	}
	read := v.memoryPaths(config)
	placed := map[string]bool{}
	for p := range paths {
		placed[strings.TrimSuffix(filepath.Base(p), ".yaml")] = true
	}
	for id := range ids {
		if !placed[id] {
			return none, false // a receipt of a record that was there and did not count
		}
		read = append(read, memoryfile.Records.Receipts()+"/"+id)
	}
	for p := range paths {
		read = append(read, p)
	}
	counter, err := render.NewCounter(config.Defaults.Tokenizer)
	if err != nil {
		return none, false
	}
	docs, err := v.memoryDocuments(at.Commit, read, config, false, counter)
	if err != nil {
		return none, false
	}
	c.Documents = append(c.Documents, docs...)
	c.Vault, err = json.Marshal(memoryHeader{Key: t.key(), Trees: t, Config: config})
	return c, err == nil
}
