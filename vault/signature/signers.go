package signature

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Fault is what is wrong with one line of allowed signers.
type Fault struct {
	Line    int // from 1
	Message string
}

// Signers says whose keys count.
type Signers struct{ entries []entry }

// entry is one line of the file.
type entry struct {
	principals []string // patterns; one that begins with ! takes out
	key        ssh.PublicKey
	namespaces []string  // patterns; none: every namespace
	after      time.Time // zero: always
	before     time.Time // zero: for ever
}

// Parse reads a file of allowed signers. A line that cannot be read is a fault
// and counts for nothing; the others do. Lines of certificate authorities are
// faults: certificates are not known here. Times without a Z are read as UTC,
// so that a file says the same everywhere.
func Parse(data []byte) (*Signers, []Fault) {
	s := &Signers{}
	var faults []Fault
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		e, err := parseEntry(line)
		if err != nil {
			faults = append(faults, Fault{Line: i + 1, Message: err.Error()})
			continue
		}
		s.entries = append(s.entries, e)
	}
	return s, faults
}

func parseEntry(line string) (entry, error) {
	principals, rest, ok := cutField(line)
	if !ok {
		return entry{}, errors.New("write: principals [options] key-type key")
	}
	key, _, options, more, err := ssh.ParseAuthorizedKey([]byte(rest))
	if err != nil || len(more) > 0 {
		return entry{}, errors.New("there is no public key in it; write: principals [options] key-type key")
	}
	e := entry{principals: list(principals), key: key}
	if len(e.principals) == 0 {
		return e, errors.New("it names no principal")
	}
	if key.Type() == dsa || strings.Contains(key.Type(), "-cert-") {
		return e, fmt.Errorf("a key of type %s cannot sign here", key.Type())
	}
	for _, option := range options {
		if err := e.option(option); err != nil {
			return e, err
		}
	}
	if !e.after.IsZero() && !e.before.IsZero() && e.before.Before(e.after) {
		return e, errors.New("valid-before is before valid-after")
	}
	return e, nil
}

// cutField takes the first field off a line; it may be in double quotes.
func cutField(line string) (field, rest string, ok bool) {
	if strings.HasPrefix(line, `"`) {
		if field, rest, ok = strings.Cut(line[1:], `"`); !ok {
			return "", "", false
		}
	} else if i := strings.IndexAny(line, " \t"); i > 0 {
		field, rest = line[:i], line[i:]
	}
	return field, strings.TrimSpace(rest), field != ""
}

func (e *entry) option(option string) error {
	name, value, _ := strings.Cut(option, "=")
	value = strings.Trim(value, `"`)
	var err error
	switch strings.ToLower(name) {
	case "namespaces":
		if e.namespaces = list(value); len(e.namespaces) == 0 {
			err = errors.New("namespaces names none")
		}
	case "valid-after":
		e.after, err = parseTime(value)
	case "valid-before":
		e.before, err = parseTime(value)
	case "cert-authority":
		err = errors.New("certificate authorities are not known here; list the keys themselves")
	default:
		err = fmt.Errorf("the option %q is not known", name)
	}
	return err
}

func list(s string) []string {
	var out []string
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// parseTime reads YYYYMMDD[Z] and YYYYMMDDHHMM[SS][Z].
func parseTime(s string) (time.Time, error) {
	digits := strings.TrimSuffix(strings.TrimSuffix(s, "Z"), "z")
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if t, err := time.Parse(layout, digits); err == nil && len(digits) == len(layout) {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time; write YYYYMMDD or YYYYMMDDHHMMSS, with a Z", s)
}

// Permit says why a key may not sign for somebody in a namespace at a time, or
// nil. names are all that the signer is known by; one that a line names is
// enough. A key is valid at the instants that valid-after and valid-before name.
func (s *Signers) Permit(names []string, key ssh.PublicKey, namespace string, at time.Time) error {
	wire, known := key.Marshal(), false
	var refused error
	for i := range s.entries {
		e := &s.entries[i]
		if !bytes.Equal(e.key.Marshal(), wire) {
			continue
		}
		known = true
		switch {
		case !e.names(names):
		case len(e.namespaces) > 0 && !matches(e.namespaces, namespace):
			refused = fmt.Errorf("the key %s may not sign in the namespace %s", ssh.FingerprintSHA256(key), namespace)
		case !e.after.IsZero() && at.Before(e.after):
			refused = fmt.Errorf("the key %s is valid from %s on", ssh.FingerprintSHA256(key), e.after.Format(time.RFC3339))
		case !e.before.IsZero() && at.After(e.before):
			refused = fmt.Errorf("the key %s was valid until %s", ssh.FingerprintSHA256(key), e.before.Format(time.RFC3339))
		default:
			return nil
		}
	}
	switch {
	case refused != nil:
		return refused
	case known:
		return fmt.Errorf("the key %s is not one of %s", ssh.FingerprintSHA256(key), strings.Join(names, ", "))
	}
	return fmt.Errorf("the key %s is none of the allowed signers", ssh.FingerprintSHA256(key))
}

func (e *entry) names(names []string) bool {
	for _, name := range names {
		if matches(e.principals, name) {
			return true
		}
	}
	return false
}

// matches holds a word against a list of patterns with * and ?; one that begins
// with ! and matches takes it out, wherever it stands.
func matches(patterns []string, word string) bool {
	found := false
	for _, p := range patterns {
		p, not := strings.CutPrefix(p, "!")
		if !wild(p, word) {
			continue
		}
		if not {
			return false
		}
		found = true
	}
	return found
}

// wild is path.Match without its classes and separators.
func wild(pattern, word string) bool {
	escape := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, "/", "\x00")
	ok, err := path.Match(escape.Replace(pattern), strings.ReplaceAll(word, "/", "\x00"))
	return ok && err == nil
}
