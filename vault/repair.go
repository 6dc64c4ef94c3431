package vault

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// madeLF says that line ends were mended.
const madeLF = "made CRLF line ends LF"

// Repair mends what can be mended without a judgement: a byte order mark, CRLF
// line ends, blanks behind a fence; and in keys that are no YAML, plain values
// with ": " in them and tabs in the indentation. done says what was mended, in
// order; none means that data comes back as it is.
//
// It never changes what keys that could be read say, and it is idempotent.
// Markdown says that the file has front matter.
func Repair(data []byte, markdown bool) (out []byte, done []string) {
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 || bytes.HasPrefix(data, lfsMarker) {
		return data, nil
	}
	out = data
	if trimmed := bytes.TrimPrefix(out, byteOrder); len(trimmed) < len(out) {
		out, done = trimmed, append(done, "removed the byte order mark")
	}
	// A carriage return before a CRLF is text, and would become one of a CRLF.
	if lf := toLF(out); len(lf) < len(out) && !bytes.Contains(lf, []byte("\r\n")) {
		out, done = lf, append(done, madeLF)
	}
	if !markdown {
		keys, more := repairKeys(string(out))
		return []byte(keys), append(done, more...)
	}
	fenced, blanks := repairFences(out)
	if blanks {
		done = append(done, "removed blanks behind a fence")
	}
	front, body, ok := split(fenced)
	if !ok {
		return out, done[:len(done):len(done)]
	}
	keys, more := repairKeys(string(front))
	head := []byte("---\n")
	between := fenced[len(head)+len(front) : len(fenced)-len(body)]
	return bytes.Join([][]byte{head, []byte(keys), between, body}, nil), append(done, more...)
}

// repairFences drops blanks behind the two fences of front matter, if it has
// two then.
func repairFences(data []byte) ([]byte, bool) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	isFence := func(line []byte) bool { return string(bytes.TrimRight(line, " \t\n")) == "---" }
	if !isFence(lines[0]) {
		return data, false
	}
	for i := 1; i < len(lines); i++ {
		if !isFence(lines[i]) {
			continue
		}
		changed := false
		for _, at := range []int{0, i} {
			end := ""
			if bytes.HasSuffix(lines[at], []byte("\n")) {
				end = "\n"
			}
			if fence := "---" + end; string(lines[at]) != fence {
				lines[at], changed = []byte(fence), true
			}
		}
		return bytes.Join(lines, nil), changed
	}
	return data, false
}

// repairKeys mends keys that are no YAML: it quotes values, and expands tabs
// only where quoting does not do. Where it cannot make them YAML it leaves them
// alone.
func repairKeys(src string) (string, []string) {
	if parses(src) {
		return src, nil
	}
	lines := strings.Split(src, "\n")
	if out, quoted := quoteAll(lines); out != "" {
		return out, []string{fmt.Sprintf("quoted %d values with a colon", quoted)}
	}
	tabs, ok := expandTabs(lines)
	if !ok {
		return src, nil
	}
	done := []string{fmt.Sprintf("indented %d lines with spaces", tabs)}
	if out := strings.Join(lines, "\n"); parses(out) {
		return out, done
	}
	if out, quoted := quoteAll(lines); out != "" {
		return out, append(done, fmt.Sprintf("quoted %d values with a colon", quoted))
	}
	return src, nil
}

// quoteAll quotes plain values with ": " in them until the lines are YAML: ""
// where that does not make them so, or where what it quoted lay inside of
// another value.
func quoteAll(lines []string) (out string, quoted int) {
	lines = slices.Clone(lines)
	at := map[int]bool{}
	for range mostMended {
		line, i := quotePlainColon(lines)
		if i < 0 {
			return "", 0
		}
		lines[i], at[i+1] = line, true
		if out = strings.Join(lines, "\n"); !parses(out) {
			continue
		}
		var doc yaml.Node
		if yaml.Unmarshal([]byte(out), &doc) != nil || quotedLines(&doc, at) != len(at) {
			return "", 0
		}
		return out, len(at)
	}
	return "", 0
}

// quotedLines counts the values in double quotes on the given lines.
func quotedLines(n *yaml.Node, at map[int]bool) int {
	count := 0
	if n.Kind == yaml.ScalarNode && n.Style&yaml.DoubleQuotedStyle != 0 && at[n.Line] {
		count++
	}
	for _, child := range n.Content {
		count += quotedLines(child, at)
	}
	return count
}

var blockScalar = regexp.MustCompile(`(?:^|[:\s-])[|>][-+0-9]*\s*(?:#.*)?$`)

// expandTabs makes each tab in the indentation two spaces. It does nothing where
// a block scalar holds such a line: there a tab may be content.
func expandTabs(lines []string) (tabs int, ok bool) {
	block := -1
	for i, line := range lines {
		rest := strings.TrimLeft(line, " \t")
		indent := line[:len(line)-len(rest)]
		spaces := strings.ReplaceAll(indent, "\t", "  ")
		switch {
		case rest == "":
			continue
		case block >= 0 && len(spaces) > block:
			if spaces != indent {
				return 0, false
			}
			continue
		}
		block = -1
		if blockScalar.MatchString(rest) {
			block = len(spaces)
		}
		if spaces != indent {
			lines[i] = spaces + rest
			tabs++
		}
	}
	return tabs, tabs > 0
}

func parses(src string) bool {
	var doc yaml.Node
	return yaml.Unmarshal([]byte(src), &doc) == nil
}
