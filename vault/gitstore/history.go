package gitstore

// Past is a commit that changed files below a folder.
type Past struct {
	Commit  Hash
	Parents []Hash
	// Changed are the files that differ from each parent, in the order of
	// Parents; of a commit without parents there is one list, of all files.
	Changed [][]Changed
	// Cut says that a shallow clone ends here: what this commit and those before
	// it changed is not known.
	Cut bool
}

// Changed is a file, relative to the folder, with its blobs; "" is no file.
type Changed struct {
	Path          string
	Before, After Hash
}

// History lists the commits reachable from head that changed files of a folder
// against any of their parents, and those at which a shallow clone is cut off.
// No commit comes before one of its parents. folder says where the folder lies
// in a commit, for it may have been moved.
func (r *Repo) History(head Hash, folder func(Hash) (string, error)) ([]Past, error) {
	trees := map[Hash]Hash{}
	var out []Past
	err := r.parentsFirst(head, func(h Hash, c *commit) error {
		dir, err := folder(h)
		if err != nil {
			return err
		}
		e, err := r.entryAt(c.tree, cleanDir(dir))
		if err != nil {
			return err
		}
		if trees[h] = emptyTree; e.mode == modeTree {
			trees[h] = e.id
		}
		p := Past{Commit: h, Parents: c.parents, Cut: c.cut}
		before, changes := []Hash{emptyTree}, c.cut
		if len(c.parents) > 0 {
			before = before[:0]
		}
		for _, parent := range c.parents {
			before = append(before, trees[parent])
		}
		for _, tree := range before {
			changed, err := r.changed(tree, trees[h])
			if err != nil {
				return err
			}
			p.Changed, changes = append(p.Changed, changed), changes || len(changed) > 0
		}
		if changes {
			out = append(out, p)
		}
		return nil
	})
	return out, err
}

// changed gives what Changes does with the blobs on both sides.
func (r *Repo) changed(from, to Hash) ([]Changed, error) {
	if from == to {
		return nil, nil
	}
	paths, err := r.Changes(from, to, nil)
	if err != nil {
		return nil, err
	}
	out := make([]Changed, len(paths))
	for i, p := range paths {
		out[i].Path = p
		for _, side := range []struct {
			tree Hash
			blob *Hash
		}{{from, &out[i].Before}, {to, &out[i].After}} {
			e, err := r.entryAt(side.tree, p)
			if err != nil {
				return nil, err
			}
			if e.mode != modeTree {
				*side.blob = e.id
			}
		}
	}
	return out, nil
}

// parentsFirst visits each commit that is reachable from head once, after its
// parents.
func (r *Repo) parentsFirst(head Hash, visit func(Hash, *commit) error) error {
	type frame struct {
		id   Hash
		c    *commit
		next int
	}
	c, err := r.commit(head)
	if err != nil {
		return err
	}
	seen, stack := map[Hash]bool{head: true}, []frame{{head, c, 0}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(top.c.parents) {
			if err := visit(top.id, top.c); err != nil {
				return err
			}
			stack = stack[:len(stack)-1]
			continue
		}
		h := top.c.parents[top.next]
		top.next++
		if seen[h] {
			continue
		}
		seen[h] = true
		if c, err = r.commit(h); err != nil {
			return err
		}
		stack = append(stack, frame{h, c, 0})
	}
	return nil
}
