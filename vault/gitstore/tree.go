package gitstore

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"longmemory.dev/lm/vault"
)

// emptyTree is the id of a tree without entries.
const emptyTree Hash = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// mode is a tree entry's mode as Git writes it, in octal.
type mode string

const (
	modeTree       mode = "40000"
	modeFile       mode = "100644"
	modeExecutable mode = "100755"
	modeSymlink    mode = "120000"
	modeSubmodule  mode = "160000"
)

// kind is the vault's word for a mode. A group-writable file (100664, written
// by very old versions of Git) is a regular one.
func (m mode) kind() vault.FileKind {
	switch m {
	case modeExecutable:
		return vault.FileExecutable
	case modeSymlink:
		return vault.FileSymlink
	case modeSubmodule:
		return vault.FileSubmodule
	}
	return vault.FileRegular
}

func modeOf(kind vault.FileKind) mode {
	switch kind {
	case vault.FileExecutable:
		return modeExecutable
	case vault.FileSymlink:
		return modeSymlink
	case vault.FileSubmodule:
		return modeSubmodule
	}
	return modeFile
}

// readable says whether the kind's bytes are ever read.
func readable(kind vault.FileKind) bool {
	return kind == vault.FileRegular || kind == vault.FileExecutable
}

// entry is one line of a tree. The zero entry stands for one that is not there.
type entry struct {
	name string
	mode mode
	id   Hash
}

// same says whether two entries hold the same thing.
func (e entry) same(o entry) bool { return e.mode == o.mode && e.id == o.id }

// sortName is what Git sorts a tree by: folders as if they ended in a slash.
func (e entry) sortName() string {
	if e.mode == modeTree {
		return e.name + "/"
	}
	return e.name
}

// idSize is the size in bytes of an object's id.
const idSize = 20

// parseTree reads a tree object. A name that no file system should see makes
// the tree damaged.
func parseTree(data []byte) ([]entry, error) {
	var entries []entry
	text := string(data) // names and modes are parts of it, so that a great folder takes little memory
	for at := 0; at < len(text); {
		head, rest, ok := strings.Cut(text[at:], "\x00")
		m, name, ok2 := strings.Cut(head, " ")
		if !ok || !ok2 || len(rest) < idSize {
			return nil, errors.New("is damaged; git fsck says more")
		}
		if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
			return nil, fmt.Errorf("has an entry named %q, which no Git writes; git fsck says more", name)
		}
		at += len(head) + 1
		entries = append(entries, entry{name, mode(strings.TrimLeft(m, "0")), Hash(hex.EncodeToString(data[at : at+idSize]))})
		at += idSize
	}
	return entries, nil
}

// encodeTree writes entries as a tree object, in Git's order.
func encodeTree(entries []entry) []byte {
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.sortName(), b.sortName()) })
	var b bytes.Buffer
	for _, e := range entries {
		id, _ := hex.DecodeString(string(e.id))
		fmt.Fprintf(&b, "%s %s\x00%s", e.mode, e.name, id)
	}
	return b.Bytes()
}

// tree reads a tree object; where names it in messages.
func (r *Repo) tree(h Hash, where string) ([]entry, error) {
	data, err := r.treeData(h, where)
	if err != nil {
		return nil, err
	}
	entries, err := parseTree(data)
	if err != nil {
		return nil, fmt.Errorf("folder %s: tree %s %w", orRoot(where), h, err)
	}
	return entries, nil
}

// treeData is a tree object as it is stored, which nobody changes. Those read
// last are kept, as whoever compares trees then lists them.
func (r *Repo) treeData(h Hash, where string) ([]byte, error) {
	if h == emptyTree || h == "" {
		return nil, nil
	}
	if data, ok := r.trees.get(h); ok {
		return data, nil
	}
	kind, _, data, err := r.objects.read(h, -1)
	if err != nil {
		return nil, fmt.Errorf("folder %s: %w%s", orRoot(where), err, r.fetchHint(err))
	}
	if kind != plumbing.TreeObject {
		return nil, fmt.Errorf("folder %s: object %s is a %s: %w", orRoot(where), h, kind, ErrUnsupported)
	}
	r.trees.put(h, data)
	return data, nil
}

// recentTrees are the trees that were read last. It is safe for concurrent use.
type recentTrees struct {
	mu   sync.Mutex
	ids  [16]Hash // enough for two trees beside each other, few enough for a great vault
	data [16][]byte
	next int
}

func (t *recentTrees) get(h Hash) ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.ids[:], h); i >= 0 {
		return t.data[i], true
	}
	return nil, false
}

func (t *recentTrees) put(h Hash, data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ids[t.next], t.data[t.next] = h, data
	t.next = (t.next + 1) % len(t.ids)
}

// fetchHint says how to get an object that a partial clone left out.
func (r *Repo) fetchHint(err error) string {
	if !errors.Is(err, errMissing) {
		return ""
	}
	if command := r.FetchAll(); command != "" {
		return "; it is a partial clone and lm does not fetch: " + command + " brings everything"
	}
	return "; git fsck says what else is missing"
}

// FetchAll is the command that brings all that a partial clone left out, which lm
// never fetches itself; "" if the clone is not partial.
func (r *Repo) FetchAll() string {
	promisor := ""
	for _, remote := range r.Remotes() {
		if promised := r.local.bool("remote."+remote+".promisor", false); promised && promisor == "" {
			promisor = remote
		}
	}
	for _, e := range r.local.section("extensions") {
		if strings.EqualFold(e.name, "partialclone") {
			promisor = e.value
		}
	}
	if promisor == "" {
		return ""
	}
	return fmt.Sprintf("git -C %s fetch --refetch --no-filter %s", r.where(), promisor)
}

func orRoot(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}

// rootTree is the tree of a commit; that of no commit is empty.
func (r *Repo) rootTree(h Hash) (Hash, error) {
	if h == "" {
		return emptyTree, nil
	}
	c, err := r.commit(h)
	if err != nil {
		return "", err
	}
	return c.tree, nil
}

// entryAt finds what lies at a path below a tree: the zero entry if nothing
// does. The path "" is the tree itself.
func (r *Repo) entryAt(root Hash, file string) (entry, error) {
	at := entry{mode: modeTree, id: root}
	for name := range strings.SplitSeq(file, "/") {
		if name == "" {
			continue
		}
		if at.mode != modeTree {
			return entry{}, nil
		}
		data, err := r.treeData(at.id, path.Dir(file))
		if err != nil {
			return entry{}, err
		}
		if at, err = find(data, name); err != nil {
			return entry{}, fmt.Errorf("folder %s: a tree %w", orRoot(path.Dir(file)), err)
		}
	}
	return at, nil
}

// find finds a name in a tree object, and reads no other entry: a history is
// looked through one folder of thousands after the other.
func find(data []byte, name string) (entry, error) {
	for size := 0; len(data) > 0; data = data[size:] {
		size = entrySize(data)
		if size > idSize && !bytes.HasSuffix(data[:size-idSize-1], []byte(" "+name)) {
			continue
		}
		found, err := parseTree(data[:size])
		if err != nil {
			return entry{}, err
		}
		if found[0].name == name {
			return found[0], nil
		}
	}
	return entry{}, nil
}

// cleanDir brings a folder's path to its one form: slashes, no dots, "" for
// the root.
func cleanDir(dir string) string {
	dir = path.Clean("/" + filepath.ToSlash(dir))
	return strings.TrimPrefix(dir, "/")
}

// Subtree is the id of the tree of a folder ("" is the root) at a commit.
// ErrNotFound if there is no such folder.
func (r *Repo) Subtree(commit Hash, dir string) (Hash, error) {
	root, err := r.rootTree(commit)
	if err != nil {
		return "", err
	}
	e, err := r.entryAt(root, cleanDir(dir))
	if err != nil {
		return "", err
	}
	if e.mode != modeTree {
		return "", fmt.Errorf("there is no folder %s in commit %s of %s: %w", orRoot(dir), commit, r.where(), ErrNotFound)
	}
	return e.id, nil
}

// BlobID is the id that Git gives these bytes as a file.
func BlobID(data []byte) Hash {
	return Hash(plumbing.ComputeHash(plumbing.BlobObject, data).String())
}

// TreeID is the id of the tree that these files make: of each its kind and its
// Object, or its Data where no Object is known. Special files are left out, as
// git leaves them out. The order of the files does not matter.
func TreeID(files []vault.File) (Hash, error) {
	root := newFolder()
	for _, f := range files {
		if f.Kind == vault.FileSpecial {
			continue
		}
		id := Hash(f.Object)
		if id == "" && f.Data != nil {
			id = BlobID(f.Data)
		}
		if !isHash(string(id)) {
			return "", fmt.Errorf("%s has neither bytes nor an object id, so its folder has no tree id", f.Path)
		}
		if err := root.put(f.Path, entry{mode: modeOf(f.Kind), id: id}); err != nil {
			return "", err
		}
	}
	return root.id(), nil
}

// folder is a tree that is being put together from paths.
type folder struct {
	files   map[string]entry
	folders map[string]*folder
}

func newFolder() *folder { return &folder{map[string]entry{}, map[string]*folder{}} }

func (f *folder) put(file string, e entry) error {
	dir, rest, deeper := strings.Cut(file, "/")
	if !deeper {
		if f.folders[file] != nil {
			return fmt.Errorf("%s is a file and a folder", file)
		}
		e.name = file
		f.files[file] = e
		return nil
	}
	if _, ok := f.files[dir]; ok {
		return fmt.Errorf("%s is a file and a folder", dir)
	}
	if f.folders[dir] == nil {
		f.folders[dir] = newFolder()
	}
	return f.folders[dir].put(rest, e)
}

func (f *folder) id() Hash {
	var entries []entry
	for _, e := range f.files {
		entries = append(entries, e)
	}
	for name, sub := range f.folders {
		entries = append(entries, entry{name, modeTree, sub.id()})
	}
	return Hash(plumbing.ComputeHash(plumbing.TreeObject, encodeTree(entries)).String())
}
