package gitstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// errMissing: an object that ought to be there is not.
var errMissing = fmt.Errorf("the object is not in this clone: %w", ErrUnsupported)

// objectStore reads objects from a repository and its alternates. go-git opens
// an alternate anew for each object, resolves no relative ones and never sees
// a pack that came after it looked; hence the list and the second look here.
type objectStore struct {
	dir string

	mu     sync.Mutex
	stores []*filesystem.ObjectStorage
	dirs   []string // of the stores
	packs  string   // that they had when they were opened
}

const (
	objectCache = 16 * cache.MiByte // delta bases
	streamed    = 4 << 20           // a blob above it is not held in memory to learn its size
)

// open lists the object folders: the repository's own, then its alternates,
// depth first.
func (s *objectStore) open() {
	bases := cache.NewObjectLRU(objectCache)
	var dirs []string
	var add func(dir string, depth int)
	add = func(dir string, depth int) {
		if slices.Contains(dirs, dir) || depth > 5 {
			return
		}
		dirs = append(dirs, dir)
		options := filesystem.Options{KeepDescriptors: true, LargeObjectThreshold: streamed}
		d := dotgit.NewWithOptions(objectsFS{dir: dir}, dotgit.Options{KeepDescriptors: true})
		s.stores = append(s.stores, filesystem.NewObjectStorageWithOptions(d, bases, options))
		list, err := os.ReadFile(filepath.Join(dir, "info", "alternates"))
		if err != nil {
			return
		}
		for line := range strings.Lines(string(list)) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				add(absolute(dir, line), depth+1)
			}
		}
	}
	add(s.dir, 0)
	s.dirs, s.packs = dirs, packsIn(dirs)
}

// packsIn names the packs of some object folders.
func packsIn(dirs []string) string {
	var b strings.Builder
	for _, dir := range dirs {
		entries, _ := os.ReadDir(filepath.Join(dir, "pack")) // none: no packs
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".idx") {
				b.WriteString(e.Name())
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

// close forgets what was read of packs and their indexes.
func (s *objectStore) close() {
	for _, store := range s.stores {
		_ = store.Close()
	}
	s.stores = nil
}

// get finds an object. The caller holds s.mu as long as it reads from it.
func (s *objectStore) get(h Hash) (plumbing.EncodedObject, error) {
	id := plumbing.NewHash(string(h))
	var err error
	vanished := false // a pack that was listed and is there no more
	for look := 0; look < 2 || vanished && look < 5; look++ {
		if s.stores == nil {
			s.open()
		}
		vanished = false
		for _, store := range s.stores {
			var o plumbing.EncodedObject
			if o, err = store.EncodedObject(plumbing.AnyObject, id); err == nil {
				return o, nil
			}
			gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, dotgit.ErrPackfileNotFound)
			vanished = vanished || gone
			if !gone && !errors.Is(err, plumbing.ErrObjectNotFound) {
				break
			}
		}
		if !vanished && errors.Is(err, plumbing.ErrObjectNotFound) && packsIn(s.dirs) == s.packs {
			break // nothing came since we looked
		}
		// A repack beside us may have moved it: look once more with new eyes.
		s.close()
	}
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		err = errMissing
	}
	return nil, fmt.Errorf("object %s: %w", h, err)
}

// read gives an object's type, size and bytes; no bytes if it is larger than
// limit (limit < 0: none is). It is safe for concurrent use.
func (s *objectStore) read(h Hash, limit int64) (plumbing.ObjectType, int64, []byte, error) {
	if kind, size, data, there, err := readLoose(s.dir, h, limit); there {
		return kind, size, data, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o, err := s.get(h)
	if err != nil {
		return 0, 0, nil, err
	}
	if limit >= 0 && o.Size() > limit {
		return o.Type(), o.Size(), nil, nil
	}
	content, err := o.Reader()
	if err != nil {
		return 0, 0, nil, fmt.Errorf("object %s: %w", h, err)
	}
	defer content.Close()
	data := make([]byte, o.Size())
	if _, err := io.ReadFull(content, data); err != nil {
		return 0, 0, nil, fmt.Errorf("object %s is damaged: %w; git fsck says more", h, err)
	}
	return o.Type(), o.Size(), data, nil
}

// Packs names what this clone's packs are, in short: while it stays the same and
// no loose file of an object is there, the object has not come.
func (r *Repo) Packs() string {
	sum := sha256.Sum256([]byte(packsIn([]string{r.objects.dir})))
	return hex.EncodeToString(sum[:8])
}

// Loose says whether an object lies in a file of its own.
func (r *Repo) Loose(id Hash) bool {
	return isHash(string(id)) && isFile(loosePath(r.objects.dir, id))
}

// withPrefix lists the ids that begin with some hex digits, sorted.
func (s *objectStore) withPrefix(short string) ([]Hash, error) {
	prefix, err := hex.DecodeString(short[:len(short)/2*2])
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stores == nil {
		s.open()
	}
	var found []Hash
	for _, store := range s.stores {
		ids, err := store.HashesWithPrefix(prefix)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if h := id.String(); strings.HasPrefix(h, short) {
				found = append(found, Hash(h))
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// objectsFS shows go-git an objects folder as the "objects" of a repository
// that has no alternates. It can be read only: the embedded interface is nil.
type objectsFS struct {
	billy.Filesystem
	dir string
}

func (f objectsFS) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(f.dir, strings.TrimPrefix(name, "objects"))
}

func (f objectsFS) Open(name string) (billy.File, error) {
	return f.OpenFile(name, os.O_RDONLY, 0)
}

func (f objectsFS) OpenFile(name string, flag int, perm os.FileMode) (billy.File, error) {
	if filepath.Base(name) == "alternates" {
		return nil, os.ErrNotExist
	}
	return osfs.Default.OpenFile(f.path(name), flag, perm)
}

func (f objectsFS) Stat(name string) (os.FileInfo, error)  { return os.Stat(f.path(name)) }
func (f objectsFS) Lstat(name string) (os.FileInfo, error) { return os.Lstat(f.path(name)) }

// ReadDir lists a folder without what vanishes meanwhile: go-git takes a file that
// a repack removes in that instant for a folder without packs. A pack whose index is
// gone already is on its way out too.
func (f objectsFS) ReadDir(name string) ([]os.FileInfo, error) {
	entries, err := os.ReadDir(f.path(name))
	if err != nil {
		return nil, err
	}
	there := make(map[string]bool, len(entries))
	for _, e := range entries {
		there[e.Name()] = true
	}
	infos := make([]os.FileInfo, 0, len(entries))
	for _, e := range entries {
		if stem, pack := strings.CutSuffix(e.Name(), ".pack"); pack && !there[stem+".idx"] {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}
func (f objectsFS) Join(elem ...string) string { return filepath.Join(elem...) }

// commit is what lm needs of a commit object.
type commit struct {
	tree    Hash
	parents []Hash
	cut     bool   // a shallow clone ends here: it has parents, but not in this clone
	author  string // e-mail address as written
	when    int64  // committer's time, seconds since 1970
	message string
}

// commit reads a commit object.
func (r *Repo) commit(h Hash) (*commit, error) {
	kind, _, data, err := r.objects.read(h, -1)
	if err != nil {
		return nil, fmt.Errorf("commit %w", err)
	}
	if kind != plumbing.CommitObject {
		return nil, fmt.Errorf("object %s is a %s and no commit: %w", h, kind, ErrNotFound)
	}
	cut, err := r.shallowCommits()
	if err != nil {
		return nil, err
	}
	c := parseCommit(data)
	if cut[h] {
		c.parents, c.cut = nil, true
	}
	return c, nil
}

func parseCommit(data []byte) *commit {
	c := new(commit)
	head, message, _ := bytes.Cut(data, []byte("\n\n"))
	c.message = string(message)
	for line := range strings.SplitSeq(string(head), "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "tree":
			c.tree = Hash(value)
		case "parent":
			c.parents = append(c.parents, Hash(value))
		case "author":
			c.author, _ = parseIdent(value)
		case "committer":
			_, c.when = parseIdent(value)
		}
	}
	return c
}

// parseIdent reads "Name <email> seconds zone".
func parseIdent(s string) (email string, when int64) {
	open, end := strings.LastIndex(s, "<"), strings.LastIndex(s, ">")
	if open < 0 || end < open {
		return "", 0
	}
	_, _ = fmt.Sscan(s[end+1:], &when)
	return s[open+1 : end], when
}

// peel follows tags from an object to a commit.
func (r *Repo) peel(h Hash) (Hash, error) {
	for range 10 {
		kind, _, data, err := r.objects.read(h, 1<<20)
		switch {
		case errors.Is(err, errMissing):
			return "", fmt.Errorf("object %s: %w", h, ErrNotFound)
		case err != nil:
			return "", err
		case kind == plumbing.CommitObject:
			return h, nil
		case kind != plumbing.TagObject:
			return "", fmt.Errorf("object %s is a %s and no commit: %w", h, kind, ErrNotFound)
		}
		first, _, _ := strings.Cut(string(data), "\n")
		h = Hash(strings.TrimPrefix(first, "object "))
	}
	return "", fmt.Errorf("tag %s points to too many tags: %w", h, ErrNotFound)
}

// shallowCommits are the commits whose parents the clone does not have.
func (r *Repo) shallowCommits() (map[Hash]bool, error) {
	r.shallowOnce.Do(func() { r.shallow, r.shallowErr = r.readShallow() })
	return r.shallow, r.shallowErr
}

func (r *Repo) readShallow() (map[Hash]bool, error) {
	data, err := os.ReadFile(filepath.Join(r.commonDir, "shallow"))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	cut := make(map[Hash]bool)
	for line := range strings.Lines(string(data)) {
		if id := strings.TrimSpace(line); isHash(id) {
			cut[Hash(id)] = true
		}
	}
	return cut, nil
}
