package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"longmemory.dev/lm/vault"
)

func someProblems(n int) []vault.Problem {
	var out []vault.Problem
	for i := range n {
		out = append(out,
			vault.Problem{Severity: vault.Warning, Path: "assets/ü b,c:d.md", Line: i + 1, Column: 2, Field: "status", Message: "100% odd\n::error::forged", Mend: "mend it"},
			vault.Problem{Severity: vault.Error, Path: "assets/a.md", Line: i + 1, Column: 1, Message: fmt.Sprint("wrong ", i)})
	}
	return out
}

func TestSARIFIsValid(t *testing.T) {
	for _, n := range []int{0, 3} {
		var out bytes.Buffer
		c := &command{stdout: &out}
		if err := c.sarif("validate", "what it is about", someProblems(n)); err != nil {
			t.Fatal(err)
		}
		report, err := sarif.FromBytes(out.Bytes(), sarif.WithStrictValidation())
		if err == nil {
			err = report.Validate()
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		if got := len(report.Runs[0].Results); got != 2*n {
			t.Errorf("%d results, want %d", got, 2*n)
		}
	}
}

func TestAnnotations(t *testing.T) {
	var out bytes.Buffer
	c := &command{stdout: &out}
	c.annotate(someProblems(12))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 10+10+1+4 {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	for i, want := range map[int]string{
		0:  "::error file=assets/a.md,line=1,col=1,title=lm::wrong 0",
		10: "::warning file=assets/ü b%2Cc%3Ad.md,line=1,col=2,title=lm::status: 100%25 odd ::error::forged; mend it",
		20: "::notice title=lm::2 errors and 2 warnings more than GitHub shows of one step; the log has them all",
		21: "  assets/a.md:11:1: error: wrong 10",
	} {
		if lines[i] != want {
			t.Errorf("line %d:\n%s\nwant\n%s", i, lines[i], want)
		}
	}
}
