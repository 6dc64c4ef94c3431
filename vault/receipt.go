package vault

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// ReceiptSchema is the schema that every receipt names.
const ReceiptSchema = "lm.receipt/v1"

// The kinds of receipts that govern assets (format.md §4).
const (
	ReceiptRegistered = "asset_registered"
	ReceiptGoverned   = "asset_governed"
)

// Receipt records one governance act on one exact content (format.md §4). It
// is written once and never changed.
type Receipt struct {
	Project string // the vault's project
	Subject string // "asset/<id>", "proposal/<id>", …
	Kind    string
	Seq     int // place in the chain, from 1
	Version int // the asset's version
	From    Status
	To      Status
	Digest  Digest
	Object  string // Git's id of the file or folder that was governed
	Prev    Digest // hash of the previous receipt; "" in the first
	Actor   Subject
	Authors []string
	Reason  string
	At      time.Time // UTC

	Scope      string
	Memory     string
	Proposal   string
	SourceRefs []string
	Signature  string
	// Identity says how an actor was told apart from the agent in whose shell
	// the call was made; written as x-identity.
	Identity string

	hash    Digest
	signed  []byte // the canonical form, of a receipt that was read with a signature
	invalid bool   // the file at this place of the chain could not be read
}

// ReceiptPath is where the receipt with this place in the chain of a subject
// lies, relative to the vault. subject is "asset/<id>" and the like.
func ReceiptPath(subject string, seq int) string {
	return fmt.Sprintf("receipts/%s/%04d.yaml", subject, seq)
}

// Hash is the SHA-256 of the receipt's canonical form: what the next receipt
// names as prev.
func (r *Receipt) Hash() Digest { return r.hash }

var receiptName = regexp.MustCompile(`^receipts/([a-z]+/[^/]+)/([0-9]{4,})\.yaml$`)

// receiptPlace reads subject and seq off a path.
func receiptPlace(p string) (subject string, seq int, ok bool) {
	m := receiptName.FindStringSubmatch(p)
	if m == nil {
		return "", 0, false
	}
	seq, err := strconv.Atoi(m[2])
	return m[1], seq, err == nil && seq > 0 && path.Base(p) == fmt.Sprintf("%04d.yaml", seq)
}

var (
	digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	objectForm = regexp.MustCompile(`^[0-9a-f]{40}(?:[0-9a-f]{24})?$`)
)

// ParseReceipt reads one receipt. Everything that is wrong comes back at once,
// as problems in the error.
func ParseReceipt(file File) (*Receipt, error) {
	if r := plainReceipt(file); r != nil {
		return r, nil
	}
	return parseReceipt(file)
}

// parseReceipt reads a receipt by the YAML parser.
func parseReceipt(file File) (*Receipt, error) {
	var found findings
	d := plainYAML(file.Path, file.Data, &found)
	r := &Receipt{}
	if d.root != nil {
		r.read(d)
	}
	if err := found.err(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Receipt) read(d *document) {
	text := func(into *string) keyReader {
		return func(n *yaml.Node, f string) { *into, _ = d.text(n, f) }
	}
	state := func(into *Status) keyReader {
		return func(n *yaml.Node, f string) {
			if n = follow(n); f == "from" && n.Kind == yaml.ScalarNode && n.Value == "" && !plain(n) {
				return // a new file comes from no state
			}
			value, _ := d.text(n, f)
			*into = Status(value)
		}
	}
	hash := func(into *Digest) keyReader {
		return func(n *yaml.Node, f string) {
			value, ok := d.text(n, f)
			if ok && !digestForm.MatchString(value) {
				d.at(follow(n), Error, f, receiptMend, "%q is no digest", value)
			}
			*into = Digest(value)
		}
	}
	there := d.keys(d.root, "", map[string]keyReader{
		"schema":  func(n *yaml.Node, f string) { readSchema(d, n, f, ReceiptSchema) },
		"project": text(&r.Project),
		"subject": text(&r.Subject),
		"kind":    text(&r.Kind),
		"seq":     func(n *yaml.Node, f string) { r.Seq = int(d.integer(n, f, 1)) },
		"version": func(n *yaml.Node, f string) { r.Version = int(d.integer(n, f, 1)) },
		"from":    state(&r.From),
		"to":      state(&r.To),
		"digest":  hash(&r.Digest),
		"object": func(n *yaml.Node, f string) {
			if r.Object, _ = d.text(n, f); r.Object != "" && !objectForm.MatchString(r.Object) {
				d.at(follow(n), Error, f, receiptMend, "%q is no object id", r.Object)
			}
		},
		"prev":        hash(&r.Prev),
		"actor":       func(n *yaml.Node, f string) { r.Actor = d.subject(n, f, "", false, KindUser, KindAgent) },
		"authors":     func(n *yaml.Node, f string) { r.Authors = d.texts(n, f) },
		"reason":      text(&r.Reason),
		"at":          func(n *yaml.Node, f string) { r.At = d.instant(n, f) },
		"scope":       text(&r.Scope),
		"memory":      text(&r.Memory),
		"proposal":    text(&r.Proposal),
		"source_refs": func(n *yaml.Node, f string) { r.SourceRefs = d.texts(n, f) },
		"signature":   text(&r.Signature),
		"x-identity":  text(&r.Identity),
	})
	for _, key := range receiptRequired {
		if there[key] == nil {
			d.at(d.root, Error, key, receiptMend, "this key is required")
		}
	}
	if _, seq, ok := receiptPlace(d.path); ok && r.Seq > 0 && seq != r.Seq {
		d.at(there["seq"], Error, "seq", receiptMend, "the receipt says %d and its file %04d", r.Seq, seq)
	}
	if r.isAsset() {
		for key, value := range map[string]Status{"from": r.From, "to": r.To} {
			if there[key] != nil && value != "" && !slices.Contains(Statuses, value) {
				d.at(there[key], Error, key, receiptMend, "%q is no state of an asset", value)
			}
		}
	}
	if written := d.asWritten(); d.err() == nil {
		canonical := canonicalJSON(written)
		if r.hash = digestOf(string(canonical)); r.Signature != "" {
			r.signed = canonical
		}
	}
}

var receiptRequired = []string{"schema", "project", "subject", "kind", "seq", "from", "to", "digest", "actor", "at"}

func (r *Receipt) isAsset() bool { return strings.HasPrefix(r.Subject, "asset/") }

// asWritten gives the keys present but the signature, for the canonical form:
// strings by their source text, so that no reader's taste changes a hash.
func (d *document) asWritten() map[string]any {
	out := map[string]any{}
	for i := 0; i < len(d.root.Content); i += 2 {
		key, value := d.root.Content[i].Value, follow(d.root.Content[i+1])
		switch {
		case key == "signature":
		case key == "seq" || key == "version" || strings.HasPrefix(key, "x-"):
			out[key] = d.free(value, key)
		case value.Kind == yaml.SequenceNode:
			items := make([]string, len(value.Content))
			for i, item := range value.Content {
				items[i] = follow(item).Value
			}
			out[key] = items
		default:
			out[key] = value.Value
		}
	}
	return out
}

// receiptMend is the way out for every receipt that is not as lm wrote it.
const receiptMend = "receipts are never edited: restore the file from Git (git log -- :/<file>, then git checkout <commit> -- :/<file>)"

// Canonical is the canonical form: what is hashed and signed (format.md §4).
func (r *Receipt) Canonical() []byte {
	if r.signed != nil {
		return r.signed
	}
	return canonicalJSON(r.keys())
}

// keys are the receipt's keys that are present, as they are hashed.
func (r *Receipt) keys() map[string]any {
	out := map[string]any{
		"schema": ReceiptSchema, "project": r.Project, "subject": r.Subject, "kind": r.Kind, "seq": r.Seq,
		"from": string(r.From), "to": string(r.To), "digest": string(r.Digest),
		"actor": string(r.Actor), "at": FormatTime(r.At),
	}
	for key, value := range map[string]string{
		"object": r.Object, "prev": string(r.Prev), "reason": r.Reason, "scope": r.Scope, "memory": r.Memory, "proposal": r.Proposal, "x-identity": r.Identity,
	} {
		if value != "" {
			out[key] = value
		}
	}
	if r.Version > 0 {
		out["version"] = r.Version
	}
	if len(r.Authors) > 0 {
		out["authors"] = r.Authors
	}
	if len(r.SourceRefs) > 0 {
		out["source_refs"] = r.SourceRefs
	}
	return out
}

var receiptOrder = []string{
	"schema", "project", "subject", "kind", "seq", "version", "from", "to", "digest", "object", "prev",
	"actor", "authors", "reason", "at", "scope", "memory", "proposal", "source_refs", "signature",
}

// File writes the receipt as the file that ParseReceipt reads and sets its
// hash.
func (r *Receipt) File() File {
	keys := r.keys()
	r.hash = digestOf(string(canonicalJSON(keys)))
	if r.Signature != "" {
		keys["signature"] = r.Signature
	}
	data := encodeKeys(keys, receiptOrder)
	return File{Path: ReceiptPath(r.Subject, r.Seq), Data: data, Size: int64(len(data))}
}

// follows says whether the receipt leads on from the one before: from its state,
// or from draft or candidate with another content; the first one from nothing,
// or from a file that waited.
func (r *Receipt) follows(last *Receipt, first bool) bool {
	waiting := r.From == StatusDraft || r.From == StatusCandidate
	if first {
		return r.From == "" || waiting
	}
	return r.From == last.To || waiting && r.Digest != last.Digest
}

// broken is the problem of a receipt that breaks its chain.
func broken(path, format string, args ...any) error {
	return Problem{Severity: Error, Path: path, Line: 1, Column: 1,
		Message: "the chain of receipts counts for nothing: " + fmt.Sprintf(format, args...), Mend: receiptMend}
}

// next is the version of a content that is governed after this receipt: one more
// if it is another.
func (r *Receipt) next(digest Digest) int {
	if digest == r.Digest {
		return r.Version
	}
	return r.Version + 1
}

// Chain is the receipts of one subject in order.
type Chain []*Receipt

// Last is the newest receipt, or nil.
func (c Chain) Last() *Receipt {
	if len(c) == 0 {
		return nil
	}
	return c[len(c)-1]
}

// Check says why the chain counts for nothing, or nil: a gap, a receipt that
// cannot be read, a wrong prev, another subject or project, an act that is none
// of its kind of subject, a state or a version that does not follow from the one
// before, or an approval by an agent (format.md §4). The error is a Problem.
func (c Chain) Check(project, subject string) error {
	var prev Digest
	last := &Receipt{To: StatusCandidate}
	for i, r := range c {
		p := ReceiptPath(subject, r.Seq)
		switch {
		case r.invalid:
			return broken(p, "it cannot be read")
		case r.Seq != i+1:
			return broken(p, "receipt %04d is missing before it", i+1)
		case r.Subject != subject:
			return broken(p, "it is a receipt of %s", r.Subject)
		case r.Project != project:
			return broken(p, "it is a receipt of project %s", r.Project)
		case r.Prev != prev:
			return broken(p, "its prev is not the hash of the receipt before it")
		case r.isAsset() && !strings.HasPrefix(r.Kind, "asset_"):
			return broken(p, "%s is no act on an asset", r.Kind)
		case r.isAsset() && !r.follows(last, i == 0):
			return broken(p, "it leads on from %q, and the asset was %s", r.From, last.To)
		case r.isAsset() && i > 0 && r.Version != last.next(r.Digest):
			return broken(p, "its version is %d, and this content is version %d", r.Version, last.next(r.Digest))
		case r.isAsset() && r.To == StatusApproved && r.Actor.Kind() != KindUser:
			return broken(p, "%s cannot approve; only a person can", r.Actor)
		}
		prev, last = r.hash, r
	}
	return nil
}
