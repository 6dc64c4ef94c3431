package vault

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// maxInteger is the largest integer that every JSON reader keeps exactly.
const maxInteger = 1 << 53

// yaml.v3 resolves plain scalars by a mixture of YAML 1.1 and 1.2 (017 is 15
// to it); these are the forms of the 1.2 core schema.
var (
	coreInt   = regexp.MustCompile(`^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$`)
	coreFloat = regexp.MustCompile(`^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$`)
	coreOdd   = regexp.MustCompile(`^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
	coreBool  = map[string]bool{"true": true, "True": true, "TRUE": true, "false": false, "False": false, "FALSE": false}
	coreNull  = map[string]bool{"": true, "~": true, "null": true, "Null": true, "NULL": true}
)

// isNull says whether a node gives no value.
func isNull(n *yaml.Node) bool {
	n = follow(n)
	return n.Kind == yaml.ScalarNode && (n.Tag == "!!null" || plain(n) && coreNull[n.Value])
}

func plain(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0
}

// text reads a string: whatever YAML would make of a plain scalar, its source
// text counts. ok is false where a problem was recorded.
func (d *document) text(n *yaml.Node, field string) (value string, ok bool) {
	n = follow(n)
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[0].Kind == yaml.ScalarNode && n.Content[1].Kind == yaml.ScalarNode:
		d.at(n, Error, field, "quote it: "+quote(n.Content[0].Value+": "+n.Content[1].Value), "a plain value with `: ` in it is a map, and a string is due")
		return "", false
	case n.Kind != yaml.ScalarNode:
		d.at(n, Error, field, "write one value", "a string is due, not %s", kindName(n))
		return "", false
	case isNull(n) || strings.TrimSpace(n.Value) == "":
		d.at(n, Error, field, "give it a value, or remove the key", "there is no value")
		return "", false
	case n.Style&yaml.TaggedStyle != 0 && n.Tag != "!!str":
		d.at(n, Error, field, "remove the tag", "the tag %s has no meaning here", n.Tag)
		return "", false
	}
	return n.Value, true
}

// sizedText is text of at most max code points.
func (d *document) sizedText(n *yaml.Node, field string, max int) string {
	value, ok := d.text(n, field)
	if count := utf8.RuneCountInString(value); ok && count > max {
		d.at(follow(n), Error, field, fmt.Sprintf("cut it to %d", max), "%d characters, %d are the most", count, max)
	}
	return value
}

// oneOf reads one of the words of a closed list.
func oneOf[T ~string](d *document, n *yaml.Node, field string, words []T) T {
	value, ok := d.text(n, field)
	if ok && !slices.Contains(words, T(value)) {
		d.at(follow(n), Error, field, "use one of "+list(words), "%q is not known here", value)
	}
	return T(value)
}

func list[T ~string](words []T) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}

// integer reads an integer that is exact everywhere.
func (d *document) integer(n *yaml.Node, field string, least int64) int64 {
	n = follow(n)
	if n.Kind != yaml.ScalarNode || !plain(n) || !coreInt.MatchString(n.Value) {
		d.notA(n, field, "an integer", "write digits only")
		return 0
	}
	value, ok := parseInteger(n.Value)
	switch {
	case !ok:
		d.at(n, Error, field, "write it as a string, in quotes", "%s is beyond ±2^53, where integers are no longer exact", n.Value)
	case value < least:
		d.at(n, Error, field, fmt.Sprintf("write %d or more", least), "%d is too small", value)
	}
	return value
}

func parseInteger(s string) (int64, bool) {
	base, digits := 10, s
	switch {
	case strings.HasPrefix(s, "0o"):
		base, digits = 8, s[2:]
	case strings.HasPrefix(s, "0x"):
		base, digits = 16, s[2:]
	}
	value, err := strconv.ParseInt(digits, base, 64)
	return value, err == nil && value >= -maxInteger && value <= maxInteger
}

// share reads a number from 0 to 1, as written and in steps of 1/10,000.
func (d *document) share(n *yaml.Node, field string) (float64, Ratio) {
	n = follow(n)
	if n.Kind != yaml.ScalarNode || !plain(n) || !coreInt.MatchString(n.Value) && !coreFloat.MatchString(n.Value) {
		if n.Kind == yaml.ScalarNode && coreOdd.MatchString(n.Value) {
			d.at(n, Error, field, "write a number from 0 to 1", "%s is no finite number", n.Value)
		} else {
			d.notA(n, field, "a number from 0 to 1", "write it like 0.8")
		}
		return 0, 0
	}
	value, err := strconv.ParseFloat(n.Value, 64)
	if i, ok := parseInteger(n.Value); ok {
		value, err = float64(i), nil
	}
	if err != nil || value < 0 || value > 1 {
		d.at(n, Error, field, "write a number from 0 to 1", "%s is out of range", n.Value)
		return 0, 0
	}
	return value, ToRatio(value)
}

// ToRatio rounds a number from 0 to 1 to steps of 1/10,000.
func ToRatio(value float64) Ratio { return Ratio(math.Round(value * float64(One))) }

func (d *document) boolean(n *yaml.Node, field string) bool {
	n = follow(n)
	value, ok := coreBool[n.Value]
	if n.Kind != yaml.ScalarNode || !plain(n) || !ok {
		d.notA(n, field, "true or false", "write true or false, without quotes")
	}
	return value
}

// notA reports a value of another kind than the one due.
func (d *document) notA(n *yaml.Node, field, due, mend string) {
	switch {
	case isNull(n):
		d.at(n, Error, field, "give it a value, or remove the key", "there is no value")
	case n.Kind == yaml.ScalarNode:
		d.at(n, Error, field, mend, "%q is not %s", n.Value, due)
	default:
		d.at(n, Error, field, mend, "%s is due, not %s", due, kindName(n))
	}
}

// instant reads an RFC 3339 time, or a date that means its UTC midnight.
func (d *document) instant(n *yaml.Node, field string) time.Time {
	value, ok := d.text(n, field)
	if !ok {
		return time.Time{}
	}
	t, err := ParseTime(value)
	if err != nil {
		d.at(follow(n), Error, field, "write it like 2027-01-31 or 2027-01-31T12:00:00Z", "%q is neither a date nor an RFC 3339 time", value)
	}
	return t
}

// ParseTime reads an RFC 3339 time, or a date that means its UTC midnight, as
// a time in UTC.
func ParseTime(value string) (time.Time, error) {
	if t, err := time.Parse(time.DateOnly, value); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is neither a date nor an RFC 3339 time", value)
	}
	return t.UTC(), nil
}

// FormatTime writes a time as files and answers do: RFC 3339 in UTC, with a Z.
func FormatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// items gives the nodes of a list.
func (d *document) items(n *yaml.Node, field string) []*yaml.Node {
	n = follow(n)
	if n.Kind != yaml.SequenceNode {
		mend := "write it as a list, [like, this]"
		if n.Kind == yaml.ScalarNode && !isNull(n) {
			mend = "write it as a list: [" + n.Value + "]"
		}
		d.notA(n, field, "a list", mend)
		return nil
	}
	return n.Content
}

// texts reads a list of strings.
func (d *document) texts(n *yaml.Node, field string) []string {
	var out []string
	for i, item := range d.items(n, field) {
		if value, ok := d.text(item, fmt.Sprintf("%s[%d]", field, i)); ok {
			out = append(out, value)
		}
	}
	return out
}

// keyReader reads the value of one key of a map.
type keyReader func(value *yaml.Node, field string)

// keys reads a map with a closed set of keys. Keys that begin with x- are
// free; any other is an error, for a misspelt rule must not vanish. It returns
// the key nodes that were there.
func (d *document) keys(n *yaml.Node, field string, readers map[string]keyReader) map[string]*yaml.Node {
	n = follow(n)
	if n.Kind != yaml.MappingNode {
		d.notA(n, field, "a map of keys", "write `key: value` lines")
		return nil
	}
	there := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := join(field, key.Value)
		read, known := readers[key.Value]
		switch {
		case known && there[key.Value] == nil:
			there[key.Value] = key
			read(value, name)
		case !known && !strings.HasPrefix(key.Value, "x-"):
			d.at(key, Error, name, unknownMend(key.Value, readers), "this key is not known")
		}
	}
	return there
}

func unknownMend(key string, readers map[string]keyReader) string {
	var near string
	best := 3
	for _, word := range sortedKeys(readers) {
		if dist := editDistance(key, word); dist < best {
			near, best = word, dist
		}
	}
	if near != "" {
		return fmt.Sprintf("did you mean %s? A key of your own begins with x-", near)
	}
	return "remove it; a key of your own begins with x-, free data goes under metadata"
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// editDistance counts the letters to change, add or drop.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := left
			if a[i] != b[j] {
				cost++
			}
			left = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// free reads what is not governed by a schema (metadata, x-… keys) by YAML 1.2
// core, as the values that JSON knows.
func (d *document) free(n *yaml.Node, field string) any { return d.tree(n, field, d.freeScalar) }

// tree reads maps and lists, and their scalars as a reader of them has it.
func (d *document) tree(n *yaml.Node, field string, scalar func(*yaml.Node, string) any) any {
	n = follow(n)
	switch n.Kind {
	case yaml.MappingNode:
		out := make(map[string]any, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			out[n.Content[i].Value] = d.tree(n.Content[i+1], join(field, n.Content[i].Value), scalar)
		}
		return out
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			out[i] = d.tree(item, fmt.Sprintf("%s[%d]", field, i), scalar)
		}
		return out
	}
	return scalar(n, field)
}

func (d *document) freeScalar(n *yaml.Node, field string) any {
	if n.Style&yaml.TaggedStyle != 0 && n.Tag != "!!str" {
		d.at(n, Error, field, "remove the tag", "the tag %s has no meaning here", n.Tag)
		return nil
	}
	if !plain(n) {
		return n.Value
	}
	truth, isBool := coreBool[n.Value]
	switch {
	case coreNull[n.Value]:
		return nil
	case isBool:
		return truth
	case coreInt.MatchString(n.Value):
		value, ok := parseInteger(n.Value)
		if !ok {
			d.at(n, Error, field, "write it as a string, in quotes", "%s is beyond ±2^53, where integers are no longer exact", n.Value)
		}
		return value
	case coreFloat.MatchString(n.Value):
		value, err := strconv.ParseFloat(n.Value, 64)
		if err != nil {
			d.at(n, Error, field, "write it as a string, in quotes", "%s is no finite number", n.Value)
			return nil
		}
		return value
	case coreOdd.MatchString(n.Value):
		d.at(n, Error, field, "write it as a string, in quotes", "%s is no finite number", n.Value)
		return nil
	}
	return n.Value
}

// subject reads "<kind>:<id>" of one of the given kinds. bare is the kind of a
// value without one; "" refuses it.
func (d *document) subject(n *yaml.Node, field, bare string, star bool, kinds ...string) Subject {
	value, ok := d.text(n, field)
	if !ok {
		return ""
	}
	s, err := ParseSubject(value, bare, kinds...)
	if err == nil && s.ID() == "*" && !star {
		err = fmt.Errorf("%q has a *, which this key does not take", value)
	}
	if err != nil {
		d.at(follow(n), Error, field, fmt.Sprintf("write it as %s:<id>", strings.Join(kinds, ":<id> or ")), "%s", err)
		return ""
	}
	return s
}

// ParseSubject reads "<kind>:<id>" of one of the given kinds; a value without
// a kind is of the kind bare, if that is not "".
func ParseSubject(value, bare string, kinds ...string) (Subject, error) {
	kind, id, found := strings.Cut(value, ":")
	if !found {
		if bare == "" {
			return "", fmt.Errorf("%q names no kind", value)
		}
		kind, id = bare, value
	}
	if !slices.Contains(kinds, kind) {
		return "", fmt.Errorf("%q is of no kind that is known here", value)
	}
	if kind != KindTask && strings.Contains(id, ":") {
		return "", fmt.Errorf("%q has a colon in its id", value)
	}
	if id == "" || strings.ContainsFunc(id, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) ||
		id != "*" && strings.Contains(id, "*") {
		return "", fmt.Errorf("%q has no usable id", value)
	}
	return Subject(kind + ":" + id), nil
}
