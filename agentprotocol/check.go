package agentprotocol

import (
	"fmt"
	"slices"
	"strings"
)

// The checks that Validate methods are made of. A method lists them in the
// order of its contract and returns the first failure through cmp.Or.

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

func invalid(format string, args ...any) error {
	return NewStableError(ErrCodeValidationFailed, fmt.Sprintf(format, args...))
}

func required(field, value string) error {
	if isBlank(value) {
		return invalid("%s is required", field)
	}
	return nil
}

func notEmpty[T any](field string, list []T) error {
	if len(list) == 0 {
		return invalid("%s is required", field)
	}
	return nil
}

func oneOf[T ~string](field string, value T, known []T) error {
	if slices.Contains(known, value) {
		return nil
	}
	return invalid("%s", notOneOf(field, value, known))
}

// emptyOrOneOf is oneOf for a field that may be left out.
func emptyOrOneOf[T ~string](field string, value T, known []T) error {
	if isBlank(string(value)) {
		return nil
	}
	return oneOf(field, value, known)
}

func notOneOf[T ~string](field string, value T, known []T) string {
	return fmt.Sprintf("%s %q is not one of %s", field, value, joined(known, ", "))
}

func joined[T ~string](list []T, separator string) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = string(v)
	}
	return strings.Join(texts, separator)
}

func notNegative(field string, n int) error {
	if n < 0 {
		return invalid("%s is negative: %d", field, n)
	}
	return nil
}

func schemaIs(want, version string) error {
	if isBlank(version) || version == want {
		return nil
	}
	return invalid("schema_version %q is not %q", version, want)
}

// at puts a failure, if there is one, under a path.
func at(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// each checks the values of a list and names the index of the first failure.
func each[T any](path string, list []T, check func(T) error) error {
	for i, v := range list {
		if err := check(v); err != nil {
			return at(index(path, i), err)
		}
	}
	return nil
}
