package gitstore

import (
	"container/heap"
	"regexp"
	"slices"
	"strings"
)

// Authorship is who changed a path, as far as a repository can tell.
type Authorship struct {
	// Emails are the addresses, in lower case and sorted, of the authors and
	// Co-authored-by of the commits that changed the path.
	Emails []string
	// Stops are the commits that added the file at which the search ended,
	// sorted: they do not count among the others.
	Stops []Hash
	// Complete is false if a shallow clone ends before the answer does.
	Complete bool
}

// Authors tells who changed a file or folder in the commits that are reachable
// from head: those that `git log -- path` would list. With stop (a file's path,
// such as that of the last receipt) only commits since stop was added count:
// neither the commit that added it nor what is reachable from it.
func (r *Repo) Authors(head Hash, path, stop string) (a Authorship, err error) {
	w := historyWalk{r: r, path: cleanDir(path), stop: cleanDir(stop), seen: make(map[Hash]*visit), complete: true}
	first, err := w.get(head)
	if err != nil {
		return a, err
	}
	w.push(first)
	for w.open > 0 {
		if err := w.next(); err != nil {
			return a, err
		}
	}
	for h, v := range w.seen {
		if v.changes && !v.before {
			a.Emails = append(a.Emails, authorsOf(v.commit)...)
		}
		if v.stops {
			a.Stops = append(a.Stops, h)
		}
	}
	slices.Sort(a.Emails)
	slices.Sort(a.Stops)
	a.Emails, a.Complete = slices.Compact(a.Emails), w.complete
	return a, nil
}

// CommitAuthors are the addresses, in lower case, of a commit's author and of
// those that its Co-authored-by lines name.
func (r *Repo) CommitAuthors(h Hash) ([]string, error) {
	c, err := r.commit(h)
	if err != nil {
		return nil, err
	}
	return authorsOf(c), nil
}

var coAuthor = regexp.MustCompile(`(?im)^co-authored-by:[^<\n]*<([^>\n]*)>`)

func authorsOf(c *commit) []string {
	emails := []string{c.author}
	for _, m := range coAuthor.FindAllStringSubmatch(c.message, -1) {
		emails = append(emails, m[1])
	}
	var kept []string
	for _, e := range emails {
		if e = strings.ToLower(strings.TrimSpace(e)); e != "" {
			kept = append(kept, e)
		}
	}
	return kept
}

// historyWalk visits commits, the newest first, and marks what is reachable
// from a commit that added stop as "before". It ends when only such are left.
type historyWalk struct {
	r          *Repo
	path, stop string
	seen       map[Hash]*visit
	queue      visitQueue
	open       int // commits in the queue that are not before
	complete   bool
}

type visit struct {
	*commit
	path, stop entry // what lies there in this commit
	known      bool  // path and stop are read
	pushed     bool  // it is or was in the queue
	queued     bool  // it is in the queue
	before     bool  // reachable from where stop was added
	changes    bool  // it changed path
	stops      bool  // it added stop
}

func (w *historyWalk) get(h Hash) (*visit, error) {
	if v := w.seen[h]; v != nil {
		return v, nil
	}
	c, err := w.r.commit(h)
	if err != nil {
		return nil, err
	}
	v := &visit{commit: c}
	w.seen[h] = v
	return v, nil
}

// push queues a commit, once.
func (w *historyWalk) push(v *visit) {
	if v.pushed {
		return
	}
	v.pushed, v.queued = true, true
	heap.Push(&w.queue, v)
	if !v.before {
		w.open++
	}
}

// mark says that a commit lies before stop. One that was visited already, for
// its clock was wrong, hands it on to its parents; others do so in their turn.
func (w *historyWalk) mark(v *visit) error {
	for todo := []*visit{v}; len(todo) > 0; {
		v, todo = todo[0], todo[1:]
		if v.before {
			continue
		}
		v.before = true
		switch {
		case v.queued:
			w.open--
		case !v.pushed:
			w.push(v)
		default:
			for _, h := range v.parents {
				p, err := w.get(h)
				if err != nil {
					return err
				}
				todo = append(todo, p)
			}
		}
	}
	return nil
}

func (w *historyWalk) next() error {
	v := heap.Pop(&w.queue).(*visit)
	v.queued = false
	if v.before {
		for _, h := range v.parents {
			p, err := w.get(h)
			if err == nil {
				err = w.mark(p)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	w.open--
	if v.cut { // who changed what lies before the cut cannot be known
		w.complete = false
		return nil
	}
	return w.compare(v)
}

// compare looks at a commit beside its parents and queues those that matter: if
// it holds the same as one of them, the other sides of the merge do not.
func (w *historyWalk) compare(v *visit) error {
	if err := w.read(v); err != nil {
		return err
	}
	changes, added := v.path.mode != "" || len(v.parents) > 0, w.stop != "" && v.stop.mode != ""
	var parents []*visit
	for _, h := range v.parents {
		p, err := w.get(h)
		if err == nil {
			err = w.read(p)
		}
		if err != nil {
			return err
		}
		changes = changes && !p.path.same(v.path)
		added = added && p.stop.mode == ""
		parents = append(parents, p)
	}
	if added {
		v.stops = true
		return w.mark(v)
	}
	v.changes = changes
	if twin := slices.IndexFunc(parents, func(p *visit) bool { return p.path.same(v.path) && p.stop.same(v.stop) }); twin >= 0 {
		parents = parents[twin : twin+1]
	}
	for _, p := range parents {
		w.push(p)
	}
	return nil
}

func (w *historyWalk) read(v *visit) (err error) {
	if v.known {
		return nil
	}
	if v.path, err = w.r.entryAt(v.tree, w.path); err != nil {
		return err
	}
	if w.stop != "" {
		v.stop, err = w.r.entryAt(v.tree, w.stop)
	}
	v.known = err == nil
	return err
}

// visitQueue is a heap of visits, the newest on top.
type visitQueue []*visit

func (q visitQueue) Len() int           { return len(q) }
func (q visitQueue) Less(i, j int) bool { return q[i].when > q[j].when }
func (q visitQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *visitQueue) Push(x any)        { *q = append(*q, x.(*visit)) }
func (q *visitQueue) Pop() any {
	old := *q
	v := old[len(old)-1]
	*q = old[:len(old)-1]
	return v
}
