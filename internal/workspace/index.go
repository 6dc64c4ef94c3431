package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

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
	frame  int // tokens that stand around the items of a context
}

// header is what an index keeps of the vault itself.
type header struct {
	Config *vault.Config `json:"config"`
	Frame  int           `json:"frame"`
}

// indexRoot is where indexes lie: in the common Git directory, shared by work
// trees and never tracked.
func (v *Vault) indexRoot() string { return filepath.Join(v.Repo.CommonDir(), "lm", "index") }

// userRoot is where they lie if that cannot be written; "" if the user has no
// cache directory.
func userRoot() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "lm", "index")
}

func key(at Snapshot) index.Key {
	return index.KeyOf(string(at.Tree), "", render.Version, render.TokensVersion)
}

// keptIndexes is how many indexes stay beside the newest.
const keptIndexes = 4

// open opens the index of a snapshot, and builds it if it is missing, stale,
// of an old format or damaged. Where nothing can be written, and for files as
// they lie, the same answers come from memory.
func (v *Vault) open(ctx context.Context, at loaded) (*opened, error) {
	if v.Repo != nil {
		for _, root := range []string{v.indexRoot(), userRoot()} {
			if x, status, _ := index.Open(root, key(at.Snapshot)); status == index.Current {
				return with(x, at.Snapshot)
			}
		}
	}
	contents, err := v.contents(&at)
	if err != nil {
		return nil, err
	}
	if at.Commit != "" {
		for _, root := range []string{v.indexRoot(), userRoot()} {
			if root == "" || index.Build(ctx, root, key(at.Snapshot), contents, v.env.Progress) != nil {
				continue // not writable, or no space: the next place, or memory
			}
			x, status, _ := index.Open(root, key(at.Snapshot))
			if status != index.Current {
				continue
			}
			_, _ = index.GC(root, keptIndexes, key(at.Snapshot)) // what is left behind is found by the next one
			return with(x, at.Snapshot)
		}
	}
	x, err := index.Memory(contents)
	if err != nil {
		return nil, err
	}
	return with(x, at.Snapshot)
}

func with(x *index.Index, at Snapshot) (*opened, error) {
	var h header
	if err := json.Unmarshal(x.Vault(), &h); err != nil {
		x.Close()
		return nil, fmt.Errorf("the index's own header: %w", err)
	}
	return &opened{Index: x, Snapshot: at, config: h.Config, frame: h.Frame}, nil
}

// contents makes what an index is built of.
func (v *Vault) contents(at *loaded) (index.Contents, error) {
	s, err := v.read(at)
	if err != nil {
		return index.Contents{}, err
	}
	counter, err := render.NewCounter(s.Config.Defaults.Tokenizer)
	if err != nil {
		return index.Contents{}, err
	}
	h, err := json.Marshal(header{
		Config: s.Config,
		Frame:  counter.Count(render.Open(s.Config.Project)) + counter.Count(render.Close()),
	})
	if err != nil {
		return index.Contents{}, err
	}
	out := index.Contents{Vault: h, Problems: s.Problems}
	for _, a := range s.Assets {
		out.Documents = append(out.Documents, document(a, counter))
	}
	for _, bad := range s.Invalid {
		out.Documents = append(out.Documents, index.Document{Facts: bad})
	}
	return out, nil
}

// document is an asset as the index takes it in. Only approved assets are
// searched and handed out, so only they have text and forms.
func document(a *vault.Asset, counter *render.Counter) index.Document {
	d := index.Document{Facts: a.Facts}
	if !a.Approved() {
		return d
	}
	d.Text = index.Text{Name: a.Name, Description: a.Description, Labels: a.Labels, Body: a.Body()}
	for _, f := range a.Resources() {
		if utf8.Valid(f.Data) && !slices.Contains(f.Data, 0) {
			d.Text.Body += "\n" + string(f.Data)
		}
	}
	for _, mode := range modes(a) {
		if text, ok := render.Item(a, mode); ok {
			d.Forms[slices.Index(vault.Modes, mode)] = index.Form{Text: text, Tokens: counter.Count(text)}
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
	for _, root := range []string{userRoot(), v.indexRoot()} {
		x, status, err := index.Open(root, out.Key)
		out.Status, out.Root, out.Detail = string(status), root, ""
		if err != nil {
			out.Detail = err.Error()
		}
		if x == nil {
			continue
		}
		x.Close()
		entries, err := index.List(root)
		if err != nil {
			return IndexStatus{}, err
		}
		for _, e := range entries {
			if e.Key == out.Key {
				out.Bytes = e.Size
			}
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
	x, err := v.open(ctx, at)
	if err != nil {
		return IndexStatus{}, err
	}
	if err := x.Close(); err != nil {
		return IndexStatus{}, err
	}
	return v.Index(r)
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
	return index.GC(v.indexRoot(), keptIndexes, key(at.Snapshot))
}
