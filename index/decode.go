package index

import (
	"errors"
	"fmt"
	"math"
	"time"
	"unsafe"

	"github.com/tinylib/msgp/msgp"

	"longmemory.dev/lm/vault"
)

// errCatalog says that bytes are no catalog.
var errCatalog = errors.New("the catalog does not hold together")

// decodeCatalog reads what encode wrote. The catalog's strings lie in data,
// which must not change any more. Bytes that no encode wrote give an error, or
// a catalog whose places all lie within what it says of itself.
func decodeCatalog(data []byte) (*catalog, error) {
	r := reader{rest: data}
	if format := r.int(math.MaxInt32); r.err == nil && format != Format {
		return nil, fmt.Errorf("%w: format %d", errCatalog, format)
	}
	c := &catalog{vault: r.bytes()}
	if n := r.count(7); n > 0 {
		c.problems = make([]vault.Problem, n)
	}
	for i := range c.problems {
		p := &c.problems[i]
		p.Severity = vault.Severity(r.string())
		p.Path, p.Field, p.Message, p.Mend = r.string(), r.string(), r.string(), r.string()
		p.Line, p.Column = r.int(math.MaxInt32), r.int(math.MaxInt32)
	}
	c.documents = make([]int, r.count(1))
	for i := range c.documents {
		c.documents[i] = r.int(math.MaxInt32)
	}
	c.files = r.int(math.MaxInt32)
	r.words = make([]string, r.count(1))
	for i := range r.words {
		r.words[i] = r.string()
	}
	c.facts = make([]vault.Facts, r.count(25))
	r.teams = make([]string, r.count(1))
	r.rules = make([]vault.Rule, r.count(3))
	r.permissions = make([]vault.Permission, r.count(1))
	r.bindings = make([]vault.Binding, r.count(5))
	for i := range c.facts {
		if r.err != nil {
			break
		}
		r.facts(&c.facts[i], false)
	}
	c.texts = make([]textPlace, len(c.facts))
	c.forms = make([]formPlace, len(c.facts))
	for i := range c.facts {
		if r.err != nil {
			break
		}
		r.text(&c.texts[i], c.documents)
		r.form(&c.forms[i], c.files)
		if (c.facts[i].Standing() != nil) != (c.texts[i].segment >= 0) {
			r.fail(errCatalog)
		}
	}
	c.same = r.bytes()
	if len(c.same) != len(identity{})*len(c.facts) || len(r.rest) > 0 {
		r.fail(errCatalog)
	}
	if r.err != nil {
		return nil, r.err
	}
	return c, nil
}

// reader takes values off the front of rest. After an error it gives zeros.
type reader struct {
	rest  []byte
	err   error
	words []string

	// What is left of the slices that all facts share.
	teams       []string
	rules       []vault.Rule
	permissions []vault.Permission
	bindings    []vault.Binding
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = errCatalog
		if !errors.Is(err, errCatalog) {
			r.err = fmt.Errorf("%w: %w", errCatalog, err)
		}
	}
	r.rest = nil
}

func (r *reader) int64() int64 {
	// Most numbers are small, and then MessagePack's byte is the number.
	if len(r.rest) > 0 && r.rest[0] < 0x80 {
		n := int64(r.rest[0])
		r.rest = r.rest[1:]
		return n
	}
	n, rest, err := msgp.ReadInt64Bytes(r.rest)
	if err != nil {
		r.fail(err)
		return 0
	}
	r.rest = rest
	return n
}

// int is a number from 0 to limit.
func (r *reader) int(limit int64) int {
	n := r.int64()
	if n < 0 || n > limit {
		r.fail(errCatalog)
		return 0
	}
	return int(n)
}

// count is the number of things to come that take size bytes or more each.
func (r *reader) count(size int) int { return r.int(int64(len(r.rest) / size)) }

func (r *reader) ratio() vault.Ratio {
	n := r.int64()
	if n != int64(vault.Ratio(n)) {
		r.fail(errCatalog)
	}
	return vault.Ratio(n)
}

func (r *reader) bool() bool {
	b, rest, err := msgp.ReadBoolBytes(r.rest)
	if err != nil {
		r.fail(err)
		return false
	}
	r.rest = rest
	return b
}

func (r *reader) string() string {
	s, rest, err := msgp.ReadStringZC(r.rest)
	if err != nil {
		r.fail(err)
		return ""
	}
	r.rest = rest
	return unsafe.String(unsafe.SliceData(s), len(s))
}

func (r *reader) bytes() []byte {
	b, rest, err := msgp.ReadBytesZC(r.rest)
	if err != nil {
		r.fail(err)
		return nil
	}
	r.rest = rest
	return b
}

func (r *reader) word() string {
	place := r.int64()
	if place < 0 || place >= int64(len(r.words)) {
		r.fail(errCatalog)
		return ""
	}
	return r.words[place]
}

func (r *reader) time() time.Time {
	if !r.bool() {
		return time.Time{}
	}
	seconds := r.int64()
	return time.Unix(seconds, int64(r.int(999_999_999))).UTC()
}

// facts reads those of an asset, or of the version that is served in its place.
func (r *reader) facts(f *vault.Facts, served bool) {
	f.ID = vault.ID(r.string())
	f.Name, f.Description = r.string(), r.string()
	f.Digest = vault.Digest(r.string())
	f.ContentRef, f.Path = r.string(), r.string()
	f.Type, f.Owner = vault.Type(r.word()), vault.Subject(r.word())
	f.Status, f.Visibility = vault.Status(r.word()), vault.Visibility(r.word())
	f.Version = int(r.int64())
	f.Priority, f.Confidence = r.ratio(), r.ratio()
	f.Expires, f.Modified = r.time(), r.time()
	f.Receipted, f.Broken, f.Invalid = r.bool(), r.bool(), r.bool()
	f.Teams = take(r, &r.teams)
	for i := range f.Teams {
		f.Teams[i] = r.word()
	}
	f.ACL = take(r, &r.rules)
	for i := range f.ACL {
		rule := &f.ACL[i]
		rule.Effect, rule.Subject = vault.Effect(r.word()), vault.Subject(r.word())
		rule.Permissions = take(r, &r.permissions)
		for j := range rule.Permissions {
			rule.Permissions[j] = vault.Permission(r.word())
		}
	}
	f.Bindings = take(r, &r.bindings)
	for i := range f.Bindings {
		b := &f.Bindings[i]
		b.Target, b.Mode = vault.Subject(r.word()), vault.Mode(r.word())
		b.Priority = r.ratio()
		b.Required, b.Enabled = r.bool(), r.bool()
	}
	if r.bool() && r.err == nil {
		if served {
			r.fail(errCatalog) // a served version serves no other
			return
		}
		f.Served = new(vault.Facts)
		r.facts(f.Served, true)
	}
}

// take reads a count and cuts as many values off what all facts share; none
// are nil.
func take[T any](r *reader, shared *[]T) []T {
	n := r.int(int64(len(*shared)))
	if n == 0 {
		return nil
	}
	taken := (*shared)[:n:n]
	*shared = (*shared)[n:]
	return taken
}

func (r *reader) text(p *textPlace, segments []int) {
	*p = unplaced
	segment := r.int64()
	if segment == -1 || r.err != nil {
		return
	}
	if segment < 0 || segment >= int64(len(segments)) {
		r.fail(errCatalog)
		return
	}
	p.segment = int32(segment)
	p.document = int32(r.int(int64(segments[segment]) - 1))
	p.length = int32(r.int(math.MaxInt32))
}

func (r *reader) form(p *formPlace, files int) {
	p.file = int32(r.int(int64(max(files-1, 0))))
	p.offset = int64(r.int(1 << 60))
	for i := range p.sizes {
		size := r.int64()
		if size < -1 || size > math.MaxInt32-checksumSize || size >= 0 && files == 0 {
			r.fail(errCatalog)
		}
		if p.sizes[i] = int32(size); size >= 0 {
			p.tokens[i] = int32(r.int(math.MaxInt32))
		}
	}
}
