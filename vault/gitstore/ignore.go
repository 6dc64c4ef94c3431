package gitstore

import (
	"path"
	"strings"
)

// ignores are the ignore rules that count in one folder (gitignore(5)), the
// weakest first. The zero value ignores nothing.
type ignores []pattern

// with adds the rules of one ignore file that lies in base.
func (rules ignores) with(data []byte, base string, fold bool) ignores {
	more := rules[:len(rules):len(rules)] // siblings share what is above them
	text := strings.TrimPrefix(string(data), "\ufeff")
	for line := range strings.SplitSeq(text, "\n") {
		line = trimSpaces(strings.TrimSuffix(line, "\r"))
		if line == "" || line[0] == '#' {
			continue
		}
		if p, ok := parsePattern(line, base, fold); ok {
			more = append(more, p)
		}
	}
	return more
}

// trimSpaces takes off trailing spaces that no backslash keeps.
func trimSpaces(line string) string {
	kept := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		kept = min(i+1, len(line))
	}
	return line[:kept]
}

// ignored says whether the last rule that speaks of a path ignores it. The
// caller asks for each folder on the way first: what lies below an ignored one
// cannot be taken in again.
func (rules ignores) ignored(file string, isDir bool) bool {
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].match(file, isDir) {
			return !rules[i].negated
		}
	}
	return false
}

// sharedIgnores are the rules from outside of the work tree: core.excludesFile,
// then info/exclude.
func (r *Repo) sharedIgnores(fold bool) (ignores, error) {
	file, ok, err := r.Config("core.excludesfile")
	if err != nil {
		return nil, err
	}
	if !ok {
		file = path.Join(userConfigDir(), "ignore")
	}
	var rules ignores
	for _, name := range []string{absolute(r.where(), expandHome(file)), path.Join(r.commonDir, "info", "exclude")} {
		data, err := readSmall(name)
		if err != nil {
			return nil, err
		}
		rules = rules.with(data, "", fold)
	}
	return rules, nil
}
