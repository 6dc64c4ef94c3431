package workspace

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
	"longmemory.dev/lm/vault/memoryfile"
)

// KeptSettled is how long the memory branch keeps a proposal that was rejected or
// superseded, after its last receipt there, and one that was approved, after its
// approval got to where agents read.
const KeptSettled = 30 * 24 * time.Hour

// Synced is what a sync did with the memory branch.
type Synced struct {
	Remote string        `json:"remote"`
	Branch string        `json:"branch"`
	Before gitstore.Hash `json:"before"`
	After  gitstore.Hash `json:"after"`
	Pulled int           `json:"pulled"` // files that the remote brought
	Pushed bool          `json:"pushed"`
	Pruned []string      `json:"pruned"` // proposals that were settled long ago
	// Replaced are documents that both sides had changed: the remote's stands. Of
	// Kept this side's does, as a person settled it here and an agent there.
	Replaced []string `json:"replaced"`
	Kept     []string `json:"kept"`
}

// syncTries is how often a sync begins anew when the remote moves meanwhile.
const syncTries = 5

// SyncMemory pulls and pushes the memory branch. Both sides' files are joined in
// a merge commit: every document has a name of its own, so they meet only where
// both changed one document; then the remote's stands, with its receipts (a person's
// act before an agent's), and it is told. Nothing is rebased and nothing pushed by force.
func (v *Vault) SyncMemory(ctx context.Context, remote string) (*Synced, error) {
	m, err := v.remember(true, agentprotocol.Principal{})
	if err != nil {
		return nil, err
	}
	if err := m.aside(); err != nil {
		return nil, err
	}
	if remote == "" {
		remotes := v.Repo.Remotes()
		if len(remotes) == 0 {
			return nil, fmt.Errorf("%w: this repository has no remote; add one: git remote add origin <url>", ErrNotFound)
		}
		if remote = remotes[0]; slices.Contains(remotes, "origin") {
			remote = "origin"
		}
	}
	branch := strings.TrimPrefix(m.ref, "refs/heads/")
	out := &Synced{Remote: remote, Branch: branch, Pruned: []string{}, Replaced: []string{}, Kept: []string{}}
	for try := 1; ; try++ {
		theirs, err := v.Repo.FetchBranch(ctx, remote, branch)
		if err != nil {
			return nil, err
		}
		if err := m.here(); err != nil {
			return nil, err
		}
		if try == 1 {
			out.Before = m.tip
		}
		if err := m.join(ctx, theirs, out); err != nil {
			return nil, err
		}
		if err := m.prune(ctx, out); err != nil {
			return nil, err
		}
		out.After = m.tip
		if m.tip == theirs || m.tip == "" {
			return out, nil
		}
		err = v.Repo.PushBranch(ctx, remote, branch)
		if out.Pushed = err == nil; err == nil || !errors.Is(err, gitstore.ErrRejected) || try == syncTries {
			return out, err
		}
	}
}

// here makes tip this clone's own branch, "" if it has none.
func (m *remembering) here() error {
	tip, err := m.v.Repo.Resolve(m.ref)
	if errors.Is(err, gitstore.ErrNotFound) {
		err = nil
	}
	m.tip = tip
	return err
}

// change is a commit on the memory branch without a receipt of its own.
func (m *remembering) change(message string) (gitstore.Change, error) {
	w, err := m.v.actor(m.config)
	return gitstore.Change{Branch: m.ref, Expect: m.tip, Files: map[string][]byte{}, Name: w.name, Email: w.email, When: m.now, Message: message}, err
}

// join brings theirs into the branch.
func (m *remembering) join(ctx context.Context, theirs gitstore.Hash, out *Synced) error {
	if theirs == "" || theirs == m.tip {
		return nil
	}
	repo := m.v.Repo
	c, err := m.change("Join the memories of " + out.Remote)
	if err != nil {
		return err
	}
	ahead := m.tip == ""
	if !ahead {
		behind, err := repo.Reaches(m.tip, theirs)
		if err != nil || behind {
			return err
		}
		if ahead, err = repo.Reaches(theirs, m.tip); err != nil {
			return err
		}
	}
	ours, err := m.all(m.tip)
	if err != nil {
		return err
	}
	other, err := m.all(theirs)
	if err != nil {
		return err
	}
	if ahead {
		if err := repo.Advance(ctx, c, theirs); err != nil {
			return err
		}
		out.Pulled += len(differences(ours, other))
		m.tip = theirs
		return nil
	}
	base := map[string]vault.File{}
	if from, err := repo.MergeBase(m.tip, theirs); err == nil {
		if base, err = m.all(from); err != nil {
			return err
		}
	} else if !errors.Is(err, gitstore.ErrNotFound) {
		return err
	}
	for p, f := range other {
		if f.Data == nil {
			return fmt.Errorf("%w: %s on %s is larger than %d bytes, so nothing is joined; remove it there", ErrConflict, p, out.Remote, memoryfile.MaxBytes)
		}
	}
	m.merge(&c, base, ours, other, out)
	c.Merge = theirs
	m.tip, err = repo.Commit(ctx, c)
	return err
}

// all are the branch's files, by path in the repository: other vaults of it may keep
// theirs there, too.
func (m *remembering) all(commit gitstore.Hash) (map[string]vault.File, error) {
	out := map[string]vault.File{}
	if commit == "" {
		return out, nil
	}
	files, err := m.v.Repo.Files(commit, "", maxConfig, nil)
	if errors.Is(err, gitstore.ErrNotFound) {
		return out, nil
	}
	for _, f := range files {
		out[f.Path] = f
	}
	return out, err
}

func differences(a, b map[string]vault.File) []string {
	var out []string
	for p, f := range b {
		if a[p].Object != f.Object {
			out = append(out, p)
		}
	}
	for p := range a {
		if _, there := b[p]; !there {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// settledHere says whether a person of this side did last what happened to a
// document, and nobody but an agent did on the other, or the other pruned it.
func settledHere(id string, ours, theirs map[string]vault.File) bool {
	by := func(files map[string]vault.File) (kind string, there bool) {
		seq := 0
		for p, f := range files {
			if idOfPath(p) != id {
				continue
			}
			at := receiptsAt(p)
			if at < 0 {
				there = true
				continue
			}
			f.Path = p[at:]
			if r, err := vault.ParseReceipt(f); err == nil && r.Seq > seq {
				seq, kind = r.Seq, r.Actor.Kind()
			}
		}
		return kind, there
	}
	here, kept := by(ours)
	other, there := by(theirs)
	return kept && !there || here == vault.KindUser && other == vault.KindAgent
}

// merge puts into a change what theirs has that ours has not, by what both came
// from. A document that both changed is theirs, with all its receipts, unless a
// person settled it here and an agent there.
func (m *remembering) merge(c *gitstore.Change, base, ours, theirs map[string]vault.File, out *Synced) {
	both := map[string]bool{} // ids that both sides changed
	changed := differences(base, theirs)
	for _, p := range changed {
		if ours[p].Object != base[p].Object && ours[p].Object != theirs[p].Object {
			both[idOfPath(p)] = true
		}
	}
	kept := map[string]bool{}
	for id := range both {
		kept[id] = settledHere(id, ours, theirs)
	}
	take := func(p string) {
		f, there := theirs[p]
		if f.Object == ours[p].Object {
			return
		}
		out.Pulled++
		c.Files[p] = nil
		if there {
			c.Files[p] = f.Data
		}
	}
	for _, p := range changed {
		if !kept[idOfPath(p)] {
			take(p)
		}
	}
	for _, p := range differences(ours, theirs) {
		if id := idOfPath(p); both[id] && !kept[id] {
			take(p)
		}
	}
	for id := range both {
		if kept[id] {
			out.Kept = append(out.Kept, id)
		} else {
			out.Replaced = append(out.Replaced, id)
		}
	}
	slices.Sort(out.Replaced)
	slices.Sort(out.Kept)
}

// receiptsAt is where the path of a receipt begins in its vault; negative: it is none.
func receiptsAt(p string) int { return strings.Index("/"+p, "/receipts/") }

// idOfPath is the document that a file of the branch belongs to.
func idOfPath(p string) string {
	if receiptsAt(p) >= 0 {
		return path.Base(path.Dir(p))
	}
	return strings.TrimSuffix(path.Base(p), ".yaml")
}

// prune removes proposals that were settled long ago, with their receipts; the
// branch's history keeps them.
func (m *remembering) prune(ctx context.Context, out *Synced) error {
	docs, err := read[memoryfile.Proposal](m.v, m.tip, memoryfile.Proposals)
	if err != nil || len(docs) == 0 {
		return err
	}
	c, err := m.change("Prune proposals that were settled long ago")
	if err != nil {
		return err
	}
	for _, d := range docs {
		if m.now.Sub(d.DTO.CreatedAt) < KeptSettled {
			continue
		}
		made, err := m.recordOf(d)
		if err != nil {
			return err
		}
		chain, err := m.v.chainOf(m.tip, m.config, memoryfile.Proposals.SubjectOf(d.DTO.ProposalID))
		if err != nil || len(chain) == 0 || m.now.Sub(chain.Last().At) < KeptSettled {
			continue // what does not hold together is left for a person to see
		}
		switch {
		case made.used() && (made.flaw != nil || made.commit != m.reads.Commit):
			continue // its approval may still be lost, with the branch that it is on
		case made.used():
			approval, err := m.v.chainOf(made.commit, m.config, memoryfile.Records.SubjectOf(made.doc.DTO.ID))
			if err != nil || m.now.Sub(approval[0].At) < KeptSettled {
				continue
			}
		case memory.Pending(d.DTO.Review.Status) || d.DTO.Review.Status == agentprotocol.ProposalStatusApproved:
			continue
		}
		c.Files[m.v.inRepo(d.File.Path)] = nil
		for _, r := range chain {
			c.Files[m.v.inRepo(vault.ReceiptPath(r.Subject, r.Seq))] = nil
		}
		out.Pruned = append(out.Pruned, d.DTO.ProposalID)
	}
	if len(c.Files) == 0 {
		return nil
	}
	m.tip, err = m.v.Repo.Commit(ctx, c)
	return err
}
