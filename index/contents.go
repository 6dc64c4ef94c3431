package index

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"github.com/RoaringBitmap/roaring/v2"

	"longmemory.dev/lm/vault"
)

// compare is the order of documents in an index.
func compare(a, b *Document) int {
	return cmp.Or(cmp.Compare(a.Facts.ID, b.Facts.ID), cmp.Compare(a.Facts.Path, b.Facts.Path))
}

// Before says whether a document comes before another in an index.
func Before(a, b *Document) bool { return compare(a, b) < 0 }

// Sort brings documents into the order of an index.
func Sort(documents []Document) { copy(documents, sorted(documents)) }

// sorted is a copy of documents in the order of an index.
func sorted(documents []Document) []Document {
	places := make([]int32, len(documents)) // a document is large to move about
	for i := range places {
		places[i] = int32(i)
	}
	slices.SortStableFunc(places, func(i, j int32) int { return compare(&documents[i], &documents[j]) })
	out := make([]Document, len(documents))
	for i, place := range places {
		out[i] = documents[place]
	}
	return out
}

// newCatalog is the catalog of sorted contents, with the places of texts and
// forms still to come.
func newCatalog(c Contents) catalog {
	made := catalog{
		vault:    slices.Clone(c.Vault),
		problems: append([]vault.Problem(nil), c.Problems...),
		facts:    make([]vault.Facts, len(c.Documents)),
		texts:    make([]textPlace, len(c.Documents)),
		forms:    make([]formPlace, len(c.Documents)),
		same:     make(identities, len(identity{})*len(c.Documents)),
	}
	for i := range c.Documents {
		made.facts[i] = c.Documents[i].Facts
		made.texts[i] = unplaced
		made.forms[i].measure([4]Form{})
	}
	return made
}

// index puts the texts of the approved documents that have no place yet into
// new segments, and tells add of each.
func (c *catalog) index(ctx context.Context, documents []Document, progress func(more int), add func(unwritten) error) error {
	var places []int
	var texts []*Text
	for i := range documents {
		if c.facts[i].Standing() != nil && c.texts[i].segment < 0 {
			places = append(places, i)
			texts = append(texts, &documents[i].Text)
		}
	}
	return newSegments(ctx, texts, progress, func(run []analyzed, made unwritten) error {
		for number, text := range run {
			c.texts[places[number]] = textPlace{
				segment:  int32(len(c.documents)),
				document: int32(number),
				length:   int32(text.length),
			}
		}
		places = places[len(run):]
		c.documents = append(c.documents, len(run))
		return add(made)
	})
}

// assign tells segments the assets whose texts they hold.
func (c *catalog) assign(segments []segment) error {
	for i := range segments {
		s := &segments[i]
		s.live, s.dead, s.assets = 0, nil, make([]int32, c.documents[i])
		for number := range s.assets {
			s.assets[number] = -1
		}
	}
	for i, p := range c.texts {
		if p.segment < 0 {
			continue
		}
		s := &segments[p.segment]
		if s.assets[p.document] >= 0 {
			return fmt.Errorf("index: two assets with one text: %w", ErrDamaged)
		}
		s.assets[p.document] = int32(i)
		s.live++
	}
	for i := range segments {
		s := &segments[i]
		if s.live == len(s.assets) {
			continue
		}
		s.dead = roaring.New()
		for number, asset := range s.assets {
			if asset < 0 {
				s.dead.Add(uint32(number))
			}
		}
	}
	return nil
}

// measure notes the sizes and tokens of forms.
func (p *formPlace) measure(forms [4]Form) {
	for i, form := range forms {
		p.sizes[i], p.tokens[i] = -1, 0
		if form != (Form{}) {
			p.sizes[i], p.tokens[i] = int32(len(form.Text)), int32(form.Tokens)
		}
	}
}

// identify is the identity of a document's text and forms.
func (d *Document) identify() (same identity) {
	sum := sha256.New()
	var head []byte
	part := func(s string) {
		head = binary.LittleEndian.AppendUint64(head[:0], uint64(len(s)))
		sum.Write(head)
		sum.Write(bytesOf(s))
	}
	part(d.Text.Name)
	part(d.Text.Description)
	part(d.Text.Body)
	for _, form := range d.Forms {
		part(form.Text)
		head = binary.LittleEndian.AppendUint64(head[:0], uint64(form.Tokens))
		sum.Write(head)
	}
	for _, label := range d.Text.Labels {
		part(label)
	}
	copy(same[:], sum.Sum(nil))
	return same
}

// bytesOf is a string as bytes, which must not be changed, without a copy.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
