package vault

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"gopkg.in/yaml.v3"
)

// Limits of one YAML document, besides those in vault.yaml (format.md §1).
const (
	maxNesting  = 32
	maxExpanded = 20000 // nodes, after aliases are followed
	mostMended  = 20    // lines of one fault, after which the reading stops
)

var (
	fence     = []byte("---")
	byteOrder = []byte("\xef\xbb\xbf")
	lfsMarker = []byte("version https://git-lfs.github.com/spec/")
)

// document is one YAML mapping with the place of every node in its file.
type document struct {
	path string
	skip int // lines of the file before the YAML: 1 after a fence
	root *yaml.Node
	*findings
}

// at records a problem of a node.
func (d *document) at(n *yaml.Node, severity Severity, field, mend, format string, args ...any) {
	p := Problem{Severity: severity, Path: d.path, Field: field, Message: fmt.Sprintf(format, args...), Mend: mend}
	if n != nil {
		p.Line, p.Column = n.Line+d.skip, n.Column
	}
	d.add(p)
}

// split takes a file with front matter apart: the YAML between the fences and
// the bytes after the closing fence's line. A byte order mark is dropped.
func split(data []byte) (front, body []byte, ok bool) {
	data = bytes.TrimPrefix(data, byteOrder)
	line, rest, more := bytes.Cut(data, []byte("\n"))
	if !more || !bytes.Equal(bytes.TrimSuffix(line, []byte("\r")), fence) {
		return nil, nil, false
	}
	for at := 0; at <= len(rest); {
		end := bytes.IndexByte(rest[at:], '\n')
		next := len(rest) + 1
		line := rest[at:]
		if end >= 0 {
			line, next = rest[at:at+end], at+end+1
		}
		if bytes.Equal(bytes.TrimSuffix(line, []byte("\r")), fence) {
			return rest[:at], rest[min(next, len(rest)):], true
		}
		at = next
	}
	return nil, nil, false
}

// frontMatter reads the YAML at the head of a Markdown file. The document's
// root is nil where a problem stopped the reading.
func frontMatter(path string, data []byte, found *findings) (*document, []byte) {
	d := &document{path: path, skip: 1, findings: found}
	if !d.readable(data) {
		return d, nil
	}
	front, body, ok := split(data)
	switch {
	case ok:
		d.parse(front)
	case bytes.HasPrefix(bytes.TrimPrefix(data, byteOrder), fence):
		d.unfenced(data)
	default:
		d.add(Problem{Severity: Error, Path: path, Line: 1, Column: 1,
			Message: "there is no front matter", Mend: "begin the file with a line that is --- alone, the keys, and another such line"})
	}
	return d, body
}

// unfenced says why front matter does not end: for want of a fence, or for a
// blank behind one, which nobody sees.
func (d *document) unfenced(data []byte) {
	for i, line := range strings.Split(string(bytes.TrimPrefix(data, byteOrder)), "\n") {
		if line = strings.TrimSuffix(line, "\r"); line != "---" && strings.TrimRight(line, " \t") == "---" {
			d.add(Problem{Severity: Error, Path: d.path, Line: i + 1, Column: 4, Message: "a blank after the fence", Mend: "remove it, so that --- stands alone"})
			return
		}
	}
	d.add(Problem{Severity: Error, Path: d.path, Line: 1, Column: 1,
		Message: "the front matter has no closing fence", Mend: "end it with a line that is --- alone"})
}

// plainYAML reads a file that is YAML as a whole.
func plainYAML(path string, data []byte, found *findings) *document {
	d := &document{path: path, findings: found}
	if d.readable(data) {
		d.parse(bytes.TrimPrefix(data, byteOrder))
	}
	return d
}

// readable refuses bytes that are no text of this vault.
func (d *document) readable(data []byte) bool {
	if bytes.HasPrefix(data, lfsMarker) {
		d.add(Problem{Severity: Error, Path: d.path, Line: 1, Column: 1,
			Message: "this is a Git LFS pointer, not the file", Mend: "keep the file in Git itself: git lfs untrack it and add it again"})
		return false
	}
	if line, column, bad := firstInvalid(data); bad {
		d.add(Problem{Severity: Error, Path: d.path, Line: line, Column: column,
			Message: "a byte that is not UTF-8", Mend: "save the file as UTF-8"})
		return false
	}
	return true
}

// firstInvalid finds the first byte that is not UTF-8.
func firstInvalid(data []byte) (line, column int, bad bool) {
	if utf8.Valid(data) {
		return 0, 0, false
	}
	line, column = 1, 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			break
		}
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
		data = data[size:]
	}
	return line, column, true
}

// parse reads src into d.root. Lines with the commonest fault, a plain value
// with ": " in it, are quoted and the reading goes on, so that one such line
// hides nothing behind it.
func (d *document) parse(src []byte) {
	for range mostMended + 1 {
		var doc yaml.Node
		decoder := yaml.NewDecoder(bytes.NewReader(src))
		err := decoder.Decode(&doc)
		switch {
		case errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0:
			d.add(Problem{Severity: Error, Path: d.path, Line: 1 + d.skip, Column: 1,
				Message: "there are no keys", Mend: "write the keys, schema first"})
			return
		case err != nil:
			mended, ok := d.syntax(src, err)
			if !ok {
				return
			}
			src = mended
			continue
		}
		d.accept(&doc, decoder)
		return
	}
}

// accept checks what holds for every document of a vault and sets d.root.
func (d *document) accept(doc *yaml.Node, decoder *yaml.Decoder) {
	root := doc.Content[0]
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		d.at(&second, Error, "", "keep one document in a file", "a second document begins here")
		return
	} else if !errors.Is(err, io.EOF) {
		d.add(Problem{Severity: Error, Path: d.path, Line: errorLine(err) + d.skip, Column: 1,
			Message: "something that is no YAML follows the document", Mend: "remove it"})
		return
	}
	if root.Kind != yaml.MappingNode {
		d.at(root, Error, "", "write `key: value` lines", "keys are due here, not %s", kindName(root))
		return
	}
	nodes := 0
	if d.sound(root, "", 1, &nodes) {
		d.root = root
	}
}

// sound walks the nodes as readers will, following aliases, and reports
// duplicate keys and what grows past the limits.
func (d *document) sound(n *yaml.Node, field string, depth int, nodes *int) bool {
	if *nodes++; *nodes > maxExpanded {
		d.at(n, Error, field, "write it out without aliases, or in a file of its own", "the document grows past %d values", maxExpanded)
		return false
	}
	if depth > maxNesting {
		d.at(n, Error, field, "nest less deeply", "values nest deeper than %d levels", maxNesting)
		return false
	}
	switch n.Kind {
	case yaml.AliasNode:
		return d.sound(n.Alias, field, depth+1, nodes)
	case yaml.SequenceNode:
		for i, item := range n.Content {
			if !d.sound(item, fmt.Sprintf("%s[%d]", field, i), depth+1, nodes) {
				return false
			}
		}
	case yaml.MappingNode:
		seen := make(map[string]int, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			name, word := join(field, key.Value), norm.NFC.String(key.Value)
			if key.Kind != yaml.ScalarNode {
				d.at(key, Error, field, "use a plain word as the key", "a key that is %s", kindName(key))
				return false
			}
			if line, twice := seen[word]; twice {
				d.at(key, Error, name, "keep one of the two", "the key stands twice, first on line %d", line)
			} else {
				seen[word] = key.Line + d.skip
			}
			if !d.sound(value, name, depth+1, nodes) {
				return false
			}
		}
	}
	return true
}

var (
	yamlLine   = regexp.MustCompile(`line (\d+): `)
	plainColon = regexp.MustCompile(`^(\s*(?:- +)*[^\s:#'"\[\]{},&*!|>%@-][^\s:#]*:[ \t]+)([^\s'"\[\]{}#&*!|>%@].*)$`)
)

func errorLine(err error) int {
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ := strconv.Atoi(m[1])
		return line
	}
	return 1
}

// syntax reports why src is no YAML. Where that is a plain value with ": " in
// it, it returns src with those lines quoted.
func (d *document) syntax(src []byte, err error) ([]byte, bool) {
	lines := strings.Split(string(src), "\n")
	if quoted, n := quotePlainColon(lines); n >= 0 {
		column := utf8.RuneCountInString(plainColon.FindStringSubmatch(lines[n])[1]) + 1
		d.add(Problem{Severity: Error, Path: d.path, Line: n + 1 + d.skip, Column: column,
			Message: "a plain value with `: ` in it is no YAML", Mend: "quote it: " + strings.TrimSpace(quoted)})
		lines[n] = quoted
		return []byte(strings.Join(lines, "\n")), true
	}
	for i, line := range lines {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if tab := strings.IndexByte(indent, '\t'); tab >= 0 && len(indent) < len(line) {
			d.add(Problem{Severity: Error, Path: d.path, Line: i + 1 + d.skip, Column: tab + 1,
				Message: "a tab in the indentation", Mend: "indent with spaces"})
			return nil, false
		}
	}
	line := min(max(errorLine(err), 1), len(lines))
	text := lines[line-1]
	message := yamlLine.ReplaceAllString(strings.TrimPrefix(err.Error(), "yaml: "), "")
	d.add(Problem{Severity: Error, Path: d.path, Line: line + d.skip, Column: len(text) - len(strings.TrimLeft(text, " ")) + 1,
		Message: "this is no YAML: " + message, Mend: "check the quotes, brackets and indentation on this line and the one before"})
	return nil, false
}

// quotePlainColon finds the first line whose plain value holds ": " (or ends
// in a colon) and returns it quoted, with its index; -1 where there is none.
func quotePlainColon(lines []string) (string, int) {
	block := -1 // indentation of the key whose block scalar we are in
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if block >= 0 && (indent > block || strings.TrimSpace(line) == "") {
			continue
		}
		block = -1
		if trimmed := strings.TrimSpace(line); strings.HasSuffix(trimmed, "|") || strings.HasSuffix(trimmed, ">") ||
			strings.HasSuffix(trimmed, "|-") || strings.HasSuffix(trimmed, ">-") {
			block = indent
			continue
		}
		m := plainColon.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		value, comment := m[2], ""
		if at := strings.Index(value, " #"); at >= 0 {
			value, comment = value[:at], value[at:]
		}
		value = strings.TrimRight(value, " \t")
		if strings.Contains(value, ": ") || strings.HasSuffix(value, ":") {
			return m[1] + quote(value) + comment, i
		}
	}
	return "", -1
}

// quote writes a value as a double-quoted YAML scalar.
func quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`).Replace(value) + `"`
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	default:
		return "a single value"
	}
}

func join(field, key string) string {
	if field == "" {
		return key
	}
	return field + "." + key
}

// follow is the node that an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}
