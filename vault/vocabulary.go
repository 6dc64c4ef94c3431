package vault

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ID names an asset for as long as the vault lives (format.md §1). It is the
// name of the asset's file or folder and unique in the vault.
type ID string

// Digest is "sha256:" and 64 hex digits over an asset's governed content
// (format.md §4). Two assets with one digest say the same thing, wherever
// their files lie and however they are written.
type Digest string

// Type says what kind of knowledge an asset holds (format.md §2).
type Type string

// The asset types, in the order in which they are listed for people.
const (
	TypeSkill      Type = "skill"
	TypeWiki       Type = "llm_wiki"
	TypeChatMemory Type = "chat_memory"
	TypeCodeGraph  Type = "code_graph"
)

// Types lists every asset type.
var Types = []Type{TypeSkill, TypeWiki, TypeChatMemory, TypeCodeGraph}

// Status is a state of an asset's lifecycle (format.md §3).
type Status string

// The lifecycle states.
const (
	StatusDraft      Status = "draft"
	StatusCandidate  Status = "candidate"
	StatusApproved   Status = "approved"
	StatusDeprecated Status = "deprecated"
	StatusArchived   Status = "archived"
	StatusFailed     Status = "failed"
)

// Statuses lists every lifecycle state.
var Statuses = []Status{StatusDraft, StatusCandidate, StatusApproved, StatusDeprecated, StatusArchived, StatusFailed}

// Visibility says who may read and use an asset that no access rule speaks of
// (format.md §1, design.md §3).
type Visibility string

// The visibilities.
const (
	VisibilityPrivate    Visibility = "private"
	VisibilityProject    Visibility = "project"
	VisibilityTeam       Visibility = "team"
	VisibilityRestricted Visibility = "restricted"
	VisibilityAgent      Visibility = "agent"
	VisibilityTask       Visibility = "task"
)

// Visibilities lists every visibility.
var Visibilities = []Visibility{VisibilityPrivate, VisibilityProject, VisibilityTeam, VisibilityRestricted, VisibilityAgent, VisibilityTask}

// Mode is the form in which an asset is put before an agent (design.md §3).
type Mode string

// The injection modes, from the fullest to the smallest.
const (
	ModeDirect    Mode = "direct"
	ModeSummary   Mode = "summary"
	ModeTool      Mode = "tool"
	ModeReference Mode = "reference"
)

// Modes lists every injection mode; a form is stored at its mode's place here.
var Modes = []Mode{ModeDirect, ModeSummary, ModeTool, ModeReference}

// Effect is what an access rule does.
type Effect string

// The effects. A matching deny beats everything else (design.md §3).
const (
	Allow Effect = "allow"
	Deny  Effect = "deny"
)

// Permission is one thing that a subject may be allowed to do with an asset.
type Permission string

// The permissions.
const (
	PermissionRead   Permission = "read"
	PermissionUse    Permission = "use"
	PermissionManage Permission = "manage"
	PermissionAssign Permission = "assign"
	PermissionShare  Permission = "share"
)

// Permissions lists every permission.
var Permissions = []Permission{PermissionRead, PermissionUse, PermissionManage, PermissionAssign, PermissionShare}

// Subject is "<kind>:<id>": somebody or something that a rule, a binding or an
// owner names, such as "user:alice" or "agent:reviewer". The zero Subject is
// nobody.
type Subject string

// The kinds of subjects.
const (
	KindUser      = "user"
	KindTeam      = "team"
	KindRole      = "role"
	KindAgent     = "agent"
	KindTask      = "task"
	KindFramework = "framework"
)

// Kind is the part before the first colon.
func (s Subject) Kind() string { kind, _, _ := strings.Cut(string(s), ":"); return kind }

// ID is the part after the first colon.
func (s Subject) ID() string { _, id, _ := strings.Cut(string(s), ":"); return id }

// Ratio is a number from 0 to 1 in steps of 1/10,000: everything that ranks
// assets is counted in these, so that no answer hangs on floating point
// (design.md §2).
type Ratio int32

// One is the Ratio of 1.
const One Ratio = 10000

// MarshalJSON writes the ratio as a decimal with four places.
func (r Ratio) MarshalJSON() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Ratio) UnmarshalJSON(data []byte) error {
	value, err := strconv.ParseFloat(string(data), 64)
	*r = ToRatio(value)
	return err
}

// String is the ratio as a decimal with four places.
func (r Ratio) String() string {
	sign := ""
	if r < 0 {
		sign, r = "-", -r
	}
	return fmt.Sprintf("%s%d.%04d", sign, r/One, r%One)
}

// Rule is one entry of an asset's access list.
type Rule struct {
	Effect      Effect
	Subject     Subject
	Permissions []Permission
}

// Binding says for whom an asset is meant and in which form that subject gets
// it. Priority is the asset's own where the file states none.
type Binding struct {
	Target   Subject
	Mode     Mode
	Priority Ratio
	Required bool
	Enabled  bool
}

// Facts are what governance decides on: an asset's governed keys and its
// standing, without its content. They are what an index keeps of every asset,
// so that a loadout reads no YAML.
type Facts struct {
	ID          ID
	Type        Type
	Name        string
	Description string
	Owner       Subject
	Version     int
	Digest      Digest
	Status      Status
	Visibility  Visibility
	Teams       []string
	ACL         []Rule
	Bindings    []Binding
	Priority    Ratio
	Confidence  Ratio
	ContentRef  string
	Expires     time.Time // UTC; zero: never
	Modified    time.Time // UTC; when the last receipt was written; zero: no receipt
	Path        string    // the asset's file or folder, relative to the vault

	// Receipted says that the last receipt of an unbroken chain names this
	// status and this very digest (format.md §4).
	Receipted bool
	// Broken says that the chain of receipts counts for nothing, so that nobody can
	// govern the asset before it is restored.
	Broken bool
	// Invalid says that the file could not be read as an asset, or shares its
	// id with another. Only ID and Path are then known.
	Invalid bool

	// Served is the last approved version, which agents get while an edit of it
	// waits for review (policy.on_edit: last_approved); nil: there is no edit, or
	// the version is not to be had. It is Receipted, and its own Served is nil.
	Served *Facts
}

// Approved says whether the asset counts as approved: its status says so and a
// receipt stands behind it. An expired asset is still approved.
func (f *Facts) Approved() bool {
	return !f.Invalid && f.Status == StatusApproved && f.Receipted
}

// Standing is what an agent may get of the asset: these facts if it is approved,
// the last approved version while an edit of it waits, else nil.
func (f *Facts) Standing() *Facts {
	if f.Approved() {
		return f
	}
	return f.Served
}

// FileKind says what a path of a tree is.
type FileKind uint8

// The kinds of files. Only regular and executable files are ever read.
const (
	FileRegular FileKind = iota
	FileExecutable
	FileSymlink
	FileSubmodule
	FileSpecial // a device, a socket or a pipe in a folder on disk
)

// File is one file of a vault: at a revision, in a work tree or in an archive
// of a test. All of them reach this package through this one door.
type File struct {
	Path   string   // relative to the vault's folder, slash-separated
	Kind   FileKind // what it is
	Size   int64    // bytes
	Data   []byte   // nil if Size is over what its reader was to load, and if Kind is not a regular file
	Object string   // Git's object id in hex; "" where nothing computed it
}

// Severity orders problems: an error makes a vault or asset invalid.
type Severity string

// The severities, worst first.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Problem is one thing that is wrong, said to the person who can mend it:
// where, what, and what to do. Line and Column count from 1, columns in code
// points; a problem of a whole file is at 1:1.
type Problem struct {
	Severity Severity `json:"severity"`
	Path     string   `json:"path"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Field    string   `json:"field"`
	Message  string   `json:"message"`
	Mend     string   `json:"mend"`
}

// Error renders the problem as one line, file:line:column first.
func (p Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s: ", p.Path, p.Line, p.Column, p.Severity)
	if p.Field != "" {
		fmt.Fprintf(&b, "%s: ", p.Field)
	}
	b.WriteString(p.Message)
	if p.Mend != "" {
		b.WriteString("; ")
		b.WriteString(p.Mend)
	}
	return b.String()
}
