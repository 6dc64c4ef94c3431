package vault

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

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
		out, done = lf, append(done, "made CRLF line ends LF")
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

// repairKeys mends keys that are no YAML. Where it cannot make them YAML it
// leaves them alone.
func repairKeys(src string) (string, []string) {
	if parses(src) {
		return src, nil
	}
	var done []string
	lines := strings.Split(src, "\n")
	tabs := 0
	for i, line := range lines {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if strings.Contains(indent, "\t") && len(indent) < len(line) {
			lines[i] = strings.ReplaceAll(indent, "\t", "  ") + line[len(indent):]
			tabs++
		}
	}
	if tabs > 0 {
		done = append(done, fmt.Sprintf("indented %d lines with spaces", tabs))
	}
	quoted := 0
	for range lines {
		if parses(strings.Join(lines, "\n")) {
			break
		}
		line, at := quotePlainColon(lines)
		if at < 0 || quoted == mostMended {
			return src, nil
		}
		lines[at] = line
		quoted++
	}
	if quoted > 0 {
		done = append(done, fmt.Sprintf("quoted %d values with a colon", quoted))
	}
	if out := strings.Join(lines, "\n"); parses(out) {
		return out, done
	}
	return src, nil
}

func parses(src string) bool {
	var doc yaml.Node
	return yaml.Unmarshal([]byte(src), &doc) == nil
}
