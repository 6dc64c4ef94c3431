package workspace

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"longmemory.dev/lm/vault"
)

// OnlyChanged keeps the problems of files that differ from HEAD, of the other
// files of their assets, and of assets whose receipts differ.
func (v *Vault) OnlyChanged(r *Validation) error {
	if v.Repo == nil || v.Dir == "" {
		return fmt.Errorf("%w: without a work tree in Git nothing differs from HEAD", ErrUsage)
	}
	head, err := v.resolve("HEAD")
	if err != nil {
		return err
	}
	before, err := v.Repo.List(head, v.Prefix, vault.Relevant)
	if err != nil {
		return err
	}
	now, _, err := v.workFiles(func(string) int64 { return 0 }, vault.Relevant)
	if err != nil {
		return err
	}
	blobs := map[string][2]string{}
	for i, files := range [][]vault.File{before, now} {
		for _, f := range files {
			sides := blobs[f.Path]
			sides[i] = fmt.Sprint(f.Kind, " ", f.Object)
			blobs[f.Path] = sides
		}
	}
	var changed []string
	for p, sides := range blobs {
		if sides[0] == sides[1] {
			continue
		}
		changed = append(changed, v.inRepo(p))
		if dir := assetFolder(p, blobs); dir != "" {
			changed = append(changed, v.inRepo(dir))
		}
		if subject, ok := strings.CutPrefix(path.Dir(p), "receipts/asset/"); ok {
			for _, place := range vault.Places(now, vault.ID(subject)) {
				changed = append(changed, v.inRepo(place))
			}
		}
	}
	r.Problems = slices.DeleteFunc(r.Problems, func(p vault.Problem) bool { return len(changed) == 0 || !under(p.Path, changed) })
	return nil
}

// assetFolder is the topmost folder with asset.yaml or SKILL.md around a file.
func assetFolder(p string, there map[string][2]string) string {
	top := ""
	for dir := path.Dir(p); strings.HasPrefix(dir, "assets/"); dir = path.Dir(dir) {
		for _, name := range []string{"asset.yaml", "SKILL.md"} {
			if _, ok := there[dir+"/"+name]; ok {
				top = dir
			}
		}
	}
	return top
}
