package index

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// terms are the terms of a text, each as often as it counts, sorted.
func terms(text string) []string {
	a := newAnalyzer()
	var all []string
	for _, c := range a.query(text) {
		for range c.frequency() {
			all = append(all, a.terms[c.term()])
		}
	}
	slices.Sort(all)
	return all
}

func TestTerms(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"Releases of the release", "releas releas"},
		{"policies, boxes; dishes", "box dish polici"},
		{"The team's checks aren't Alice’s", "alic check team"},
		{"reviewing reviewed reviewer deployments", "deploy review review review"},
		{"résumé Résumés ÜBER", "resum resum uber"},
		{"ﬁle ＡＰＩ", "api file"},

		{"resolveLoadout", "loadout resolv resolveloadout"},
		{"ResolveLoadouts", "loadout resolv resolveloadout"},
		{"resolve_loadout", "loadout resolv resolveloadout"},
		{"resolve-loadout", "loadout resolv resolveloadout"},
		{"RESOLVE_LOADOUT", "loadout resolv resolveloadout"},
		{"HTTPServer2", "http httpserver2 server"},
		{"parseJSON", "json pars parsejson"},
		{"sha256sum", "256 sha sha256sum sum"},
		{"vault.Facts.Digest", "digest fact vault vaultfactsdigest"},
		{"SKILL.md", "md skill skillmd"},
		{"s3 k8s", "k8s s3"},
		{"1.25 and 125", "1.25 125"},
		{"end. Start, -x _y_ 'z'", "end start x y z"},
		{"straßeName", "name straße straßenam"},

		{"中文检索", "中文 文检 检索"},
		{"中", "中"},
		{"中文,检索", "中文 检索"},
		{"lm检索loadout", "lm loadout 检索"},
		{"スキル ひら 한국어", "キル スキ ひら 국어 한국"},
		{"память агента", "агента память"},
		{strings.Repeat("a", maxWord+1) + " b", "b"},
		{"\xff\xfe word \x80", "word"},
	} {
		want := strings.Fields(test.want)
		slices.Sort(want)
		if got := terms(test.text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", test.text, got, want)
		}
	}
}

func TestDocumentLength(t *testing.T) {
	counts, length := newAnalyzer().document(&Text{
		Name:        "releaseNotes",
		Description: "write them",
		Labels:      []string{"release", "the"},
		Body:        "Notes 中文检索",
	})
	// One word in the name, one in the description, a label, four in the body.
	if want := uint32(nameWeight + descriptionWeight + labelWeight + 4*bodyWeight); length != want {
		t.Errorf("length %d, want %d", length, want)
	}
	if len(counts) != 7 {
		t.Errorf("%d terms, want releasenotes, release, note, write and three pairs", len(counts))
	}
}

// An analyzer's memory of words must not change what it finds.
func TestAnalyzerForgetsTexts(t *testing.T) {
	text := rapid.StringOf(rapid.RuneFrom([]rune("aAbsS1_-.'’ 中文ーéß")))
	rapid.Check(t, func(t *rapid.T) {
		a := newAnalyzer()
		for _, s := range rapid.SliceOfN(text, 1, 5).Draw(t, "texts") {
			var got []string
			for _, c := range a.query(s) {
				for range c.frequency() {
					got = append(got, a.terms[c.term()])
				}
			}
			slices.Sort(got)
			if want := terms(s); !slices.Equal(got, want) {
				t.Fatalf("%q: %q, want %q", s, got, want)
			}
		}
	})
}

func FuzzTerms(f *testing.F) {
	f.Add("resolveLoadout HTTPServer2 a.b.c 中文检索 it's \xff")
	f.Fuzz(func(t *testing.T, text string) {
		for _, term := range terms(text) {
			if term == "" {
				t.Error("an empty term")
			}
		}
	})
}
