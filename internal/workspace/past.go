package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// past is an asset's history in Git: the commits that changed its files or
// receipts wherever they lay, children first.
type past struct {
	v      *Vault
	id     vault.ID
	log    []gitstore.Logged
	config vault.File // vault.yaml as it is now, for commits in which it cannot be read
	seen   map[gitstore.Hash]*single
}

// past reads the history of an asset as it is reachable from a commit. It
// follows the id: through renames of the file or folder, and of the vault.
func (v *Vault) past(head gitstore.Hash, id vault.ID) (*past, error) {
	p := &past{v: v, id: id, seen: map[gitstore.Hash]*single{}}
	if v.Repo == nil {
		return nil, fmt.Errorf("%w: %s is no Git repository, so its assets have no history", gitstore.ErrNoRepository, v.Dir)
	}
	var err error
	if head == "" { // files as they lie come after HEAD
		if head, err = v.resolve("HEAD"); err != nil {
			return nil, err
		}
	}
	config, err := v.Repo.File(head, v.inRepo(vault.ConfigFile), maxConfig)
	if err != nil {
		return nil, err
	}
	config.Path = vault.ConfigFile
	p.config = config
	receipts := "receipts/asset/" + string(id)
	p.log, err = v.Repo.Log(head, gitstore.Finder{
		Folder: v.folderAt, Below: []string{"assets", receipts},
		Pick: func(dir string, names []string) ([]string, bool) {
			switch {
			case dir == receipts:
				return names, false
			case dir != "assets" && (slices.Contains(names, "asset.yaml") || slices.Contains(names, "SKILL.md")):
				return nil, false // all of it belongs to an asset of another id
			}
			return []string{string(id), string(id) + ".md", string(id) + ".yaml"}, true
		},
	})
	return p, err
}

// folderAt is where the vault lay in a commit: where it lies now, else the only
// folder with a vault.yaml near the root, as it was before somebody moved it. A
// folder that still has one at HEAD is that of another vault.
func (v *Vault) folderAt(commit gitstore.Hash) (string, error) {
	_, err := v.Repo.File(commit, v.inRepo(vault.ConfigFile), 0)
	if err == nil || !errors.Is(err, gitstore.ErrNotFound) {
		return v.Prefix, err
	}
	found, err := v.Repo.TrackedVaults(commit, 2)
	if err != nil || len(found) != 1 {
		return v.Prefix, err
	}
	if head, err := v.resolve("HEAD"); err == nil {
		if another, err := v.Repo.Exists(head, path.Join(found[0], vault.ConfigFile)); another || err != nil {
			return v.Prefix, err
		}
	}
	return found[0], nil
}

// folderName names a folder of the repository for people.
func folderName(folder string) string { return cmp.Or(folder, "the repository's root") }

// see reads the asset as a logged commit has it. Its asset is nil where there
// is none, or no valid one; it has no places where there is none.
func (p *past) see(l gitstore.Logged) (*single, error) {
	if s := p.seen[l.Commit]; s != nil {
		return s, nil
	}
	old := *p.v
	old.Prefix = l.Folder
	files, err := old.filesAt(l.Commit, only(append(slices.Clone(l.Paths), vault.ConfigFile)...))
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return nil, err
	}
	snapshot, err := vault.Read(files, nil)
	if err != nil {
		files = slices.DeleteFunc(files, func(f vault.File) bool { return f.Path == vault.ConfigFile })
		files = append(files, p.config)
		if snapshot, err = vault.Read(files, nil); err != nil {
			return nil, err
		}
	}
	s := &single{snapshot: snapshot, places: vault.Places(files, p.id), id: p.id}
	for _, f := range files {
		if under(f.Path, s.places) {
			s.files = append(s.files, f)
		}
	}
	s.asset, _ = snapshot.Asset(p.id)
	p.seen[l.Commit] = s
	return s, nil
}

// complete says whether all of the asset's history is in this clone.
func (p *past) complete() bool {
	return !slices.ContainsFunc(p.log, func(l gitstore.Logged) bool { return l.Cut && len(l.Paths) > 0 })
}

// unshallow is what brings the commits that a shallow clone lacks.
const unshallow = "this clone is shallow and what lies before its oldest commits cannot be seen; run: git fetch --unshallow"

// sight is an asset as some commit has it.
type sight struct {
	*single
	Snapshot
}

// find gives the newest state for which is holds; nil if there is none.
func (p *past) find(is func(*vault.Asset) bool) (*sight, error) {
	for _, l := range p.log {
		s, err := p.see(l)
		if err != nil {
			return nil, err
		}
		if s.asset == nil || !is(s.asset) {
			continue
		}
		tree, err := p.v.Repo.Subtree(l.Commit, l.Folder)
		if err != nil {
			return nil, err
		}
		ref := fmt.Sprintf("%s@%d", p.id, s.asset.Version)
		return &sight{s, Snapshot{Ref: ref, Commit: l.Commit, Tree: tree}}, nil
	}
	return nil, nil
}

// version finds ID@N: what the last commit has that says N. ErrNotFound, as if
// it were not there, if the rules of that version do not let the reader see it.
func (p *past) version(n int, who governance.Who) (*sight, error) {
	found, err := p.find(func(a *vault.Asset) bool { return a.Version == n })
	if err != nil {
		return nil, err
	}
	if found != nil && governance.Allowed(&found.asset.Facts, who, vault.PermissionRead) {
		return found, nil
	}
	return nil, p.none(n)
}

// standing finds what counts as version N beside others: what a receipt
// governed as N, for an edit by hand may keep the number of the version before it;
// else what the last commit has that says N.
func (p *past) standing(now *single, n int, who governance.Who) (*sight, error) {
	for _, r := range slices.Backward(now.snapshot.Chain(p.id)) {
		if r.Version != n {
			continue
		}
		found, err := p.find(func(a *vault.Asset) bool { return a.Digest == r.Digest })
		if err == nil && found == nil {
			found, err = p.governed(now, r)
		}
		switch {
		case errors.Is(err, ErrNotFound):
			continue
		case err != nil:
			return nil, err
		case governance.Allowed(&found.asset.Facts, who, vault.PermissionRead):
			return found, nil
		}
		return nil, p.none(n)
	}
	return p.version(n, who)
}

// none says that there is no such version for this reader.
func (p *past) none(n int) error {
	mend := fmt.Sprintf("lm asset history %s lists those there are", p.id)
	if !p.complete() {
		mend = unshallow
	}
	return fmt.Errorf("%w: no commit here has a version %d of %s that you may read; %s", ErrNotFound, n, p.id, mend)
}

// content are the files that a version consists of: the one with the keys and
// the content files, by their paths below the asset ("" : it is one file).
// Names that begin with a dot are none of them.
func (s *single) content() map[string]vault.File {
	out := map[string]vault.File{}
	for _, f := range s.files {
		rel := strings.TrimPrefix(strings.TrimPrefix(f.Path, s.asset.Path), "/")
		if !strings.HasPrefix(rel, ".") && !strings.Contains(rel, "/.") {
			out[rel] = f
		}
	}
	return out
}

// keyName is the name of the file with the keys, as content has it.
func (s *single) keyName() string {
	if s.asset.KeyFile() == s.asset.Path {
		return ""
	}
	return path.Base(s.asset.KeyFile())
}
