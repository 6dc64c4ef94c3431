package vault_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"longmemory.dev/lm/vault"
)

func TestRepair(t *testing.T) {
	for _, c := range []struct{ name, data, want, done string }{
		{"nothing to do", valid, valid, ""},
		{"a byte order mark", "\ufeff" + valid, valid, "removed the byte order mark"},
		{"CRLF", strings.ReplaceAll(valid, "\n", "\r\n"), valid, "made CRLF line ends LF"},
		{"blanks behind fences", strings.Replace(strings.Replace(valid, "---\n", "---  \n", 1), "alice\n---", "alice\n---\t", 1), valid, "removed blanks behind a fence"},
		{"a colon", strings.Replace(valid, "What it is about", "Use it: always # note", 1), strings.Replace(valid, "What it is about", `"Use it: always" # note`, 1), "quoted 1 values with a colon"},
		{"two colons and a tab", strings.NewReplacer("A note", "A: note", "What it is about", "b: c: d", "owner: alice", "owner: alice\nsource:\n\ttype: docs").Replace(valid),
			strings.NewReplacer("A note", `"A: note"`, "What it is about", `"b: c: d"`, "owner: alice", "owner: alice\nsource:\n  type: docs").Replace(valid), "indented 1 lines with spaces; quoted 2 values with a colon"},
		{"what cannot be mended", strings.Replace(valid, "A note", "[A: note", 1), strings.Replace(valid, "A note", "[A: note", 1), ""},
		{"no front matter", "a: b: c\n", "a: b: c\n", ""},
		{"a colon in the body", valid + "a: b: c\n", valid + "a: b: c\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, done := vault.Repair([]byte(c.data), true)
			if string(out) != c.want || strings.Join(done, "; ") != c.done {
				t.Errorf("%q:\n%s\nwant %q:\n%s", done, out, c.done, c.want)
			}
			if again, more := vault.Repair(out, true); string(again) != string(out) || len(more) > 0 {
				t.Errorf("a second time: %q\n%s", more, again)
			}
		})
	}
	if out, done := vault.Repair([]byte("a: b: c\r\n"), false); string(out) != "a: \"b: c\"\n" || len(done) != 2 {
		t.Errorf("%q %q", out, done)
	}
	for _, kept := range []string{"\xff\r\n", "a\x00\r\n", "version https://git-lfs.github.com/spec/v1\r\n"} {
		if out, done := vault.Repair([]byte(kept), false); string(out) != kept || len(done) > 0 {
			t.Errorf("%q became %q", kept, out)
		}
	}
}

// TestRepairKeepsTheMeaning: what could be read says the same, and a second
// repair finds nothing.
func TestRepairKeepsTheMeaning(t *testing.T) {
	line := rapid.OneOf(
		rapid.SampledFrom([]string{"labels: [a, b]", "x-a: |\n  text: with: colons", "x-b: 'q: r'", "priority: 0.5", "---", "--- ", "\tx: y", "x-c: a: b", "# c", "", "x-d: >-\n  a: b: c", "x-e:\n  - f: g"}),
		rapid.StringMatching(`x-[a-z]{1,3}: [ -~]{0,12}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		more := strings.Join(rapid.SliceOfN(line, 0, 5).Draw(t, "lines"), "\n")
		data := strings.Replace(valid, "owner: alice\n", "owner: alice\n"+more+"\n", 1)
		if rapid.Bool().Draw(t, "crlf") {
			data = strings.ReplaceAll(data, "\n", "\r\n")
		}
		out, _ := vault.Repair([]byte(data), true)
		if again, done := vault.Repair(out, true); string(again) != string(out) || len(done) > 0 {
			t.Fatalf("a second time %q:\n%s", done, again)
		}
		before, err := vault.ParseAsset("assets/note.md", []vault.File{file("assets/note.md", data)}, vault.DefaultConfig())
		if err != nil {
			return
		}
		after, err := vault.ParseAsset("assets/note.md", []vault.File{file("assets/note.md", string(out))}, vault.DefaultConfig())
		if err != nil || after.Digest != before.Digest {
			t.Fatalf("%v\n%q\n%q", err, data, out)
		}
	})
}
