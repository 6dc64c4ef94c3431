package workspace

import (
	"context"
	"fmt"
	"path"
	"slices"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
)

// Revert makes the content of an old version a new version, with a receipt, in
// one commit: keys and content files are as they were, where the asset lies now;
// files that came since are removed. It goes back to candidate (a draft stays
// one) unless the change asks for another state. Receipts and names that begin
// with a dot are not touched. Of c only Status, Reason, ExpectVersion and DryRun
// count. Errors are those of Govern.
func (v *Vault) Revert(ctx context.Context, id vault.ID, version int, c Change) (*Written, error) {
	status, err := c.state()
	if err != nil {
		return nil, err
	}
	s, err := v.session()
	if err != nil {
		return nil, err
	}
	one, chain, err := s.open(id, c.ExpectVersion)
	if err != nil {
		return nil, err
	}
	p, err := v.past(s.head.Commit, id)
	if err != nil {
		return nil, err
	}
	old, err := p.standing(one, version, s.writer.Who)
	if err != nil {
		return nil, err
	}
	if old.asset.Digest == one.asset.Digest {
		return nil, fmt.Errorf("%w: %s has the content of version %d already; lm asset history %[2]s lists the others", governance.ErrTransition, id, version)
	}
	if last := chain.Last(); last != nil && last.Digest == old.asset.Digest && last.To == one.asset.Status {
		return nil, fmt.Errorf("%w: receipt %04d says %s of that very content, so it needs no new one; put the files back as they were (git log -- %s) and commit them",
			governance.ErrTransition, last.Seq, last.To, v.inGit(old.asset.Path))
	}
	e := &edited{files: slices.Clone(one.files), before: one.asset, config: one.config(), unsigned: one.unsigned(), written: map[string][]byte{}}
	executable, err := e.revert(one, old.single)
	if err != nil {
		return nil, err
	}
	authors, err := s.writers(one.config(), old, chain)
	if err != nil {
		return nil, err
	}
	if status == "" && governance.State(one.asset.Status, one.asset.Digest, chain) != vault.StatusDraft {
		status = vault.StatusCandidate
	}
	if c.Reason == "" && !e.config.Policy.RequireReason {
		c.Reason = fmt.Sprintf("back to the content of version %d", version)
	}
	return s.settle(ctx, e, chain, wanted{verb: "Revert", status: status, change: c, authors: authors, executable: executable})
}

// state is the state that a change asks for, "" if none.
func (c *Change) state() (vault.Status, error) {
	if c.Status == nil {
		return "", nil
	}
	if !slices.Contains(vault.Statuses, vault.Status(*c.Status)) {
		return "", fmt.Errorf("%w: there is no status %q; the states are %v", ErrUsage, *c.Status, vault.Statuses)
	}
	return vault.Status(*c.Status), nil
}

// writers are those who wrote an old version, as far as its receipts or else its
// commit tell: they answer for its text when it comes back.
func (s *session) writers(config *vault.Config, old *sight, chain vault.Chain) ([]string, error) {
	var out []string
	for _, r := range chain {
		if r.Digest == old.asset.Digest {
			out = append(out, r.Authors...)
		}
	}
	if len(out) > 0 || old.Commit == "" {
		return out, nil
	}
	emails, err := s.v.Repo.CommitAuthors(old.Commit)
	for _, email := range emails {
		out = append(out, author(config, email))
	}
	return out, err
}

// revert puts the files of an old version in place of those that there are, and
// tells which files among them are programs.
func (e *edited) revert(now, old *single) (executable []string, err error) {
	at := path.Join(path.Dir(now.asset.Path), path.Base(old.asset.Path))
	was := old.content()
	for name, f := range now.content() {
		to := path.Join(at, name)
		if _, stays := was[name]; stays && to == f.Path {
			continue
		}
		e.written[f.Path] = nil
		e.files = slices.DeleteFunc(slices.Clone(e.files), func(o vault.File) bool { return o.Path == f.Path })
	}
	if at != now.asset.Path { // a folder became a file since, or the other way round
		for _, f := range e.files {
			return nil, fmt.Errorf("%w: %s is in the way of bringing back %s; move it away and commit that first", ErrConflict, f.Path, at)
		}
	}
	for name, f := range was {
		to := path.Join(at, name)
		if have := e.file(to); have != nil && have.Object == f.Object {
			continue
		}
		e.set(to, f.Data)
		if f.Kind == vault.FileExecutable && e.file(to).Kind == vault.FileRegular && now.fileAt(to) == nil {
			e.file(to).Kind = vault.FileExecutable
			executable = append(executable, to)
		}
	}
	return executable, e.parse(at)
}

// parse reads the asset as its files are now. A bare skill is adopted.
func (e *edited) parse(at string) (err error) {
	if e.after, err = vault.ParseAsset(at, e.files, e.config); err != nil {
		return err
	}
	if e.after.Layout == vault.LayoutBareSkill {
		e.set(e.after.KeyFile(), adopted(e.after))
		e.after, err = vault.ParseAsset(at, e.files, e.config)
	}
	return err
}

func (s *single) fileAt(p string) *vault.File {
	for i := range s.files {
		if s.files[i].Path == p {
			return &s.files[i]
		}
	}
	return nil
}
