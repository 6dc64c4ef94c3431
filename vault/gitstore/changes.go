package gitstore

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"longmemory.dev/lm/vault"
)

// Changes lists the files that two trees hold differently or that only one of
// them holds: paths relative to the trees, sorted. Folders that are the same in
// both are never looked at. What keep refuses is left out. ErrUnsupported, as
// of Files, if the clone lacks one of the trees.
func (r *Repo) Changes(from, to Hash, keep Keep) ([]string, error) {
	var changed []string
	err := r.differ(entry{mode: modeTree, id: from}, entry{mode: modeTree, id: to}, "", keep, &changed)
	slices.Sort(changed)
	return slices.Compact(changed), err
}

// Some lists the files at some paths below a folder at a commit and, where one
// is a folder, all below it, as Files does. It looks at no others, which makes
// it cheap in a great vault. A path where nothing lies gives nothing; none may
// lie below another.
func (r *Repo) Some(commit Hash, dir string, paths []string, limit int64) ([]vault.File, error) {
	top, err := r.Subtree(commit, dir)
	if err != nil {
		return nil, err
	}
	var files []vault.File
	for _, at := range paths {
		e, err := r.entryAt(top, at)
		if err != nil {
			return nil, err
		}
		add := func(f vault.File) error {
			err := r.load(&f, path.Join(cleanDir(dir), f.Path), limit)
			files = append(files, f)
			return err
		}
		switch e.mode {
		case "":
		case modeTree:
			err = r.walkTree(e.id, at, nil, add)
		default:
			err = add(vault.File{Path: at, Kind: e.mode.kind(), Object: string(e.id)})
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(files, func(a, b vault.File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// differ adds what differs between what lies at one path in both trees, either
// of which may be nothing.
func (r *Repo) differ(a, b entry, at string, keep Keep, changed *[]string) error {
	if at != "" && (a.mode != "" && a.mode != modeTree || b.mode != "" && b.mode != modeTree) {
		*changed = append(*changed, at)
	}
	var sides [2][]byte
	var errs [2]error
	var reading sync.WaitGroup
	for i, e := range []entry{a, b} {
		if e.mode == modeTree {
			reading.Go(func() { sides[i], errs[i] = r.treeData(e.id, at) })
		}
	}
	reading.Wait()
	if err := cmp.Or(errs[0], errs[1]); err != nil {
		return err
	}
	before, after, err := unequal(sides[0], sides[1])
	if err != nil {
		return fmt.Errorf("folder %s: tree %s or %s %w", orRoot(at), a.id, b.id, err)
	}
	pairs := map[string]*[2]entry{}
	for i, entries := range [][]entry{before, after} {
		for _, e := range entries {
			if !keep.keeps(path.Join(at, e.name), e.mode == modeTree) {
				continue
			}
			if pairs[e.name] == nil {
				pairs[e.name] = new([2]entry)
			}
			pairs[e.name][i] = e
		}
	}
	for name, pair := range pairs {
		if err := r.differ(pair[0], pair[1], path.Join(at, name), keep, changed); err != nil {
			return err
		}
	}
	return nil
}

// unequal gives the entries of two tree objects that the other has not or has
// otherwise. Most are equal, and those are compared as they are stored.
func unequal(a, b []byte) (onlyA, onlyB []entry, err error) {
	for len(a) > 0 || len(b) > 0 {
		sizeA, sizeB := entrySize(a), entrySize(b)
		if sizeA > 0 && bytes.Equal(a[:sizeA], b[:max(sizeB, 0)]) {
			a, b = a[sizeA:], b[sizeB:]
			continue
		}
		headA, err := parseTree(a[:sizeA])
		if err != nil {
			return nil, nil, err
		}
		headB, err := parseTree(b[:sizeB])
		if err != nil {
			return nil, nil, err
		}
		if len(headB) == 0 || len(headA) > 0 && headA[0].sortName() <= headB[0].sortName() {
			onlyA, a = append(onlyA, headA...), a[sizeA:]
		}
		if len(headA) == 0 || len(headB) > 0 && headB[0].sortName() <= headA[0].sortName() {
			onlyB, b = append(onlyB, headB...), b[sizeB:]
		}
	}
	return onlyA, onlyB, nil
}

// entrySize is the size of the first entry of a tree object; all of it if it is
// damaged.
func entrySize(data []byte) int {
	end := bytes.IndexByte(data, 0)
	return min(end+1+idSize, len(data))
}
