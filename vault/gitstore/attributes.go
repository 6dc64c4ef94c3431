package gitstore

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// attributes are the rules of gitattributes(5) that count in one folder, the
// weakest first.
type attributes struct {
	rules  []attributeRule
	macros map[string][]setting
}

type attributeRule struct {
	pattern
	settings []setting
}

// setting gives an attribute a value; set and unset are values too.
type setting struct{ name, value string }

const (
	attrSet         = "\x00set"
	attrUnset       = "\x00unset"
	attrUnspecified = ""
)

// builtinAttributes is what Git knows without any file.
func builtinAttributes() attributes {
	return attributes{macros: map[string][]setting{"binary": {{"diff", attrUnset}, {"merge", attrUnset}, {"text", attrUnset}}}}
}

// with adds the rules of one attributes file that lies in base.
func (a attributes) with(data []byte, base string, fold bool) attributes {
	a.rules = a.rules[:len(a.rules):len(a.rules)]
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		line = strings.Trim(line, " \t\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		glob, rest := cutPattern(line)
		settings := parseSettings(rest)
		if name, ok := strings.CutPrefix(glob, "[attr]"); ok {
			if base == "" { // Git defines macros at the top only
				a = a.withMacro(name, settings)
			}
			continue
		}
		if p, ok := parsePattern(glob, base, fold); ok && !p.negated {
			a.rules = append(a.rules, attributeRule{p, settings})
		}
	}
	return a
}

func (a attributes) withMacro(name string, settings []setting) attributes {
	macros := map[string][]setting{name: settings}
	for other, s := range a.macros {
		if other != name {
			macros[other] = s
		}
	}
	a.macros = macros
	return a
}

// cutPattern separates the pattern, which may be quoted, from the attributes.
func cutPattern(line string) (glob, rest string) {
	if line[0] == '"' {
		if quoted, err := strconv.QuotedPrefix(line); err == nil {
			if glob, err := strconv.Unquote(quoted); err == nil {
				return glob, line[len(quoted):]
			}
		}
	}
	end := strings.IndexAny(line, " \t")
	if end < 0 {
		return line, ""
	}
	return line[:end], line[end:]
}

func parseSettings(text string) []setting {
	var settings []setting
	for _, word := range strings.Fields(text) {
		name, value, given := strings.Cut(word, "=")
		switch {
		case given:
		case word[0] == '-':
			name, value = word[1:], attrUnset
		case word[0] == '!':
			name, value = word[1:], attrUnspecified
		default:
			value = attrSet
		}
		settings = append(settings, setting{name, value})
	}
	return settings
}

// of gives the attributes of a file. Rules are read from the strongest down and
// the first one to name an attribute decides, as in Git.
func (a attributes) of(file string) map[string]string {
	if len(a.rules) == 0 {
		return nil
	}
	values := make(map[string]string)
	var fill func(settings []setting, depth int)
	fill = func(settings []setting, depth int) {
		for i := len(settings) - 1; i >= 0; i-- {
			s := settings[i]
			if _, decided := values[s.name]; decided {
				continue
			}
			values[s.name] = s.value
			if s.value == attrSet && depth < 10 {
				fill(a.macros[s.name], depth+1)
			}
		}
	}
	for i := len(a.rules) - 1; i >= 0; i-- {
		if a.rules[i].match(file, false) {
			fill(a.rules[i].settings, 0)
		}
	}
	return values
}

// sharedAttributes are the rules from outside of the work tree that are weaker
// than those in it; info/attributes is the strongest of all.
func (r *Repo) sharedAttributes(fold bool) (weak attributes, strong []byte, err error) {
	file, ok, err := r.Config("core.attributesfile")
	if err != nil {
		return attributes{}, nil, err
	}
	if !ok {
		file = path.Join(userConfigDir(), "attributes")
	}
	weak = builtinAttributes()
	for _, name := range []string{"/etc/gitattributes", absolute(r.where(), expandHome(file))} {
		data, err := readSmall(name)
		if err != nil {
			return attributes{}, nil, err
		}
		weak = weak.with(data, "", fold)
	}
	strong, err = readSmall(filepath.Join(r.commonDir, "info", "attributes"))
	return weak, strong, err
}

// readSmall reads a rules file; one that is not there, not a file or not ours
// to read is empty, as it is for git.
func readSmall(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if missing(err) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	return data, err
}
