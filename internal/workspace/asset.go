package workspace

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// Row is an asset in a list.
type Row struct {
	ID          vault.ID         `json:"id"`
	Type        vault.Type       `json:"type"`
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Version     int              `json:"version"`
	Status      vault.Status     `json:"status"`
	Receipted   bool             `json:"receipted"` // the last receipt names this status and content
	Owner       vault.Subject    `json:"owner"`
	Visibility  vault.Visibility `json:"visibility"`
	ExpiresAt   string           `json:"expires_at"` // "" : never
	Digest      vault.Digest     `json:"digest"`
	Path        string           `json:"path"`
	Invalid     bool             `json:"invalid"`
}

// List is the assets that a subject may read, by id.
type List struct {
	Snapshot Snapshot `json:"snapshot"`
	Assets   []Row    `json:"assets"`
	Hidden   int      `json:"hidden"`
}

// ListAsk says which assets to list; empty fields select all.
type ListAsk struct {
	Subject
	Revision
	Types    []vault.Type
	Statuses []vault.Status
}

// List lists assets, whatever their state.
func (v *Vault) List(ctx context.Context, ask ListAsk) (*List, error) {
	at, err := v.revision(ask.Revision)
	if err != nil {
		return nil, err
	}
	x, err := v.open(ctx, at)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	who, err := v.who(x.config, ask.Subject)
	if err != nil {
		return nil, err
	}
	out := &List{Snapshot: x.Snapshot, Assets: []Row{}}
	for i := range x.Facts() {
		f := &x.Facts()[i]
		switch {
		case !governance.Allowed(f, who, vault.PermissionRead):
			out.Hidden++
		case among(ask.Types, f.Type) && among(ask.Statuses, f.Status):
			out.Assets = append(out.Assets, row(f))
		}
	}
	return out, nil
}

func among[T comparable](wanted []T, value T) bool {
	for _, w := range wanted {
		if w == value {
			return true
		}
	}
	return len(wanted) == 0
}

func row(f *vault.Facts) Row {
	r := Row{ID: f.ID, Type: f.Type, Name: f.Name, Description: f.Description, Version: f.Version, Status: f.Status, Receipted: f.Receipted,
		Owner: f.Owner, Visibility: f.Visibility, Digest: f.Digest, Path: f.Path, Invalid: f.Invalid}
	if !f.Expires.IsZero() {
		r.ExpiresAt = vault.FormatTime(f.Expires)
	}
	return r
}

// Shown is one asset with its content and its receipts.
type Shown struct {
	Row
	Snapshot  Snapshot       `json:"snapshot"`
	Keys      map[string]any `json:"keys"` // as the key file has them
	Body      string         `json:"body"`
	Resources []string       `json:"resources"`
	Receipts  []Act          `json:"receipts"`
}

// Act is a receipt in short.
type Act struct {
	Seq     int           `json:"seq"`
	Kind    string        `json:"kind"`
	Version int           `json:"version"`
	From    vault.Status  `json:"from"`
	To      vault.Status  `json:"to"`
	Actor   vault.Subject `json:"actor"`
	Reason  string        `json:"reason"`
	At      string        `json:"at"`
}

// Show shows one asset. version 0 is the current one, another the last commit
// that says so, with its receipts as of then. An asset that may not be
// read is not found. With approved it is the one that a loadout speaks of: at
// the trusted revision, and not found unless it counts as approved there.
func (v *Vault) Show(id vault.ID, version int, s Subject, r Revision, approved bool) (*Shown, error) {
	read := v.revision
	if approved {
		read = v.trusted
	}
	at, err := read(r)
	if err != nil {
		return nil, err
	}
	one, err := v.one(at, id)
	if err != nil {
		return nil, err
	}
	who, err := v.who(one.config(), s)
	if err != nil {
		return nil, err
	}
	a := one.asset
	if err := one.readable(who, at.Ref); err != nil {
		return nil, err
	}
	if approved {
		if one, err = v.standing(one, who); err != nil {
			return nil, err
		}
		if one == nil {
			return nil, fmt.Errorf("%w: %s is not approved at %s; run: lm asset explain %s", ErrNotFound, id, at.Ref, id)
		}
		a = one.asset
	}
	if version == 0 || version == a.Version {
		return one.shown(at.Snapshot)
	}
	if approved {
		return nil, fmt.Errorf("%w: the approved version of %s at %s is %d", ErrNotFound, id, at.Ref, a.Version)
	}
	p, err := v.past(at.Commit, id)
	if err != nil {
		return nil, err
	}
	old, err := p.version(version, who)
	if err != nil {
		return nil, err
	}
	return old.shown(old.Snapshot)
}

// standing is the asset as a loadout speaks of it: as it is if it is approved,
// else as it was approved last if that is served and the subject may read it;
// nil if there is none.
func (v *Vault) standing(s *single, who governance.Who) (*single, error) {
	old := s.asset.LastApproved
	switch {
	case s.asset.Approved():
		return s, nil
	case old == nil || !governance.Allowed(&old.Facts, who, vault.PermissionRead):
		return nil, nil
	}
	files, err := v.governed(max(s.config().Policy.Limits.AssetBytes, maxConfig))(s.snapshot.Chain(s.id).Last().Object)
	if err != nil {
		return nil, err
	}
	for i := range files {
		files[i].Path = path.Join(old.Path, files[i].Path)
	}
	return &single{snapshot: s.snapshot, asset: old, places: []string{old.Path}, files: files, id: s.id}, nil
}

// shown is the asset for people and programs.
func (s *single) shown(at Snapshot) (*Shown, error) {
	a, err := s.asset, error(nil)
	out := &Shown{Row: row(&a.Facts), Snapshot: at, Keys: map[string]any{}, Body: a.Body(), Resources: []string{}, Receipts: []Act{}}
	for _, f := range s.files {
		if f.Path == a.KeyFile() {
			if out.Keys, err = vault.Keys(f.Data, a.Layout == vault.LayoutMarkdown); err != nil {
				return nil, err
			}
		}
	}
	for _, f := range a.Resources() {
		out.Resources = append(out.Resources, f.Path)
	}
	for _, r := range s.snapshot.Chain(s.id) {
		out.Receipts = append(out.Receipts, Act{Seq: r.Seq, Kind: r.Kind, Version: r.Version, From: r.From, To: r.To, Actor: r.Actor, Reason: r.Reason, At: vault.FormatTime(r.At)})
	}
	return out, nil
}

// single is one asset with its receipts, read without the rest of the vault.
type single struct {
	snapshot *vault.Snapshot
	asset    *vault.Asset // nil: it is invalid
	places   []string     // the files or folders that its id names
	files    []vault.File // of the asset, paths relative to the vault
	id       vault.ID
}

// readable says why the subject does not get to see the asset, or nil: it may
// not read it, and is told so as if it were not there, or it is invalid.
func (s *single) readable(who governance.Who, ref string) error {
	facts := &vault.Facts{ID: s.id, Invalid: true}
	if s.asset != nil {
		facts = &s.asset.Facts
	}
	if !governance.Allowed(facts, who, vault.PermissionRead) {
		return s.missing(s.id, ref)
	}
	if s.asset != nil {
		return nil
	}
	var all error
	for _, p := range s.snapshot.Problems {
		if p.Severity == vault.Error && under(p.Path, s.places) {
			all = errors.Join(all, p)
		}
	}
	return fmt.Errorf("%s is no valid asset:\n%w", s.id, all)
}

// unsigned says that the last receipt lacks the signature that the vault
// requires.
func (s *single) unsigned() bool {
	last := s.snapshot.Chain(s.id).Last()
	return last != nil && s.snapshot.Unsigned(last) != nil
}

func (s *single) config() *vault.Config { return s.snapshot.Config }

func (s *single) missing(id vault.ID, ref string) error {
	return fmt.Errorf("%w: there is no asset %s at %s that you may read; lm asset list shows those there are", ErrNotFound, id, ref)
}

// one reads a single asset, valid or not.
func (v *Vault) one(at loaded, id vault.ID) (*single, error) {
	places, err := v.places(&at, id)
	if err != nil {
		return nil, err
	}
	if len(places) == 0 {
		return nil, v.notThere(at, id)
	}
	if at.files == nil {
		if at.files, err = v.filesAt(at.Commit, only(append(slices.Clone(places), vault.ConfigFile, "receipts/asset/"+string(id))...)); err != nil {
			return nil, err
		}
	}
	s, err := v.read(&at)
	if err != nil {
		return nil, err
	}
	out := &single{snapshot: s, places: places, id: id}
	for _, f := range at.files {
		if under(f.Path, places) {
			out.files = append(out.files, f)
		}
	}
	out.asset, _ = s.Asset(id)
	return out, nil
}

// places finds where an id lies, by names alone.
func (v *Vault) places(at *loaded, id vault.ID) ([]string, error) {
	if at.files != nil {
		return vault.Places(at.files, id), nil
	}
	files, err := v.Repo.List(at.Commit, v.Prefix, only("assets"))
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return nil, err
	}
	return vault.Places(files, id), nil
}

// notThere tells an asset that nobody committed from one that does not exist.
func (v *Vault) notThere(at loaded, id vault.ID) error {
	if at.Ref == "HEAD" && v.Dir != "" {
		if files, _, err := v.workFiles(func(string) int64 { return -1 }, only("assets")); err == nil {
			if places := vault.Places(files, id); len(places) > 0 {
				return fmt.Errorf("%w: %s is not committed yet; run: git add %s && git commit", ErrNotFound, id, v.inGit(places[0]))
			}
		}
	}
	return (*single)(nil).missing(id, at.Ref)
}

// only keeps the named files and folders and what lies below them.
func only(paths ...string) gitstore.Keep {
	named, above := map[string]bool{}, map[string]bool{}
	for _, p := range paths {
		named[p] = true
		for p = path.Dir(p); p != "."; p = path.Dir(p) {
			above[p] = true
		}
	}
	return func(name string, isDir bool) bool {
		for p := name; p != "."; p = path.Dir(p) {
			if named[p] {
				return true
			}
		}
		return isDir && above[name]
	}
}
