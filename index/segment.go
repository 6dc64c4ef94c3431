package index

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
	bleve "github.com/blevesearch/bleve_index_api"
	scorch "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
)

// textField is the one field that is searched; idField is one that each
// document of a segment must have, and has empty, as places identify assets.
const (
	textField = "text"
	idField   = "_id"
)

// segmentSize is of how many bytes of text a segment is built: this bounds the
// memory that a build takes.
const segmentSize = 32 << 20

// segment is one Bleve segment with the assets whose texts it holds.
type segment struct {
	postings scorch.Segment
	assets   []int32         // by document number: the place of the asset, -1: none any more
	dead     *roaring.Bitmap // the document numbers without an asset; nil: none
	live     int             // how many have one
}

// analyzed is a text after its analysis.
type analyzed struct {
	by     *analyzer // whose numbers the counts use
	counts []termCount
	length uint32
}

// analyze analyses texts on all processors.
func analyze(ctx context.Context, texts []*Text, progress func(more int)) ([]analyzed, error) {
	const chunk = 64 // texts: enough to make the search for work cheap, and few enough for an even end
	results := make([]analyzed, len(texts))
	var next atomic.Int64
	var group sync.WaitGroup
	var reporting sync.Mutex
	for range min(runtime.GOMAXPROCS(0), len(texts)/chunk+1) {
		group.Go(func() {
			by := newAnalyzer()
			for ctx.Err() == nil {
				start := int(next.Add(chunk)) - chunk
				if start >= len(texts) {
					return
				}
				end := min(start+chunk, len(texts))
				for i := start; i < end; i++ {
					counts, length := by.document(texts[i])
					results[i] = analyzed{by, counts, length}
				}
				reporting.Lock()
				progress(end - start)
				reporting.Unlock()
			}
		})
	}
	group.Wait()
	return results, ctx.Err()
}

// runs divides texts into those of one segment each.
func runs(texts []*Text) (cut [][]*Text) {
	start, size := 0, 0
	for i, t := range texts {
		if size += len(t.Body) + len(t.Description); size >= segmentSize || i == len(texts)-1 {
			cut = append(cut, texts[start:i+1])
			start, size = i+1, 0
		}
	}
	return cut
}

// unwritten is a segment in memory that can be written.
type unwritten interface {
	scorch.Segment
	io.WriterTo
}

// newSegments makes segments in memory of texts, and tells add of each. Their
// documents have the texts' order.
func newSegments(ctx context.Context, texts []*Text, progress func(more int), add func([]analyzed, unwritten) error) error {
	for _, run := range runs(texts) {
		documents, err := analyze(ctx, run, progress)
		if err != nil {
			return err
		}
		made, err := newSegment(documents)
		if err != nil {
			return err
		}
		if err := add(documents, made); err != nil {
			return err
		}
	}
	return nil
}

// newSegment makes a segment in memory; the documents get the numbers of their
// order.
func newSegment(documents []analyzed) (unwritten, error) {
	scratch := make(bleve.TokenFrequencies)
	bleveDocuments := make([]bleve.Document, len(documents))
	for i := range documents {
		bleveDocuments[i] = document{&documents[i], scratch}
	}
	made, _, err := new(zap.ZapPlugin).New(bleveDocuments)
	if err != nil {
		return nil, fmt.Errorf("index: build a segment: %w", err)
	}
	persistable, ok := made.(unwritten)
	if !ok {
		return nil, fmt.Errorf("index: a segment of type %T cannot be written", made)
	}
	return persistable, nil
}

// openSegment maps a segment's file, which must have been verified, into
// memory.
func openSegment(path string) (scorch.Segment, error) { return new(zap.ZapPlugin).Open(path) }

// merge writes one segment with the living documents of several to a new file,
// and returns the new document number of each old one.
func merge(segments []segment, path string) ([][]uint64, error) {
	parts := make([]scorch.Segment, len(segments))
	dead := make([]*roaring.Bitmap, len(segments))
	for i, s := range segments {
		parts[i], dead[i] = s.postings, s.dead
	}
	numbers, _, err := new(zap.ZapPlugin).Merge(parts, dead, path, nil, nil)
	return numbers, err
}

// document is an analysed text as Bleve takes it.
type document struct {
	analyzed *analyzed
	scratch  bleve.TokenFrequencies // reused: Bleve takes one document after the other
}

func (document) ID() string                                 { return "" }
func (document) Size() int                                  { return 0 }
func (document) VisitComposite(bleve.CompositeFieldVisitor) {}
func (document) HasComposite() bool                         { return false }
func (document) NumPlainTextBytes() uint64                  { return 0 }
func (document) StoredFieldsBytes() uint64                  { return 0 }
func (document) AddIDField()                                {}
func (document) Indexed() bool                              { return true }

func (d document) VisitFields(visit bleve.FieldVisitor) {
	visit(field{name: idField, options: bleve.IndexField | bleve.StoreField})
	visit(field{name: textField, options: bleve.IndexField, document: d})
}

// field is a field of a document. Neither is its text stored, nor are
// positions or values of documents: frequencies and lengths are all that
// relevance takes.
type field struct {
	name     string
	options  bleve.FieldIndexingOptions
	document document
}

func (f field) Name() string                        { return f.name }
func (field) Value() []byte                         { return nil }
func (field) ArrayPositions() []uint64              { return nil }
func (field) EncodedFieldType() byte                { return 't' }
func (field) Analyze()                              {}
func (f field) Options() bleve.FieldIndexingOptions { return f.options }
func (field) NumPlainTextBytes() uint64             { return 0 }

// AnalyzedLength would be repeated in each posting. The catalog has the lengths
// of texts, so this is the shortest one that is none of the zeros which Bleve
// gives a meaning of their own.
func (f field) AnalyzedLength() int { return 1 }

func (f field) AnalyzedTokenFrequencies() bleve.TokenFrequencies {
	if f.document.analyzed == nil {
		return nil
	}
	frequencies := f.document.scratch
	clear(frequencies)
	for _, c := range f.document.analyzed.counts {
		frequencies[f.document.analyzed.by.terms[c.term()]] = tokenFrequency(c.frequency())
	}
	return frequencies
}

// tokenFrequencies are the frequencies that nearly all terms have.
var tokenFrequencies = func() (all [64]bleve.TokenFreq) {
	for i := range all {
		all[i].SetFrequency(i)
	}
	return all
}()

// tokenFrequency is a frequency as Bleve takes it. Bleve reads it only, so
// those that are equal share one.
func tokenFrequency(n uint32) *bleve.TokenFreq {
	if n < uint32(len(tokenFrequencies)) {
		return &tokenFrequencies[n]
	}
	frequency := new(bleve.TokenFreq)
	frequency.SetFrequency(int(n))
	return frequency
}
