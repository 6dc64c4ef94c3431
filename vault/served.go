package vault

import "path"

// Past gives the files of a Git object that a receipt names: one file, of
// whatever path, or the files of a folder with paths inside it. An error, of
// whatever kind, means that the bytes are not to be had.
type Past func(object string) ([]File, error)

// edited says whether an asset stands as approved, was changed since, and the
// vault goes on serving what was approved (policy.on_edit, format.md §4). Only
// an edit under the same approval counts: whoever sets another state withdraws
// the asset.
func (s *Snapshot) edited(a *Asset, last *Receipt, broken error) bool {
	return broken == nil && last != nil && s.Config.Policy.OnEdit == OnEditLastApproved &&
		a.Status == StatusApproved && last.To == StatusApproved && last.Digest != a.Digest
}

// serve gives an edited asset the version that its last receipt approved, if
// the bytes are still there; the digest is what counts. Otherwise the object is
// in Lost.
func (s *Snapshot) serve(a *Asset, last *Receipt, past Past) {
	if old := approvedVersion(a, last, past, s.Config); old != nil {
		old.Status, old.Version, old.Modified, old.Receipted = StatusApproved, last.Version, last.At, true
		a.LastApproved, a.Served = old, &old.Facts
		return
	}
	if last.Object != "" {
		s.Lost[a.ID] = last.Object
	}
}

// approvedVersion reads what a receipt governed; nil if it cannot be read, or is
// not what the receipt says.
func approvedVersion(a *Asset, r *Receipt, past Past, config *Config) *Asset {
	if past == nil || r.Object == "" {
		return nil
	}
	files, err := past(r.Object)
	if err != nil {
		return nil
	}
	for _, at := range formerPlaces(a, files) {
		named := make([]File, len(files))
		for i, f := range files {
			f.Path = path.Join(at, f.Path)
			named[i] = f
		}
		if old, err := ParseAsset(at, named, config); err == nil && old.ID == a.ID && old.Digest == r.Digest {
			return old
		}
	}
	return nil
}

// formerPlaces are where the files of an object may have lain: where the asset
// lies now, or beside it in another of the three forms that an asset has.
func formerPlaces(a *Asset, files []File) []string {
	stem := path.Join(path.Dir(a.Path), string(a.ID))
	if len(files) == 1 && files[0].Path == "" {
		return []string{stem + ".md", stem + ".yaml"}
	}
	return []string{stem}
}
