package vault

import (
	"bytes"
	"errors"
	"maps"
	"reflect"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

var errEdit = errors.New("the keys are written in a way that lm cannot change safely; write them as `key: value` lines and try again")

// Edit changes keys of an asset's key file and leaves every other byte as it
// is: comments, order, line ends, body. patch is a JSON merge patch (RFC 7396)
// over the keys: maps merge, everything else replaces, null removes. Markdown
// says that data has front matter. The result has been read back: it says what
// data said but for the patch, or Edit fails.
func Edit(data []byte, markdown bool, patch map[string]any) ([]byte, error) {
	head, front, tail := []byte(nil), bytes.TrimPrefix(data, byteOrder), []byte(nil)
	if markdown {
		yamlPart, body, ok := split(data)
		if !ok {
			return nil, errors.New("there is no front matter")
		}
		start := bytes.IndexByte(data, '\n') + 1
		head, front, tail = data[:start], yamlPart, data[start+len(yamlPart):len(data)-len(body)]
		tail = append(bytes.Clone(tail), body...)
	} else {
		head = data[:len(data)-len(front)]
	}
	e := &editor{newline: "\n"}
	if line, _, ok := bytes.Cut(data, []byte("\n")); ok && bytes.HasSuffix(line, []byte("\r")) {
		e.newline = "\r\n"
	}
	want, err := readPlain(front)
	if err != nil {
		return nil, err
	}
	for _, key := range ordered(patch, assetOrder) {
		if front, err = e.set(front, key, patch[key]); err != nil {
			return nil, err
		}
	}
	got, err := readPlain(front)
	if err == nil {
		want, err = readPlain(encodeKeys(merge(want, patch), assetOrder))
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		return nil, errEdit
	}
	return bytes.Join([][]byte{head, front, tail}, nil), nil
}

// WithBody replaces the body of a Markdown file that has front matter.
func WithBody(data, body []byte) ([]byte, error) {
	_, old, ok := split(data)
	if !ok {
		return nil, errors.New("there is no front matter")
	}
	return append(bytes.Clone(data[:len(data)-len(old)]), body...), nil
}

// Keys reads the keys of an asset's key file as JSON has them, whether or not
// they make a valid asset.
func Keys(data []byte, markdown bool) (map[string]any, error) {
	if markdown {
		front, _, ok := split(data)
		if !ok {
			return nil, errors.New("there is no front matter")
		}
		data = front
	}
	return readPlain(bytes.TrimPrefix(data, byteOrder))
}

func readPlain(src []byte) (map[string]any, error) {
	var found findings
	d := &document{path: "file", findings: &found}
	d.parse(src)
	if err := found.err(); err != nil {
		return nil, err
	}
	return d.free(d.root, "").(map[string]any), nil
}

// merge applies a JSON merge patch.
func merge(base map[string]any, patch map[string]any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(out, key)
		case map[string]any:
			old, _ := out[key].(map[string]any)
			out[key] = merge(old, v)
		default:
			out[key] = value
		}
	}
	return out
}

type editor struct{ newline string }

// set changes one key of the map that front is.
func (e *editor) set(front []byte, key string, value any) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(front, &doc); err != nil {
		return nil, errEdit // the key before was changed to what is no YAML
	}
	if len(doc.Content) == 0 || doc.Content[0].Style&yaml.FlowStyle != 0 {
		return nil, errEdit
	}
	root := doc.Content[0]
	lines := splitLines(string(front))
	at := -1
	for i := 0; i < len(root.Content); i += 2 {
		if root.Content[i].Value == key {
			at = i
		}
	}
	patch, isMap := value.(map[string]any)
	if isMap && (at < 0 || root.Content[at+1].Kind != yaml.MappingNode) {
		value, isMap = merge(nil, patch), false
	}
	switch {
	case at < 0 && value == nil:
		return front, nil
	case at < 0:
		return e.insert(lines, root, key, value), nil
	}
	first, last := extent(lines, root, at)
	if value == nil {
		return concat(lines[:first], nil, lines[last:]), nil
	}
	old := root.Content[at+1]
	if out, ok := e.scalarInPlace(lines, old, value); ok {
		return out, nil
	}
	if isMap {
		patchNode(old, patch)
	} else {
		root.Content[at+1] = keep(old, toNode(value, 1))
	}
	name := root.Content[at]
	name.HeadComment, name.FootComment = "", ""
	text := e.encode(name, root.Content[at+1])
	return concat(lines[:first], []string{text}, lines[last:]), nil
}

// keep carries over from the old value what the new one does not speak of: the
// nodes of list items that stay the same, and comments.
func keep(old, fresh *yaml.Node) *yaml.Node {
	if same(old, fresh) {
		return old
	}
	fresh.HeadComment, fresh.LineComment, fresh.FootComment = old.HeadComment, old.LineComment, old.FootComment
	switch {
	case old.Kind == yaml.SequenceNode && fresh.Kind == yaml.SequenceNode:
		for i := range min(len(old.Content), len(fresh.Content)) {
			fresh.Content[i] = keep(old.Content[i], fresh.Content[i])
		}
	case old.Kind == yaml.MappingNode && fresh.Kind == yaml.MappingNode:
		fresh.Style = old.Style
		for i := 0; i < len(old.Content); i += 2 {
			for j := 0; j < len(fresh.Content); j += 2 {
				if old.Content[i].Value == fresh.Content[j].Value {
					fresh.Content[j] = old.Content[i]
					fresh.Content[j+1] = keep(old.Content[i+1], fresh.Content[j+1])
				}
			}
		}
	}
	return fresh
}

// same says whether two nodes read as one value.
func same(a, b *yaml.Node) bool {
	d := &document{findings: &findings{}}
	return reflect.DeepEqual(d.free(a, ""), d.free(b, ""))
}

func concat(before, middle, after []string) []byte {
	return []byte(strings.Join(before, "") + strings.Join(middle, "") + strings.Join(after, ""))
}

func (e *editor) encode(key, value *yaml.Node) string {
	unmerge(value)
	text := string(encodeNode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{key, value}}))
	return strings.ReplaceAll(text, "\n", e.newline)
}

// unmerge makes plain strings of what yaml.v3 takes for merge keys and would
// write with a tag.
func unmerge(n *yaml.Node) {
	if n.Tag == "!!merge" {
		n.Tag, n.Style = "!!str", yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		unmerge(child)
	}
}

// lineBreaks are the characters that end a line where YAML 1.1 counts them, and
// so in the positions of yaml.v3.
const lineBreaks = "\r\n\u0085\u2028\u2029"

// splitLines cuts a text behind each line break, of which \r\n is one.
func splitLines(text string) []string {
	var lines []string
	for {
		end := strings.IndexAny(text, lineBreaks)
		if end < 0 {
			return append(lines, text)
		}
		if strings.HasPrefix(text[end:], "\r\n") {
			end++
		}
		_, size := utf8.DecodeRuneInString(text[end:])
		lines, text = append(lines, text[:end+size]), text[end+size:]
	}
}

// extent is the lines [first, last) of a top-level key: up to the next key,
// without the blank lines and unindented comments that stand before that.
func extent(lines []string, root *yaml.Node, at int) (first, last int) {
	first, last = root.Content[at].Line-1, len(lines)
	if at+2 < len(root.Content) {
		last = root.Content[at+2].Line - 1
	}
	for last > first+1 {
		line := lines[last-1]
		if strings.Trim(line, " \t"+lineBreaks) != "" && !strings.HasPrefix(line, "#") {
			break
		}
		last--
	}
	return first, last
}

// insert adds a key behind the last one that comes before it in lm's order.
func (e *editor) insert(lines []string, root *yaml.Node, key string, value any) []byte {
	line := root.Content[0].Line - 1
	for i := 0; i < len(root.Content); i += 2 {
		if rank(root.Content[i].Value, assetOrder) < rank(key, assetOrder) {
			_, line = extent(lines, root, i)
		}
	}
	if line > 0 && strings.TrimRight(lines[line-1], lineBreaks) == lines[line-1] {
		lines[line-1] += e.newline
	}
	return concat(lines[:line], []string{e.encode(keyNode(key), toNode(value, 1))}, lines[line:])
}

// scalarInPlace replaces one value on one line by another and touches nothing
// else of the line.
func (e *editor) scalarInPlace(lines []string, old *yaml.Node, value any) ([]byte, bool) {
	fresh := toNode(value, 1)
	if old.Kind != yaml.ScalarNode || fresh.Kind != yaml.ScalarNode || old.Anchor != "" ||
		old.Style&(yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) != 0 || strings.Contains(fresh.Value, "\n") || old.Value == "" {
		return nil, false
	}
	line := lines[old.Line-1]
	runes := []rune(line)
	before, rest := string(runes[:old.Column-1]), string(runes[old.Column-1:])
	var length int
	switch {
	case old.Style&yaml.DoubleQuotedStyle != 0:
		length = quotedLength(rest, '"', '\\')
	case old.Style&yaml.SingleQuotedStyle != 0:
		length = quotedLength(rest, '\'', '\'')
	case strings.HasPrefix(rest, old.Value):
		length = len(old.Value)
	}
	if length == 0 {
		return nil, false
	}
	text := strings.TrimRight(string(encodeNode(fresh)), "\n")
	if strings.Contains(text, "\n") {
		return nil, false
	}
	lines[old.Line-1] = before + text + rest[length:]
	return []byte(strings.Join(lines, "")), true
}

// quotedLength is the length of the quoted scalar at the head of s, if it ends
// on this line; escape takes the character after it.
func quotedLength(s string, mark, escape byte) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == escape && escape != mark, s[i] == mark && escape == mark && i+1 < len(s) && s[i+1] == mark:
			i++
		case s[i] == mark:
			return i + 1
		}
	}
	return 0
}

// patchNode applies a JSON merge patch to a map and leaves the nodes alone
// that it does not name.
func patchNode(n *yaml.Node, patch map[string]any) {
	for _, key := range ordered(patch, innerOrder) {
		at := -1
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				at = i
			}
		}
		value := patch[key]
		inner, isMap := value.(map[string]any)
		switch {
		case value == nil && at >= 0:
			n.Content = append(n.Content[:at], n.Content[at+2:]...)
		case value == nil:
		case at < 0 && isMap:
			n.Content = append(n.Content, keyNode(key), toNode(merge(nil, inner), 2))
		case at < 0:
			n.Content = append(n.Content, keyNode(key), toNode(value, 2))
		case isMap && n.Content[at+1].Kind == yaml.MappingNode:
			patchNode(n.Content[at+1], inner)
		case isMap:
			n.Content[at+1] = toNode(merge(nil, inner), 2)
		default:
			n.Content[at+1] = keep(n.Content[at+1], toNode(value, 2))
		}
	}
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
}
