package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// Written is what a write did, or with DryRun would do.
type Written struct {
	ID      vault.ID      `json:"id"`
	Type    vault.Type    `json:"type"`
	Name    string        `json:"name"`
	Version int           `json:"version"`
	From    vault.Status  `json:"from"`
	Status  vault.Status  `json:"status"`
	Digest  vault.Digest  `json:"digest"`
	Path    string        `json:"path"`    // of the file with the keys, relative to the vault
	Changed []string      `json:"changed"` // the governed keys that are other than before
	Receipt string        `json:"receipt"` // its path, relative to the vault
	Hash    vault.Digest  `json:"receipt_hash"`
	Actor   vault.Subject `json:"actor"`
	Commit  gitstore.Hash `json:"commit"` // "" with DryRun
	DryRun  bool          `json:"dry_run"`
	// Hooks are the commit hooks of the repository, which lm does not run.
	Hooks []string `json:"hooks_not_run"`

	// Reads is what loadouts read, if that is not the branch that was written.
	Reads string `json:"reads"`

	// Detached: HEAD is on no branch, so no branch has the commit.
	Detached bool `json:"-"`
	// Content is the key file as written, Approve the command that approves it.
	Content []byte `json:"-"`
	Approve string `json:"-"`
}

// session is one write: what it reads, who acts, when.
type session struct {
	v      *Vault
	head   loaded
	writer writer
	now    time.Time
}

func (v *Vault) session() (*session, error) {
	if v.Repo == nil {
		return nil, fmt.Errorf("%w: %s is no Git repository, and every write is a commit; run: git init && git add -A && git commit", gitstore.ErrNoRepository, v.Dir)
	}
	head, err := v.commit("HEAD")
	if err != nil {
		return nil, err
	}
	return &session{v: v, head: head, now: v.clock()}, nil
}

// acts begins a write at HEAD, with its rules and whoever acts by them.
func (v *Vault) acts() (*session, *vault.Config, error) {
	s, err := v.session()
	if err != nil {
		return nil, nil, err
	}
	config, err := s.config()
	if err != nil {
		return nil, nil, err
	}
	s.writer, err = v.actor(config)
	return s, config, err
}

// clock is the time in UTC, in whole seconds as files have it.
func (v *Vault) clock() time.Time { return v.env.Now().UTC().Truncate(time.Second) }

// folders are where new assets go (design.md §4).
var folders = map[vault.Type]string{
	vault.TypeSkill: "skills", vault.TypeWiki: "wikis", vault.TypeChatMemory: "chats", vault.TypeCodeGraph: "graphs",
}

// Register adds an asset in a file of its own, with its first receipt, in one
// commit. id "" makes one of the name. It wraps ErrConflict if the id is
// taken, governance.ErrDenied and ErrTransition, or gives problems of the new
// file.
func (v *Vault) Register(ctx context.Context, id vault.ID, c Change) (*Written, error) {
	s, config, err := v.acts()
	if err != nil {
		return nil, err
	}
	keys, err := s.newKeys(config, id, c)
	if err != nil {
		return nil, err
	}
	id, kind := vault.ID(keys["id"].(string)), vault.Type(fmt.Sprint(keys["type"]))
	if err := s.free(id); err != nil {
		return nil, err
	}
	folder, ok := folders[kind]
	if !ok {
		return nil, fmt.Errorf("%w: there is no asset type %q; the types are %v", ErrUsage, kind, vault.Types)
	}
	at := "assets/" + folder + "/" + string(id) + ".yaml"
	if c.Body != nil {
		at = strings.TrimSuffix(at, ".yaml") + ".md"
	}
	data := vault.NewAssetFile(keys, c.Body)
	asset, err := vault.ParseAsset(at, []vault.File{{Path: at, Data: data, Size: int64(len(data))}}, config)
	if err != nil {
		return nil, err
	}
	given := func(key string) bool { list, _ := asset.Payload[key].([]string); return len(list) > 0 }
	born := given("triggers") && given("validation") && strings.TrimSpace(asset.Body()) != ""
	if err := governance.MayRegister(config, &asset.Facts, s.writer.Actor, born, c.Reason); err != nil {
		return nil, err
	}
	act := act{kind: vault.ReceiptRegistered, verb: "Register", before: nil, after: asset, reason: c.Reason, dryRun: c.DryRun,
		files: map[string][]byte{at: data}, object: gitstore.BlobID(data), content: data}
	return s.write(ctx, config, act)
}

// newKeys are the keys of a new asset: what the change says, the vault's
// defaults written out, and who registers as the owner of last resort.
func (s *session) newKeys(config *vault.Config, id vault.ID, c Change) (map[string]any, error) {
	keys, err := c.patch(nil)
	if err != nil {
		return nil, err
	}
	for key, value := range keys {
		if value == nil {
			delete(keys, key)
		}
	}
	for key, only := range map[string]string{"schema": vault.AssetSchema, "version": "1"} {
		if value, given := keys[key]; given && fmt.Sprint(value) != only {
			return nil, fmt.Errorf("%w: %s of a new asset is %s, not %v", ErrUsage, key, only, value)
		}
	}
	for _, key := range []string{"type", "name"} {
		if value, ok := keys[key].(string); !ok || strings.TrimSpace(value) == "" {
			return nil, fmt.Errorf("%w: a new asset needs --%s", ErrUsage, key)
		}
	}
	if given, ok := keys["id"].(string); ok && id == "" {
		id = vault.ID(given)
	}
	if name, _ := keys["name"].(string); id == "" {
		if id = idOf(name); id == "" {
			return nil, fmt.Errorf("%w: the name %q gives no id; name one with --id", ErrUsage, name)
		}
	}
	if err := vault.CheckID(string(id)); err != nil {
		return nil, fmt.Errorf("%w: %w; name another with --id", ErrUsage, err)
	}
	for key, value := range map[string]any{
		"owner": cmp.Or(string(config.Defaults.Owner), "user:"+s.writer.User), "status": string(vault.StatusCandidate),
		"visibility": string(config.Defaults.Visibility),
	} {
		if _, given := keys[key]; !given {
			keys[key] = value
		}
	}
	keys["schema"], keys["id"], keys["version"] = vault.AssetSchema, string(id), 1
	return keys, nil
}

// free makes sure that nothing committed has the id, nor a chain of receipts
// of an asset that was there before.
func (s *session) free(id vault.ID) error {
	places, err := s.v.places(&s.head, id)
	if err != nil {
		return err
	}
	if len(places) > 0 {
		return fmt.Errorf("%w: the id %s is taken; name another with --id, or change that asset with lm asset govern", ErrConflict, id)
	}
	left, err := s.v.Repo.List(s.head.Commit, s.v.Prefix, only("receipts/asset/"+string(id)))
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%w: an asset %s was here before and %s tells of it; name another id with --id", ErrConflict, id, left[0].Path)
	}
	return nil
}

func (s *session) config() (*vault.Config, error) {
	file, err := s.v.Repo.File(s.head.Commit, s.v.inRepo(vault.ConfigFile), maxConfig)
	if err != nil {
		return nil, err
	}
	return vault.ReadConfig(file)
}

// Govern changes an asset's keys, body or state, with a receipt, in one
// commit. Without a status an approved asset whose content changes goes back
// to candidate: approval is always said, never kept.
func (v *Vault) Govern(ctx context.Context, id vault.ID, c Change) (*Written, error) {
	s, err := v.session()
	if err != nil {
		return nil, err
	}
	one, chain, err := s.open(id, c.ExpectVersion)
	if err != nil {
		return nil, err
	}
	e := &edited{files: one.files, before: one.asset, config: one.config(), unsigned: one.unsigned()}
	asked, err := e.apply(c)
	if err != nil {
		return nil, err
	}
	return s.settle(ctx, e, chain, wanted{verb: "Govern", status: asked, change: c})
}

// authors says who wrote the version at hand (format.md §4): authors and
// co-authors of the commits since the last receipt, the actor if the call
// changes content, and whom the last receipt names unless it approved: then
// nobody has answered for what they wrote yet.
func (s *session) authors(config *vault.Config, a *vault.Asset, last *vault.Receipt, changes bool) ([]string, error) {
	emails, complete, err := s.emails(a, last)
	if err != nil {
		return nil, err
	}
	if !complete && config.Policy.DistinctApprover {
		return nil, fmt.Errorf("%w: this clone is shallow and does not show who wrote %s, and this vault asks for an approver who is no author; run: git fetch --unshallow", governance.ErrDenied, a.ID)
	}
	var out []string
	for _, email := range emails {
		switch id := config.PersonWithEmail(email); {
		case id != "":
			out = append(out, "user:"+id)
		case s.writer.person != "" && strings.EqualFold(email, s.writer.email):
			out = append(out, string(s.writer.person))
		default:
			out = append(out, email)
		}
	}
	if changes {
		out = append(out, s.writer.authors()...)
	}
	if last != nil && (last.To != vault.StatusApproved || last.Digest == a.Digest) {
		out = append(out, last.Authors...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// authors are who wrote what the writer writes: the actor, and the person for
// whom an agent acts.
func (w *writer) authors() []string {
	out := []string{string(w.Subject), string(w.person)}
	slices.Sort(out)
	return slices.Compact(out)
}

// emails are those of who changed the asset since its last receipt. The commit
// that added the receipt counts too if the asset has another content there: a
// squash or a rebase joined the act with edits that it did not see. An asset
// that was moved since is followed by its id.
func (s *session) emails(a *vault.Asset, last *vault.Receipt) ([]string, bool, error) {
	repo, stop := s.v.Repo, ""
	if last != nil {
		stop = s.v.inRepo(vault.ReceiptPath(last.Subject, last.Seq))
	}
	found, err := repo.Authors(s.head.Commit, s.v.inRepo(a.Path), stop)
	if err != nil {
		return nil, false, err
	}
	emails, complete := found.Emails, found.Complete
	for _, commit := range found.Stops {
		at := loaded{Snapshot: Snapshot{Commit: commit}}
		places, err := s.v.places(&at, a.ID)
		if err != nil {
			return nil, false, err
		}
		for _, place := range places {
			if place != a.Path {
				before, err := repo.Authors(s.head.Commit, s.v.inRepo(place), stop)
				if err != nil {
					return nil, false, err
				}
				emails, complete = append(emails, before.Emails...), complete && before.Complete
			}
		}
		if one, err := s.v.one(at, a.ID); err == nil && one.asset != nil && one.asset.Digest == last.Digest {
			continue
		}
		joined, err := repo.CommitAuthors(commit)
		if err != nil {
			return nil, false, err
		}
		emails = append(emails, joined...)
	}
	return emails, complete, nil
}

// act is a governance act that is settled and only has to be written.
type act struct {
	kind, verb    string
	before, after *vault.Asset
	from          vault.Status
	last          *vault.Receipt
	authors       []string
	reason        string
	dryRun        bool
	files         map[string][]byte // relative to the vault; nil: removed
	object        gitstore.Hash
	content       []byte
	changed       []string
	executable    []string // files, relative to the vault, that get the executable bit if they are new
}

// write commits an act with its receipt.
func (s *session) write(ctx context.Context, config *vault.Config, a act) (*Written, error) {
	out, err := s.writeAll(ctx, config, []act{a})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// writeAll commits acts on different assets with their receipts, all in one
// commit; the dry run of one is that of all.
func (s *session) writeAll(ctx context.Context, config *vault.Config, acts []act) ([]*Written, error) {
	change := gitstore.Change{
		Expect: s.head.Commit, Files: map[string][]byte{}, Name: s.writer.name, Email: s.writer.email, When: s.now,
		Reads: []string{s.v.inRepo(vault.ConfigFile)},
	}
	var out []*Written
	var receipts []*vault.Receipt
	for _, a := range acts {
		r, receipt, err := s.receipt(config, a)
		if err != nil {
			return nil, err
		}
		receipts = append(receipts, r)
		out = append(out, &Written{
			ID: a.after.ID, Type: a.after.Type, Name: a.after.Name, Version: a.after.Version, From: a.from, Status: a.after.Status,
			Digest: a.after.Digest, Path: a.after.KeyFile(), Changed: notNil(a.changed), Receipt: receipt.Path, Hash: r.Hash(),
			Actor: s.writer.Subject, DryRun: a.dryRun, Hooks: notNil(s.v.Repo.Hooks()), Content: a.content,
			Approve: config.GovernCommand(a.after.ID, vault.StatusApproved),
		})
		change.Files[s.v.inRepo(receipt.Path)] = receipt.Data
		for p, data := range a.files {
			change.Files[s.v.inRepo(p)] = data
		}
		for _, p := range a.executable {
			change.Executable = append(change.Executable, s.v.inRepo(p))
		}
		change.Reads = append(change.Reads, s.v.inRepo(a.after.Path), s.v.inRepo(path.Dir(receipt.Path)))
	}
	if acts[0].dryRun {
		return out, nil
	}
	change.Message = message(acts, receipts)
	commit, err := s.v.Repo.Commit(ctx, change)
	if err != nil {
		return nil, err
	}
	branch, _, refErr := s.v.Repo.Head()
	at, err := s.v.trusted(Revision{})
	for _, w := range out {
		w.Detached = refErr == nil && branch == ""
		if w.Commit = commit; err == nil && at.Commit != commit {
			w.Reads = at.Ref
		}
	}
	return out, nil
}

// receipt makes the receipt of an act.
func (s *session) receipt(config *vault.Config, a act) (*vault.Receipt, vault.File, error) {
	r := &vault.Receipt{
		Project: config.Project, Subject: "asset/" + string(a.after.ID), Kind: a.kind, Seq: 1, Version: a.after.Version,
		From: a.from, To: a.after.Status, Digest: a.after.Digest, Object: string(a.object), Actor: s.writer.Subject,
		Authors: a.authors, Reason: strings.TrimSpace(a.reason), At: s.now, Identity: s.writer.identity,
	}
	if a.before == nil {
		r.Authors = s.writer.authors()
	}
	if a.last != nil {
		r.Seq, r.Prev = a.last.Seq+1, a.last.Hash()
	}
	sign := s.v.sign
	if a.dryRun {
		sign = s.v.maySign
	}
	if err := sign(config, s.head, r); err != nil {
		return nil, vault.File{}, err
	}
	receipt := r.File()
	// Receipts are for ever: what cannot be read back is not written.
	back, err := vault.ParseReceipt(receipt)
	if err == nil && back.Hash() != r.Hash() {
		err = errors.New("it reads back as another one")
	}
	if err != nil {
		return nil, vault.File{}, fmt.Errorf("%w: no receipt can be written, perhaps for its reason: %w", ErrUsage, err)
	}
	return r, receipt, nil
}

// message is the commit's message with its trailers (format.md §4).
func message(acts []act, receipts []*vault.Receipt) string {
	var b bytes.Buffer
	a, r := acts[0], receipts[0]
	change := string(r.To)
	if a.from != "" {
		change = fmt.Sprintf("%s -> %s", a.from, r.To)
	}
	if len(acts) == 1 {
		fmt.Fprintf(&b, "%s %s: %s\n\n", a.verb, a.after.ID, change)
	} else {
		fmt.Fprintf(&b, "%s %d assets\n\n", a.verb, len(acts))
	}
	if r.Reason != "" {
		// On one line with a word before it, it can neither forge nor break a trailer.
		fmt.Fprintf(&b, "Reason: %s\n\n", strings.Join(strings.Fields(r.Reason), " "))
	}
	for i, a := range acts {
		fmt.Fprintf(&b, "Lm-Asset: %s@%d\nLm-Transition: %s -> %s\nLm-Receipt: %s\n", a.after.ID, a.after.Version, a.from, receipts[i].To, receipts[i].Hash())
	}
	fmt.Fprintf(&b, "Lm-Actor: %s\n", r.Actor)
	return b.String()
}
