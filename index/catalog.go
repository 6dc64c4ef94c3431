package index

import (
	"time"

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
	segment  int32 // -1: nothing of the asset is approved
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

// encode writes a catalog, in two parts that stand one after the other. What it
// writes is a function of the catalog alone.
func (c *catalog) encode() (head, rows []byte) {
	const usual = 512 // bytes of an asset
	w := writer{places: make(map[string]uint32), out: make([]byte, 0, usual*len(c.facts))}
	for i := range c.facts {
		w.facts(&c.facts[i])
	}
	for i := range c.facts {
		w.text(&c.texts[i])
		w.form(&c.forms[i])
	}
	w.out = msgp.AppendBytes(w.out, c.same)
	rows = w.out

	w.out = make([]byte, 0, len(c.vault)+16*len(w.words)+1024)
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
	for _, total := range []int{len(c.facts), w.teams, w.rules, w.permissions, w.bindings} {
		w.int(total)
	}
	return w.out, rows
}

type writer struct {
	out    []byte
	words  []string
	places map[string]uint32 // the inverse of words

	teams, rules, permissions, bindings int // how many were written
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
	w.out = msgp.AppendBool(w.out, f.Broken)
	w.out = msgp.AppendBool(w.out, f.Invalid)
	w.teams, w.rules, w.bindings = w.teams+len(f.Teams), w.rules+len(f.ACL), w.bindings+len(f.Bindings)
	w.int(len(f.Teams))
	for _, team := range f.Teams {
		w.word(team)
	}
	w.int(len(f.ACL))
	for _, rule := range f.ACL {
		w.word(string(rule.Effect))
		w.word(string(rule.Subject))
		w.permissions += len(rule.Permissions)
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
	w.out = msgp.AppendBool(w.out, f.Served != nil)
	if f.Served != nil {
		w.facts(f.Served)
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
