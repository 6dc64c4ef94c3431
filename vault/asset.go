package vault

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"sort"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"gopkg.in/yaml.v3"
)

// AssetSchema is the schema that every asset names.
const AssetSchema = "lm.asset/v1"

// Layout says how an asset lies in the vault (format.md, the tree).
type Layout uint8

// The layouts.
const (
	LayoutMarkdown  Layout = iota // one .md file: front matter and body
	LayoutYAML                    // one .yaml file: keys and no body
	LayoutFolder                  // a folder with asset.yaml; the body is content.md
	LayoutSkill                   // a folder with SKILL.md and asset.yaml
	LayoutBareSkill               // a folder with SKILL.md alone: a candidate nobody has governed yet
)

// Source says where an asset's content came from.
type Source struct {
	Type string
	Ref  string
}

// SourceTypes lists the types of sources.
var SourceTypes = []string{"manual", "conversation", "docs", "repository", "skill"}

// Asset is one asset as its files state it. ParseAsset is the only way to one,
// so an Asset in hand is valid; it is not changed afterwards.
type Asset struct {
	Facts
	Layout Layout
	// StatedVersion is the version that the file says. Version is the receipt's
	// where a receipt names this very content.
	StatedVersion int
	Source        Source
	Labels        []string
	Payload       map[string]any
	Metadata      map[string]any
	// Warnings are what is odd about the asset and does not make it invalid.
	Warnings []Problem
	// LastApproved is the asset of which Served has the facts.
	LastApproved *Asset

	body   string
	files  []File // the folder's content files, sorted; nil for a single file
	keys   map[string]any
	places map[string][2]int // line and column of keys and bindings
}

// Place is the line and column in the key file where a field stands: a key of
// §1, or a binding as "bindings[0]". 0, 0: it does not.
func (a *Asset) Place(field string) (line, column int) {
	at := a.places[field]
	return at[0], at[1]
}

// Body is the readable content, with LF line ends: of a skill the
// instructions, without front matter.
func (a *Asset) Body() string { return a.body }

// Resources are the content files beside the body, sorted by path; their paths
// are relative to the asset's folder.
func (a *Asset) Resources() []File {
	var out []File
	for _, f := range a.files {
		if f.Path != a.bodyFile() {
			out = append(out, f)
		}
	}
	return out
}

// Summary is payload.summary, or "".
func (a *Asset) Summary() string { s, _ := a.Payload["summary"].(string); return s }

// KeyFile is the path, relative to the vault, of the file that holds the
// asset's keys. Of a bare skill it does not exist yet.
func (a *Asset) KeyFile() string {
	if a.Layout == LayoutMarkdown || a.Layout == LayoutYAML {
		return a.Path
	}
	return path.Join(a.Path, "asset.yaml")
}

// BodyFile is the path, relative to the vault, of the file that holds the
// asset's body; "" where the layout has none.
func (a *Asset) BodyFile() string {
	switch a.Layout {
	case LayoutYAML:
		return ""
	case LayoutMarkdown:
		return a.Path
	}
	return path.Join(a.Path, a.bodyFile())
}

func (a *Asset) bodyFile() string {
	switch {
	case a.Layout == LayoutSkill || a.Layout == LayoutBareSkill:
		return "SKILL.md"
	case a.ContentRef != "" && !isURI(a.ContentRef):
		return a.ContentRef
	default:
		return "content.md"
	}
}

// ParseAsset reads the asset whose file or folder is at, from its files (paths
// relative to the vault). Everything that is wrong comes back at once, as
// problems in the error; what is only odd is in the asset's Warnings.
func ParseAsset(at string, files []File, config *Config) (*Asset, error) {
	var found findings
	p := &assetParser{at: at, config: config, found: &found, asset: &Asset{}}
	p.asset.Path = at
	p.read(files)
	if err := found.err(); err != nil {
		return nil, err
	}
	p.asset.Warnings, p.asset.StatedVersion = found.list(), p.asset.Version
	p.asset.Digest = digestOf(p.asset.Canonical())
	return p.asset, nil
}

type assetParser struct {
	at     string
	config *Config
	found  *findings
	asset  *Asset
}

func (p *assetParser) read(files []File) {
	a := p.asset
	if !p.withinLimits(files) {
		return
	}
	if len(files) == 1 && files[0].Path == p.at {
		if strings.HasSuffix(p.at, ".md") {
			a.Layout = LayoutMarkdown
			doc, body := frontMatter(p.at, files[0].Data, p.found)
			a.body = string(toLF(body))
			if bytes.HasPrefix(body, lfsMarker) {
				p.found.add(Problem{Severity: Error, Path: p.at, Message: "the body is a Git LFS pointer, not the text", Mend: "put the text itself here"})
			}
			p.readKeys(doc)
		} else {
			a.Layout = LayoutYAML
			p.readKeys(plainYAML(p.at, files[0].Data, p.found))
		}
		return
	}
	var keys, skill *File
	for i := range files {
		rel := strings.TrimPrefix(files[i].Path, p.at+"/")
		switch {
		case rel == "asset.yaml":
			keys = &files[i]
			continue
		case path.Base(rel) == "asset.yaml":
			p.found.add(Problem{Severity: Error, Path: files[i].Path, Message: "an asset.yaml below another asset",
				Mend: "everything below " + p.at + " belongs to that asset: move the folder out of it"})
		case rel == "SKILL.md":
			skill = &files[i]
		}
		if !hidden(rel) {
			p.checkContent(files[i].Path, rel, files[i].Data)
			file := files[i]
			file.Path = rel
			a.files = append(a.files, file)
		}
	}
	sort.Slice(a.files, func(i, j int) bool { return a.files[i].Path < a.files[j].Path })
	p.sameElsewhere()
	p.readFolder(keys, skill)
}

// sameElsewhere warns of names that are one name to the file systems of macOS and
// Windows: there a checkout has one of the files, and another digest.
func (p *assetParser) sameElsewhere() {
	first := map[string]string{}
	for _, f := range p.asset.files {
		plain := strings.ToLower(norm.NFC.String(f.Path))
		if other, ok := first[plain]; ok {
			p.found.add(Problem{Severity: Warning, Path: path.Join(p.at, f.Path), Mend: "rename one of them",
				Message: fmt.Sprintf("its name and %s differ only in case or in how an accent is written, and on macOS and Windows they are one file", other)})
		}
		first[plain] = f.Path
	}
}

// checkContent refuses a pointer in place of a file, and a name that would make the hashed text ambiguous: the lines
// of content files are told apart by their ends, and "body" stands for the body
// of an asset of one file.
func (p *assetParser) checkContent(path, rel string, data []byte) {
	err := CheckPath(rel)
	if bytes.HasPrefix(data, lfsMarker) {
		err = errors.New("this is a Git LFS pointer, not the file; keep the file in Git itself")
	}
	if rel == "body" {
		err = fmt.Errorf("a file named body; the digest keeps this name for assets of one file")
	}
	if err != nil {
		p.found.add(Problem{Severity: Error, Path: path, Message: err.Error(), Mend: "rename the file"})
	}
}

func (p *assetParser) readFolder(keys, skill *File) {
	a := p.asset
	switch {
	case keys == nil:
		a.Layout = LayoutBareSkill
	case skill != nil:
		a.Layout = LayoutSkill
	default:
		a.Layout = LayoutFolder
	}
	if skill != nil {
		a.body = p.readSkill(skill)
	}
	if keys == nil {
		p.adoptable(skill.Path)
		return
	}
	p.readKeys(plainYAML(keys.Path, keys.Data, p.found))
	if a.Layout == LayoutFolder {
		for _, f := range a.files {
			if f.Path == a.bodyFile() && utf8.Valid(f.Data) {
				a.body = string(toLF(bytes.TrimPrefix(f.Data, byteOrder)))
			}
		}
	}
}

// withinLimits refuses what is too large or no plain file: nothing of such an
// asset is read.
func (p *assetParser) withinLimits(files []File) bool {
	limits := p.config.Policy.Limits
	ok, total := true, int64(0)
	fault := func(path, mend, format string, args ...any) {
		ok = false
		p.found.add(Problem{Severity: Error, Path: path, Message: fmt.Sprintf(format, args...), Mend: mend})
	}
	for _, f := range files {
		total += f.Size
		switch {
		case f.Kind == FileSymlink:
			fault(f.Path, "put the file itself here", "a symbolic link; lm follows none")
		case f.Kind != FileRegular && f.Kind != FileExecutable:
			fault(f.Path, "put a plain file here", "this is no plain file")
		case f.Size > limits.AssetBytes || f.Data == nil && f.Size > 0:
			fault(f.Path, "cut it, or raise policy.limits.asset_bytes in vault.yaml", "%d bytes, the limit for a file is %d", f.Size, limits.AssetBytes)
		}
	}
	alone := len(files) == 1 && files[0].Path == p.at
	if total > limits.FolderBytes && !alone {
		fault(p.at, "cut it, or raise policy.limits.folder_bytes in vault.yaml", "%d bytes in all, the limit for a folder is %d", total, limits.FolderBytes)
	}
	if len(files) > limits.FolderFiles {
		fault(p.at, "cut it, or raise policy.limits.folder_files in vault.yaml", "%d files, the limit for a folder is %d", len(files), limits.FolderFiles)
	}
	return ok
}

// adoptable fills in what vault.yaml's defaults say of a skill that nobody has
// governed yet.
func (p *assetParser) adoptable(skillPath string) {
	a, defaults := p.asset, p.config.Defaults
	id := path.Base(p.at)
	if err := CheckID(id); err != nil {
		p.found.add(Problem{Severity: Error, Path: skillPath, Field: "id", Message: err.Error(), Mend: "rename the folder"})
	}
	if defaults.Owner == "" {
		p.found.add(Problem{Severity: Error, Path: skillPath, Field: "owner", Message: "nobody owns this skill",
			Mend: "set defaults.owner in vault.yaml, or put an asset.yaml beside SKILL.md"})
	}
	a.ID, a.Type, a.Owner = ID(id), TypeSkill, defaults.Owner
	a.Version, a.Status = 1, StatusCandidate
	a.Source, a.Priority, a.Confidence = Source{Type: "manual"}, defaultPriority, defaultConfidence
	a.Visibility = cmp.Or(defaults.Visibility, VisibilityProject)
	a.keys = map[string]any{"id": id, "type": string(TypeSkill), "owner": string(a.Owner)}
	if a.Visibility != VisibilityProject {
		a.keys["visibility"] = string(a.Visibility)
	}
}

// Constants of the format: what holds where a key is absent.
const (
	defaultPriority   = One / 4
	defaultConfidence = One / 2
)

// readKeys reads the keys of §1.
func (p *assetParser) readKeys(d *document) {
	if d.root == nil {
		return
	}
	a := p.asset
	a.Version, a.Status, a.Visibility = 1, StatusCandidate, VisibilityProject
	a.Priority, a.Confidence, a.Source = defaultPriority, defaultConfidence, Source{Type: "manual"}
	a.keys = map[string]any{}
	if p.newerFormat(d) {
		return // what v1 requires says nothing of it
	}

	readers := map[string]keyReader{
		"schema":      func(n *yaml.Node, f string) { d.text(n, f) },
		"id":          func(n *yaml.Node, f string) { p.readID(d, n, f) },
		"type":        func(n *yaml.Node, f string) { a.Type = oneOf(d, n, f, Types); a.keys[f] = string(a.Type) },
		"name":        func(n *yaml.Node, f string) { a.Name = d.sizedText(n, f, 200); a.keys[f] = a.Name },
		"description": func(n *yaml.Node, f string) { a.Description = d.sizedText(n, f, 1024); a.keys[f] = a.Description },
		"owner": func(n *yaml.Node, f string) {
			a.Owner = d.subject(n, f, KindUser, false, KindUser, KindTeam)
			a.keys[f] = string(a.Owner)
		},
		"source":      func(n *yaml.Node, f string) { p.readSource(d, n, f) },
		"content_ref": func(n *yaml.Node, f string) { p.readContentRef(d, n, f) },
		"version":     func(n *yaml.Node, f string) { a.Version = int(d.integer(n, f, 1)) },
		"status":      func(n *yaml.Node, f string) { a.Status = oneOf(d, n, f, Statuses) },
		"visibility": func(n *yaml.Node, f string) {
			if a.Visibility = oneOf(d, n, f, Visibilities); a.Visibility != VisibilityProject {
				a.keys[f] = string(a.Visibility)
			}
		},
		"teams": func(n *yaml.Node, f string) {
			a.Teams = d.texts(n, f)
			p.keepList(f, a.Teams)
			for i, team := range a.Teams {
				if id, prefixed := strings.CutPrefix(team, KindTeam+":"); prefixed {
					d.at(follow(n).Content[i], Error, fmt.Sprintf("%s[%d]", f, i), "write "+id, "a team's id is due, without its kind")
				}
			}
		},
		"labels":   func(n *yaml.Node, f string) { a.Labels = d.texts(n, f); p.keepList(f, a.Labels) },
		"acl":      func(n *yaml.Node, f string) { p.readACL(d, n, f) },
		"bindings": func(n *yaml.Node, f string) {}, // read last: they inherit the asset's priority
		"priority": func(n *yaml.Node, f string) { a.Priority = p.keepShare(d, n, f, 0.25) },
		"confidence": func(n *yaml.Node, f string) {
			a.Confidence = p.keepShare(d, n, f, 0.5)
		},
		"expires_at": func(n *yaml.Node, f string) {
			if a.Expires = d.instant(n, f); !a.Expires.IsZero() {
				a.keys[f] = FormatTime(a.Expires)
			}
		},
		"payload":  func(n *yaml.Node, f string) {}, // read last: its schema hangs on the type
		"metadata": func(n *yaml.Node, f string) { p.readMetadata(d, n, f) },
	}
	if a.Layout == LayoutSkill {
		for _, key := range []string{"name", "description"} {
			readers[key] = func(n *yaml.Node, f string) {
				d.at(n, Error, f, "remove it here and write it in SKILL.md", "of a skill folder it stands in SKILL.md")
			}
		}
	}
	there := d.keys(d.root, "", readers)
	for key, n := range there {
		p.place(d, key, n)
	}
	p.require(d, there)
	for i := 0; i < len(d.root.Content); i += 2 {
		switch key, value := d.root.Content[i], d.root.Content[i+1]; key {
		case there["bindings"]:
			p.readBindings(d, value, "bindings")
		case there["payload"]:
			p.readPayload(d, value, "payload")
		}
	}
}

func (p *assetParser) place(d *document, field string, n *yaml.Node) {
	if p.asset.places == nil {
		p.asset.places = map[string][2]int{}
	}
	p.asset.places[field] = [2]int{n.Line + d.skip, n.Column}
}

// newerFormat says it first where the file is of a later lm: the rest of what
// it would find is noise then.
func (p *assetParser) newerFormat(d *document) bool {
	for i := 0; i < len(d.root.Content); i += 2 {
		if d.root.Content[i].Value != "schema" {
			continue
		}
		switch schema := follow(d.root.Content[i+1]); {
		case schema.Value == AssetSchema || isNull(schema):
		case strings.HasPrefix(schema.Value, "lm.asset/"):
			d.at(schema, Error, "schema", "use an lm that knows it", "newer format %s; this lm reads %s", schema.Value, AssetSchema)
			return true
		default:
			d.at(schema, Error, "schema", "write "+AssetSchema, "%q is no asset schema", schema.Value)
		}
	}
	return false
}

func (p *assetParser) require(d *document, there map[string]*yaml.Node) {
	required := []string{"schema", "id", "type", "name", "description", "owner"}
	if p.asset.Layout == LayoutMarkdown && there["schema"] == nil && strings.EqualFold(path.Base(p.at), "SKILL.md") {
		d.at(d.root, Error, "", "rename the file", "a skill's file is named SKILL.md, in capitals")
		return
	}
	for _, key := range required {
		if there[key] != nil || p.asset.Layout == LayoutSkill && (key == "name" || key == "description") {
			continue
		}
		mend := map[string]string{
			"schema": "add schema: " + AssetSchema,
			"id":     "add id: " + strings.TrimSuffix(strings.TrimSuffix(path.Base(p.at), ".md"), ".yaml"),
			"type":   "add type: one of " + list(Types),
			"owner":  "add owner: user:<id> or team:<id>",
		}[key]
		if mend == "" {
			mend = "add " + key + ": <text>"
		}
		d.at(d.root, Error, key, mend, "this key is required")
	}
	if p.asset.Layout == LayoutSkill && there["type"] != nil && p.asset.Type != TypeSkill {
		d.at(there["type"], Error, "type", "write type: skill, or move SKILL.md away", "a folder with SKILL.md holds a skill, not %q", p.asset.Type)
	}
}

func (p *assetParser) readID(d *document, n *yaml.Node, field string) {
	value, ok := d.text(n, field)
	if !ok {
		return
	}
	name := path.Base(p.at)
	if p.asset.Layout == LayoutMarkdown || p.asset.Layout == LayoutYAML {
		name = strings.TrimSuffix(name, path.Ext(name))
	}
	if err := CheckID(value); err != nil {
		d.at(follow(n), Error, field, "choose another id and name the file after it", "%s", err)
	} else if value != name {
		mend := fmt.Sprintf("write id: %s, or rename it to %s", name, value)
		if CheckID(name) != nil {
			mend = "rename it to " + value
		}
		d.at(follow(n), Error, field, mend, "the id %s is not the name %s under which the asset lies", value, name)
	}
	p.asset.ID, p.asset.keys[field] = ID(value), value
}
