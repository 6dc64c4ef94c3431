package vault

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// ConfigSchema is the schema that every vault.yaml names.
const ConfigSchema = "lm.vault/v1"

// ConfigFile is the file that makes a folder a vault.
const ConfigFile = "vault.yaml"

// Config is what vault.yaml states (format.md §5), with the format's constants
// where it states nothing.
type Config struct {
	Project  string            `json:"project"`
	Name     string            `json:"name"`
	Defaults Defaults          `json:"defaults"`
	People   map[string]Person `json:"people"`
	// Teams lists the people ids of each team.
	Teams  map[string][]string `json:"teams"`
	Agents map[string]Agent    `json:"agents"`
	Scopes []Scope             `json:"scopes"`
	Policy Policy              `json:"policy"`
}

// Defaults are written into a file when lm creates it; Owner and Visibility
// also hold for skills that nobody has governed yet. TokenBudget and Tokenizer
// are those of a loadout that names none.
type Defaults struct {
	Owner       Subject    `json:"owner"`
	Visibility  Visibility `json:"visibility"`
	TokenBudget int        `json:"token_budget"` // tokens
	Tokenizer   string     `json:"tokenizer"`
}

// Person is somebody who may act on the vault.
type Person struct {
	Emails       []string `json:"emails"`
	GitHub       string   `json:"github"`
	Roles        []string `json:"roles"`
	Capabilities []string `json:"capabilities"`
	Trust        string   `json:"trust"`
}

// Agent is an agent that the vault knows.
type Agent struct {
	Framework    string   `json:"framework"`
	Roles        []string `json:"roles"`
	Capabilities []string `json:"capabilities"`
	Trust        string   `json:"trust"`
	Scope        string   `json:"scope"`
}

// Scope is a node of the tree in which memories live (protocol.md).
type Scope struct {
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	Parent string `json:"parent"`
}

// Policy says what counts, who approves and what is read.
type Policy struct {
	TrustedRef       string    `json:"trusted_ref"` // "": HEAD
	Approvers        []Subject `json:"approvers"`   // none: whoever may manage
	DistinctApprover bool      `json:"distinct_approver"`
	RequireReason    bool      `json:"require_reason"`
	OnEdit           string    `json:"on_edit"`
	Signatures       string    `json:"signatures"`
	AllowedSigners   string    `json:"allowed_signers"`
	RelevanceFloor   Ratio     `json:"relevance_floor"`
	Limits           Limits    `json:"limits"`
	Memory           Memory    `json:"memory"`
}

// What agents get of an approved asset that was edited since (format.md §4).
const (
	OnEditLastApproved = "last_approved" // the version that was approved
	OnEditWithhold     = "withhold"      // nothing
)

// Limits bound what is read, in bytes and files.
type Limits struct {
	AssetBytes  int64 `json:"asset_bytes"`
	FolderBytes int64 `json:"folder_bytes"`
	FolderFiles int   `json:"folder_files"`
}

// Memory is the policy for what agents propose (protocol.md §3).
type Memory struct {
	Branch       string   `json:"branch"`
	Kinds        []string `json:"kinds"`
	MaxRisk      string   `json:"max_risk"`
	AutoConfirm  bool     `json:"auto_confirm"`
	SelfApproval bool     `json:"self_approval"`
}

// DefaultConfig is what holds where vault.yaml states nothing.
func DefaultConfig() *Config {
	return &Config{
		Defaults: Defaults{Visibility: VisibilityProject, TokenBudget: 2048, Tokenizer: "o200k_base"},
		Policy: Policy{
			OnEdit: OnEditLastApproved, Signatures: SignaturesOff, AllowedSigners: "allowed_signers", RelevanceFloor: 500,
			Limits: Limits{AssetBytes: 1 << 20, FolderBytes: 8 << 20, FolderFiles: 512},
			Memory: Memory{
				Branch:  "lm/inbox",
				Kinds:   []string{"fact", "decision", "preference", "procedure", "event", "task", "failure"},
				MaxRisk: "medium",
			},
		},
	}
}

// GovernCommand is the command that brings an asset into a state, as messages
// name it.
func (c *Config) GovernCommand(id ID, to Status) string {
	command := fmt.Sprintf("lm asset govern %s --status %s", id, to)
	if c.Policy.RequireReason {
		command += ` --reason "…"`
	}
	return command
}

// PersonWithEmail is the id of the person whose emails hold email, whatever
// its case; "" if there is none.
func (c *Config) PersonWithEmail(email string) string {
	for _, id := range sortedKeys(c.People) {
		for _, known := range c.People[id].Emails {
			if strings.EqualFold(known, email) {
				return id
			}
		}
	}
	return ""
}

// PersonOnGitHub is the id of the person with a login on GitHub, whatever its
// case; "" if there is none, or more than one.
func (c *Config) PersonOnGitHub(login string) string {
	found := ""
	for _, id := range sortedKeys(c.People) {
		switch {
		case !strings.EqualFold(c.People[id].GitHub, login):
		case found != "":
			return ""
		default:
			found = id
		}
	}
	return found
}

// TeamsOf lists the teams of a person, sorted.
func (c *Config) TeamsOf(person string) []string {
	var out []string
	for _, team := range sortedKeys(c.Teams) {
		if slices.Contains(c.Teams[team], person) {
			out = append(out, team)
		}
	}
	return out
}

// ConfigBytes is the size above which vault.yaml is not read.
const ConfigBytes = 1 << 20

// ReadConfig reads vault.yaml as it lies at a revision: as ParseConfig does, if it
// is a plain file that was read at all.
func ReadConfig(f File) (*Config, error) {
	p := Problem{Severity: Error, Path: ConfigFile, Line: 1, Column: 1}
	switch {
	case f.Kind == FileSymlink:
		p.Message, p.Mend = "a symbolic link; lm follows none", "put the file itself here"
	case f.Kind != FileRegular && f.Kind != FileExecutable:
		p.Message, p.Mend = "this is no plain file", "put the file itself here"
	case f.Size > ConfigBytes:
		p.Message, p.Mend = fmt.Sprintf("%d bytes, the limit for vault.yaml is %d", f.Size, ConfigBytes), "cut it"
	default:
		return ParseConfig(f.Data)
	}
	return nil, p
}

// ParseConfig reads vault.yaml. Everything that is wrong with it comes back at
// once, as problems in the error.
func ParseConfig(data []byte) (*Config, error) {
	var found findings
	d := plainYAML(ConfigFile, data, &found)
	c := DefaultConfig()
	if d.root != nil {
		c.read(d)
	}
	if err := found.err(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Config) read(d *document) {
	there := d.keys(d.root, "", map[string]keyReader{
		"schema": func(n *yaml.Node, f string) { readSchema(d, n, f, ConfigSchema) },
		"project": func(n *yaml.Node, f string) {
			c.Project, _ = d.text(n, f)
			if err := CheckID(c.Project); c.Project != "" && err != nil {
				d.at(follow(n), Error, f, "write a short word such as lm", "%s", err)
			}
		},
		"name":     func(n *yaml.Node, f string) { c.Name = d.sizedText(n, f, 200) },
		"defaults": func(n *yaml.Node, f string) { c.readDefaults(d, n, f) },
		"people":   func(n *yaml.Node, f string) { c.readPeople(d, n, f) },
		"teams":    func(n *yaml.Node, f string) { c.Teams = map[string][]string{}; readTeams(d, n, f, c.Teams) },
		"agents":   func(n *yaml.Node, f string) { c.readAgents(d, n, f) },
		"scopes":   func(n *yaml.Node, f string) { c.readScopes(d, n, f) },
		"policy":   func(n *yaml.Node, f string) { c.readPolicy(d, n, f) },
	})
	for key, mend := range map[string]string{"schema": "add schema: " + ConfigSchema, "project": "add project: <a short word>"} {
		if there[key] == nil {
			d.at(d.root, Error, key, mend, "this key is required")
		}
	}
	c.checkMembers(d, there["teams"])
}

func readSchema(d *document, n *yaml.Node, field, schema string) {
	value, ok := d.text(n, field)
	family, _, _ := strings.Cut(schema, "/")
	switch {
	case !ok || value == schema:
	case strings.HasPrefix(value, family+"/"):
		d.at(follow(n), Error, field, "use an lm that knows it", "newer format %s; this lm reads %s", value, schema)
	default:
		d.at(follow(n), Error, field, "write "+schema, "%q is not the schema of this file", value)
	}
}

// Tokenizers lists the encodings that can count tokens.
var Tokenizers = []string{"o200k_base", "cl100k_base"}

// LeastTokenBudget is the smallest budget that a loadout takes, in tokens.
const LeastTokenBudget = 64

func (c *Config) readDefaults(d *document, n *yaml.Node, field string) {
	d.keys(n, field, map[string]keyReader{
		"owner":        func(n *yaml.Node, f string) { c.Defaults.Owner = d.subject(n, f, KindUser, false, KindUser, KindTeam) },
		"visibility":   func(n *yaml.Node, f string) { c.Defaults.Visibility = oneOf(d, n, f, Visibilities) },
		"token_budget": func(n *yaml.Node, f string) { c.Defaults.TokenBudget = int(d.integer(n, f, LeastTokenBudget)) },
		"tokenizer":    func(n *yaml.Node, f string) { c.Defaults.Tokenizer = oneOf(d, n, f, Tokenizers) },
	})
}

// entries reads a map from ids to something.
func entries(d *document, n *yaml.Node, field string, each func(id string, value *yaml.Node, field string)) {
	n = follow(n)
	if n.Kind != yaml.MappingNode {
		d.notA(n, field, "a map of ids", "write `id: {…}` lines")
		return
	}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if _, err := ParseSubject(key.Value, KindUser, KindUser); err != nil || key.Value == "*" {
			d.at(key, Error, join(field, key.Value), "use a word without blanks, colons and stars", "%q is no usable id", key.Value)
			continue
		}
		each(key.Value, n.Content[i+1], join(field, key.Value))
	}
}

var (
	personCapabilities = []string{"read", "propose", "review", "approve", "confirm", "handoff", "feedback"}
	trustLevels        = []string{"adapter", "collaborator", "owner"}
	onEdit             = []string{OnEditLastApproved, OnEditWithhold}
	signatureRules     = []string{SignaturesOff, SignaturesRequired}
	risks              = []string{"low", "medium", "high"}
)

func words(d *document, n *yaml.Node, field string, known []string) []string {
	var out []string
	for i, item := range d.items(n, field) {
		out = append(out, oneOf(d, item, fmt.Sprintf("%s[%d]", field, i), known))
	}
	return out
}

func (c *Config) readPeople(d *document, n *yaml.Node, field string) {
	c.People = map[string]Person{}
	holder := map[string]string{}
	entries(d, n, field, func(id string, n *yaml.Node, field string) {
		var p Person
		d.keys(n, field, map[string]keyReader{
			"emails": func(n *yaml.Node, f string) {
				p.Emails = d.texts(n, f)
				for _, email := range p.Emails {
					if other := holder[strings.ToLower(email)]; other != "" {
						d.at(follow(n), Error, f, "leave it with one of them", "%s is an email of %s as well", email, other)
					}
					holder[strings.ToLower(email)] = id
				}
			},
			"github":       func(n *yaml.Node, f string) { p.GitHub, _ = d.text(n, f) },
			"roles":        func(n *yaml.Node, f string) { p.Roles = d.texts(n, f) },
			"capabilities": func(n *yaml.Node, f string) { p.Capabilities = words(d, n, f, personCapabilities) },
			"trust":        func(n *yaml.Node, f string) { p.Trust = oneOf(d, n, f, trustLevels) },
		})
		c.People[id] = p
	})
}

func readTeams(d *document, n *yaml.Node, field string, teams map[string][]string) {
	entries(d, n, field, func(id string, n *yaml.Node, field string) { teams[id] = d.texts(n, field) })
}

// checkMembers finds members of teams that people does not list.
func (c *Config) checkMembers(d *document, teams *yaml.Node) {
	for _, team := range sortedKeys(c.Teams) {
		for _, member := range c.Teams[team] {
			if _, listed := c.People[member]; !listed {
				d.at(teams, Error, "teams."+team, "add "+member+" to people, or remove the name here", "%s is none of the people", member)
			}
		}
	}
}

func (c *Config) readAgents(d *document, n *yaml.Node, field string) {
	c.Agents = map[string]Agent{}
	entries(d, n, field, func(id string, n *yaml.Node, field string) {
		var a Agent
		d.keys(n, field, map[string]keyReader{
			"framework":    func(n *yaml.Node, f string) { a.Framework, _ = d.text(n, f) },
			"roles":        func(n *yaml.Node, f string) { a.Roles = d.texts(n, f) },
			"capabilities": func(n *yaml.Node, f string) { a.Capabilities = words(d, n, f, personCapabilities) },
			"trust":        func(n *yaml.Node, f string) { a.Trust = oneOf(d, n, f, trustLevels) },
			"scope":        func(n *yaml.Node, f string) { a.Scope = readScopeName(d, n, f) },
		})
		c.Agents[id] = a
	})
}

var scopeKinds = []string{"owner", "workspace", "project", "repository", "session", "task"}

func readScopeName(d *document, n *yaml.Node, field string) string {
	return string(d.subject(n, field, "", false, scopeKinds...))
}

func (c *Config) readScopes(d *document, n *yaml.Node, field string) {
	for i, item := range d.items(n, field) {
		var s Scope
		name := fmt.Sprintf("%s[%d]", field, i)
		there := d.keys(item, name, map[string]keyReader{
			"kind":   func(n *yaml.Node, f string) { s.Kind = oneOf(d, n, f, scopeKinds) },
			"id":     func(n *yaml.Node, f string) { s.ID, _ = d.text(n, f) },
			"parent": func(n *yaml.Node, f string) { s.Parent = readScopeName(d, n, f) },
		})
		for _, key := range []string{"kind", "id"} {
			if there != nil && there[key] == nil {
				d.at(follow(item), Error, join(name, key), "write {kind: project, id: <id>}", "this key is required")
			}
		}
		c.Scopes = append(c.Scopes, s)
	}
}

func (c *Config) readPolicy(d *document, n *yaml.Node, field string) {
	p := &c.Policy
	var branch *yaml.Node
	d.keys(n, field, map[string]keyReader{
		"trusted_ref": func(n *yaml.Node, f string) { p.TrustedRef, _ = d.text(n, f) },
		"approvers": func(n *yaml.Node, f string) {
			for i, item := range d.items(n, f) {
				p.Approvers = append(p.Approvers, d.subject(item, fmt.Sprintf("%s[%d]", f, i), KindUser, false, KindUser, KindTeam, KindRole))
			}
			if len(p.Approvers) == 0 {
				d.at(follow(n), Error, f, "name somebody, or leave the key out: then whoever may manage an asset may approve it", "an empty list names nobody")
			}
		},
		"distinct_approver": func(n *yaml.Node, f string) { p.DistinctApprover = d.boolean(n, f) },
		"require_reason":    func(n *yaml.Node, f string) { p.RequireReason = d.boolean(n, f) },
		"on_edit":           func(n *yaml.Node, f string) { p.OnEdit = oneOf(d, n, f, onEdit) },
		"signatures": func(n *yaml.Node, f string) {
			p.Signatures = oneOf(d, n, f, signatureRules)
		},
		"allowed_signers": func(n *yaml.Node, f string) {
			value, ok := d.text(n, f)
			if err := CheckPath(value); ok && err != nil {
				d.at(follow(n), Error, f, "name a file inside the vault", "%s", err)
			}
			if top, _, below := strings.Cut(value, "/"); below && Relevant(top, true) || value == ConfigFile {
				d.at(follow(n), Error, f, "keep it in the vault's folder, as allowed_signers", "%s has a meaning of its own", value)
			}
			p.AllowedSigners = value
		},
		"relevance_floor": func(n *yaml.Node, f string) { _, p.RelevanceFloor = d.share(n, f) },
		"limits": func(n *yaml.Node, f string) {
			d.keys(n, f, map[string]keyReader{
				"asset_bytes":  func(n *yaml.Node, f string) { p.Limits.AssetBytes = d.integer(n, f, 1) },
				"folder_bytes": func(n *yaml.Node, f string) { p.Limits.FolderBytes = d.integer(n, f, 1) },
				"folder_files": func(n *yaml.Node, f string) { p.Limits.FolderFiles = int(d.integer(n, f, 1)) },
			})
		},
		"memory": func(n *yaml.Node, f string) {
			m := &p.Memory
			d.keys(n, f, map[string]keyReader{
				"branch":        func(n *yaml.Node, f string) { branch = n; m.Branch = d.branch(n, f) },
				"kinds":         func(n *yaml.Node, f string) { m.Kinds = words(d, n, f, DefaultConfig().Policy.Memory.Kinds) },
				"max_risk":      func(n *yaml.Node, f string) { m.MaxRisk = oneOf(d, n, f, risks) },
				"auto_confirm":  func(n *yaml.Node, f string) { m.AutoConfirm = d.boolean(n, f) },
				"self_approval": func(n *yaml.Node, f string) { m.SelfApproval = d.boolean(n, f) },
			})
		},
	})
	trusted := strings.TrimPrefix(strings.TrimPrefix(p.TrustedRef, "refs/heads/"), "refs/remotes/")
	_, ofRemote, _ := strings.Cut(trusted, "/")
	if own := strings.TrimPrefix(p.Memory.Branch, "refs/heads/"); branch != nil && p.TrustedRef != "" && (own == trusted || own == ofRemote) {
		d.at(follow(branch), Error, join(field, "memory.branch"), "name a branch of its own, such as lm/inbox", "agents write to it, and policy.trusted_ref %s is what everybody reads", p.TrustedRef)
	}
}

// badBranch is what no name of a branch has, by git check-ref-format.
const badBranch = `(?:^|/)(?:\.|/|$)|\.\.|\.(?:lock)?(?:/|$)|@\{|[\x00-\x20\x7f~^:?*\[\\]|^-|^@$|^HEAD$`

var badBranchForm = regexp.MustCompile(badBranch)

// CheckBranch says why Git takes no branch of a name, or nil.
func CheckBranch(name string) error {
	if badBranchForm.MatchString(name) {
		return fmt.Errorf("%q is no name of a Git branch", name)
	}
	return nil
}

func (d *document) branch(n *yaml.Node, field string) string {
	name, ok := d.text(n, field)
	if err := CheckBranch(name); ok && err != nil {
		d.at(follow(n), Error, field, "write a name such as lm/inbox", "%s", err)
	}
	return name
}
