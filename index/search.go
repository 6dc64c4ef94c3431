package index

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	scorch "github.com/blevesearch/scorch_segment_api/v2"

	"longmemory.dev/lm/vault"
)

// Ranking is what a query says about every asset of an index. It stays valid
// when the index is closed, and is safe for concurrent use.
type Ranking struct {
	terms   []tellingTerm
	best    int64
	sums    []int64 // of contributions, by place
	newest  []int32 // by place: 1 + the last of its hits, 0: none
	hits    []hit
	lengths []int32
	collection
}

// TermScore is what one term of a query adds to an asset's relevance, in the
// units of design.md §2.
type TermScore struct {
	Term         string // as the query has it, in lower case and before stemming
	Contribution int64
}

// tellingTerm is a term of a query that occurs in an approved asset.
type tellingTerm struct {
	term      string
	word      string // of the query, that it stands for
	frequency int64  // of the term in the query
	documents int64  // df
	idf       int64
	weight    int64
}

// hit is a telling term in an asset. The hits of an asset are linked from the
// last to the first.
type hit struct {
	before    int32 // 1 + the hit before, 0: none
	term      uint8
	frequency uint16
}

// Search ranks all assets by a query of any length. What it returns names
// every asset in which a telling term occurs: nothing is cut. Errors wrap
// ErrDamaged.
func (x *Index) Search(query string) (*Ranking, error) {
	terms, err := x.telling(query)
	if err != nil {
		return nil, err
	}
	r := &Ranking{
		terms:      terms,
		sums:       make([]int64, len(x.facts)),
		newest:     make([]int32, len(x.facts)),
		lengths:    x.lengths,
		collection: x.collection,
	}
	total := 0
	for _, t := range terms {
		r.best += best(t.idf, t.weight)
		total += int(t.documents)
	}
	r.hits = make([]hit, 0, total)
	for i := range terms {
		if err := x.collect(r, uint8(i)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// telling picks the terms of a query that are searched for: of those that
// occur in an approved asset the ones with the highest idf·√frequency, at equal
// height the first ones by term.
func (x *Index) telling(query string) ([]tellingTerm, error) {
	a := newAnalyzer()
	var found []tellingTerm
	var list scorch.PostingsList // one for all, as only its count is wanted
	for _, c := range a.query(query) {
		t := tellingTerm{term: a.terms[c.term()], word: a.shown[c.term()], frequency: int64(c.frequency())}
		for _, s := range x.segments {
			var err error
			if list, err = s.find(t.term, list); err != nil {
				return nil, err
			}
			t.documents += int64(list.Count())
		}
		if t.documents == 0 {
			continue
		}
		t.idf = x.idf(t.documents)
		t.weight = queryWeight(t.frequency)
		found = append(found, t)
	}
	slices.SortFunc(found, func(a, b tellingTerm) int {
		// Squares compare without a root: idf²·frequency.
		aHigh, aLow := bits.Mul64(uint64(a.idf*a.idf), uint64(a.frequency))
		bHigh, bLow := bits.Mul64(uint64(b.idf*b.idf), uint64(b.frequency))
		return cmp.Or(cmp.Compare(bHigh, aHigh), cmp.Compare(bLow, aLow), cmp.Compare(a.term, b.term))
	})
	return found[:min(len(found), tellingTerms)], nil
}

// find is the postings of a term in a segment. It may put them in place of
// reused, which may be nil.
func (s *segment) find(term string, reused scorch.PostingsList) (scorch.PostingsList, error) {
	dictionary, err := s.postings.Dictionary(textField)
	if err != nil {
		return nil, fmt.Errorf("index: dictionary: %w: %w", ErrDamaged, err)
	}
	list, err := dictionary.PostingsList([]byte(term), s.dead, reused)
	if err != nil {
		return nil, fmt.Errorf("index: postings: %w: %w", ErrDamaged, err)
	}
	return list, nil
}

// collect adds the contributions of one term to a ranking.
func (x *Index) collect(r *Ranking, number uint8) error {
	t := r.terms[number]
	for _, s := range x.segments {
		list, err := s.find(t.term, nil)
		if err != nil {
			return err
		}
		for all := list.Iterator(true, false, false, nil); ; {
			posting, err := all.Next()
			if err != nil {
				return fmt.Errorf("index: postings: %w: %w", ErrDamaged, err)
			}
			if posting == nil {
				break
			}
			frequency := min(posting.Frequency(), maxFrequency)
			asset := s.assets[posting.Number()]
			r.sums[asset] += r.contribution(t.idf, t.weight, int64(frequency), int64(x.lengths[asset]))
			r.hits = append(r.hits, hit{r.newest[asset], number, uint16(frequency)})
			r.newest[asset] = int32(len(r.hits))
		}
	}
	return nil
}

// Relevance is the relevance of the asset at place i of Facts, 0 of one
// without a telling term or not approved.
func (r *Ranking) Relevance(i int) vault.Ratio { return relevance(r.sums[i], r.best) }

// Terms is what each term adds to the relevance of the asset at place i: the
// greatest first, equal ones by term.
func (r *Ranking) Terms(i int) []TermScore {
	var scores []TermScore
	for next := r.newest[i]; next > 0; next = r.hits[next-1].before {
		h := r.hits[next-1]
		t := r.terms[h.term]
		scores = append(scores, TermScore{t.word, r.contribution(t.idf, t.weight, int64(h.frequency), int64(r.lengths[i]))})
	}
	slices.SortFunc(scores, func(a, b TermScore) int {
		return cmp.Or(cmp.Compare(b.Contribution, a.Contribution), cmp.Compare(a.Term, b.Term))
	})
	return scores
}
