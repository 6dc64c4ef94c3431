package index

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"slices"

	"github.com/hashicorp/go-multierror"

	"longmemory.dev/lm/vault"
)

// ErrDamaged is wrapped by the errors of an index that is not what was
// written. Building it anew mends it.
var ErrDamaged = errors.New("the index is damaged")

// Text is what an asset is searched by.
type Text struct {
	Name, Description string
	Labels            []string
	Body              string // and the text of its resources
}

// Form is an asset in one injection mode as it is rendered, frame included,
// and the tokens that it costs. The zero Form stands for none.
type Form struct {
	Text   string
	Tokens int
}

// Document is an asset as an index takes it in.
type Document struct {
	Facts vault.Facts
	Text  Text    // looked at only if Facts.Standing
	Forms [4]Form // by place in vault.Modes

	// Base is for Derive only: 1 + the place, in the index that is derived
	// from, of an asset that has the same Text and Forms, which are then not
	// looked at. 0: there is none. An approved asset takes an approved one.
	Base int
}

// Contents is all that an index is made of.
type Contents struct {
	Vault     []byte // facts of the vault itself, in the caller's own encoding
	Problems  []vault.Problem
	Documents []Document
}

// Index answers for one snapshot of a vault. It names each asset by its place
// in Facts. All methods but Close are safe for concurrent use.
type Index struct {
	catalog
	collection
	lengths  []int32 // of the texts, by place
	segments []segment

	cold []*os.File // the files that hold rendered forms
	held [][4]Form  // of an index in memory: its forms, by place

	dir    string // of an index on disk: its folder, and what lies there
	listed []listed
}

// Memory makes an index that answers like one that was built and lies in
// memory, for where nothing can be written. It takes no Base.
func Memory(c Contents) (*Index, error) {
	c.Documents = sorted(c.Documents)
	x := &Index{catalog: newCatalog(c), held: make([][4]Form, len(c.Documents))}
	for i := range c.Documents {
		x.held[i] = c.Documents[i].Forms
		x.forms[i].measure(c.Documents[i].Forms)
	}
	var made []segment
	err := x.index(context.Background(), c.Documents, func(int) {}, func(s unwritten) error {
		made = append(made, segment{postings: s})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return x, x.join(made)
}

// join connects the index with its segments, and counts the collection.
func (x *Index) join(segments []segment) error {
	x.segments = segments
	for i := range segments {
		if segments[i].postings.Count() != uint64(x.documents[i]) {
			return fmt.Errorf("index: segment %d: %w", i, ErrDamaged)
		}
	}
	if err := x.assign(segments); err != nil {
		return err
	}
	var documents, length int64
	x.lengths = make([]int32, len(x.facts))
	for i, p := range x.texts {
		if p.segment >= 0 {
			x.lengths[i] = p.length
			length += int64(p.length)
			documents++
		}
	}
	x.collection = newCollection(documents, length)
	return nil
}

// Close lets go of the files. What Facts returned stays valid.
func (x *Index) Close() error {
	var errs *multierror.Error
	for _, s := range x.segments {
		if s.postings != nil {
			errs = multierror.Append(errs, s.postings.Close())
		}
	}
	for _, f := range x.cold {
		errs = multierror.Append(errs, f.Close())
	}
	x.segments, x.cold = nil, nil
	return errs.ErrorOrNil()
}

// FormTokens is what the form of the asset at place i in a mode costs. ok says
// whether there is such a form.
func (x *Index) FormTokens(i int, mode vault.Mode) (tokens int, ok bool) {
	m := slices.Index(vault.Modes, mode)
	if m < 0 || x.forms[i].sizes[m] < 0 {
		return 0, false
	}
	return int(x.forms[i].tokens[m]), true
}

// Form reads the form of the asset at place i in a mode, the zero Form if
// there is none. Errors wrap ErrDamaged.
func (x *Index) Form(i int, mode vault.Mode) (Form, error) {
	tokens, ok := x.FormTokens(i, mode)
	if !ok {
		return Form{}, nil
	}
	m := slices.Index(vault.Modes, mode)
	if x.held != nil {
		return x.held[i][m], nil
	}
	p := x.forms[i]
	p.sizes = [4]int32(slices.Concat(p.sizes[:m], []int32{-1, -1, -1, -1}[m:]))
	text := make([]byte, x.forms[i].sizes[m]+checksumSize)
	if _, err := x.cold[p.file].ReadAt(text, p.end()); err != nil {
		return Form{}, fmt.Errorf("index: forms of %s: %w: %w", x.facts[i].ID, ErrDamaged, err)
	}
	text, sum := text[:len(text)-checksumSize], text[len(text)-checksumSize:]
	if !slices.Equal(sum, checksum(text)) {
		return Form{}, fmt.Errorf("index: forms of %s: %w", x.facts[i].ID, ErrDamaged)
	}
	return Form{Text: string(text), Tokens: tokens}, nil
}

// checksum is what stands behind a form.
func checksum(text []byte) []byte {
	sum := crc32.Checksum(text, castagnoli)
	return []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}
}
