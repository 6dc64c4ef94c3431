package vault_test

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"longmemory.dev/lm/vault"
	"pgregory.net/rapid"
)

const commented = `---
# who: the core team
schema: lm.asset/v1
id: note            # never changes
type: llm_wiki
name: "A note"
description: 'It''s about: this'

# --- governance ---
owner: alice
status: candidate   # waiting for bob
bindings:
  # the reviewer needs it
  - target: agent:reviewer
    mode: tool   # short
  - {target: task:release, priority: 0.9}
payload:
  summary: old # keep me
  pages: []
x-mine: [1, 2]   # my own
---
# Body: untouched

text
`

func edit(t *testing.T, data string, patch map[string]any) string {
	t.Helper()
	out, err := vault.Edit([]byte(data), true, patch)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestEditTouchesOnlyTheValue(t *testing.T) {
	got := edit(t, commented, map[string]any{"status": "approved", "name": "Another: note", "description": "plain"})
	want := strings.NewReplacer("status: candidate ", "status: approved ", `"A note"`, `'Another: note'`, `'It''s about: this'`, "plain").Replace(commented)
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestEditAddsKeysInOrderAndRemovesThem(t *testing.T) {
	got := edit(t, commented, map[string]any{"version": 2, "expires_at": "2027-01-31"})
	want := strings.NewReplacer("status: candidate", "version: 2\nstatus: candidate", "payload:\n", "expires_at: 2027-01-31\npayload:\n").Replace(commented)
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if back := edit(t, got, map[string]any{"version": nil, "expires_at": nil}); back != commented {
		t.Errorf("added and removed again:\n%s", back)
	}
}

func TestEditKeepsCommentsInsideAList(t *testing.T) {
	got := edit(t, commented, map[string]any{"bindings": []any{
		map[string]any{"target": "agent:reviewer", "mode": "direct", "required": true},
		map[string]any{"target": "task:release", "priority": 0.9},
	}})
	for _, kept := range []string{"# the reviewer needs it", "# short", "mode: direct", "required: true", "release', priority: 0.9}", "# waiting for bob"} {
		if !strings.Contains(got, kept) {
			t.Errorf("%q is gone:\n%s", kept, got)
		}
	}
	if before, _, _ := strings.Cut(commented, "bindings:"); !strings.HasPrefix(got, before) {
		t.Error("something before the list changed")
	}
	if _, after, _ := strings.Cut(commented, "payload:"); !strings.HasSuffix(got, after) {
		t.Error("something after the list changed")
	}
}

func TestEditMergesMaps(t *testing.T) {
	got := edit(t, commented, map[string]any{"payload": map[string]any{"summary": "new"}, "metadata": map[string]any{"a": map[string]any{"b": 1, "c": nil}}})
	for _, kept := range []string{"summary: new # keep me", "pages: []", "metadata: {a: {b: 1}}"} {
		if !strings.Contains(got, kept) {
			t.Errorf("%q is missing:\n%s", kept, got)
		}
	}
}

func TestEditKeepsLineEnds(t *testing.T) {
	crlf := strings.ReplaceAll(commented, "\n", "\r\n")
	got := edit(t, "\ufeff"+crlf, map[string]any{"version": 2, "labels": []any{"a"}, "status": "draft"})
	if strings.Count(got, "\n") != strings.Count(got, "\r\n") || !strings.HasPrefix(got, "\ufeff---\r\n") {
		t.Errorf("line ends were mixed: %q", got)
	}
}

func TestEditRefusesWhatItCannotKeep(t *testing.T) {
	flow := "---\n{schema: lm.asset/v1, id: note}\n---\n"
	if out, err := vault.Edit([]byte(flow), true, map[string]any{"version": 2}); err == nil {
		t.Errorf("edited: %s", out)
	}
	anchored := "---\nname: &n note\ndescription: *n\n---\n"
	if out, err := vault.Edit([]byte(anchored), true, map[string]any{"name": []any{"x"}}); err == nil {
		t.Errorf("an anchor that is in use was removed: %s", out)
	}
}

// TestEditProperty: a new file reads back as written; a patch changes what it
// names and nothing else, and undoing it gives the first bytes again where no
// list or map was rewritten.
func TestEditProperty(t *testing.T) {
	value := rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.Int64Range(-1<<53, 1<<53), func(i int64) any { return i }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.SliceOfN(rapid.String(), 0, 4), func(s []string) any {
			out := make([]any, len(s))
			for i := range s {
				out[i] = s[i]
			}
			return out
		}),
		rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-z]{1,6}`), rapid.String(), 0, 3), func(m map[string]string) any {
			out := map[string]any{}
			for k, v := range m {
				out[k] = v
			}
			return out
		}),
	)
	key := rapid.SampledFrom([]string{"id", "name", "owner", "status", "labels", "payload", "metadata", "x-a", "yes", "017"})
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.MapOfN(key, value, 1, 8).Draw(t, "keys")
		data := vault.NewAssetFile(keys, []byte("body\n"))
		read, err := vault.Keys(data, true)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if !reflect.DeepEqual(read, keys) {
			t.Fatalf("wrote %#v\nread  %#v\n%s", keys, read, data)
		}
		name := key.Draw(t, "key")
		patched, err := vault.Edit(data, true, map[string]any{name: value.Draw(t, "value")})
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		after, _ := vault.Keys(patched, true)
		for k, v := range keys {
			if k != name && !reflect.DeepEqual(after[k], v) {
				t.Fatalf("%s was %#v and is %#v", k, v, after[k])
			}
		}
	})
}

// TestEditCountsLinesAsYAMLDoes: YAML breaks lines at more characters than \n,
// and blanks of Unicode at the end of a text belong to it.
func TestEditCountsLinesAsYAMLDoes(t *testing.T) {
	for _, c := range []struct{ data, key, want string }{
		{"a: 1 # x\u2028\u2028\u2028\nb: z\n", "b", "a: 1 # x\u2028\u2028\u2028\nb: w\n"},
		{"a: \"x\u2028\u2028y\"\nb: z\nc: 1\n", "b", "a: \"x\u2028\u2028y\"\nb: w\nc: 1\n"},
		{"a: 1\rb: z\n", "b", "a: 1\rb: w\n"},
		{"a: 1\r\r\rb: z\r", "b", "a: 1\r\r\rb: w\r"},
		{"# c\u0085#\u0085#\nb: z\nc: 1\n", "b", "# c\u0085#\u0085#\nb: w\nc: 1\n"},
		{"b: |-\n  A\n  \u00a0\nc: 1\n", "b", "b: w\nc: 1\n"},
		{"b: |-\n  A\n  \u3000\n\n# c\nc: 1\n", "b", "b: w\n\n# c\nc: 1\n"},
	} {
		got, err := vault.Edit([]byte(c.data), false, map[string]any{c.key: "w"})
		if err != nil || string(got) != c.want {
			t.Errorf("%q: %v\n got %q\nwant %q", c.data, err, got, c.want)
		}
		without, err := vault.Edit([]byte(c.data), false, map[string]any{c.key: nil})
		if err != nil || string(without) != strings.Replace(c.want, "b: w\n", "", 1) && !strings.HasSuffix(c.data, "\r") {
			t.Errorf("%q without %s: %v, %q", c.data, c.key, err, without)
		}
	}
}

// FuzzEdit: whatever file and value there are, Edit says the value and keeps the
// other keys, or fails.
func FuzzEdit(f *testing.F) {
	f.Add(commented, true, "version", "2")
	f.Add("a: 1 # x\u2028\u2028\nb: z\n", false, "b", "w")
	f.Add("b: |-\n  A\n  \u00a0\nc: 1\n", false, "b", "")
	f.Add("a: 1\r\rb: 'z\r\n  y'\r", false, "b", "\u2028")
	f.Add("? a\n: 1\nb: &x [1, 2]\nc: *x\n", false, "b", "a: b")
	f.Fuzz(func(t *testing.T, data string, markdown bool, key, value string) {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return
		}
		before, err := vault.Keys([]byte(data), markdown)
		if err != nil {
			return
		}
		for _, patch := range []any{value, nil, []any{value}, map[string]any{"k": value}} {
			out, err := vault.Edit([]byte(data), markdown, map[string]any{key: patch})
			if err != nil {
				continue
			}
			after, err := vault.Keys(out, markdown)
			if err != nil {
				t.Fatalf("%q is written: %v", out, err)
			}
			if text, ok := patch.(string); ok && after[key] != text {
				t.Fatalf("%q says %q, not %q", out, after[key], text)
			}
			for name, was := range before {
				if name != key && !reflect.DeepEqual(after[name], was) {
					t.Fatalf("%q: %s was %#v and is %#v", out, name, was, after[name])
				}
			}
		}
	})
}
