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

// catalog is what an index knows of its assets beside postings and rendered
// text: the hot columns, which each loadout reads whole. All but vault and
// problems is by place, in the order of ids.
type catalog struct {
	vault    []byte
	problems []vault.Problem
	facts    []vault.Facts
	texts    []textPlace
	forms    []formPlace
	same     identities

	documents []int // how many each segment has
	files     int   // how many hold rendered forms
}

// textPlace says which document of which segment has the text of an asset.
type textPlace struct {
	segment  int32 // -1: the asset is not approved
	document int32
	length   int32 // of the text, in terms
}

// identity tells what is indexed of an asset apart: the start of the SHA-256
// of its text and its forms.
type identity [16]byte

// identities are those of all assets, one after the other.
type identities []byte

func (s identities) at(i int) identity { return identity(s[i*len(identity{}):]) }

func (s identities) set(i int, same identity) { copy(s[i*len(same):], same[:]) }

// unplaced is the place of the text of an asset that is not searched.
var unplaced = textPlace{segment: -1}

// formPlace says where the rendered forms of an asset lie: one after the other
// in the order of vault.Modes, each followed by its checksum.
type formPlace struct {
	file   int32
	offset int64
	sizes  [4]int32 // bytes, without checksum; -1: there is no such form
	tokens [4]int32
}

// checksumSize is the size of the checksum behind each form.
const checksumSize = 4

// end is where the forms of an asset end in their file.
func (p *formPlace) end() int64 {
	end := p.offset
	for _, size := range p.sizes {
		if size >= 0 {
			end += int64(size) + checksumSize
		}
	}
	return end
}

// The encoding is a sequence of MessagePack values. Words that many assets
// share (owners, statuses, subjects) stand once in a table, and are named by
// their place in it. Totals stand in front, so that reading takes memory once.

// encode writes a catalog. What it writes is a function of the catalog alone.
func (c *catalog) encode() []byte {
	w := writer{places: make(map[string]uint32)}
	var teams, rules, permissions, bindings int
	for i := range c.facts {
		w.facts(&c.facts[i])
		teams += len(c.facts[i].Teams)
		bindings += len(c.facts[i].Bindings)
		rules += len(c.facts[i].ACL)
		for _, rule := range c.facts[i].ACL {
			permissions += len(rule.Permissions)
		}
	}
	for i := range c.facts {
		w.text(&c.texts[i])
		w.form(&c.forms[i])
	}
	w.out = msgp.AppendBytes(w.out, c.same)
	rows := w.out

	w.out = make([]byte, 0, len(rows)+len(rows)/8+1024)
	w.int(Format)
	w.out = msgp.AppendBytes(w.out, c.vault)
	w.int(len(c.problems))
	for _, p := range c.problems {
		for _, s := range []string{string(p.Severity), p.Path, p.Field, p.Message, p.Mend} {
			w.out = msgp.AppendString(w.out, s)
		}
		w.int(p.Line)
		w.int(p.Column)
	}
	w.int(len(c.documents))
	for _, documents := range c.documents {
		w.int(documents)
	}
	w.int(c.files)
	w.int(len(w.words))
	for _, word := range w.words {
		w.out = msgp.AppendString(w.out, word)
	}
	for _, total := range []int{len(c.facts), teams, rules, permissions, bindings} {
		w.int(total)
	}
	return append(w.out, rows...)
}

type writer struct {
	out    []byte
	words  []string
	places map[string]uint32 // the inverse of words
}

func (w *writer) int(n int) { w.out = msgp.AppendInt(w.out, n) }

// word writes a word by its place in the table.
func (w *writer) word(s string) {
	place, ok := w.places[s]
	if !ok {
		place = uint32(len(w.words))
		w.words = append(w.words, s)
		w.places[s] = place
	}
	w.out = msgp.AppendUint32(w.out, place)
}

func (w *writer) time(t time.Time) {
	w.out = msgp.AppendBool(w.out, !t.IsZero())
	if !t.IsZero() {
		w.out = msgp.AppendInt64(w.out, t.Unix())
		w.int(t.Nanosecond())
	}
}

func (w *writer) facts(f *vault.Facts) {
	for _, s := range []string{string(f.ID), f.Name, f.Description, string(f.Digest), f.ContentRef, f.Path} {
		w.out = msgp.AppendString(w.out, s)
	}
	for _, s := range []string{string(f.Type), string(f.Owner), string(f.Status), string(f.Visibility)} {
		w.word(s)
	}
	w.int(f.Version)
	w.int(int(f.Priority))
	w.int(int(f.Confidence))
	w.time(f.Expires)
	w.time(f.Modified)
	w.out = msgp.AppendBool(w.out, f.Receipted)
	w.out = msgp.AppendBool(w.out, f.Invalid)
	w.int(len(f.Teams))
	for _, team := range f.Teams {
		w.word(team)
	}
	w.int(len(f.ACL))
	for _, rule := range f.ACL {
		w.word(string(rule.Effect))
		w.word(string(rule.Subject))
		w.int(len(rule.Permissions))
		for _, permission := range rule.Permissions {
			w.word(string(permission))
		}
	}
	w.int(len(f.Bindings))
	for _, b := range f.Bindings {
		w.word(string(b.Target))
		w.word(string(b.Mode))
		w.int(int(b.Priority))
		w.out = msgp.AppendBool(w.out, b.Required)
		w.out = msgp.AppendBool(w.out, b.Enabled)
	}
}

func (w *writer) text(p *textPlace) {
	w.int(int(p.segment))
	if p.segment >= 0 {
		w.int(int(p.document))
		w.int(int(p.length))
	}
}

func (w *writer) form(p *formPlace) {
	w.int(int(p.file))
	w.out = msgp.AppendInt64(w.out, p.offset)
	for i, size := range p.sizes {
		w.int(int(size))
		if size >= 0 {
			w.int(int(p.tokens[i]))
		}
	}
}

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
	c.facts = make([]vault.Facts, r.count(24))
	r.teams = make([]string, r.count(1))
	r.rules = make([]vault.Rule, r.count(3))
	r.permissions = make([]vault.Permission, r.count(1))
	r.bindings = make([]vault.Binding, r.count(5))
	for i := range c.facts {
		if r.err != nil {
			break
		}
		r.facts(&c.facts[i])
	}
	c.texts = make([]textPlace, len(c.facts))
	c.forms = make([]formPlace, len(c.facts))
	for i := range c.facts {
		if r.err != nil {
			break
		}
		r.text(&c.texts[i], c.documents)
		r.form(&c.forms[i], c.files)
		if c.facts[i].Approved() != (c.texts[i].segment >= 0) {
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

func (r *reader) facts(f *vault.Facts) {
	f.ID = vault.ID(r.string())
	f.Name, f.Description = r.string(), r.string()
	f.Digest = vault.Digest(r.string())
	f.ContentRef, f.Path = r.string(), r.string()
	f.Type, f.Owner = vault.Type(r.word()), vault.Subject(r.word())
	f.Status, f.Visibility = vault.Status(r.word()), vault.Visibility(r.word())
	f.Version = int(r.int64())
	f.Priority, f.Confidence = r.ratio(), r.ratio()
	f.Expires, f.Modified = r.time(), r.time()
	f.Receipted, f.Invalid = r.bool(), r.bool()
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
