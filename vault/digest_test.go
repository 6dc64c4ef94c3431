package vault_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"

	"longmemory.dev/lm/vault"
)

// load reads files below testdata/vectors as a vault would have them.
func load(t *testing.T, at string, names ...string) []vault.File {
	t.Helper()
	var files []vault.File
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join("testdata/vectors", name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file(at+name, string(data)))
	}
	return files
}

func file(path, data string) vault.File {
	return vault.File{Path: path, Data: []byte(data), Size: int64(len(data))}
}

func parse(t *testing.T, at string, files ...vault.File) *vault.Asset {
	t.Helper()
	asset, err := vault.ParseAsset(at, files, vault.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return asset
}

const wikiCanonical = `{"acl":[{"effect":"deny","permissions":["use"],"subject":"agent:intern"}],"bindings":[{"mode":"tool","priority":0.8,"target":"agent:reviewer"}],"content_ref":"longmemory://project/current/wiki","description":"Project architecture: the big picture","expires_at":"2027-01-31T00:00:00Z","id":"architecture-wiki","labels":["architecture","yes","2026-05-26"],"metadata":{"day":"2026-05-26","pages":12,"reviewed":true},"name":"Architecture wiki","owner":"user:alice","source":{"ref":"docs/architecture.md","type":"docs"},"type":"llm_wiki"}
cda1d8fda3442e61c2f621fe2994ef7b270133242dee46436238ea56dad7ecec  body
`

const wikiDigest = "sha256:dead384cb467a7c4bdb62873f18b247f464e3919b1d895d7ed0ad8b5425bb8d0"

func TestDigestVectors(t *testing.T) {
	wiki := parse(t, "assets/architecture-wiki.md", load(t, "assets/", "architecture-wiki.md")...)
	if got := wiki.Canonical(); got != wikiCanonical {
		t.Errorf("canonical text:\n%s\nwant:\n%s", got, wikiCanonical)
	}
	if wiki.Digest != wikiDigest {
		t.Errorf("digest %s, want %s", wiki.Digest, wikiDigest)
	}
	skill := parse(t, "assets/skills/release-review", load(t, "assets/skills/",
		"release-review/SKILL.md", "release-review/asset.yaml", "release-review/references/checks.md")...)
	const want = `{"id":"release-review","owner":"team:core","payload":{"triggers":["review the release","release: check"],"validation":["make check passes"]},"priority":0.6,"type":"skill"}
08e2f4e1ad336b261c9768ce9e3ba33023d2f60be71560a7ade2654484bb530e  SKILL.md
24dff966972ecaeb93404ccad14214b41e5aa3bb1c620a9e7949599498bee0f1  references/checks.md
`
	if got := skill.Canonical(); got != want {
		t.Errorf("canonical text:\n%s\nwant:\n%s", got, want)
	}
	if skill.Digest != "sha256:61f1cafbb69384e227463a9e3dd2412a184aa5abd9e23b6468ea08a460048495" {
		t.Errorf("digest %s", skill.Digest)
	}
}

func TestReceiptVector(t *testing.T) {
	r, err := vault.ParseReceipt(load(t, "receipts/asset/architecture-wiki/", "0002.yaml")[0])
	if err != nil {
		t.Fatal(err)
	}
	const want = "sha256:e55664d5c1c2c485594c389ebbfd4a67bb02f105f00a13f7278bda04e1d3429c"
	if r.Hash() != want {
		t.Errorf("hash %s, want %s", r.Hash(), want)
	}
	again, err := vault.ParseReceipt(r.File())
	if err != nil || again.Hash() != want {
		t.Errorf("written and read again: %v, hash %s", err, again.Hash())
	}
}

func TestDigestIgnoresHowItIsWritten(t *testing.T) {
	original := load(t, "", "architecture-wiki.md")[0].Data
	reordered := strings.Replace(string(original), "id: architecture-wiki\n", "", 1)
	reordered = strings.Replace(reordered, "labels:", "id: \"architecture-wiki\"\nlabels:", 1)
	for name, data := range map[string]string{
		"CRLF":      strings.ReplaceAll(string(original), "\n", "\r\n"),
		"BOM":       "\ufeff" + string(original),
		"key order": reordered,
		"status and version": strings.NewReplacer("status: approved", "status: candidate", "version: 3", "version: 9").
			Replace(string(original)),
		"own keys":  strings.Replace(string(original), "version: 3\n", "version: 3\nx-note: mine\n", 1),
		"owner":     strings.Replace(string(original), "owner: alice", "owner: user:alice", 1),
		"constants": strings.Replace(string(original), "version: 3\n", "version: 3\npriority: 0.25\nteams: []\npayload: {}\n", 1),
		"time zone": strings.Replace(string(original), "2027-01-31", "2027-01-31T01:00:00+01:00", 1),
	} {
		t.Run(name, func(t *testing.T) {
			if data == string(original) {
				t.Fatal("the case changes nothing")
			}
			asset := parse(t, "assets/deep/er/architecture-wiki.md", file("assets/deep/er/architecture-wiki.md", data))
			if asset.Digest != wikiDigest {
				t.Errorf("digest %s\n%s", asset.Digest, asset.Canonical())
			}
		})
	}
	for name, data := range map[string]string{
		"a word of the body": strings.Replace(string(original), "folder in Git", "folder of Git", 1),
		"priority":           strings.Replace(string(original), "priority: 0.8", "priority: 0.7", 1),
		"label order":        strings.Replace(string(original), "[architecture, yes, 2026-05-26]", "[yes, architecture, 2026-05-26]", 1),
	} {
		t.Run("changed by "+name, func(t *testing.T) {
			asset := parse(t, "assets/architecture-wiki.md", file("assets/architecture-wiki.md", data))
			if asset.Digest == wikiDigest {
				t.Error("the digest did not change")
			}
		})
	}
}

func TestDigestIsNFC(t *testing.T) {
	const head = "schema: lm.asset/v1\nid: x\ntype: llm_wiki\nowner: a\ndescription: d\nname: "
	composed := parse(t, "assets/x.yaml", file("assets/x.yaml", head+"Caf\u00e9\n"))
	decomposed := parse(t, "assets/x.yaml", file("assets/x.yaml", head+"Cafe\u0301\n"))
	if composed.Digest != decomposed.Digest {
		t.Error("NFC and NFD names have different digests")
	}
}

func TestBinaryFilesCountAsBytes(t *testing.T) {
	digest := func(data []byte) vault.Digest {
		return parse(t, "assets/x",
			file("assets/x/asset.yaml", "schema: lm.asset/v1\nid: x\ntype: llm_wiki\nname: X\ndescription: d\nowner: a\n"),
			vault.File{Path: "assets/x/pic.bin", Data: data, Size: int64(len(data))}).Digest
	}
	crlf := []byte("a\x00\r\nb")
	if digest(crlf) == digest(bytes.ReplaceAll(crlf, []byte("\r\n"), []byte("\n"))) {
		t.Error("line ends of a binary file were changed before hashing")
	}
}

// TestCanonicalFormIsTheCanonicalizers: the short way gives what RFC 8785 asks
// for, whatever the value.
func TestCanonicalFormIsTheCanonicalizers(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[ -~]{0,12}`), rapid.String())
	leaf := rapid.OneOf(
		rapid.Map(text, func(s string) any { return s }),
		rapid.Map(rapid.Float64Range(-1e25, 1e25), func(f float64) any { return f }),
		rapid.Map(rapid.Float64Range(-1, 1), func(f float64) any { return f }),
		rapid.Map(rapid.Int64Range(-1<<53, 1<<53), func(i int64) any { return i }),
		rapid.Map(rapid.SliceOf(text), func(l []string) any { return l }),
		rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any](0.1),
	)
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]any{"inner": []any{rapid.MapOf(text, leaf).Draw(t, "inner")}}
		for k, v := range rapid.MapOf(text, leaf).Draw(t, "outer") {
			value[k] = v
		}
		plain, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		want, err := jcs.Transform(plain)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(want)
		if got := vault.CanonicalDigest(value); got != vault.Digest("sha256:"+hex.EncodeToString(sum[:])) {
			t.Fatalf("another form than %s", want)
		}
	})
}
