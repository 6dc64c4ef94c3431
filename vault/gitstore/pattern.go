package gitstore

import (
	"path"
	"strings"
)

// pattern is one pattern of an ignore or attributes file (gitignore(5)).
type pattern struct {
	base    string // folder of the file that holds it, "" for the root
	glob    string
	negated bool
	dirOnly bool
	byName  bool // no slash: the last path component is matched, at any depth
	fold    bool // letters match without case (core.ignoreCase)
}

// parsePattern reads a pattern whose trailing spaces are already dealt with.
func parsePattern(text, base string, fold bool) (pattern, bool) {
	p := pattern{base: base, fold: fold}
	if rest, ok := strings.CutPrefix(text, "!"); ok {
		p.negated, text = true, rest
	}
	if rest, ok := strings.CutSuffix(text, "/"); ok {
		p.dirOnly, text = true, rest
	}
	p.byName = !strings.Contains(text, "/")
	p.glob = strings.TrimPrefix(text, "/")
	if fold {
		p.glob = strings.ToLower(p.glob)
	}
	return p, text != ""
}

// match says whether the pattern speaks of a path relative to the root.
func (p pattern) match(file string, isDir bool) bool {
	if p.dirOnly && !isDir {
		return false
	}
	if p.base != "" {
		rest, ok := strings.CutPrefix(file, p.base+"/")
		if !ok {
			return false
		}
		file = rest
	}
	if p.byName {
		file = path.Base(file)
	}
	if p.fold {
		file = strings.ToLower(file)
	}
	return wildmatch(p.glob, file)
}

// wildmatch is git's wildmatch with WM_PATHNAME: * and ? stop at a slash,
// **/, /**/ and /** cross it, [...] is a class, a backslash quotes.
func wildmatch(p, t string) bool {
	for i := 0; i < len(p); i++ {
		switch c := p[i]; c {
		case '*':
			return matchStar(p, t, i)
		case '?':
			if t == "" || t[0] == '/' {
				return false
			}
			t = t[1:]
		case '[':
			if t == "" || t[0] == '/' {
				return false
			}
			matched, end := matchClass(p[i:], t[0])
			if !matched {
				return false
			}
			i, t = i+end, t[1:]
		default:
			if c == '\\' && i+1 < len(p) {
				i++
				c = p[i]
			}
			if t == "" || t[0] != c {
				return false
			}
			t = t[1:]
		}
	}
	return t == ""
}

// matchStar matches from a star at p[i] on.
func matchStar(p, t string, i int) bool {
	stars := len(p[i:]) - len(strings.TrimLeft(p[i:], "*"))
	rest := p[i+stars:]
	crosses := stars >= 2 && (i == 0 || p[i-1] == '/') && (rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
	if crosses && strings.HasPrefix(rest, "/") && wildmatch(rest[1:], t) {
		return true // **/ may stand for no folder at all
	}
	for n := 0; ; n++ {
		if wildmatch(rest, t[n:]) {
			return true
		}
		if n == len(t) || !crosses && t[n] == '/' {
			return false
		}
	}
}

// matchClass matches c against the bracket expression that p begins with and
// gives the place of its closing bracket; an unclosed one matches nothing.
func matchClass(p string, c byte) (matched bool, end int) {
	i := 1
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	for first := true; i < len(p) && (first || p[i] != ']'); first = false {
		if name, ok := strings.CutPrefix(p[i:], "[:"); ok {
			if class, _, ok := strings.Cut(name, ":]"); ok {
				matched = matched || inClass(class, c)
				i += len(class) + 4
				continue
			}
		}
		low, next := classByte(p, i)
		high := low
		if next+1 < len(p) && p[next] == '-' && p[next+1] != ']' {
			high, next = classByte(p, next+1)
		}
		matched = matched || c == low || low <= c && c <= high
		i = next
	}
	return i < len(p) && matched != negated, i
}

func classByte(p string, i int) (c byte, next int) {
	if p[i] == '\\' && i+1 < len(p) {
		i++
	}
	return p[i], i + 1
}

// inClass is a POSIX character class over ASCII.
func inClass(class string, c byte) bool {
	lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
	switch class {
	case "alpha":
		return lower || upper
	case "alnum":
		return lower || upper || digit
	case "digit":
		return digit
	case "lower":
		return lower
	case "upper":
		return upper
	case "space":
		return c == ' ' || '\t' <= c && c <= '\r'
	case "blank":
		return c == ' ' || c == '\t'
	case "punct":
		return '!' <= c && c <= '~' && !lower && !upper && !digit
	case "cntrl":
		return c < ' ' || c == 0x7f
	case "graph":
		return '!' <= c && c <= '~'
	case "print":
		return ' ' <= c && c <= '~'
	case "xdigit":
		return digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
	}
	return false
}
