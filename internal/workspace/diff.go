package workspace

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// Diff is how two versions of an asset differ: in the file with the keys and in
// the content files.
type Diff struct {
	ID vault.ID `json:"id"`
	// From and To are versions; From 0 means that there was none before.
	From int `json:"from"`
	To   int `json:"to"`
	// The commits and digests tell versions apart that bear one number.
	FromCommit gitstore.Hash `json:"from_commit"` // "": the bytes come from a receipt's object
	ToCommit   gitstore.Hash `json:"to_commit"`
	FromDigest vault.Digest  `json:"from_digest"`
	ToDigest   vault.Digest  `json:"to_digest"`
	Files      []FileDiff    `json:"files"`
}

// FileDiff is a unified diff of one file.
type FileDiff struct {
	Path string `json:"path"` // relative to the vault, where the file lies now or lay last
	Diff string `json:"diff"`
}

// Diff compares two versions of an asset. to 0 is what the revision has; from 0
// is the version that was approved last or, if to is no other content than that, the
// content before.
func (v *Vault) Diff(id vault.ID, from, to int, s Subject, r Revision) (*Diff, error) {
	at, one, err := v.gate(id, s, r)
	if err != nil {
		return nil, err
	}
	who, err := v.who(one.config(), s)
	if err != nil {
		return nil, err
	}
	p, err := v.past(at.Commit, id)
	if err != nil {
		return nil, err
	}
	after := &sight{one, at.Snapshot}
	if to != 0 {
		if after, err = p.standing(one, to, who); err != nil {
			return nil, err
		}
	}
	var before *sight
	if from != 0 {
		before, err = p.standing(one, from, who)
	} else if before, err = p.base(after); err == nil && before != nil {
		if before.readable(who, at.Ref) != nil {
			return nil, fmt.Errorf("%w: you may not read what %s was before; name a version that you may read: lm asset diff %s@N", ErrNotFound, id, id)
		}
	}
	if err != nil {
		return nil, err
	}
	out := &Diff{ID: id, To: after.asset.Version, ToCommit: after.Commit, ToDigest: after.asset.Digest}
	if before == nil {
		out.Files = compare(nil, after.single)
		return out, nil
	}
	out.From, out.FromCommit, out.FromDigest = before.asset.Version, before.Commit, before.asset.Digest
	out.Files = compare(before.single, after.single)
	return out, nil
}

// base is what a state is compared with where nobody says: what was approved
// last, else the content before; nil if there was none.
func (p *past) base(now *sight) (*sight, error) {
	chain := now.snapshot.Chain(p.id)
	for _, r := range slices.Backward(chain) {
		if r.To != vault.StatusApproved {
			continue
		}
		if r.Digest == now.asset.Digest {
			break
		}
		found, err := p.find(func(a *vault.Asset) bool { return a.Digest == r.Digest })
		if err != nil || found != nil {
			return found, err
		}
		return p.governed(now.single, r)
	}
	reached := false
	found, err := p.find(func(a *vault.Asset) bool {
		reached = reached || a.Digest == now.asset.Digest
		return (reached || now.Commit == "") && a.Digest != now.asset.Digest
	})
	if err == nil && found == nil && !p.complete() {
		return nil, fmt.Errorf("%w: %s has no other version here; %s", ErrNotFound, p.id, unshallow)
	}
	return found, err
}

// governed reads what a receipt governed through the object that it names, for
// no commit may have it any more: a squash leaves such out.
func (p *past) governed(now *single, r *vault.Receipt) (*sight, error) {
	mend := fmt.Sprintf("a squash may have left it out; name a version that is there: lm asset diff %s@N", p.id)
	if !p.complete() {
		mend = unshallow
	}
	lost := fmt.Errorf("%w: the bytes that receipt %04d of %s approved are in no commit here; %s", ErrNotFound, r.Seq, p.id, mend)
	files, err := p.v.Repo.Object(gitstore.Hash(r.Object), loadLimit(p.config.Data))
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil, lost
	}
	if err != nil {
		return nil, err
	}
	// The object has no name; the id and the digest tell which it had.
	dir := path.Dir(now.asset.Path)
	for _, name := range []string{string(p.id), string(p.id) + ".md", string(p.id) + ".yaml"} {
		at := path.Join(dir, name)
		old := slices.Clone(files)
		for i := range old {
			old[i].Path = path.Join(at, old[i].Path)
		}
		if a, err := vault.ParseAsset(at, old, now.config()); err == nil && a.Digest == r.Digest {
			return &sight{single: &single{snapshot: now.snapshot, asset: a, places: []string{at}, files: old, id: p.id}}, nil
		}
	}
	return nil, lost
}

// compare makes the diffs of all files, those with the keys first, the others
// by path. A nil before stands for nothing.
func compare(before, after *single) []FileDiff {
	old, fresh := map[string]vault.File{}, after.content()
	if before != nil {
		old = before.content()
		if a, b := before.keyName(), after.keyName(); a != b { // it was made a folder, or a file
			if f, ok := old[a]; ok {
				delete(old, a)
				old[b] = f
			}
		}
	}
	names := slices.Collect(maps.Keys(fresh))
	for name := range old {
		if _, ok := fresh[name]; !ok {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if key := after.keyName(); (a == key) != (b == key) {
			return map[bool]int{true: -1, false: 1}[a == key]
		}
		return strings.Compare(a, b)
	})
	out := []FileDiff{}
	for _, name := range names {
		a, b := old[name], fresh[name]
		if text := unified(a, b); text != "" {
			out = append(out, FileDiff{Path: cmp.Or(b.Path, a.Path), Diff: text})
		}
	}
	return out
}

// unified is the diff of two files, "" if they are the same but for line ends,
// which no digest sees. A file without a path is none.
func unified(a, b vault.File) string {
	from, to := "/dev/null", "/dev/null"
	if a.Path != "" {
		from = "a/" + a.Path
	}
	if b.Path != "" {
		to = "b/" + b.Path
	}
	if binary(a.Data) || binary(b.Data) {
		if bytes.Equal(a.Data, b.Data) {
			return ""
		}
		return fmt.Sprintf("Binary files %s and %s differ\n", from, to)
	}
	text := udiff.Unified(from, to, lines(a.Data), lines(b.Data))
	if text == "" && (a.Path == "") != (b.Path == "") { // an empty file came or went
		return fmt.Sprintf("--- %s\n+++ %s\n", from, to)
	}
	return text
}

func binary(data []byte) bool { return bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) }

// lines is a text with LF line ends.
func lines(data []byte) string { return strings.ReplaceAll(string(data), "\r\n", "\n") }
