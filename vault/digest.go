package vault

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
	"golang.org/x/text/unicode/norm"
)

// Canonical is the exact text whose SHA-256 is the asset's digest (format.md
// §4): the governed keys as canonical JSON, then a line for each content file.
func (a *Asset) Canonical() string {
	return string(canonicalJSON(nfc(a.keys))) + "\n" + a.contentLines()
}

// Governed are the keys that count in the digest, those at the format's
// constants left out. The caller does not change them.
func (a *Asset) Governed() map[string]any { return a.keys }

// ContentDigest hashes the content files alone, without the keys.
func (a *Asset) ContentDigest() Digest { return digestOf(a.contentLines()) }

func (a *Asset) contentLines() string {
	var b strings.Builder
	if a.files == nil && a.body != "" {
		writeFileLine(&b, []byte(a.body), "body")
	}
	for _, f := range a.files {
		writeFileLine(&b, f.Data, f.Path)
	}
	return b.String()
}

func writeFileLine(b *strings.Builder, data []byte, path string) {
	if utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		data = toLF(data)
	}
	sum := sha256.Sum256(data)
	b.WriteString(hex.EncodeToString(sum[:]))
	b.WriteString("  ")
	b.WriteString(path)
	b.WriteByte('\n')
}

func digestOf(text string) Digest {
	sum := sha256.Sum256([]byte(text))
	return Digest("sha256:" + hex.EncodeToString(sum[:]))
}

// CanonicalDigest hashes a JSON value in its canonical form (RFC 8785).
func CanonicalDigest(value any) Digest { return digestOf(string(canonicalJSON(value))) }

// canonicalJSON writes values that hold only what JSON can say, by RFC 8785.
func canonicalJSON(value any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	out := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if err == nil && !(ordinary(value) && printable(out)) {
		out, err = jcs.Transform(out)
	}
	if err != nil {
		panic("vault: a value that is no JSON: " + err.Error()) // the readers let none through
	}
	return out
}

// ordinary says whether encoding/json writes a value as RFC 8785 does, if all of
// its text is printable ASCII: maps with sorted keys, and no number whose
// shortest form the two write differently. Most assets and receipts are so, and
// the canonicalizer costs as much as reading them.
func ordinary(value any) bool {
	switch v := value.(type) {
	case nil, bool, string, int, int64, []string:
		return true
	case float64:
		return v == 0 && !math.Signbit(v) || math.Abs(v) >= 1e-6 && math.Abs(v) < 1e21
	case []any:
		for _, item := range v {
			if !ordinary(item) {
				return false
			}
		}
		return true
	case map[string]any:
		for _, item := range v {
			if !ordinary(item) {
				return false
			}
		}
		return true
	}
	return false
}

// printable says whether text is ASCII without control characters and without
// an escape.
func printable(text []byte) bool {
	for _, c := range text {
		if c < 0x20 || c >= 0x7f || c == '\\' {
			return false
		}
	}
	return true
}

// nfc brings every string of a value, keys too, into Unicode's form NFC.
func nfc(value any) any {
	switch v := value.(type) {
	case string:
		return norm.NFC.String(v)
	case []string:
		out := make([]string, len(v))
		for i, s := range v {
			out[i] = norm.NFC.String(s)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = nfc(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[norm.NFC.String(key)] = nfc(item)
		}
		return out
	}
	return value
}

// toLF drops the carriage return of each CRLF.
func toLF(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) }

// hidden says whether a path below an asset's folder is left out of its
// content: a name that begins with a dot.
func hidden(rel string) bool { return strings.HasPrefix(rel, ".") || strings.Contains(rel, "/.") }
