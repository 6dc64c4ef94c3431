package gitstore

import (
	"bytes"
	"strings"
)

// Line ends: what Git stores and what lies in the work tree may differ, by the
// attributes text and eol and by core.autocrlf and core.eol (gitattributes(5)).
// The rules here are those of git's convert.c, both ways.

// lineEnds says what happens to one file's line ends.
type lineEnds struct {
	convert bool // CRLF becomes LF when Git stores the file
	guess   bool // …if its bytes look like text
	crlf    bool // LF becomes CRLF when the file is checked out
}

// lineRules is the configuration behind lineEnds.
type lineRules struct {
	auto   bool // core.autocrlf is true or input
	input  bool // core.autocrlf is input
	native bool // the work tree has CRLF where only "text" is said
}

func (r *Repo) lineRules() (lineRules, error) {
	var rules lineRules
	auto, set, err := r.Config("core.autocrlf")
	if err != nil {
		return rules, err
	}
	rules.input = strings.EqualFold(auto, "input")
	rules.auto = rules.input || set && parseBool(auto, false)
	eol, _, err := r.Config("core.eol")
	if err != nil {
		return rules, err
	}
	switch {
	case rules.input:
	case rules.auto:
		rules.native = true
	default:
		rules.native = strings.EqualFold(eol, "crlf") || nativeCRLF && !strings.EqualFold(eol, "lf")
	}
	return rules, nil
}

// of reads a file's attributes.
func (rules lineRules) of(attributes map[string]string) lineEnds {
	text, eol := attributes["text"], attributes["eol"]
	if text == attrUnspecified {
		text = attributes["crlf"] // its name before Git 1.7.2
	}
	if text == attrUnset {
		return lineEnds{}
	}
	if text == "input" {
		text, eol = attrSet, "lf"
	}
	switch {
	case text == "auto":
		return lineEnds{convert: true, guess: true, crlf: eol == "crlf" || eol != "lf" && rules.native}
	case text == attrSet || eol == "lf" || eol == "crlf":
		return lineEnds{convert: true, crlf: eol == "crlf" || eol != "lf" && rules.native}
	case rules.auto:
		return lineEnds{convert: true, guess: true, crlf: !rules.input}
	}
	return lineEnds{}
}

// stored gives the bytes that Git stores for a file of the work tree. committed
// gives the bytes that it stores now: a file whose kind is guessed and that was
// stored with CRLF keeps it.
func (e lineEnds) stored(data []byte, committed func() []byte) []byte {
	if !e.convert || !bytes.Contains(data, []byte("\r\n")) {
		return data
	}
	if e.guess {
		if looksBinary(data) {
			return data
		}
		if old := committed(); bytes.Contains(old, []byte("\r\n")) && !looksBinary(old) {
			return data
		}
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
}

// checkedOut gives the bytes that git checkout writes for a stored file.
func (e lineEnds) checkedOut(data []byte) []byte {
	if !e.crlf {
		return data
	}
	crlf := bytes.Count(data, []byte("\r\n"))
	if bytes.Count(data, []byte("\n")) == crlf {
		return data // no LF stands alone
	}
	if e.guess && (bytes.IndexByte(data, '\r') >= 0 || looksBinary(data)) {
		return data
	}
	out := make([]byte, 0, len(data)+len(data)/16)
	for i, c := range data {
		if c == '\n' && (i == 0 || data[i-1] != '\r') {
			out = append(out, '\r')
		}
		out = append(out, c)
	}
	return out
}

// looksBinary is git's guess: a lone CR, a NUL, or more than one unprintable
// byte in 128.
func looksBinary(data []byte) bool {
	printable, not := 0, 0
	for i, c := range data {
		switch {
		case c == '\r' && (i+1 == len(data) || data[i+1] != '\n'):
			return true
		case c == 0:
			return true
		case c == '\r' || c == '\n':
		case c == 0x7f:
			not++
		case c < ' ' && c != '\b' && c != '\t' && c != 0x1b && c != '\f':
			not++
		default:
			printable++
		}
	}
	if len(data) > 0 && data[len(data)-1] == 0x1a {
		not-- // a DOS end-of-file mark
	}
	return printable>>7 < not
}
