package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gofrs/flock"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/index"
	"longmemory.dev/lm/internal/render"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// opened is an index with what it says of its vault.
type opened struct {
	*index.Index
	Snapshot
	config *vault.Config
	frame  int                 // tokens that stand around the items of a context
	files  []vault.File        // of files as they lie; nil: a commit has them
	lost   map[vault.ID]string // objects of approved versions that were not to be had
	packs  string              // in which they were looked for
}

// header is what an index keeps of the vault itself.
type header struct {
	Key    index.Key     `json:"key"` // an index in another's place is none
	Config *vault.Config `json:"config"`
	Frame  int           `json:"frame"`
	Tree   gitstore.Hash `json:"tree"` // of the vault's folder
	// Lost are the objects of approved versions that this clone did not have.
	Lost map[vault.ID]string `json:"lost,omitempty"`
	// Packs are those in which they were looked for.
	Packs string `json:"packs,omitempty"`
}

// indexRoot is where indexes lie: in the common Git directory, shared by work
// trees and never tracked.
func (v *Vault) indexRoot() string { return filepath.Join(v.Repo.CommonDir(), "lm", "index") }

// roots are where an index may lie, the first choice first: if the Git
// directory cannot be written, the user's cache directory, if there is one.
func (v *Vault) roots() []string {
	roots := []string{v.indexRoot()}
	if dir, err := os.UserCacheDir(); err == nil {
		roots = append(roots, filepath.Join(dir, "lm", "index"))
	}
	return roots
}

// key names an index by all that it is a function of: the vault's tree, and the
// versions of the rules, of what is rendered and of how tokens are counted.
func key(at Snapshot) index.Key {
	return index.KeyOf(string(at.Tree), "", vault.RulesVersion+"/"+render.Version, render.TokensVersion)
}

// keptIndexes is how many indexes stay beside the newest.
const keptIndexes = 4

// open opens the index of a snapshot, and builds it if it is missing, stale,
// of an old format or damaged. Where nothing can be written, and for files as
// they lie, the same answers come from memory.
func (v *Vault) open(ctx context.Context, at loaded) (*opened, error) {
	if v.Repo != nil {
		for _, root := range v.roots() {
			if x := v.current(root, at.Snapshot); x != nil {
				return x, nil
			}
		}
	}
	if at.Commit != "" {
		for _, root := range v.roots() {
			if x := v.derive(ctx, root, at.Snapshot); x != nil {
				_, _ = index.GC(root, keptIndexes, key(at.Snapshot))
				v.pruneFacts()
				return with(x, at.Snapshot)
			}
		}
	}
	contents, err := v.contents(&at)
	if err != nil {
		return nil, err
	}
	if at.Commit != "" {
		for _, root := range v.roots() {
			if index.Build(ctx, root, key(at.Snapshot), contents, v.env.Progress) != nil {
				continue // not writable, or no space: the next place, or memory
			}
			// Packs that came while it was built are looked at the next time.
			if x := built(root, at.Snapshot); x != nil {
				_, _ = index.GC(root, keptIndexes, key(at.Snapshot)) // what is left behind is found by the next one
				v.pruneFacts()
				return x, nil
			}
		}
	}
	x, err := index.Memory(contents)
	if err != nil {
		return nil, err
	}
	return with(x, at.Snapshot)
}

// discardAll drops all indexes under some roots: those that derive from one another
// share files, so what is damaged in one may be in all.
func discardAll(roots []string) {
	for _, root := range roots {
		for _, k := range index.Newest(root) {
			_ = index.Discard(root, k)
		}
	}
}

// built opens the index of a snapshot under a root.
func built(root string, at Snapshot) *opened {
	x, status, _ := index.Open(root, key(at))
	if status != index.Current {
		return nil
	}
	out, err := with(x, at)
	if err != nil {
		return nil
	}
	return out
}

// current opens the index of a snapshot under a root, unless something that it was
// built without may be there now.
func (v *Vault) current(root string, at Snapshot) *opened {
	x := built(root, at)
	if x != nil && v.found(x.lost, x.packs) {
		x.Close()
		_ = index.Discard(root, key(at))
		return nil
	}
	return x
}

// packs names the repository's packs. It is asked before anything is read, so that
// one that comes meanwhile is a new one.
func (v *Vault) packs() string {
	if v.Repo == nil {
		return ""
	}
	return v.Repo.Packs()
}

// packsFor keeps the packs only where something is missing: an index of which nothing
// is does not depend on them.
func packsFor(lost map[vault.ID]string, packs string) string {
	if len(lost) == 0 {
		return ""
	}
	return packs
}

// found says whether objects that an index was built without may have come into
// the repository since: there are other packs, or one of the first few lies in a
// file of its own (what a fetch brings, it brings together).
func (v *Vault) found(lost map[vault.ID]string, packs string) bool {
	if len(lost) == 0 {
		return false
	}
	for _, id := range slices.Sorted(maps.Keys(lost))[:min(len(lost), 4)] {
		if v.Repo.Loose(gitstore.Hash(lost[id])) {
			return true
		}
	}
	return v.Repo.Packs() != packs
}

func with(x *index.Index, at Snapshot) (*opened, error) {
	var h header
	err := json.Unmarshal(x.Vault(), &h)
	if err == nil && (h.Key != key(at) || h.Config == nil) {
		err = errors.New("it is of another vault")
	}
	if err != nil {
		x.Close()
		return nil, fmt.Errorf("the index's own header: %w", err)
	}
	return &opened{Index: x, Snapshot: at, config: h.Config, frame: h.Frame, lost: h.Lost, packs: h.Packs}, nil
}

// contents makes what an index is built of.
func (v *Vault) contents(at *loaded) (index.Contents, error) {
	packs := v.packs()
	s, err := v.read(at)
	if err != nil {
		return index.Contents{}, err
	}
	counter, err := render.NewCounter(s.Config.Defaults.Tokenizer)
	if err != nil {
		return index.Contents{}, err
	}
	h, err := json.Marshal(header{
		Key:    key(at.Snapshot),
		Config: s.Config,
		Frame:  counter.Count(render.Open(s.Config.Project)) + counter.Count(render.Close()),
		Tree:   at.Tree,
		Lost:   s.Lost,
		Packs:  packsFor(s.Lost, packs),
	})
	if err != nil {
		return index.Contents{}, err
	}
	return index.Contents{Vault: h, Problems: s.Problems, Documents: documents(s, func(_ *vault.Asset, _ vault.Mode, text string) int { return counter.Count(text) })}, nil
}

// tally counts the tokens of an asset's form.
type tally func(a *vault.Asset, mode vault.Mode, text string) int

func documents(s *vault.Snapshot, count tally) (out []index.Document) {
	for _, a := range s.Assets {
		out = append(out, document(a, count))
	}
	for _, bad := range s.Invalid {
		out = append(out, index.Document{Facts: bad})
	}
	return out
}

// document is an asset as the index takes it in. Only what was approved is
// searched and handed out, so only that has text and forms.
func document(a *vault.Asset, count tally) index.Document {
	d := index.Document{Facts: a.Facts}
	if a.Standing() == nil {
		return d
	}
	if !a.Approved() {
		a = a.LastApproved
	}
	d.Text = index.Text{Name: a.Name, Description: a.Description, Labels: a.Labels, Body: a.Body()}
	for _, f := range a.Resources() {
		if utf8.Valid(f.Data) && !slices.Contains(f.Data, 0) {
			d.Text.Body += "\n" + string(f.Data)
		}
	}
	for _, mode := range modes(a) {
		if text, ok := render.Item(a, mode); ok {
			d.Forms[slices.Index(vault.Modes, mode)] = index.Form{Text: text, Tokens: count(a, mode, text)}
		}
	}
	return d
}

// modes lists the forms that an asset can be asked for: those of its enabled
// bindings, what these degrade to, and the reference that it has unbound.
func modes(a *vault.Asset) []vault.Mode {
	out := []vault.Mode{vault.ModeReference}
	for _, b := range a.Bindings {
		if b.Enabled {
			out = append(out, governance.Forms(b.Mode)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// IndexStatus tells of the index of the trusted snapshot.
type IndexStatus struct {
	Status string        `json:"status"`
	Key    index.Key     `json:"key"`
	Root   string        `json:"-"` // where it lies; "" if nowhere
	Bytes  int64         `json:"bytes"`
	Ref    string        `json:"ref"`
	Commit gitstore.Hash `json:"commit"`
	Detail string        `json:"detail"`
}

// Index tells whether the index of a revision is current, without mending it.
func (v *Vault) Index(r Revision) (IndexStatus, error) {
	if v.Repo == nil {
		return IndexStatus{Status: "memory", Ref: RefFolder, Detail: "a folder without Git is indexed anew for each answer"}, nil
	}
	at, err := v.trusted(r)
	if err != nil {
		return IndexStatus{}, err
	}
	out := IndexStatus{Key: key(at.Snapshot), Ref: at.Ref, Commit: at.Commit}
	for _, root := range slices.Backward(v.roots()) {
		x, status, err := index.Open(root, out.Key)
		out.Status, out.Root, out.Detail = string(status), root, ""
		if err != nil {
			out.Detail = err.Error()
		}
		if x == nil {
			continue
		}
		x.Close()
		if out.Bytes, err = index.Verify(root, out.Key); err != nil {
			out.Status, out.Detail = string(index.Damaged), err.Error()
		}
		return out, nil
	}
	return out, nil
}

// BuildIndex makes the index of a revision current and says where it stands.
func (v *Vault) BuildIndex(ctx context.Context, r Revision) (IndexStatus, error) {
	at, err := v.trusted(r)
	if err != nil {
		return IndexStatus{}, err
	}
	if before, err := v.Index(r); err == nil && before.Status == string(index.Damaged) {
		discardAll(v.roots())
	}
	x, err := v.open(ctx, at)
	if err != nil {
		return IndexStatus{}, err
	}
	if err := x.Close(); err != nil {
		return IndexStatus{}, err
	}
	out, err := v.Index(r)
	if err == nil && v.Repo != nil && out.Status != string(index.Current) {
		err = fmt.Errorf("no index can be written below %s; loadouts answer from memory, more slowly", strings.Join(v.roots(), " or "))
	}
	return out, err
}

// BuildAlone takes the lock of a build in the background, without waiting. ok
// is false while another process holds it.
func (v *Vault) BuildAlone() (unlock func(), ok bool, err error) {
	if v.Repo == nil {
		return func() {}, true, nil
	}
	if err := os.MkdirAll(v.indexRoot(), 0o700); err != nil {
		return nil, false, err
	}
	lock := flock.New(filepath.Join(filepath.Dir(v.indexRoot()), "build.lock"))
	ok, err = lock.TryLock()
	return func() { _ = lock.Unlock() }, ok, err
}

// CollectIndexes drops the indexes of the vault's repository but the current
// one and the newest few, and returns the keys that are gone.
func (v *Vault) CollectIndexes() ([]index.Key, error) {
	if v.Repo == nil {
		return nil, nil
	}
	at, err := v.trusted(Revision{})
	if err != nil {
		return nil, err
	}
	v.pruneFacts()
	return index.GC(v.indexRoot(), keptIndexes, key(at.Snapshot))
}
