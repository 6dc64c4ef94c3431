package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/index"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// Finding is one thing that is wrong around a vault, with what mends it.
type Finding struct {
	// Check is one of lock, journal, index, trusted_ref, vault, identity,
	// conflict, receipts, invalid, unreceipted and binding.
	Check    string         `json:"check"`
	Severity vault.Severity `json:"severity"`
	Subject  string         `json:"subject"` // a file relative to the repository's root, an asset, a ref
	Message  string         `json:"message"`
	// Mend are commands in the order in which they are to be run; what only a
	// person can do is a line that begins with #.
	Mend []string `json:"mend"`
}

// Diagnosis is the answer of Doctor.
type Diagnosis struct {
	Findings []Finding `json:"findings"`
	Fixed    []string  `json:"fixed"` // what was mended
}

// Errors counts the findings that stop work.
func (d *Diagnosis) Errors() int {
	n := 0
	for _, f := range d.Findings {
		if f.Severity == vault.Error {
			n++
		}
	}
	return n
}

// doctor is one examination.
type doctor struct {
	*Vault
	Diagnosis
}

func (d *doctor) find(severity vault.Severity, check, subject, message string, mend ...string) {
	d.Findings = append(d.Findings, Finding{check, severity, subject, message, mend})
}

// Doctor looks for what can be wrong around a vault: locks and journals of
// killed processes, a damaged index, a trusted ref that is not there, merges
// that stopped at receipts, broken chains, what waits and what nobody gets. With
// fix it finishes or undoes an interrupted write and builds a damaged index
// anew; nothing else is changed.
func (v *Vault) Doctor(ctx context.Context, fix bool) (*Diagnosis, error) {
	d := &doctor{Vault: v, Diagnosis: Diagnosis{Findings: []Finding{}, Fixed: []string{}}}
	if v.Repo == nil {
		d.find(vault.Warning, "vault", v.Dir, "this folder is no Git repository: nothing has a history, and nothing can be governed", "git init", "git add -A", "git commit -m 'Start'")
		return &d.Diagnosis, nil
	}
	if err := d.writes(ctx, fix); err != nil {
		return nil, err
	}
	merging, err := d.conflicts()
	if err != nil {
		return nil, err
	}
	if !d.reads() {
		return &d.Diagnosis, nil
	}
	if err := d.index(ctx, fix); err != nil {
		return nil, err
	}
	return &d.Diagnosis, d.assets(ctx, merging)
}

// writes looks for what killed writers left.
func (d *doctor) writes(ctx context.Context, fix bool) error {
	switch interrupted, unreadable := d.Repo.Interrupted(); {
	case unreadable != nil:
		d.find(vault.Error, "journal", d.shown(d.Repo.Journal()), "a write of lm was interrupted, and what it left cannot be read, so nothing can be written: "+unreadable.Error(),
			"git status", "git fsck", "# if they find nothing wrong:", "rm "+vault.Quote(d.Repo.Journal()))
	case interrupted && !fix:
		d.find(vault.Error, "journal", "", "a write of lm was interrupted; the next write finishes or undoes it", "lm doctor --fix")
	case interrupted:
		done, err := d.Repo.Recover(ctx)
		if err != nil {
			return err
		}
		if done {
			d.Fixed = append(d.Fixed, "an interrupted write was finished or undone")
		}
	}
	locks, err := d.Repo.Leftovers()
	for _, path := range locks {
		d.find(vault.Error, "lock", d.shown(path), "Git's lock is held, so nothing can be written; if no Git command is running, a killed one left it", "rm "+vault.Quote(path))
	}
	return err
}

// shown is a path as a person in the vault's folder writes it.
func (d *doctor) shown(path string) string {
	for _, root := range []string{d.Dir, d.Repo.Root()} {
		if rel, err := filepath.Rel(root, path); root != "" && err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return path
}

// reads says whether the vault can be read at HEAD and at what is trusted.
func (d *doctor) reads() bool {
	head, err := d.commit("HEAD")
	if err != nil && len(vault.Problems(err)) == 0 {
		d.find(vault.Error, "vault", "HEAD", err.Error(), "# commit the vault: git add "+d.inGit("")+" && git commit")
		return false
	}
	var config *vault.Config
	if err == nil {
		config, err = (&session{v: d.Vault, head: head}).config()
	}
	if err != nil {
		d.find(vault.Error, "vault", vault.ConfigFile, "it cannot be read, so nothing can be judged: "+err.Error(), "lm validate", "# mend vault.yaml and commit it")
		return false
	}
	if data, err := os.ReadFile(filepath.Join(d.Dir, vault.ConfigFile)); d.Dir != "" && err == nil {
		if _, err := vault.ParseConfig(data); err != nil {
			d.find(vault.Warning, "vault", vault.ConfigFile, "as it lies it cannot be read; HEAD's is used: "+err.Error(), "lm validate")
		}
	}
	if _, err := d.trusted(Revision{}); err != nil {
		mend := []string{"git fetch --all"}
		if ref, ok, _ := d.Repo.Config("lm.trustedRef"); ok {
			mend = append(mend, "# or trust another: git config lm.trustedRef <ref>; it is "+ref)
		} else {
			mend = append(mend, "# or name one that is there: policy.trusted_ref in vault.yaml")
		}
		d.find(vault.Error, "trusted_ref", cmp.Or(config.Policy.TrustedRef, "lm.trustedRef"), "what agents read cannot be reached, so they get nothing: "+err.Error(), mend...)
	}
	writer, err := d.actor(config)
	switch {
	case errors.Is(err, ErrUsage):
		d.find(vault.Warning, "identity", "", "you can change nothing: "+strings.TrimPrefix(err.Error(), "usage: "))
	case err == nil && !writer.Listed && writer.Subject.Kind() == vault.KindUser:
		d.find(vault.Warning, "identity", string(writer.Subject), fmt.Sprintf("your Git email %s is none of the people in vault.yaml, so you can change nothing", writer.email),
			"git config user.email <an email that vault.yaml lists>")
	case err == nil && config.Policy.Signatures == vault.SignaturesRequired:
		if _, done, err := d.signer(""); err != nil {
			d.find(vault.Warning, "identity", string(writer.Subject), "this vault requires signed receipts, and you can sign none: "+err.Error(), "git config user.signingkey <public key file>")
		} else {
			done()
		}
	}
	return true
}

// index looks at the index of what is trusted. One that is missing, stale or of
// an old format heals by itself.
func (d *doctor) index(ctx context.Context, fix bool) error {
	at, err := d.Index(Revision{})
	if err != nil || at.Status != string(index.Damaged) {
		return nil // what is trusted cannot be read: said already
	}
	if !fix {
		d.find(vault.Warning, "index", string(at.Key), "the index is damaged, and is built anew when it is used next: "+at.Detail, "lm index build")
		return nil
	}
	if _, err := d.BuildIndex(ctx, Revision{}); err != nil {
		return err
	}
	d.Fixed = append(d.Fixed, "a damaged index was built anew")
	return nil
}

// assets looks for what keeps assets at HEAD from agents.
func (d *doctor) assets(ctx context.Context, merging bool) error {
	head, err := d.commit("HEAD")
	if err != nil {
		return err
	}
	x, err := d.open(ctx, head)
	if err != nil {
		return err
	}
	defer x.Close()
	who, err := d.who(x.config, Subject{})
	if err != nil {
		return err
	}
	broken, err := d.chains(head, x, who)
	if err != nil {
		return err
	}
	var invalid, waiting, byHand []string
	for i := range x.Facts() {
		f := &x.Facts()[i]
		switch {
		case f.Invalid:
			invalid = append(invalid, f.Path)
		case !governance.Allowed(f, who, vault.PermissionRead):
		case f.Status == vault.StatusApproved && !f.Receipted && !broken[f.ID]:
			waiting = append(waiting, string(f.ID))
		case f.Status != vault.StatusApproved && f.Status != vault.StatusDraft && f.Status != vault.StatusCandidate && !f.Receipted && !broken[f.ID]:
			byHand = append(byHand, string(f.ID))
		}
		d.bindings(x.config, f, who)
	}
	if len(invalid) > 0 {
		d.find(vault.Error, "invalid", few(invalid), fmt.Sprintf("not valid, so nobody gets it: %s in all", number(len(invalid), "file")), "lm validate")
	}
	if len(byHand) > 0 {
		d.find(vault.Warning, "unreceipted", few(byHand), fmt.Sprintf("in a state that no receipt gave: %s in all", number(len(byHand), "asset")), "lm validate", "# it says for each what to run")
	}
	if err := d.gone(head, x, who); err != nil {
		return err
	}
	d.bytes(x, who)
	if len(waiting) > 0 && !merging {
		command := "lm asset govern --changed --status approved"
		if x.config.Policy.RequireReason {
			command += ` --reason "…"`
		}
		d.find(vault.Warning, "unreceipted", few(waiting), fmt.Sprintf("approved without a receipt for the content: %s in all", number(len(waiting), "asset")),
			command+" --dry-run", command)
	}
	return nil
}

// gone looks for assets that were deleted and not archived. One that the person
// might not read is not named.
func (d *doctor) gone(head loaded, x *opened, who governance.Who) error {
	files, err := d.Repo.List(head.Commit, d.Prefix, only("receipts/asset"))
	if err != nil {
		return err
	}
	folders := []string{vault.ConfigFile}
	for _, f := range files {
		folder := path.Dir(f.Path)
		if _, there := placeOf(x.Index, vault.ID(path.Base(folder))); !there && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	if files, err = d.filesAt(head.Commit, only(folders...)); err != nil {
		return err
	}
	s, err := vault.Read(files, nil)
	if err != nil {
		return err
	}
	for _, subject := range slices.Sorted(maps.Keys(s.Receipts)) {
		id := vault.ID(strings.TrimPrefix(subject, "asset/"))
		if s.Receipts[subject].Last().To == vault.StatusArchived {
			continue
		}
		p, err := d.past(head.Commit, id)
		if err != nil {
			return err
		}
		was, err := p.find(func(*vault.Asset) bool { return true })
		if err != nil {
			return err
		}
		if was == nil || !governance.Allowed(&was.asset.Facts, who, vault.PermissionRead) {
			continue
		}
		file := d.inGit(was.asset.Path)
		d.find(vault.Error, "receipts", string(id), "it was deleted, and its receipts do not say that it was archived",
			fmt.Sprintf("git checkout %.12s -- %s", was.Commit, file), fmt.Sprintf("git commit -m 'Bring %s back'", id),
			x.config.GovernCommand(id, vault.StatusArchived), "git rm -rq "+file, fmt.Sprintf("git commit -m 'Delete %s'", id))
	}
	return nil
}

// bytes looks for edited assets whose approved version this clone cannot serve.
func (d *doctor) bytes(x *opened, who governance.Who) {
	var lost []string
	for i := range x.Facts() {
		if f := &x.Facts()[i]; x.lost[f.ID] != "" && governance.Allowed(f, who, vault.PermissionRead) {
			lost = append(lost, string(f.ID))
		}
	}
	mend := "# approve it as it is now, or revert the edit"
	if shallow, _ := d.Repo.Shallow(); shallow {
		mend = "git fetch --unshallow"
	} else if fetch := d.Repo.FetchAll(); fetch != "" {
		mend = fetch
	}
	if len(lost) > 0 {
		d.find(vault.Warning, "bytes", few(lost), "edited since its approval, and this clone does not have what was approved, so agents get nothing: "+number(len(lost), "asset")+" in all", mend)
	}
}

// bindings looks for bindings of an approved asset that reach nobody.
func (d *doctor) bindings(config *vault.Config, f *vault.Facts, who governance.Who) {
	if f.Invalid || !f.Approved() || !governance.Allowed(f, who, vault.PermissionRead) {
		return
	}
	for i, target := range governance.Blind(config, f) {
		b := f.Bindings[i]
		_, listed := config.Agents[b.Target.ID()]
		switch {
		case target != "":
			d.find(vault.Warning, "binding", string(f.ID), fmt.Sprintf("it is bound to %s, who may not use it; a binding overrides no deny and no visibility", target),
				fmt.Sprintf("lm asset explain %s --%s %s", f.ID, b.Target.Kind(), vault.Quote(b.Target.ID())), fmt.Sprintf("# then allow it: lm asset govern %s --visibility …, or in its acl", f.ID))
		case b.Enabled && b.Target.Kind() == vault.KindAgent && len(config.Agents) > 0 && !listed:
			d.find(vault.Warning, "binding", string(f.ID), fmt.Sprintf("it is bound to %s, and vault.yaml lists no such agent", b.Target),
				fmt.Sprintf("# add %s to agents in vault.yaml, or bind it to another: lm asset govern %s --agents …", b.Target.ID(), f.ID))
		}
	}
}

// few names the first of many.
func few(names []string) string {
	if len(names) > 5 {
		return strings.Join(names[:5], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

func number(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// chains looks for broken chains of receipts at HEAD, and for the commit at
// which each held last. It gives the assets that have one.
func (d *doctor) chains(head loaded, x *opened, who governance.Who) (map[vault.ID]bool, error) {
	broken := map[vault.ID]bool{}
	for _, p := range readable(x.Problems(), x.Facts(), who) {
		parts := strings.Split(p.Path, "/")
		if p.Severity != vault.Error || len(parts) != 4 || parts[0] != "receipts" || parts[1] != "asset" || broken[vault.ID(parts[2])] {
			continue
		}
		id := vault.ID(parts[2])
		broken[id] = true
		folder := d.inGit(strings.Join(parts[:3], "/"))
		good, last, err := d.heldAt(head, id)
		if err != nil {
			return nil, err
		}
		mend := []string{"git log -- " + folder, "# take the receipts of the last commit at which they held, and govern again"}
		if good != "" {
			mend = []string{"git rm -rqf " + folder, fmt.Sprintf("git checkout %.12s -- %s", good, folder),
				"git commit -m 'Restore the receipts of " + string(id) + "'"}
			one, err := d.one(head, id)
			if err == nil && one.asset != nil && one.asset.Status == vault.StatusApproved && (last.To != vault.StatusApproved || last.Digest != one.asset.Digest) {
				mend = append(mend, x.config.GovernCommand(id, vault.StatusApproved))
			}
		}
		d.find(vault.Error, "receipts", string(id), p.Message+" ("+d.inRepo(p.Path)+")", mend...)
	}
	return broken, nil
}

// heldAt is the newest commit of the history at which an asset's chain held in
// the vault's folder of now, and its last receipt then; "" if there is none.
func (d *doctor) heldAt(head loaded, id vault.ID) (gitstore.Hash, *vault.Receipt, error) {
	folder := "receipts/asset/" + string(id)
	log, err := d.Repo.Log(head.Commit, gitstore.Finder{
		Folder: d.folderAt, Below: []string{folder},
		Pick: func(_ string, names []string) ([]string, bool) { return names, false },
	})
	if err != nil {
		return "", nil, err
	}
	for _, l := range log {
		if l.Folder != d.Prefix {
			continue
		}
		files, err := d.filesAt(l.Commit, only(vault.ConfigFile, folder))
		if err != nil {
			continue
		}
		s, err := vault.Read(files, nil)
		if err != nil {
			continue
		}
		if chain := s.Chain(id); len(chain) > 0 && chain.Check(s.Config.Project, "asset/"+string(id)) == nil {
			return l.Commit, chain.Last(), nil
		}
	}
	return "", nil, nil
}

// conflicts explains a merge, rebase or cherry-pick that stopped at receipts,
// and says whether one is under way.
func (d *doctor) conflicts() (bool, error) {
	u, err := d.Repo.Unmerged()
	if err != nil || u == nil {
		return false, err
	}
	side, why := d.side(u)
	ids := map[vault.ID]bool{}
	var rest []string
	for _, p := range u.Paths {
		inVault, ok := strings.CutPrefix(p, d.inRepo("receipts/asset/"))
		if !ok {
			rest = append(rest, p)
			continue
		}
		id, _, _ := strings.Cut(inVault, "/")
		ids[vault.ID(id)] = true
	}
	sorted := make([]vault.ID, 0, len(ids))
	for id := range ids {
		sorted = append(sorted, id)
	}
	slices.Sort(sorted)
	config := vault.DefaultConfig()
	if head, err := d.commit("HEAD"); err == nil {
		if own, err := (&session{v: d.Vault, head: head}).config(); err == nil {
			config = own
		}
	}
	for _, id := range sorted {
		folder := d.inGit("receipts/asset/" + string(id))
		mend := []string{"git rm -rqf " + folder, "git checkout " + side + " -- " + folder}
		for _, p := range rest {
			if slices.Contains(strings.FieldsFunc(strings.TrimSuffix(strings.TrimSuffix(p, ".md"), ".yaml"), func(r rune) bool { return r == '/' }), string(id)) {
				mend = append(mend, "# make "+p+" what agents are to get, then: git add "+gitstore.Pathspec(p))
			}
		}
		mend = append(mend, goOn(u.Operation), "# if lm doctor then says unreceipted, for the text is another than was approved: "+config.GovernCommand(id, vault.StatusApproved))
		d.find(vault.Error, "conflict", string(id), "both sides governed it; receipts are never joined or renumbered: "+why+", and a text that they do not name is governed again", mend...)
	}
	if len(sorted) == 0 {
		d.find(vault.Warning, "conflict", few(rest), "a "+cmp.Or(u.Operation, "merge")+" is not finished", "git status")
	}
	return true, nil
}

// goOn is the command that ends an operation after its conflicts are settled.
func goOn(operation string) string {
	if operation == gitstore.Rebase || operation == gitstore.CherryPick || operation == gitstore.Revert {
		return "git -c core.editor=true " + operation + " --continue"
	}
	return "git commit --no-edit"
}

// published are the refs that others read: what is trusted, and the default
// branches of the remotes.
func (d *doctor) published() []string {
	var out []string
	if trusted, err := d.trusted(Revision{}); err == nil && trusted.Ref != "HEAD" {
		out = append(out, trusted.Ref)
	}
	for _, remote := range d.Repo.Remotes() {
		out = append(out, d.defaultOf(remote))
	}
	return out
}

// side is the side whose receipts stay: what is published, or else what is
// merged in; where commits are replayed, what they are replayed on.
func (d *doctor) side(u *gitstore.Unmerged) (ref, why string) {
	if u.Operation != gitstore.Merge {
		return "HEAD", "those that HEAD has stay"
	}
	head, err := d.resolve("HEAD")
	for _, ref := range d.published() {
		commit, missing := d.Repo.Resolve(ref)
		if err != nil || missing != nil {
			continue
		}
		if ok, err := d.Repo.Reaches(commit, head); err == nil && ok {
			return "HEAD", "those of HEAD are published at " + strings.TrimPrefix(ref, "refs/remotes/") + " and stay"
		}
	}
	return u.Name, "those of the merged side stay"
}
