package index

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"golang.org/x/text/unicode/norm"
)

// Analyzer is the version of the text analysis. It counts up with every change
// that can give some text other terms, and is part of every Key.
const Analyzer = 1

// maxWord is the length in bytes from which a run of letters and digits is no
// word any more but a key, a hash or an encoded picture, and is left out.
const maxWord = 64

// Weights of the parts of a text in the one field that is searched: as if they
// stood there as many times.
const (
	nameWeight        = 3
	descriptionWeight = 2
	labelWeight       = 1
	bodyWeight        = 1
)

// termCount is one term of a text: its number in the analyzer that found it in
// the upper half, its frequency in the lower.
type termCount uint64

func (c termCount) term() uint32      { return uint32(c >> 32) }
func (c termCount) frequency() uint32 { return uint32(c) }

// analyzer turns text into terms. It remembers what became of each word that
// it has met, which makes analysis of a vault some ten times as fast as that of
// its words one by one. It is not for concurrent use.
type analyzer struct {
	terms   []string            // by number
	shown   []string            // by number: the first word that stood for the term, as people know it
	numbers map[string]uint32   // the inverse of terms
	words   map[string][]uint32 // a word as written: the terms it stands for

	counts []uint32 // by term, of the text in hand
	found  []uint32 // the terms with a count
	length uint32   // of that text
}

func newAnalyzer() *analyzer {
	return &analyzer{numbers: make(map[string]uint32), words: make(map[string][]uint32)}
}

// stopWords are the English words that tell nothing.
var stopWords = sync.OnceValue(func() analysis.TokenMap {
	words := analysis.NewTokenMap()
	// Loading from memory fails on nothing.
	_ = words.LoadBytes(en.EnglishStopWords)
	return words
})

// Bleve's filters for English words.
var (
	possessive = en.NewPossessiveFilter()
	stemmer    = en.NewEnglishStemmerFilter()
)

// bigrams is Bleve's filter for a run of ideographs.
var bigrams = cjk.NewCJKBigramFilter(false)

// document analyses a text into its terms with their weighted frequencies, and
// its length: the weighted number of its words, ideographs counted by pairs.
func (a *analyzer) document(t *Text) (counts []termCount, length uint32) {
	a.add(t.Name, nameWeight)
	a.add(t.Description, descriptionWeight)
	for _, label := range t.Labels {
		a.add(label, labelWeight)
	}
	a.add(t.Body, bodyWeight)
	return a.take()
}

// query analyses a query like a body.
func (a *analyzer) query(text string) []termCount {
	a.add(text, 1)
	counts, _ := a.take()
	return counts
}

// take hands out what was added and starts anew.
func (a *analyzer) take() (counts []termCount, length uint32) {
	counts = make([]termCount, len(a.found))
	for i, n := range a.found {
		counts[i] = termCount(n)<<32 | termCount(a.counts[n])
		a.counts[n] = 0
	}
	length = a.length
	a.found, a.length = a.found[:0], 0
	return counts, length
}

// add counts the terms of text, each weight times.
func (a *analyzer) add(text string, weight uint32) {
	for i := 0; i < len(text); {
		class, size := classAt(text, i)
		switch class {
		case letter, digit:
			end := wordEnd(text, i)
			a.word(text[i:end], weight)
			i = end
		case ideograph:
			end := i + size
			for end < len(text) {
				class, size := classAt(text, end)
				if class != ideograph {
					break
				}
				end += size
			}
			a.ideographs(text[i:end], weight)
			i = end
		default:
			i += size
		}
	}
}

// wordEnd is the end of the word that begins at i: letters and digits, and
// single connectors between two of them.
func wordEnd(text string, i int) int {
	for i < len(text) {
		class, size := classAt(text, i)
		if class == connector {
			if i+size == len(text) {
				return i
			}
			class, _ = classAt(text, i+size)
		}
		if class != letter && class != digit {
			return i
		}
		i += size
	}
	return i
}

// word counts the terms that a word stands for.
func (a *analyzer) word(word string, weight uint32) {
	terms, ok := a.words[word]
	if !ok {
		terms = a.resolve(word)
		a.words[word] = terms
	}
	if len(terms) > 0 {
		a.length += weight
	}
	for _, n := range terms {
		a.count(n, weight)
	}
}

// count counts a term, but not its length: parts do not make a text longer.
func (a *analyzer) count(n, weight uint32) {
	if a.counts[n] == 0 {
		a.found = append(a.found, n)
	}
	a.counts[n] += weight
}

// number is the number of a term that a word stands for, a new one if need be.
func (a *analyzer) number(term, word string) uint32 {
	n, ok := a.numbers[term]
	if !ok {
		n = uint32(len(a.terms))
		a.terms = append(a.terms, term)
		a.shown = append(a.shown, word)
		a.counts = append(a.counts, 0)
		a.numbers[term] = n
	}
	return n
}

// resolve finds the terms of a word: itself without its connectors, and, where
// it is made of several, its parts of two characters and more.
func (a *analyzer) resolve(word string) []uint32 {
	parts := split(word)
	var terms []uint32
	whole := fold(joined(word))
	if term := stem(whole); term != "" {
		terms = append(terms, a.number(term, whole))
	}
	if len(parts) < 2 {
		return terms
	}
	for _, part := range parts {
		if utf8.RuneCountInString(part) < 2 {
			continue
		}
		part = fold(part)
		if term := stem(part); term != "" {
			terms = append(terms, a.number(term, part))
		}
	}
	return terms
}

// stem is the term of a folded word, "" for one that tells nothing or is too
// long to be a word.
func stem(word string) string {
	if len(word) > maxWord || stopWords()[word] {
		return ""
	}
	stream := analysis.TokenStream{{Term: []byte(word)}}
	stream = possessive.Filter(stream)
	if stopWords()[string(stream[0].Term)] {
		return ""
	}
	return string(stemmer.Filter(stream)[0].Term)
}

// ideographs counts a run of ideographs by its overlapping pairs; a single one
// by itself.
func (a *analyzer) ideographs(run string, weight uint32) {
	stream := analysis.TokenStream{{Term: []byte(norm.NFKC.String(run)), Type: analysis.Ideographic}}
	for _, token := range bigrams.Filter(stream) {
		a.length += weight
		a.count(a.number(string(token.Term), string(token.Term)), weight)
	}
}

// fold brings a word to lower case, compatibility form and, as people search
// for résumé by resume, without accents.
func fold(word string) string {
	if strings.IndexFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return strings.ToLower(word)
	}
	var folded []rune
	for _, r := range norm.NFKD.String(word) {
		if r < 0x300 || r > 0x36f {
			folded = append(folded, unicode.ToLower(r))
		}
	}
	return norm.NFC.String(string(folded))
}
