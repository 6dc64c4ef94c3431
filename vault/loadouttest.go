package vault

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// LoadoutSchema is the schema that every saved loadout names.
const LoadoutSchema = "lm.loadout-test/v1"

// LoadoutFolder holds a vault's saved loadouts.
const LoadoutFolder = "loadouts"

// LoadoutTest is a saved request and what its loadout must and must not hold
// (format.md §7). It counts in no digest and in no index.
type LoadoutTest struct {
	Name      string // of the file, without .yaml
	Path      string // relative to the vault
	Request   SavedRequest
	Select    []Promise // Want is the mode, "" for any
	First     *Promise  // nil: not asked for
	Exclude   []Promise // Want is the reason, or Hidden
	MaxTokens *Limit    // nil: none
	Complete  *Truth    // nil: not asked for
}

// SavedRequest is the request of a saved loadout. What it leaves out is as if
// the flag of lm loadout were left out, but for the person: it is on behalf of
// nobody, whoever runs it.
type SavedRequest struct {
	Query       string
	User        string
	Teams       []string
	Roles       []string
	Agent       string
	Task        string
	Framework   string
	TokenBudget int // 0: the vault's default
	Types       []Type
	BoundOnly   bool
	Now         time.Time // zero: the time of the run
}

// Hidden stands in exclude for an asset that the subject may not even read.
const Hidden = "hidden"

// Place is where something stands in its file.
type Place struct{ Line, Column int }

// Promise is one asset that a saved loadout names, and what is said of it.
type Promise struct {
	Place
	ID   ID
	Want string
}

// Limit is a number with its place.
type Limit struct {
	Place
	Most int
}

// Truth is a yes or no with its place.
type Truth struct {
	Place
	Want bool
}

// ReadLoadouts reads the saved loadouts among a vault's files, sorted by name,
// and says what is wrong with the others. README.md and names that begin with
// . or _ are none.
func ReadLoadouts(files []File) ([]*LoadoutTest, []Problem) {
	var out []*LoadoutTest
	var found findings
	noFolders(files, &found, LoadoutFolder)
	problems := found.list()
	for _, f := range files {
		rel, ok := strings.CutPrefix(f.Path, LoadoutFolder+"/")
		if !ok || rel == "README.md" || slices.ContainsFunc(strings.Split(rel, "/"), skipped) {
			continue
		}
		t, err := ParseLoadoutTest(f)
		if err != nil {
			problems = append(problems, Problems(err)...)
			continue
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *LoadoutTest) int { return strings.Compare(a.Name, b.Name) })
	SortProblems(problems)
	return out, problems
}

// ParseLoadoutTest reads one saved loadout. Everything that is wrong comes back
// at once, as problems in the error.
func ParseLoadoutTest(file File) (*LoadoutTest, error) {
	var found findings
	t := &LoadoutTest{Path: file.Path, Name: strings.TrimSuffix(path.Base(file.Path), ".yaml")}
	whole := func(message, mend string) {
		found.add(Problem{Severity: Error, Path: file.Path, Message: message, Mend: mend})
	}
	switch {
	case path.Dir(file.Path) != LoadoutFolder || path.Ext(file.Path) != ".yaml":
		whole("this is no place of a saved loadout", "saved loadouts lie at loadouts/<name>.yaml; move it, or begin its name with _")
	case CheckID(t.Name) != nil:
		whole(CheckID(t.Name).Error(), "rename the file")
	case file.Kind != FileRegular && file.Kind != FileExecutable || file.Data == nil && file.Size > 0:
		whole("this is no plain file of a saved loadout's size", "put the file itself here")
	default:
		if d := plainYAML(file.Path, file.Data, &found); d.root != nil {
			t.read(d)
		}
	}
	if err := found.err(); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *LoadoutTest) read(d *document) {
	there := d.keys(d.root, "", map[string]keyReader{
		"schema":  func(n *yaml.Node, f string) { readSchema(d, n, f, LoadoutSchema) },
		"request": func(n *yaml.Node, f string) { t.readRequest(d, n, f) },
		"select":  func(n *yaml.Node, f string) { t.readSelect(d, n, f) },
		"first": func(n *yaml.Node, f string) {
			p := d.promise(n, f)
			t.First = &p
		},
		"exclude": func(n *yaml.Node, f string) { t.readExclude(d, n, f) },
		"max_tokens": func(n *yaml.Node, f string) {
			t.MaxTokens = &Limit{d.place(n), int(d.integer(n, f, 0))}
		},
		"complete": func(n *yaml.Node, f string) { t.Complete = &Truth{d.place(n), d.boolean(n, f)} },
	})
	for key, mend := range map[string]string{"schema": "add schema: " + LoadoutSchema, "request": "add request: {query: …, agent: …}"} {
		if there[key] == nil {
			d.at(d.root, Error, key, mend, "this key is required")
		}
	}
	for _, e := range t.Exclude {
		if t.wants(e.ID) {
			d.add(Problem{Severity: Error, Path: d.path, Line: e.Line, Column: e.Column, Field: "exclude." + string(e.ID),
				Message: "the same asset must be in and out", Mend: "keep one of the two"})
		}
	}
}

// wants says whether an asset must be selected.
func (t *LoadoutTest) wants(id ID) bool {
	return t.First != nil && t.First.ID == id || slices.ContainsFunc(t.Select, func(p Promise) bool { return p.ID == id })
}

func (d *document) place(n *yaml.Node) Place { return Place{follow(n).Line + d.skip, follow(n).Column} }

// promise reads the id of an asset.
func (d *document) promise(n *yaml.Node, field string) Promise {
	value, ok := d.text(n, field)
	if err := CheckID(value); ok && err != nil {
		d.at(follow(n), Error, field, "write the id of an asset", "%s", err)
	}
	return Promise{Place: d.place(n), ID: ID(value)}
}

func (t *LoadoutTest) readRequest(d *document, n *yaml.Node, field string) {
	r := &t.Request
	text := func(into *string, kind string) keyReader {
		return func(n *yaml.Node, f string) {
			value, _ := d.text(n, f)
			*into = strings.TrimPrefix(value, kind+":")
		}
	}
	d.keys(n, field, map[string]keyReader{
		"query": func(n *yaml.Node, f string) {
			if n = follow(n); n.Kind != yaml.ScalarNode || n.Value != "" || plain(n) { // "" asks for what is bound
				r.Query, _ = d.text(n, f)
			}
		},
		"user":      text(&r.User, KindUser),
		"agent":     text(&r.Agent, KindAgent),
		"task":      text(&r.Task, KindTask),
		"framework": text(&r.Framework, KindFramework),
		"teams":     func(n *yaml.Node, f string) { r.Teams = d.texts(n, f) },
		"roles":     func(n *yaml.Node, f string) { r.Roles = d.texts(n, f) },
		"types": func(n *yaml.Node, f string) {
			for i, item := range d.items(n, f) {
				r.Types = append(r.Types, oneOf(d, item, fmt.Sprintf("%s[%d]", f, i), Types))
			}
		},
		"token_budget": func(n *yaml.Node, f string) { r.TokenBudget = int(d.integer(n, f, LeastTokenBudget)) },
		"bound_only":   func(n *yaml.Node, f string) { r.BoundOnly = d.boolean(n, f) },
		"now":          func(n *yaml.Node, f string) { r.Now = d.instant(n, f) },
	})
}

// readSelect reads a list of ids, each alone or as `id: mode`.
func (t *LoadoutTest) readSelect(d *document, n *yaml.Node, field string) {
	for i, item := range d.items(n, field) {
		name := fmt.Sprintf("%s[%d]", field, i)
		var p Promise
		if m := follow(item); m.Kind == yaml.MappingNode && len(m.Content) == 2 {
			p = d.promise(m.Content[0], name)
			p.Want = string(oneOf(d, m.Content[1], join(name, string(p.ID)), Modes))
		} else {
			p = d.promise(item, name)
		}
		if slices.ContainsFunc(t.Select, func(other Promise) bool { return other.ID == p.ID && p.ID != "" }) {
			d.at(follow(item), Error, name, "keep one of the two", "%s stands twice", p.ID)
		}
		t.Select = append(t.Select, p)
	}
}

// ExclusionReasons are the words that exclude knows: governance's reasons why a
// loadout leaves an asset out, in their order, and Hidden.
var ExclusionReasons = []string{
	"type_not_requested", "invalid", "status", "unreceipted", "expired", "denied", "bound_elsewhere", "unbound", "irrelevant", "over_budget", Hidden,
}

func (t *LoadoutTest) readExclude(d *document, n *yaml.Node, field string) {
	if n = follow(n); n.Kind != yaml.MappingNode {
		d.notA(n, field, "a map of ids and reasons", "write {<id>: status, <id>: hidden}")
		return
	}
	for i := 0; i < len(n.Content); i += 2 {
		p := d.promise(n.Content[i], field)
		p.Want = oneOf(d, n.Content[i+1], join(field, string(p.ID)), ExclusionReasons)
		t.Exclude = append(t.Exclude, p)
	}
}
