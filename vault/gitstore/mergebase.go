package gitstore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// MergeBase is the newest commit that is reachable from both and from no other
// such commit: where two lines of history parted. ErrNotFound if there is none,
// or if a shallow clone ends before that can be known.
func (r *Repo) MergeBase(a, b Hash) (Hash, error) {
	ofA, err := r.reachable(a)
	if err != nil {
		return "", err
	}
	if ofA[b] != nil {
		return b, nil
	}
	ofB, err := r.reachable(b)
	if err != nil {
		return "", err
	}
	if ofB[a] != nil {
		return a, nil
	}
	var best []Hash
	older := map[Hash]bool{} // parents of what both reach
	for h, c := range ofA {
		if ofB[h] != nil {
			best = append(best, h)
			for _, p := range c.parents {
				older[p] = true
			}
		}
	}
	// What both reach is closed under parents, so all but its tips are somebody's parent.
	best = slices.DeleteFunc(best, func(h Hash) bool { return older[h] })
	for _, side := range []map[Hash]*commit{ofA, ofB} {
		for h, c := range side {
			if c.cut && (ofA[h] == nil || ofB[h] == nil) {
				return "", fmt.Errorf("this clone is shallow and ends before %.12s and %.12s part: %w", a, b, ErrNotFound)
			}
		}
	}
	if len(best) == 0 {
		return "", fmt.Errorf("%.12s and %.12s have no commit in common: %w", a, b, ErrNotFound)
	}
	return slices.MaxFunc(best, func(x, y Hash) int {
		return cmp.Or(cmp.Compare(ofA[x].when, ofA[y].when), strings.Compare(string(x), string(y)))
	}), nil
}

func (r *Repo) reachable(head Hash) (map[Hash]*commit, error) {
	out := map[Hash]*commit{}
	err := r.parentsFirst(head, func(h Hash, c *commit) error {
		out[h] = c
		return nil
	})
	return out, err
}

// AuthorsSince are the addresses, in lower case and sorted, of those who changed
// a file in commits that are reachable from head and not from base: authors and
// co-authors. A merge that took one side's file is none of theirs.
func (r *Repo) AuthorsSince(base, head Hash, file string) ([]string, error) {
	known, err := r.reachable(base)
	if err != nil {
		return nil, err
	}
	var out []string
	err = r.parentsFirst(head, func(h Hash, c *commit) error {
		if known[h] != nil {
			return nil
		}
		now, err := r.entryAt(c.tree, cleanDir(file))
		for _, parent := range c.parents {
			var before entry
			var root Hash
			if root, err = r.rootTree(parent); err == nil {
				before, err = r.entryAt(root, cleanDir(file))
			}
			if err != nil || before.same(now) {
				return err
			}
		}
		if err == nil {
			out = append(out, authorsOf(c)...)
		}
		return err
	})
	slices.Sort(out)
	return slices.Compact(out), err
}
