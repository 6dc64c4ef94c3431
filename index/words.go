package index

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// class is what a character is to the analyzer.
type class uint8

const (
	separator class = iota
	letter          // and the marks that change one
	digit
	connector // joins two words to one where it stands between them
	ideograph // a word, or part of one, by itself: Han, kana and hangul
)

// asciiClass is the class of each ASCII character.
var asciiClass = func() (classes [utf8.RuneSelf]class) {
	for c := range classes {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			classes[c] = letter
		case '0' <= c && c <= '9':
			classes[c] = digit
		case strings.ContainsRune("_-.'", rune(c)):
			classes[c] = connector
		}
	}
	return classes
}()

// classAt is the class of the character at i, and its size in bytes.
func classAt(text string, i int) (class, int) {
	if c := text[i]; c < utf8.RuneSelf {
		return asciiClass[c], 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	switch {
	case r == '’' || r == '＇' || r == '‐' || r == '‑':
		return connector, size
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r == 'ー':
		return ideograph, size
	case unicode.IsLetter(r) || unicode.IsMark(r):
		return letter, size
	case unicode.IsDigit(r):
		return digit, size
	}
	return separator, size
}

// apostrophe says whether the connector at i is one.
func apostrophe(text string, i int) bool {
	return text[i] == '\'' || strings.HasPrefix(text[i:], "’") || strings.HasPrefix(text[i:], "＇")
}

// joined is a word without its connectors, so that resolve_loadout,
// resolve-loadout and resolveLoadout are one. An apostrophe stays, as English
// inflects with it, and so does what stands between digits: 1.25 is not 125.
func joined(word string) string {
	var b strings.Builder
	var before class
	for i := 0; i < len(word); {
		is, size := classAt(word, i)
		keep := true
		if is == connector && !apostrophe(word, i) {
			after, _ := classAt(word, i+size)
			keep = before == digit && after == digit
		}
		if keep {
			b.WriteString(word[i : i+size])
		}
		before = is
		i += size
	}
	return b.String()
}

// split cuts a word into the parts that its connectors, its capitals and its
// digits show: HTTPServer2 into HTTP, Server and 2. A number is not cut.
func split(word string) []string {
	var parts []string
	start := 0
	cut := func(end, next int) {
		if end > start {
			parts = append(parts, word[start:end])
		}
		start = next
	}
	numeric := true
	var before class
	var upper, upper2 bool // whether the last character, and the one before it, is a capital
	last := 0              // where the last character begins
	for i := 0; i < len(word); {
		is, size := classAt(word, i)
		isUpper := is == letter && capital(word, i)
		switch {
		case is == connector && !apostrophe(word, i):
			cut(i, i+size)
		case is == connector:
		case before != 0 && before != connector && before != is:
			cut(i, i)
		case isUpper && before == letter && !upper:
			cut(i, i)
		case is == letter && !isUpper && upper && upper2 && last > start:
			cut(last, last)
		}
		numeric = numeric && is != letter
		upper2, upper = upper && before == letter, isUpper
		if is == connector {
			upper, upper2 = false, false
		}
		before, last = is, i
		i += size
	}
	cut(len(word), len(word))
	if numeric {
		return nil
	}
	return parts
}

// capital says whether the character at i is one.
func capital(text string, i int) bool {
	if c := text[i]; c < utf8.RuneSelf {
		return 'A' <= c && c <= 'Z'
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	return unicode.IsUpper(r)
}
