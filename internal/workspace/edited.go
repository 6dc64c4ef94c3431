package workspace

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// edited is an asset on its way from the committed bytes to new ones.
type edited struct {
	files  []vault.File // of the asset, paths relative to the vault
	before *vault.Asset
	after  *vault.Asset
	config *vault.Config
	// unsigned says that the last receipt counts for nothing for want of a
	// signature, so that the same state of the same content is worth another.
	unsigned bool
	written  map[string][]byte // what is to be committed; nil: removed
}

// apply makes the change but for state and version, and returns the state that
// it asks for.
func (e *edited) apply(c Change) (vault.Status, error) {
	e.written = map[string][]byte{}
	at := e.before.Path
	keyFile := e.file(e.before.KeyFile())
	if keyFile == nil { // a bare skill is adopted
		e.set(e.before.KeyFile(), adopted(e.before))
		keyFile = e.file(e.before.KeyFile())
	}
	markdown := e.before.Layout == vault.LayoutMarkdown
	current, err := vault.Keys(keyFile.Data, markdown)
	if err != nil {
		return "", err
	}
	patch, err := c.patch(current)
	if err != nil {
		return "", err
	}
	status, err := e.own(patch, current)
	if err != nil {
		return "", err
	}
	if len(patch) > 0 {
		data, err := vault.Edit(keyFile.Data, markdown, patch)
		if err != nil {
			return "", e.problem(err)
		}
		e.set(e.before.KeyFile(), data)
	}
	if c.Body != nil {
		if at, err = e.body(c.Body); err != nil {
			return "", err
		}
	}
	e.after, err = vault.ParseAsset(at, e.files, e.config)
	return status, err
}

// problem says that the keys of the asset cannot be changed as they stand.
func (e *edited) problem(err error) error {
	return vault.Problem{Severity: vault.Error, Path: e.before.KeyFile(), Line: 1, Column: 1, Message: err.Error(), Mend: "then commit it, and try again"}
}

// own takes the keys out of a patch that lm sets itself.
func (e *edited) own(patch, current map[string]any) (vault.Status, error) {
	status, _ := patch["status"].(string)
	if value, given := patch["status"]; given && !slices.Contains(vault.Statuses, vault.Status(status)) {
		return "", fmt.Errorf("%w: there is no status %v; the states are %v", ErrUsage, value, vault.Statuses)
	}
	delete(patch, "status")
	for _, key := range []string{"schema", "id", "version"} {
		if value, given := patch[key]; given && fmt.Sprint(value) != fmt.Sprint(current[key]) {
			return "", fmt.Errorf("%w: %s cannot be changed; it is %v", ErrUsage, key, current[key])
		}
		delete(patch, key)
	}
	return vault.Status(status), nil
}

// adopted is the asset.yaml of a skill that nobody has governed yet.
func adopted(a *vault.Asset) []byte {
	keys := maps.Clone(a.Governed())
	keys["schema"], keys["status"], keys["version"] = vault.AssetSchema, string(a.Status), a.Version
	return vault.NewAssetFile(keys, nil)
}

// body replaces the content and returns where the asset lies then: a file that
// was YAML alone becomes one with front matter.
func (e *edited) body(data []byte) (at string, err error) {
	a := e.before
	switch a.Layout {
	case vault.LayoutSkill, vault.LayoutBareSkill:
		return "", fmt.Errorf("%w: the instructions of %s are its SKILL.md, which lm never rewrites; edit %s, commit it, and govern it again", ErrUsage, a.ID, a.BodyFile())
	case vault.LayoutFolder:
		e.set(a.BodyFile(), data)
	case vault.LayoutMarkdown:
		file, err := vault.WithBody(e.file(a.Path).Data, data)
		if err != nil {
			return "", err
		}
		e.set(a.Path, file)
	case vault.LayoutYAML:
		keys := e.file(a.Path).Data
		at := strings.TrimSuffix(a.Path, path.Ext(a.Path)) + ".md"
		e.files = slices.DeleteFunc(e.files, func(f vault.File) bool { return f.Path == a.Path })
		e.written[a.Path] = nil
		keys = bytes.TrimPrefix(bytes.TrimPrefix(keys, []byte("\xef\xbb\xbf")), []byte("---\n"))
		if !bytes.HasSuffix(keys, []byte("\n")) {
			keys = append(bytes.Clone(keys), '\n')
		}
		e.set(at, slices.Concat([]byte("---\n"), keys, []byte("---\n"), data))
		return at, nil
	}
	return a.Path, nil
}

// settle sets state and version, which the digest does not see.
func (e *edited) settle(to vault.Status, version int) error {
	patch := map[string]any{}
	if e.after.Status != to {
		patch["status"] = string(to)
	}
	if e.after.Version != version {
		patch["version"] = version
	}
	data, err := vault.Edit(e.file(e.after.KeyFile()).Data, e.after.Layout == vault.LayoutMarkdown, patch)
	if err != nil {
		return e.problem(err)
	}
	if len(patch) > 0 {
		e.set(e.after.KeyFile(), data)
	}
	digest := e.after.Digest
	if e.after, err = vault.ParseAsset(e.after.Path, e.files, e.config); err != nil {
		return err
	}
	if e.after.Digest != digest || e.after.Status != to || e.after.Version != version {
		return fmt.Errorf("%s: setting state and version changed more than those; write the keys as `key: value` lines", e.after.KeyFile())
	}
	return nil
}

func (e *edited) file(p string) *vault.File {
	for i := range e.files {
		if e.files[i].Path == p {
			return &e.files[i]
		}
	}
	return nil
}

func (e *edited) set(p string, data []byte) {
	e.written[p] = data
	fresh := vault.File{Path: p, Data: data, Size: int64(len(data)), Object: string(gitstore.BlobID(data))}
	if old := e.file(p); old != nil {
		fresh.Kind = old.Kind
		*old = fresh
		return
	}
	e.files = append(e.files, fresh)
}

// object is Git's id of what is governed: the file, or the whole folder.
func (e *edited) object() (gitstore.Hash, error) {
	if f := e.file(e.after.Path); f != nil {
		return gitstore.Hash(f.Object), nil
	}
	inside := make([]vault.File, len(e.files))
	for i, f := range e.files {
		f.Path = strings.TrimPrefix(f.Path, e.after.Path+"/")
		inside[i] = f
	}
	return gitstore.TreeID(inside)
}
