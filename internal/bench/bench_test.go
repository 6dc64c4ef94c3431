package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets the benchmark start itself for writing a vault.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "-write" || os.Args[1] == "-memories") {
		main()
		return
	}
	os.Exit(m.Run())
}

// Every figure of design.md §6 that hangs on a vault comes out, whatever it is.
func TestBenchmarkRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds two programs")
	}
	t.Setenv("LM_DATA", t.TempDir()) // no corpus: that takes seconds
	file := filepath.Join(t.TempDir(), "figures.json")
	var out, messages bytes.Buffer
	if err := run(t.Context(), []string{"-n", "40", "-runs", "1", "-json", file}, &out, &messages); err != nil {
		t.Fatalf("%v\n%s", err, messages.Bytes())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Figures []figure }
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, f := range got.Figures {
		there[f.What] = true
		if f.Seconds == 0 && f.Bytes == 0 {
			t.Errorf("%+v says nothing", f)
		}
		if !strings.Contains(out.String(), "| "+f.What+" ") {
			t.Errorf("%s is not in the table:\n%s", f.What, out.String())
		}
	}
	for _, what := range []string{
		"lm version", "lm loadout, index current", "first index, processor time", "next index after one change, with the loadout",
		"lm asset govern", "lm validate, processor time",
	} {
		if !there[what] {
			t.Errorf("there is no figure for %s", what)
		}
	}
}

func TestEmptySourceImportsWhatTheCommandIsMadeOf(t *testing.T) {
	const main, other = `"Module":{"Main":true}`, `"Module":{"Path":"example.org/other"}`
	source, err := emptySource(`
		{"ImportPath":"fmt"}
		{"ImportPath":"example.org/other/deep",` + other + `}
		{"ImportPath":"example.org/other",` + other + `,"Imports":["example.org/other/deep"]}
		{"ImportPath":"lm/vault",` + main + `,"Imports":["fmt","example.org/other"]}
		{"ImportPath":"lm/cmd/lm",` + main + `,"Imports":["fmt","lm/vault"]}`)
	if err != nil {
		t.Fatal(err)
	}
	want := "package main\n\nimport (\n\t_ \"example.org/other\"\n\t_ \"lm/vault\"\n)\n\nfunc main() {}\n"
	if source != want {
		t.Errorf("got\n%s, not\n%s", source, want)
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		limit limit
		value float64
		want  string
	}{
		{limit{}, 5, ""},
		{limit{aim: 1}, 5, ""},
		{limit{must: 3, aim: 1}, 3, "met"},
		{limit{must: 3}, 3.01, "MISSED"},
		{limit{must: 1, below: true}, 1, "MISSED"},
		{limit{must: 1, below: true}, 0.99, "met"},
	} {
		if got := c.limit.verdict(c.value); got != c.want {
			t.Errorf("%+v of %v is %q, not %q", c.limit, c.value, got, c.want)
		}
	}
}

func TestMedian(t *testing.T) {
	runs := []usage{{peak: 5}, {peak: 1}, {peak: 9}, {peak: 2}, {peak: 3}}
	if got := median(runs, func(u usage) int64 { return u.peak }); got != 3 {
		t.Errorf("the median is %d, not 3", got)
	}
}
