package vault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"gopkg.in/yaml.v3"
)

// assetOrder is the order in which lm writes the keys of an asset.
var assetOrder = []string{
	"schema", "id", "type", "name", "description", "owner", "source", "content_ref", "version", "status", "visibility",
	"teams", "acl", "bindings", "priority", "confidence", "expires_at", "labels", "payload", "metadata",
}

// innerOrder is the order inside the maps of an asset.
var innerOrder = []string{
	"type", "ref", "effect", "subject", "permissions", "target", "mode", "priority", "required", "enabled",
	"summary", "triggers", "validation", "id", "title", "path", "citations", "span", "links",
}

// NewAssetFile writes a new asset: its keys (values as JSON has them) and, in
// a Markdown file, its body. A nil body gives a file that is YAML as a whole.
func NewAssetFile(keys map[string]any, body []byte) []byte {
	out := encodeKeys(keys, assetOrder)
	if body == nil {
		return out
	}
	return slices.Concat([]byte("---\n"), out, []byte("---\n"), body)
}

// encodeKeys writes a map as block YAML, known keys first in the given order.
func encodeKeys(keys map[string]any, order []string) []byte {
	root := &yaml.Node{Kind: yaml.MappingNode}
	for _, key := range ordered(keys, order) {
		root.Content = append(root.Content, keyNode(key), toNode(keys[key], 1))
	}
	return encodeNode(root)
}

func encodeNode(n *yaml.Node) []byte {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(n); err != nil {
		panic("vault: nodes that are no YAML: " + err.Error()) // toNode makes none
	}
	return b.Bytes()
}

func ordered(keys map[string]any, order []string) []string {
	out := sortedKeys(keys)
	slices.SortStableFunc(out, func(a, b string) int { return rank(a, order) - rank(b, order) })
	return out
}

func rank(key string, order []string) int {
	if i := slices.Index(order, key); i >= 0 {
		return i
	}
	return len(order)
}

// plainLines are lines of text without blanks at their ends and without
// control characters. Its classes take long to make, and few commands write text.
var plainLines = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[^\s\pZ\pC](?:[^\pC\n]*[^\s\pZ\pC])?\n)*[^\s\pZ\pC](?:[^\pC\n]*[^\s\pZ\pC])?\n?$`)
})

// odd are the characters that YAML takes for line breaks or refuses.
func odd(r rune) bool {
	return r != '\n' && unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\ufeff'
}

func keyNode(key string) *yaml.Node { return stringNode(key) }

// stringNode writes a string so that YAML 1.1 and 1.2 readers agree on it.
func stringNode(value string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(value)
	if n.Style == yaml.LiteralStyle && !plainLines().MatchString(value) || strings.ContainsFunc(value, odd) {
		n.Style = yaml.DoubleQuotedStyle // yaml.v3 writes some such strings as what reads back differently
	}
	if timeLike(value) {
		n.Tag, n.Style = "", 0 // dates read back as their source text here; quotes would only be noise
	}
	return n
}

func timeLike(value string) bool {
	_, err := ParseTime(value)
	return err == nil
}

// toNode writes a JSON value. Small maps inside a list, and lists of short
// words, stand on one line.
func toNode(value any, depth int) *yaml.Node {
	switch v := value.(type) {
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case string:
		return stringNode(v)
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}
	case int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(v)}
	case int64:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v, 10)}
	case float64:
		return numberNode(v)
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return toNode(i, depth)
		}
		f, _ := v.Float64()
		return numberNode(f)
	case []string:
		items := make([]any, len(v))
		for i, s := range v {
			items[i] = s
		}
		return toNode(items, depth)
	case []any:
		return listNode(v, depth)
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, key := range ordered(v, innerOrder) {
			n.Content = append(n.Content, keyNode(key), toNode(v[key], depth+1))
		}
		if depth > 0 && oneLine(n) {
			n.Style = yaml.FlowStyle
		}
		return n
	}
	panic(fmt.Sprintf("vault: %T is no JSON value", value))
}

func numberNode(v float64) *yaml.Node {
	if v == math.Trunc(v) && math.Abs(v) <= maxInteger {
		return toNode(int64(v), 0)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: strconv.FormatFloat(v, 'g', -1, 64)}
}

func listNode(items []any, depth int) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	for _, item := range items {
		n.Content = append(n.Content, toNode(item, depth+1))
	}
	words := !slices.ContainsFunc(n.Content, func(item *yaml.Node) bool { return item.Kind != yaml.ScalarNode })
	if len(items) == 0 || words && oneLine(n) {
		n.Style = yaml.FlowStyle
	}
	return n
}

// oneLine says whether a node reads well on one line.
func oneLine(n *yaml.Node) bool { return lineWidth(n) <= 80 }

func lineWidth(n *yaml.Node) int {
	if n.Kind == yaml.ScalarNode {
		if strings.ContainsAny(n.Value, "\n:") {
			return 1000 // yaml.v3 quotes a colon in a flow; block style reads better
		}
		return len(n.Value) + 4
	}
	width := 0
	for _, child := range n.Content {
		width += lineWidth(child)
	}
	return width
}
