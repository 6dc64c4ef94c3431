package vault

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"
)

// findings gathers problems of one reading, so that a person sees all of them
// at once.
type findings struct{ all *multierror.Error }

// add records a problem; one that is about a whole file points at its head.
func (f *findings) add(p Problem) {
	if p.Line == 0 {
		p.Line, p.Column = 1, 1
	}
	f.all = multierror.Append(f.all, p)
}

// err is nil unless one of the findings is an error; warnings alone make
// nothing invalid. It calls ErrorOrNil, because a nil *multierror.Error in an
// error is not nil.
func (f *findings) err() error {
	for _, p := range f.list() {
		if p.Severity == Error {
			f.all.ErrorFormat = formatProblems
			return f.all.ErrorOrNil()
		}
	}
	return nil
}

func (f *findings) list() []Problem {
	if f.all == nil {
		return nil
	}
	return Problems(f.all)
}

func formatProblems(errs []error) string {
	lines := make([]string, len(errs))
	for i, err := range errs {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Problems returns the problems that err carries, sorted by path, line, column
// and text. An error that is no problem of a file gives nil.
func Problems(err error) []Problem {
	var many *multierror.Error
	var out []Problem
	if errors.As(err, &many) {
		for _, e := range many.Errors {
			out = append(out, Problems(e)...)
		}
		SortProblems(out)
		return out
	}
	var one Problem
	if errors.As(err, &one) {
		out = append(out, one)
	}
	return out
}

// SortProblems orders problems by path, line, column, field and text: the
// order in which every command prints them.
func SortProblems(problems []Problem) {
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Field, b.Field),
			cmp.Compare(a.Message, b.Message),
		)
	})
}
