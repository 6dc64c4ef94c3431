package vault

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Receipts are most of a vault's files, and a YAML parser costs more than all else
// that is done with them. Those that lm writes are lines of plain keys and values,
// which this reads; whatever is not, or is not valid, is left to the parser, which
// says where and why. A property test holds the two against each other.

// plainValue is a value that YAML takes as it stands, on its line, and as text:
// printable ASCII that begins with a letter, digit, slash or parenthesis.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9/(](?:[!-~ ]*[!-~])?$`)

// wholeNumber is a number that YAML and lm read alike.
var wholeNumber = regexp.MustCompile(`^[1-9][0-9]{0,8}$`)

// plainKeys reads `key: value` lines and lists under a key. ok is false where it
// could be anything else.
func plainKeys(data []byte) (texts map[string]string, lists map[string][]string, ok bool) {
	texts, lists = make(map[string]string, 20), map[string][]string{}
	list := ""
	for len(data) > 0 {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if data = rest; !whole || len(line) == 0 {
			return nil, nil, false
		}
		text := string(line)
		if item, isItem := strings.CutPrefix(text, "  - "); isItem {
			value, ok := plainScalar(item)
			if list == "" || !ok || value == "" {
				return nil, nil, false
			}
			lists[list] = append(lists[list], value)
			continue
		}
		if list != "" && len(lists[list]) == 0 {
			return nil, nil, false
		}
		key, value, isKey := strings.Cut(text, ":")
		if _, twice := texts[key]; !isKey || twice || lists[key] != nil || !receiptKey(key) {
			return nil, nil, false
		}
		if list = ""; value == "" {
			list = key
			continue
		}
		value, spaced := strings.CutPrefix(value, " ")
		if value, ok = plainScalar(value); !spaced || !ok {
			return nil, nil, false
		}
		texts[key] = value
	}
	return texts, lists, list == "" || len(lists[list]) > 0
}

func receiptKey(key string) bool { return slices.Contains(receiptOrder, key) || key == "x-identity" }

// plainScalar reads a value: plain, or in single or empty double quotes.
func plainScalar(s string) (string, bool) {
	switch {
	case s == `""`:
		return "", true
	case len(s) > 2 && s[0] == '\'' && s[len(s)-1] == '\'':
		inner := strings.ReplaceAll(s[1:len(s)-1], "''", "\x00")
		value := strings.ReplaceAll(inner, "\x00", "'")
		return value, !strings.Contains(inner, "'") && strings.TrimSpace(value) != "" && printableText(s)
	}
	return s, plainValue.MatchString(s) && !strings.Contains(s, ": ") && !strings.Contains(s, " #") && !strings.HasSuffix(s, ":") && !coreNull[s]
}

func printableText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// plainReceipt reads a receipt as lm writes it; nil where the parser has to.
func plainReceipt(file File) *Receipt {
	texts, lists, ok := plainKeys(file.Data)
	if !ok || texts["schema"] != ReceiptSchema || lists["signature"] != nil || texts["signature"] != "" {
		return nil
	}
	written := make(map[string]any, len(texts)+len(lists))
	for key, value := range texts {
		if value == "" && key != "from" || key == "authors" || key == "source_refs" {
			return nil
		}
		written[key] = value
	}
	for key, values := range lists {
		if key != "authors" && key != "source_refs" {
			return nil
		}
		written[key] = values
	}
	for _, key := range receiptRequired {
		if written[key] == nil {
			return nil
		}
	}
	numbers := map[string]int{}
	for _, key := range []string{"seq", "version"} {
		if text, there := texts[key]; there {
			n, err := strconv.Atoi(text)
			if err != nil || !wholeNumber.MatchString(text) {
				return nil
			}
			numbers[key], written[key] = n, n
		}
	}
	if identity, there := texts["x-identity"]; there && !strings.Contains(identity, " ") {
		return nil // a word may be a number or a truth to YAML
	}
	actor, err := ParseSubject(texts["actor"], "", KindUser, KindAgent)
	at, timeErr := ParseTime(texts["at"])
	prev, chained := texts["prev"]
	object, named := texts["object"]
	switch {
	case err != nil || timeErr != nil || actor.ID() == "*":
		return nil
	case !digestForm.MatchString(texts["digest"]) || chained && !digestForm.MatchString(prev) || named && !objectForm.MatchString(object):
		return nil
	}
	if _, seq, placed := receiptPlace(file.Path); placed && seq != numbers["seq"] {
		return nil
	}
	r := &Receipt{
		Project: texts["project"], Subject: texts["subject"], Kind: texts["kind"], Seq: numbers["seq"], Version: numbers["version"],
		From: Status(texts["from"]), To: Status(texts["to"]), Digest: Digest(texts["digest"]), Object: object, Prev: Digest(prev), Actor: actor,
		Authors: lists["authors"], Reason: texts["reason"], At: at, Scope: texts["scope"], Memory: texts["memory"], Proposal: texts["proposal"],
		SourceRefs: lists["source_refs"], Identity: texts["x-identity"],
	}
	if r.isAsset() && (r.From != "" && !slices.Contains(Statuses, r.From) || !slices.Contains(Statuses, r.To)) {
		return nil
	}
	r.hash = digestOf(string(canonicalJSON(written)))
	return r
}
