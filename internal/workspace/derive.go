package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"longmemory.dev/lm/index"
	"longmemory.dev/lm/internal/render"
	"longmemory.dev/lm/vault"
)

// derive builds the index of a snapshot under root from one of the newest that
// lie there, and reads only what differs between the two trees. It is nil where
// that does not work, for whatever reason: a build from all files does.
func (v *Vault) derive(ctx context.Context, root string, at Snapshot) *index.Index {
	near := index.Newest(root)
	for _, baseKey := range near[:min(len(near), 2)] {
		base, status, _ := index.Open(root, baseKey)
		if status != index.Current {
			continue
		}
		var x *index.Index
		if c, ok := v.derived(at, baseKey, base); ok {
			x, _ = index.Derive(ctx, root, key(at), base, c, v.env.Progress)
		}
		base.Close()
		if x != nil || ctx.Err() != nil {
			return x
		}
	}
	return nil
}

// derived makes the contents of an index of what a near one knows and of the
// files that have changed since.
func (v *Vault) derived(at Snapshot, baseKey index.Key, base *index.Index) (index.Contents, bool) {
	var h header
	none, packs := index.Contents{}, v.packs()
	// Whoever rendered or counted otherwise has another key for the same tree.
	if json.Unmarshal(base.Vault(), &h) != nil || key(Snapshot{Tree: h.Tree}) != baseKey || v.found(h.Lost, h.Packs) {
		return none, false
	}
	changed, err := v.Repo.Changes(h.Tree, at.Tree, signersToo(vault.Relevant, h.Config))
	if err != nil || slices.Contains(changed, vault.ConfigFile) || slices.Contains(changed, h.Config.Policy.AllowedSigners) {
		return none, false
	}
	limit := limitOf(h.Config)
	part := parted(base.Facts(), changed)
	var s *vault.Snapshot
	for {
		if len(part.at) > 100+len(base.Facts())/50 {
			return none, false // reading all at once is faster
		}
		files, err := v.Repo.Some(at.Commit, v.Prefix, append(part.paths(), h.Config.Policy.AllowedSigners), limit)
		if err != nil {
			return none, false
		}
		if s, err = vault.Read(files, v.governed(limit)); err != nil {
			return none, false
		}
		if !part.add(base.Facts(), s.Facts()) {
			break
		}
	}
	h.Key, h.Tree = key(at), at.Tree
	for id, object := range h.Lost {
		if !part.has("receipts/asset/" + string(id)) {
			s.Lost[id] = object
		}
	}
	h.Lost, h.Packs = s.Lost, packsFor(s.Lost, packs)
	data, err := json.Marshal(h)
	if err != nil {
		return none, false
	}
	var failed error
	// Most changes are of keys that nobody reads in a form: what is rendered as it
	// was, but for the version, costs what it cost, and no counter is loaded.
	count := func(a *vault.Asset, mode vault.Mode, text string) int {
		if tokens, ok := counted(base, a, mode, text); ok {
			return tokens
		}
		c, err := render.NewCounter(h.Config.Defaults.Tokenizer)
		if err != nil {
			failed = err
			return 0
		}
		return c.Count(text)
	}
	fresh := documents(s, count)
	if failed != nil {
		return none, false
	}
	index.Sort(fresh)
	c := index.Contents{Vault: data, Problems: s.Problems, Documents: make([]index.Document, 0, len(fresh)+len(base.Facts()))}
	for i := range base.Facts() {
		f := &base.Facts()[i]
		if part.has(f.Path) {
			continue
		}
		old := index.Document{Facts: *f, Base: i + 1}
		for len(fresh) > 0 && index.Before(&fresh[0], &old) {
			c.Documents, fresh = append(c.Documents, fresh[0]), fresh[1:]
		}
		c.Documents = append(c.Documents, old)
	}
	c.Documents = append(c.Documents, fresh...)
	for _, p := range base.Problems() {
		if !part.has(p.Path) {
			c.Problems = append(c.Problems, p)
		}
	}
	vault.SortProblems(c.Problems)
	return c, true
}

// placeOf finds an asset in an index, whose facts stand by id.
func placeOf(x *index.Index, id vault.ID) (int, bool) {
	return slices.BinarySearchFunc(x.Facts(), id, func(f vault.Facts, id vault.ID) int { return cmp.Compare(f.ID, id) })
}

// counted gives the tokens of a form that an index has of the same text, under
// whatever version.
func counted(x *index.Index, a *vault.Asset, mode vault.Mode, text string) (int, bool) {
	i, found := placeOf(x, a.ID)
	if !found {
		return 0, false
	}
	before := x.Facts()[i].Standing()
	if before == nil {
		return 0, false
	}
	form, err := x.Form(i, mode)
	was, alike := render.Reversion(form.Text, before.Version, a.Version)
	return form.Tokens, err == nil && alike && was == text
}

// part is the places of a vault that have to be read anew: files and folders
// of assets, and folders of receipts.
type part struct{ at map[string]bool }

// parted finds what changes of files can have an effect on: the assets that
// they belong to, before or now, with all their receipts. facts are those
// before.
func parted(facts []vault.Facts, changed []string) *part {
	p := &part{map[string]bool{}}
	above := map[string]bool{} // the folders that something changed in
	for _, file := range changed {
		for dir := path.Dir(file); dir != "." && !above[dir]; dir = path.Dir(dir) {
			above[dir] = true
		}
	}
	places := map[string]bool{}
	for i := range facts {
		if above[facts[i].Path] {
			places[facts[i].Path] = true
		}
	}
	for _, file := range changed {
		if strings.HasPrefix(file, "receipts/") {
			// receipts/<kind>/<id>/<seq>.yaml; what is no receipt stands for itself
			if dir := path.Dir(file); strings.Count(dir, "/") == 2 {
				file = dir
			}
			p.at[file] = true
			continue
		}
		place := file
		if name := path.Base(file); (name == "asset.yaml" || name == "SKILL.md") && path.Dir(file) != "assets" {
			place = path.Dir(file) // it makes an asset of all below, or did
		}
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			if places[dir] {
				place = dir // the topmost
			}
		}
		p.at[place] = true
	}
	p.add(facts, nil)
	return p
}

// add widens a part by the assets and receipts of each id that has something in
// it, among the facts before and those that were read: a chain of receipts is
// held against its asset, and twins take each other out. It says whether there
// was more to add.
func (p *part) add(before, read []vault.Facts) bool {
	ids := map[vault.ID]bool{}
	for dir := range p.at {
		if id, ok := strings.CutPrefix(dir, "receipts/asset/"); ok && !strings.Contains(id, "/") {
			ids[vault.ID(id)] = true
		}
	}
	for i := range before {
		if p.has(before[i].Path) {
			ids[before[i].ID] = true
		}
	}
	for i := range read {
		ids[read[i].ID] = true
	}
	size := len(p.at)
	for id := range ids {
		p.at["receipts/asset/"+string(id)] = true
	}
	for i := range before {
		if ids[before[i].ID] && !p.has(before[i].Path) {
			p.at[before[i].Path] = true
		}
	}
	return len(p.at) > size
}

// has says whether a path lies in the part.
func (p *part) has(file string) bool {
	for {
		if p.at[file] {
			return true
		}
		i := strings.LastIndexByte(file, '/')
		if i < 0 {
			return false
		}
		file = file[:i]
	}
}

// paths are all paths of the part, none below another, with vault.yaml, which
// every reading needs.
func (p *part) paths() []string {
	out := []string{vault.ConfigFile}
	for at := range p.at {
		if !p.has(path.Dir(at)) {
			out = append(out, at)
		}
	}
	return out
}
