package gitstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// journal is what a commit that was killed leaves for the next writer: enough
// to finish it or to undo it, and the names of the locks that are lm's own. It
// is on disk before the first lock and goes last.
type journal struct {
	GitDir string        `json:"git_dir"`
	Root   string        `json:"root"` // "" if neither index nor work tree follow
	Ref    string        `json:"ref"`
	Head   bool          `json:"head"` // HEAD names Ref, so its reflog follows
	Old    Hash          `json:"old"`
	New    Hash          `json:"new"`
	Files  []journalFile `json:"files"`
	Reflog string        `json:"reflog"` // the line of the reflogs
}

type journalFile struct {
	Path    string `json:"path"`
	OldMode mode   `json:"old_mode"`
	OldID   Hash   `json:"old_id"`
	NewMode mode   `json:"new_mode"`
	NewID   Hash   `json:"new_id"`
	Absent  bool   `json:"absent"` // not in the work tree (sparse checkout)
}

func (f journalFile) old() entry { return entry{mode: f.OldMode, id: f.OldID} }
func (f journalFile) new() entry { return entry{mode: f.NewMode, id: f.NewID} }

// refLock is the content of <ref>.lock, which becomes the ref.
func (j *journal) refLock() string { return string(j.New) + "\n" }

// indexLock is the content of index.lock. The new index lies beside it.
func (j *journal) indexLock() string { return "lm " + string(j.New) + "\n" }

// temp is the name that a work tree file has until it is whole.
func (j *journal) temp(i int) string {
	dir := filepath.Dir(filepath.FromSlash(j.Files[i].Path))
	return filepath.Join(dir, fmt.Sprintf(".lm-%.12s-%d", j.New, i))
}

func (r *Repo) journalPath() string   { return filepath.Join(r.lmDir(), "journal") }
func (r *Repo) journalDraft() string  { return r.journalPath() + ".new" }
func (r *Repo) indexLockPath() string { return r.indexPath() + ".lock" }

func (w *writer) journal() *journal {
	j := &journal{GitDir: w.r.gitDir, Ref: w.ref, Head: w.viaHead && w.ref != "HEAD", Old: w.old, New: w.new}
	if w.tracked() {
		j.Root = w.r.root
	}
	for _, t := range w.touched {
		if !t.old.same(t.new) {
			j.Files = append(j.Files, journalFile{t.path, t.old.mode, t.old.id, t.new.mode, t.new.id, t.absent})
		}
	}
	j.Reflog = reflogLine(w.old, w.new, w.c)
	return j
}

func (r *Repo) saveJournal(j *journal) error {
	data, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return err
	}
	if err := writeSynced(r.journalDraft(), data, 0o666); err != nil {
		return err
	}
	return os.Rename(r.journalDraft(), r.journalPath())
}

// readJournal gives nil if there is none.
func (r *Repo) readJournal() (*journal, error) {
	data, err := os.ReadFile(r.journalPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	j := new(journal)
	if err := json.Unmarshal(data, j); err != nil {
		return nil, fmt.Errorf("%w: lm's journal %s: %v; if git status and git fsck find nothing wrong, remove it", ErrUnsupported, r.journalPath(), err)
	}
	for _, f := range j.Files {
		if err := checkPath(f.Path); err != nil {
			return nil, fmt.Errorf("%w: lm's journal %s: %w; if git status and git fsck find nothing wrong, remove it", ErrUnsupported, r.journalPath(), err)
		}
	}
	return j, nil
}

// Recover finishes or undoes a commit of lm that was killed, as the next Commit
// would; done says that there was one. If its branch has moved the commit stands
// and index and work tree follow; otherwise the touched files become again what
// they were, unless somebody has changed them since. No lock is removed that the
// journal does not name. ErrLocked if another writer is at work.
func (r *Repo) Recover(ctx context.Context) (done bool, err error) {
	if !isFile(r.journalPath()) && !isFile(r.journalDraft()) {
		return false, nil
	}
	ctx, cancel := withPatience(ctx)
	defer cancel()
	unlock, err := r.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	return r.settle(ctx)
}

// settle is Recover under lm's lock.
func (r *Repo) settle(ctx context.Context) (bool, error) {
	_ = os.Remove(r.journalDraft()) // nothing was done yet
	j, err := r.readJournal()
	if err != nil || j == nil {
		return false, err
	}
	at := r
	if j.GitDir != r.gitDir || j.Root != "" && j.Root != r.root {
		if at, err = openGitDir(j.GitDir, j.Root); err != nil {
			// The work tree is gone, and with it what was to be mended in it.
			at = &Repo{gitDir: r.gitDir, commonDir: r.commonDir, local: r.local}
			at.objects.dir = r.objects.dir
			j.Root = ""
		}
	}
	_, now, err := at.readRef(j.Ref)
	if err != nil {
		return false, err
	}
	if now == j.New {
		err = at.finish(ctx, j)
	} else {
		err = at.undo(j, now)
	}
	if err != nil {
		return false, fmt.Errorf("a commit of lm in %s was cut short and cannot be tidied up yet: %w", at.where(), err)
	}
	return true, nil
}

// finish brings index and work tree to a commit that its ref already names.
func (r *Repo) finish(ctx context.Context, j *journal) error {
	if j.Root == "" {
		return r.dropTraces(j)
	}
	held, err := os.ReadFile(r.indexLockPath())
	if err != nil || string(held) != j.indexLock() {
		if err := r.takeLock(ctx, r.indexLockPath(), j.indexLock()); err != nil {
			return err
		}
	}
	rules, err := r.workRules()
	if err != nil {
		return err
	}
	for i, f := range j.Files {
		if f.Absent {
			continue
		}
		untouched, err := r.holds(rules, f.Path, f.old())
		if err != nil {
			return err
		}
		if untouched {
			if err := r.writeWork(rules, j, i, f.new()); err != nil {
				return err
			}
		}
	}
	index, err := r.readIndex(r.indexPath())
	if err != nil {
		return err
	}
	behind := *j
	behind.Files = nil
	for _, f := range j.Files {
		if indexHas(index, f.Path, f.old()) {
			behind.Files = append(behind.Files, f)
		}
	}
	if len(behind.Files) > 0 {
		draft, err := r.newIndex(ctx, &behind)
		if err != nil {
			return err
		}
		if err := os.Rename(draft, r.indexPath()); err != nil {
			return err
		}
	}
	return r.dropTraces(j)
}

// undo takes back what a commit did before its ref moved; now is where the ref
// stands. A file is put back if it has exactly what lm wrote and the branch
// still says otherwise.
func (r *Repo) undo(j *journal, now Hash) error {
	if j.Root != "" {
		rules, err := r.workRules()
		if err != nil {
			return err
		}
		root, err := r.rootTree(now)
		if err != nil {
			return err
		}
		for i, f := range j.Files {
			if f.Absent {
				continue
			}
			committed, err := r.entryAt(root, f.Path)
			if err != nil {
				return err
			}
			ours, err := r.holds(rules, f.Path, f.new())
			if err != nil {
				return err
			}
			if ours && committed.same(f.old()) {
				if err := r.writeWork(rules, j, i, f.old()); err != nil {
					return err
				}
			}
		}
	}
	for _, log := range r.reflogs(j) {
		if err := cutLast(log, j.Reflog); err != nil {
			return err
		}
	}
	return r.dropTraces(j)
}

// dropTraces removes drafts and lm's own locks, and the journal last.
func (r *Repo) dropTraces(j *journal) error {
	if j.Root != "" {
		for i := range j.Files {
			_ = os.Remove(filepath.Join(r.root, j.temp(i)))
		}
		drafts, _ := filepath.Glob(r.indexPath() + ".lm-*")
		for _, draft := range drafts {
			_ = os.Remove(draft)
		}
		if err := dropLock(r.indexLockPath(), j.indexLock()); err != nil {
			return err
		}
	}
	if err := dropLock(r.refPath(j.Ref)+".lock", j.refLock()); err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(r.lmDir(), "draft"))
	return os.Remove(r.journalPath())
}

// indexHas says whether the index has just this for a path.
func indexHas(index stagedFiles, file string, want entry) bool {
	entries := index.find(file)
	if want.mode == "" {
		return len(entries) == 0
	}
	return len(entries) == 1 && entries[0].stage == 0 && entries[0].id == want.id && entries[0].mode.kind() == want.mode.kind()
}

// cutLast takes a line off the end of a reflog if it is the last one.
func cutLast(log, line string) error {
	data, err := os.ReadFile(log)
	if missing(err) {
		return nil
	}
	if err != nil || !strings.HasSuffix(string(data), line) {
		return err
	}
	return os.Truncate(log, int64(len(data)-len(line)))
}
