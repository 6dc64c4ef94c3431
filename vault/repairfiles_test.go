package vault_test

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"longmemory.dev/lm/vault"
)

func lfEverywhere(string) (bool, error) { return true, nil }
func lfNowhere(string) (bool, error)    { return false, nil }

func repaired(t interface{ Fatal(...any) }, files []vault.File, wantsLF func(string) (bool, error)) map[string]string {
	mended, err := vault.RepairFiles(files, wantsLF)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, m := range mended {
		out[m.Path] = string(m.Data)
	}
	return out
}

func TestRepairFilesLeavesContentAlone(t *testing.T) {
	skill := "---\nname: s\ndescription: d\n---\nDo it.\n"
	keys := "schema: lm.asset/v1\nid: s\ntype: skill\nowner: alice\n"
	for _, c := range []struct {
		name string
		file vault.File
		want string // "": untouched
		lf   func(string) (bool, error)
	}{
		{"a mark that counts in the digest", file("assets/s/SKILL.md", "\ufeff"+skill), "", lfEverywhere},
		{"a mark in keys", file("assets/s/asset.yaml", "\ufeff"+keys), keys, lfEverywhere},
		{"CRLF in a skill", file("assets/s/SKILL.md", strings.ReplaceAll(skill, "\n", "\r\n")), skill, lfEverywhere},
		{"CRLF where nobody asks for LF", file("assets/s/SKILL.md", strings.ReplaceAll(skill, "\n", "\r\n")), "", lfNowhere},
		{"a colon in a skill", file("assets/s/SKILL.md", "---\nname: s\ndescription: Use: it\n---\n"), "---\nname: s\ndescription: \"Use: it\"\n---\n", lfEverywhere},
		{"a colon, and CRLF stays", file("assets/s/SKILL.md", "---\r\nname: s\r\ndescription: Use: it\r\n---\r\n"), "---\r\nname: s\r\ndescription: \"Use: it\"\r\n---\r\n", lfNowhere},
		{"a resource that looks like an asset", file("assets/s/x.md", "\ufeff---\na: b: c\n---\n"), "", lfEverywhere},
		{"a binary resource", file("assets/s/x.bin", "a\x00\r\n"), "", lfEverywhere},
		{"CR before CRLF", file("assets/s/x.txt", "a\r\r\n"), "", lfEverywhere},
		{"a page that is no asset", file("assets/README.md", "---\na: b: c\n---\n"), "", lfEverywhere},
		{"vault.yaml", file("vault.yaml", "\ufeffschema: lm.vault/v1\nname: a: b\nproject: p\n"), "schema: lm.vault/v1\nname: \"a: b\"\nproject: p\n", lfEverywhere},
		{"a receipt", file("receipts/asset/s/0001.yaml", "\ufeffa: b: c\r\n"), "", lfEverywhere},
		{"tabs in a block scalar", file("assets/s/asset.yaml", keys+"x-code: |\n\tmake\n"), "", lfEverywhere},
		{"a colon inside of another value", file("assets/s/asset.yaml", keys+"x-a: 'one\n  two: x: y\n  three'\nx-b: c: d\n"), "", lfEverywhere},
		{"a block scalar keeps its tab", file("assets/s/asset.yaml", keys+"x-code: |\n  a:\n  \tb\nx-b: c: d\n"), keys + "x-code: |\n  a:\n  \tb\nx-b: \"c: d\"\n", lfEverywhere},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := []vault.File{c.file}
			for _, f := range []vault.File{file("assets/s/SKILL.md", skill), file("assets/s/asset.yaml", keys)} {
				if f.Path != c.file.Path {
					files = append(files, f)
				}
			}
			got := repaired(t, files, c.lf)
			if want := c.want; want == "" && len(got) > 0 || want != "" && (len(got) != 1 || got[c.file.Path] != want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// TestRepairFilesKeepsDigests: an asset that could be read keeps its digest, and
// a second repair finds nothing.
func TestRepairFilesKeepsDigests(t *testing.T) {
	piece := rapid.SampledFrom([]string{"\ufeff", "---", "--- ", "\n", "\r\n", "\r", "name: s", "description: d", "description: a: b", "\t", "  ", "x-a: |", "text: with: colons", "- a: b", "\x00", "é", "'", "\""})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "") })
	rapid.Check(t, func(t *rapid.T) {
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\r\r\n"}).Draw(t, "end")
		mark := rapid.SampledFrom([]string{"", "\ufeff"}).Draw(t, "mark")
		skill := mark + strings.ReplaceAll("---\nname: s\ndescription: d\n---\n", "\n", end) + text.Draw(t, "skill")
		keys := mark + strings.ReplaceAll("schema: lm.asset/v1\nid: s\ntype: skill\nowner: alice\n", "\n", end) + text.Draw(t, "keys")
		page := mark + strings.ReplaceAll("---\nschema: lm.asset/v1\nid: p\ntype: llm_wiki\nname: n\ndescription: d\nowner: a\n", "\n", end) + text.Draw(t, "page keys") + end + "---" + end + text.Draw(t, "body")
		files := []vault.File{file("assets/p.md", page), file("assets/s/SKILL.md", skill), file("assets/s/asset.yaml", keys), file("assets/s/x.md", text.Draw(t, "resource"))}
		lf := lfEverywhere
		if rapid.Bool().Draw(t, "no LF") {
			lf = lfNowhere
		}
		after := bytesOf(files)
		got := repaired(t, files, lf)
		for i := range after {
			if data, ok := got[after[i].Path]; ok {
				after[i] = file(after[i].Path, data)
			}
		}
		if again := repaired(t, after, lf); len(again) > 0 {
			t.Fatalf("a second time: %q\nfirst %q", again, got)
		}
		for _, at := range [][2]int{{0, 1}, {1, 4}} {
			where := "assets/p.md"
			if at[0] == 1 {
				where = "assets/s"
			}
			was, err := vault.ParseAsset(where, files[at[0]:at[1]], vault.DefaultConfig())
			if err != nil {
				continue
			}
			is, err := vault.ParseAsset(where, after[at[0]:at[1]], vault.DefaultConfig())
			if err != nil || is.Digest != was.Digest {
				t.Fatalf("%s: %v\n%q\n%q", where, err, [3]string{page, skill, keys}, got)
			}
		}
	})
}

func bytesOf(files []vault.File) []vault.File {
	out := make([]vault.File, len(files))
	for i, f := range files {
		out[i] = file(f.Path, string(bytes.Clone(f.Data)))
	}
	return out
}

func FuzzRepair(f *testing.F) {
	f.Add([]byte(valid), true)
	f.Add([]byte("a: b: c\r\n\tb: c\n"), false)
	f.Add([]byte("--- \nx: y: z\n---\t\n---\n"), true)
	f.Fuzz(func(t *testing.T, data []byte, markdown bool) {
		out, done := vault.Repair(bytes.Clone(data), markdown)
		if again, more := vault.Repair(out, markdown); !bytes.Equal(again, out) || len(more) > 0 {
			t.Errorf("%q became %q (%q), then %q (%q)", data, out, done, again, more)
		}
		if len(done) == 0 && !bytes.Equal(data, out) {
			t.Errorf("%q became %q without a word", data, out)
		}
	})
}
