package workspace

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
)

// Draft is one file of an asset that somebody is about to edit. It remembers
// the commit that it was read from: what others change meanwhile is a conflict
// and not lost.
type Draft struct {
	ID   vault.ID
	Path string // of the file, relative to the vault
	Name string // of the file, below the asset's folder; "": the file with the keys
	Data []byte // as it is committed

	session *session
	one     *single
	chain   vault.Chain
}

// Draft opens a file of an asset for editing: by its path below the asset's
// folder, "" for the file with the keys. It refuses at once what would refuse
// the edit later: ErrConflict for files that differ from the commit,
// governance.ErrReason. Of c only Reason and ExpectVersion count.
func (v *Vault) Draft(id vault.ID, file string, c Change) (*Draft, error) {
	s, err := v.session()
	if err != nil {
		return nil, err
	}
	one, chain, err := s.open(id, c.ExpectVersion)
	if err != nil {
		return nil, err
	}
	if one.config().Policy.RequireReason && strings.TrimSpace(c.Reason) == "" {
		return nil, fmt.Errorf("%w: add --reason \"…\"", governance.ErrReason)
	}
	if err := v.untouched(one); err != nil {
		return nil, err
	}
	d := &Draft{ID: id, session: s, one: one, chain: chain}
	return d, d.choose(file)
}

// choose picks the file to edit.
func (d *Draft) choose(name string) error {
	a, files := d.one.asset, d.one.content()
	key := d.one.keyName()
	if _, there := files[key]; !there { // a bare skill is adopted
		files[key] = vault.File{Path: a.KeyFile(), Data: adopted(a)}
	}
	if name == "" || path.Base(name) == name && a.Path == a.KeyFile() && name == path.Base(a.Path) {
		name = key
	}
	f, ok := files[name]
	if !ok {
		var names []string
		for n := range files {
			names = append(names, cmp.Or(n, path.Base(a.Path)))
		}
		slices.Sort(names)
		return fmt.Errorf("%w: %s has no file %s; it has %s", ErrUsage, a.ID, name, strings.Join(names, ", "))
	}
	if binary(f.Data) {
		return fmt.Errorf("%w: %s is no text", ErrUsage, f.Path)
	}
	d.Path, d.Data = f.Path, bytes.Clone(f.Data)
	if name != key {
		d.Name = name
	}
	return nil
}

// untouched makes sure that the asset's files lie in the work tree as they are
// committed, so that nobody edits for nothing.
func (v *Vault) untouched(one *single) error {
	if v.Dir == "" {
		return nil
	}
	files, _, err := v.workFiles(func(string) int64 { return 0 }, only(one.places...))
	if err != nil {
		return err
	}
	lying := map[string]string{}
	for _, f := range files {
		lying[f.Path] = f.Object
	}
	for _, f := range one.files {
		if lying[f.Path] != f.Object {
			return fmt.Errorf("%w: %s differs from what is committed; commit it or put it back (git checkout -- %s), then edit", ErrConflict, f.Path, v.inGit(f.Path))
		}
	}
	return nil
}

// Edit commits a draft with a new text and its receipt. An approved asset goes
// back to candidate unless c asks for another state. A text without a change writes
// nothing and gives nil. It gives the problems of the new text, and the errors of
// Govern. Of c only Status, Reason and DryRun count.
func (d *Draft) Edit(ctx context.Context, text []byte, c Change) (*Written, error) {
	if bytes.Equal(text, d.Data) {
		return nil, nil
	}
	status, err := c.state()
	if err != nil {
		return nil, err
	}
	s, before := d.session, d.one.asset
	e := &edited{files: slices.Clone(d.one.files), before: before, config: d.one.config(), unsigned: d.one.unsigned(), written: map[string][]byte{}}
	e.set(d.Path, text)
	if err := e.parse(before.Path); err != nil {
		return nil, err
	}
	said, err := d.said(e.after, status)
	if err != nil {
		return nil, err
	}
	if last := d.chain.Last(); last != nil && last.Digest == e.after.Digest && before.Digest == e.after.Digest && said == "" {
		return nil, fmt.Errorf("%s: %w: comments and layout are not governed; change them in %s and commit that: git add %s && git commit", d.ID, governance.ErrTransition, s.v.inRepo(d.Path), s.v.inGit(d.Path))
	}
	s.now = s.v.clock()
	return s.settle(ctx, e, d.chain, wanted{verb: "Edit", status: said, change: c})
}

// said is the state that the text or the call asks for. Version and approval
// are not for the text to say.
func (d *Draft) said(after *vault.Asset, status vault.Status) (vault.Status, error) {
	before := d.one.asset
	problem := func(key, message, mend string) error {
		line, column := after.Place(key)
		return vault.Problem{Severity: vault.Error, Path: after.KeyFile(), Line: max(line, 1), Column: max(column, 1), Field: key, Message: message, Mend: mend}
	}
	switch {
	case after.Version != before.Version:
		return "", problem("version", fmt.Sprintf("lm sets the version; it was %d", before.Version), fmt.Sprintf("write %d", before.Version))
	case status != "" || after.Status == before.Status:
		return status, nil
	case after.Status == vault.StatusApproved:
		return "", problem("status", "a text cannot approve itself", fmt.Sprintf("write %s, and approve with --status approved", before.Status))
	}
	return after.Status, nil
}
