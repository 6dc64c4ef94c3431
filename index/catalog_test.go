package index

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"longmemory.dev/lm/vault"
)

// facts draws facts of any content, sensible or not.
func facts() *rapid.Generator[vault.Facts] {
	return rapid.Custom(func(t *rapid.T) vault.Facts {
		f := plainFacts().Draw(t, "facts")
		if rapid.Bool().Draw(t, "edited") {
			served := plainFacts().Draw(t, "served")
			f.Served = &served
		}
		return f
	})
}

func plainFacts() *rapid.Generator[vault.Facts] {
	word := rapid.StringN(0, 5, -1)
	ratio := rapid.Custom(func(t *rapid.T) vault.Ratio { return vault.Ratio(rapid.Int32().Draw(t, "ratio")) })
	moment := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "never") {
			return time.Time{}
		}
		return time.Unix(rapid.Int64Range(-1e10, 1e12).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC()
	})
	rule := rapid.Custom(func(t *rapid.T) vault.Rule {
		r := vault.Rule{Effect: vault.Effect(word.Draw(t, "effect")), Subject: vault.Subject(word.Draw(t, "subject"))}
		for range rapid.IntRange(0, 3).Draw(t, "permissions") {
			r.Permissions = append(r.Permissions, vault.Permission(word.Draw(t, "permission")))
		}
		return r
	})
	binding := rapid.Custom(func(t *rapid.T) vault.Binding {
		return vault.Binding{
			Target: vault.Subject(word.Draw(t, "target")), Mode: vault.Mode(word.Draw(t, "mode")), Priority: ratio.Draw(t, "priority"),
			Required: rapid.Bool().Draw(t, "required"), Enabled: rapid.Bool().Draw(t, "enabled"),
		}
	})
	return rapid.Custom(func(t *rapid.T) vault.Facts {
		f := vault.Facts{
			ID: vault.ID(word.Draw(t, "id")), Type: vault.Type(word.Draw(t, "type")), Name: word.Draw(t, "name"),
			Description: word.Draw(t, "description"), Owner: vault.Subject(word.Draw(t, "owner")), Version: rapid.Int().Draw(t, "version"),
			Digest: vault.Digest(word.Draw(t, "digest")), Status: rapid.SampledFrom(vault.Statuses).Draw(t, "status"),
			Visibility: vault.Visibility(word.Draw(t, "visibility")), Priority: ratio.Draw(t, "priority"), Confidence: ratio.Draw(t, "confidence"),
			ContentRef: word.Draw(t, "content_ref"), Expires: moment.Draw(t, "expires"), Modified: moment.Draw(t, "modified"),
			Path: word.Draw(t, "path"), Receipted: rapid.Bool().Draw(t, "receipted"), Invalid: rapid.Bool().Draw(t, "invalid"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "teams") {
			f.Teams = append(f.Teams, word.Draw(t, "team"))
		}
		for range rapid.IntRange(0, 3).Draw(t, "rules") {
			f.ACL = append(f.ACL, rule.Draw(t, "rule"))
		}
		for range rapid.IntRange(0, 3).Draw(t, "bindings") {
			f.Bindings = append(f.Bindings, binding.Draw(t, "binding"))
		}
		return f
	})
}

func catalogs() *rapid.Generator[*catalog] {
	return rapid.Custom(func(t *rapid.T) *catalog {
		all := rapid.SliceOfN(facts(), 0, 5).Draw(t, "facts")
		c := &catalog{
			vault: rapid.SliceOf(rapid.Byte()).Draw(t, "vault"), facts: all, documents: []int{3, 5}, files: 2,
			texts: make([]textPlace, len(all)), forms: make([]formPlace, len(all)), same: make(identities, 16*len(all)),
		}
		for range rapid.IntRange(0, 2).Draw(t, "problems") {
			c.problems = append(c.problems, vault.Problem{Severity: vault.Error, Path: rapid.String().Draw(t, "path"), Line: 7})
		}
		for i := range all {
			c.texts[i] = unplaced
			if all[i].Standing() != nil {
				c.texts[i] = textPlace{1, int32(i), rapid.Int32Range(0, 1<<30).Draw(t, "length")}
			}
			c.forms[i] = formPlace{file: 1, offset: rapid.Int64Range(0, 1<<50).Draw(t, "offset"), sizes: [4]int32{-1, 0, 300, -1}, tokens: [4]int32{0, 9, 70, 0}}
			c.same.set(i, identity{byte(i), 1})
		}
		return c
	})
}

func TestCatalogRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := catalogs().Draw(t, "catalog")
		data := encoded(c)
		got, err := decodeCatalog(data)
		if err != nil {
			t.Fatal(err)
		}
		if c.vault == nil {
			c.vault = []byte{}
		}
		if c.facts == nil {
			c.facts = []vault.Facts{}
		}
		if !reflect.DeepEqual(got, c) {
			t.Fatalf("wrote\n%+v\nread\n%+v", c, got)
		}
		if !bytes.Equal(encoded(got), data) {
			t.Fatal("the bytes are no function of the catalog")
		}
	})
}

// A catalog that is cut or changed gives an error or another catalog, and one
// whose places all lie within it.
func TestCatalogDamage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := encoded(catalogs().Draw(t, "catalog"))
		if _, err := decodeCatalog(data[:rapid.IntRange(0, len(data)-1).Draw(t, "size")]); !errors.Is(err, errCatalog) {
			t.Fatalf("a cut catalog: %v", err)
		}
		if _, err := decodeCatalog(append(data[:len(data):len(data)], 0)); !errors.Is(err, errCatalog) {
			t.Fatalf("a catalog with more at its end: %v", err)
		}
		data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] ^= rapid.ByteRange(1, 255).Draw(t, "by")
		assertWithin(t, data)
	})
}

func assertWithin(t interface {
	Helper()
	Fatalf(string, ...any)
}, data []byte) {
	t.Helper()
	c, err := decodeCatalog(data)
	if err != nil {
		if !errors.Is(err, errCatalog) {
			t.Fatalf("a foreign error: %v", err)
		}
		return
	}
	for i, f := range c.facts {
		p := c.texts[i]
		if (f.Standing() != nil) != (p.segment >= 0) || p.segment >= 0 && (int(p.segment) >= len(c.documents) || int(p.document) >= c.documents[p.segment]) {
			t.Fatalf("a text at %+v", p)
		}
		if form := c.forms[i]; form.end() < form.offset || form.end() > form.offset && int(form.file) >= c.files {
			t.Fatalf("forms at %+v", form)
		}
		_ = c.same.at(i)
	}
}

func FuzzDecodeCatalog(f *testing.F) {
	c := &catalog{vault: []byte("{}"), documents: []int{1}, files: 1, facts: []vault.Facts{asset("a", "b", "c").Facts}}
	c.texts, c.forms, c.same = make([]textPlace, 1), make([]formPlace, 1), make(identities, 16)
	f.Add(encoded(c))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) { assertWithin(t, data) })
}

func FuzzDecodeManifest(f *testing.F) {
	f.Add(encodeManifest([]listed{{"catalog", 12, 0xdeadbeef}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := decodeManifest(data)
		if err == nil && !bytes.Equal(encodeManifest(files), data) {
			t.Errorf("%q reads as %v", data, files)
		}
	})
}

// encoded is a catalog as its file has it.
func encoded(c *catalog) []byte {
	head, rows := c.encode()
	return slices.Concat(head, rows)
}
