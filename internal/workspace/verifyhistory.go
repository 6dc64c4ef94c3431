package workspace

import (
	"errors"
	"fmt"
	"path"

	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// origin is the commit that added a receipt, and the one before it, whose
// vault.yaml judges it: a change brings no approver of its own. before is ""
// where the commit is the first.
type origin struct{ commit, before gitstore.Hash }

// broke is a receipt that a commit changed or removed.
type broke struct {
	gitstore.Changed
	commit, parent gitstore.Hash
	gaveWay        bool          // in a merge, to a receipt of the other side
	rival          gitstore.Hash // the merge in which that receipt had given way; "" if none
}

// history walks the receipts through all commits, parents first, and tells of
// every one that did not stay what it was when it was added.
func (c *verifier) history() error {
	w, err := c.v.receiptsUpTo(c.at.Commit)
	if err != nil {
		return err
	}
	c.out.Blind = len(w.cuts) > 0
	for _, commit := range w.cuts {
		c.unseen("the commits before %.12s, where this shallow clone ends: a receipt that was changed or removed there, and who was listed then; run: git fetch --unshallow", commit)
	}
	for _, b := range w.found {
		if err := c.tell(b); err != nil {
			return err
		}
	}
	for file, f := range c.files {
		from, ok := w.first[gitstore.Changed{Path: file[len("receipts/"):], After: gitstore.Hash(f.Object)}]
		if ok && from.commit != "" {
			c.origins[file] = from
		}
	}
	return nil
}

// receiptsUpTo walks the receipts through all commits that are reachable from
// one.
func (v *Vault) receiptsUpTo(commit gitstore.Hash) (*receiptWalk, error) {
	past, err := v.Repo.History(commit, func(commit gitstore.Hash) (string, error) {
		folder, err := v.folderAt(commit)
		return path.Join(folder, "receipts"), err
	})
	w := &receiptWalk{first: map[gitstore.Changed]origin{}, lost: map[gitstore.Changed]gitstore.Hash{}, removed: map[string]bool{}, told: map[gitstore.Changed]bool{}}
	for _, p := range past {
		if p.Cut {
			w.cut(p)
		} else {
			w.step(p)
		}
	}
	return w, err
}

// tell makes a problem of a receipt that did not stay: an error, unless it is
// back or gave way in a merge of two branches that had governed one asset. Where
// two merges chose differently and neither knew of the other, none of them counts.
func (c *verifier) tell(b broke) error {
	file := "receipts/" + b.Path
	now := gitstore.Hash(c.files[file].Object)
	what := "changed"
	if b.After == "" {
		what = "removed"
	}
	severity := vault.Error
	message := fmt.Sprintf("this receipt was %s in commit %.12s", what, b.commit)
	mend := fmt.Sprintf("receipts are never edited: git checkout %.12s -- %s", b.parent, c.v.inGit(file))
	contested := false
	if b.rival != "" {
		knew, err := c.v.Repo.Reaches(b.commit, b.rival)
		if err != nil {
			return err
		}
		contested = !knew
	}
	switch {
	case contested:
		message = fmt.Sprintf("in the merge %.12s this receipt gave way to one that gave way to it in the merge %.12s", b.commit, b.rival)
		mend = "nothing says which of the two was approved: go back to before these merges met, and merge again on top of the one that is right"
	case b.gaveWay:
		severity, message = vault.Warning, fmt.Sprintf("in the merge %.12s this receipt of one side gave way to the other side's", b.commit)
		mend = "see that the other side was the one to keep; nothing else has to be done"
	case now == b.Before:
		severity, message, mend = vault.Warning, message+" and is back as it was", "nothing has to be done; know that it counted for something else in between"
	}
	c.out.Problems = append(c.out.Problems, vault.Problem{Severity: severity, Path: file, Line: 1, Column: 1, Message: message, Mend: mend})
	return nil
}

// receiptWalk follows receipts from commit to commit.
type receiptWalk struct {
	// first says where a file was added with these bytes (Path and After), as
	// something that was not there before.
	first map[gitstore.Changed]origin
	// lost are those of first (Path and After) that gave way, and in which merge.
	lost    map[gitstore.Changed]gitstore.Hash
	removed map[string]bool
	told    map[gitstore.Changed]bool
	found   []broke
	cuts    []gitstore.Hash // where a shallow clone ends
}

// cut takes what a shallow clone's oldest commit has as it is.
func (w *receiptWalk) cut(p gitstore.Past) {
	w.cuts = append(w.cuts, p.Commit)
	for _, changed := range p.Changed {
		for _, f := range changed {
			w.first[gitstore.Changed{Path: f.Path, After: f.After}] = origin{}
		}
	}
}

func (w *receiptWalk) step(p gitstore.Past) {
	absent := map[string]int{}
	var lost []gitstore.Changed
	for i, changed := range p.Changed {
		forks := map[string]bool{} // subjects of which both sides of a merge have a receipt at one place
		for _, f := range changed {
			if f.Before == "" {
				absent[f.Path]++
			} else if len(p.Parents) > 1 && w.stands(f.Path, f.After) && w.sameAsOther(p, i, f) {
				forks[path.Dir(f.Path)] = true
			}
		}
		for _, f := range changed {
			if f.Before == "" || !w.stands(f.Path, f.Before) {
				continue
			}
			b := broke{Changed: f, commit: p.Commit, parent: p.Parents[i]}
			if w.sameAsOther(p, i, f) {
				b.gaveWay, b.rival = forks[path.Dir(f.Path)], w.lost[gitstore.Changed{Path: f.Path, After: f.After}]
			}
			if b.gaveWay {
				lost = append(lost, gitstore.Changed{Path: f.Path, After: f.Before})
			}
			w.removed[f.Path] = w.removed[f.Path] || f.After == "" && !b.gaveWay
			if mark := (gitstore.Changed{Path: f.Path, Before: f.Before}); !w.told[mark] {
				w.told[mark] = true
				w.found = append(w.found, b)
			}
		}
	}
	for _, l := range lost {
		w.lost[l] = p.Commit
	}
	for _, changed := range p.Changed[:1] {
		for _, f := range changed {
			added := gitstore.Changed{Path: f.Path, After: f.After}
			if _, known := w.first[added]; known || absent[f.Path] < len(p.Changed) || w.removed[f.Path] {
				continue
			}
			from := origin{commit: p.Commit}
			if len(p.Parents) > 0 {
				from.before = p.Parents[0]
			}
			w.first[added] = from
		}
	}
}

func (w *receiptWalk) isFirst(file string, blob gitstore.Hash) bool {
	_, ok := w.first[gitstore.Changed{Path: file, After: blob}]
	return ok && blob != ""
}

// stands says whether a file was added with these bytes and has not given way
// since: what gave way once takes nobody's place again.
func (w *receiptWalk) stands(file string, blob gitstore.Hash) bool {
	return w.isFirst(file, blob) && w.lost[gitstore.Changed{Path: file, After: blob}] == ""
}

// sameAsOther says whether a merge took a file, or its absence, from another
// parent than the i-th.
func (w *receiptWalk) sameAsOther(p gitstore.Past, i int, f gitstore.Changed) bool {
	for j, changed := range p.Changed {
		differs := false
		for _, g := range changed {
			differs = differs || g.Path == f.Path
		}
		if j != i && !differs {
			return true
		}
	}
	return false
}

// configOf is the vault.yaml that judges what a commit added: that of the
// commit before, or its own where that had none. nil if there is none to be
// read.
func (c *verifier) configOf(from origin) *vault.Config {
	for _, commit := range []gitstore.Hash{from.before, from.commit} {
		if commit == "" {
			continue
		}
		config, known := c.configs[commit]
		if !known {
			var err error
			if config, err = c.configAt(commit); err != nil {
				config = nil
				if !errors.Is(err, gitstore.ErrNotFound) {
					return nil // it was there, and what it said is not known
				}
			}
			c.configs[commit] = config
		}
		if config != nil {
			return config
		}
	}
	return nil
}

func (c *verifier) configAt(commit gitstore.Hash) (*vault.Config, error) {
	folder, err := c.v.folderAt(commit)
	if err != nil {
		return nil, err
	}
	file, err := c.v.Repo.File(commit, path.Join(folder, vault.ConfigFile), maxConfig)
	if err != nil {
		return nil, err
	}
	return vault.ReadConfig(file)
}
