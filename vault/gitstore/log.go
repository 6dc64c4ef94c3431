package gitstore

import (
	"cmp"
	"container/heap"
	"path"
	"slices"
	"strings"
)

// Finder says what the history of a thing is looked for by, where its path may
// change from commit to commit.
type Finder struct {
	// Folder is the folder to search in a commit, relative to the repository's
	// root.
	Folder func(commit Hash) (string, error)
	// Below are the folders or files below Folder in which the thing may lie.
	Below []string
	// Pick says which names of a folder are the thing, or parts of it, and
	// whether to look into the other folders there. dir is relative to Folder.
	Pick func(dir string, names []string) (picked []string, descend bool)
}

// Logged is a commit that changed what a Finder finds.
type Logged struct {
	Commit Hash
	// Parents are the logged commits before it, and commits at which a shallow
	// clone is cut off.
	Parents []Hash
	// When is the committer's time in seconds since 1970, Author the author's
	// e-mail address as written.
	When   int64
	Author string
	// Folder is what Finder.Folder said, Paths what was found below it, sorted.
	Folder string
	Paths  []string
	// Cut says that a shallow clone ends here: what it changed is not known.
	Cut bool
}

// Log lists the commits reachable from head that changed what the finder finds
// (something else lies there than in each of their parents), and those at which
// a shallow clone is cut off. No commit comes before one of its children; else
// the newest come first. As in `git log`, of a merge that took one side whole
// only that side is followed.
func (r *Repo) Log(head Hash, f Finder) ([]Logged, error) {
	w := logWalk{r: r, find: f, seen: map[Hash]*logVisit{}, known: map[string][]foundEntry{}}
	if err := w.visit(head); err != nil {
		return nil, err
	}
	return w.sorted(head), nil
}

// foundEntry is something that a Finder found.
type foundEntry struct {
	path string
	entry
}

// logVisit is one commit of a walk.
type logVisit struct {
	*commit
	id      Hash
	folder  string
	found   []foundEntry
	follow  []Hash // the parents that matter
	changed bool
	waits   int // children that are not listed yet
	logged  []Hash
}

type logWalk struct {
	r     *Repo
	find  Finder
	seen  map[Hash]*logVisit
	known map[string][]foundEntry // what lies in a folder's tree, by path and id
}

// visit walks from head through every commit that matters.
func (w *logWalk) visit(head Hash) error {
	first, err := w.get(head)
	if err != nil {
		return err
	}
	walked := map[Hash]bool{head: true}
	for todo := []*logVisit{first}; len(todo) > 0; {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		v.follow, v.changed = v.parents, v.cut || len(v.parents) > 0 || len(v.found) > 0
		var parents []*logVisit
		for _, h := range v.parents {
			p, err := w.get(h)
			if err != nil {
				return err
			}
			parents = append(parents, p)
		}
		if twin := slices.IndexFunc(parents, v.same); twin >= 0 {
			v.follow, v.changed, parents = v.parents[twin:twin+1], false, parents[twin:twin+1]
		}
		for _, p := range parents {
			p.waits++
			if !walked[p.id] {
				walked[p.id] = true
				todo = append(todo, p)
			}
		}
	}
	return nil
}

func (v *logVisit) same(o *logVisit) bool {
	return v.folder == o.folder && slices.EqualFunc(v.found, o.found, func(a, b foundEntry) bool { return a.path == b.path && a.entry.same(b.entry) })
}

func (w *logWalk) get(h Hash) (*logVisit, error) {
	if v := w.seen[h]; v != nil {
		return v, nil
	}
	c, err := w.r.commit(h)
	if err != nil {
		return nil, err
	}
	v := &logVisit{commit: c, id: h}
	if v.folder, err = w.find.Folder(h); err != nil {
		return nil, err
	}
	for _, below := range w.find.Below {
		e, err := w.r.entryAt(c.tree, path.Join(v.folder, below))
		if err != nil {
			return nil, err
		}
		switch e.mode {
		case "":
		case modeTree:
			found, err := w.in(below, e.id, v.folder)
			if err != nil {
				return nil, err
			}
			v.found = append(v.found, found...)
		default:
			v.found = append(v.found, foundEntry{below, e})
		}
	}
	slices.SortFunc(v.found, func(a, b foundEntry) int { return strings.Compare(a.path, b.path) })
	w.seen[h] = v
	return v, nil
}

// in finds what lies below a folder. Trees that were seen before at the same
// path are not read again: from commit to commit most are the same.
func (w *logWalk) in(dir string, tree Hash, folder string) ([]foundEntry, error) {
	key := dir + "\x00" + string(tree)
	if found, ok := w.known[key]; ok {
		return found, nil
	}
	entries, err := w.r.tree(tree, path.Join(folder, dir))
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.name
	}
	picked, descend := w.find.Pick(dir, names)
	var found []foundEntry
	for _, e := range entries {
		at := path.Join(dir, e.name)
		switch {
		case slices.Contains(picked, e.name):
			found = append(found, foundEntry{at, e})
		case descend && e.mode == modeTree:
			inside, err := w.in(at, e.id, folder)
			if err != nil {
				return nil, err
			}
			found = append(found, inside...)
		}
	}
	w.known[key] = found
	return found, nil
}

// sorted lists the commits that changed something, children first.
func (w *logWalk) sorted(head Hash) []Logged {
	queue := &logQueue{w.seen[head]}
	var out []Logged
	at := map[Hash]int{}
	for queue.Len() > 0 {
		v := heap.Pop(queue).(*logVisit)
		handOn := v.logged // the logged children whose parent is still looked for
		if v.changed {
			for _, child := range v.logged {
				l := &out[at[child]]
				l.Parents = append(l.Parents, v.id)
			}
			at[v.id] = len(out)
			l := Logged{Commit: v.id, When: v.when, Author: v.author, Folder: v.folder, Cut: v.cut}
			for _, f := range v.found {
				l.Paths = append(l.Paths, f.path)
			}
			out, handOn = append(out, l), []Hash{v.id}
		}
		for _, h := range v.follow {
			p := w.seen[h]
			for _, child := range handOn {
				if !slices.Contains(p.logged, child) {
					p.logged = append(p.logged, child)
				}
			}
			if p.waits--; p.waits == 0 {
				heap.Push(queue, p)
			}
		}
	}
	return out
}

// logQueue is a heap of commits, the newest on top, ties by id.
type logQueue []*logVisit

func (q logQueue) Len() int { return len(q) }
func (q logQueue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[j].when, q[i].when), strings.Compare(string(q[i].id), string(q[j].id))) < 0
}
func (q logQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *logQueue) Push(x any)   { *q = append(*q, x.(*logVisit)) }
func (q *logQueue) Pop() any {
	old := *q
	v := old[len(old)-1]
	*q = old[:len(old)-1]
	return v
}
