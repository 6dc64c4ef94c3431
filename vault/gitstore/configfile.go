package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/config"
)

// configFile is one parsed configuration file; above is asked first. The nil
// configFile is empty.
type configFile struct {
	sections config.Sections
	above    *configFile
}

// readConfigFile parses a file; one that does not exist is empty.
func readConfigFile(path string) (*configFile, error) {
	f := new(configFile)
	if path == "" {
		return f, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	parsed := config.New()
	if err := config.NewDecoder(strings.NewReader(joinLines(string(data)))).Decode(parsed); err != nil {
		return nil, fmt.Errorf("%w: the Git configuration %s cannot be read: %v; git config --list --show-origin helps to find the line", ErrUnsupported, path, err)
	}
	f.sections = parsed.Sections
	return f, nil
}

// joinLines takes off a byte order mark and joins the lines that a backslash
// continues; the parser would keep the line end in the value.
func joinLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		body := strings.TrimRight(line, "\r\n")
		slashes := len(body) - len(strings.TrimRight(body, `\`))
		if start := strings.TrimLeft(body, " \t"); slashes%2 == 0 || start[0] == '#' || start[0] == ';' {
			b.WriteString(line)
		} else {
			b.WriteString(body[:len(body)-1])
		}
	}
	return b.String()
}

// over gives f with a stronger file above it.
func (f *configFile) over(above *configFile) *configFile {
	return &configFile{sections: f.sections, above: above}
}

func (f *configFile) get(key string) (string, bool) {
	if f == nil {
		return "", false
	}
	if f.above != nil {
		if value, ok := f.above.get(key); ok {
			return value, true
		}
	}
	section, subsection, name := splitKey(key)
	for i := len(f.sections) - 1; i >= 0; i-- {
		s := f.sections[i]
		if !s.IsName(section) {
			continue
		}
		options := s.Options
		if subsection != "" {
			if !s.HasSubsection(subsection) {
				continue
			}
			options = s.Subsection(subsection).Options
		}
		if options.Has(name) {
			return options.Get(name), true
		}
	}
	return "", false
}

func (f *configFile) bool(key string, otherwise bool) bool {
	value, ok := f.get(key)
	if !ok {
		return otherwise
	}
	return parseBool(value, otherwise)
}

type configEntry struct{ name, value string }

// section lists the variables of a section without subsection.
func (f *configFile) section(name string) []configEntry {
	var entries []configEntry
	for _, s := range f.sections {
		if s.IsName(name) {
			for _, o := range s.Options {
				entries = append(entries, configEntry{o.Key, o.Value})
			}
		}
	}
	return entries
}

// subsections lists a section's subsections in the order of the file.
func (f *configFile) subsections(name string) []string {
	var names []string
	for _, s := range f.sections {
		if s.IsName(name) {
			for _, sub := range s.Subsections {
				names = append(names, sub.Name)
			}
		}
	}
	return names
}

func (f *configFile) includes() bool {
	if f == nil {
		return false
	}
	if f.above != nil && f.above.includes() {
		return true
	}
	for _, s := range f.sections {
		if s.IsName("include") || s.IsName("includeIf") {
			return true
		}
	}
	return false
}

func splitKey(key string) (section, subsection, name string) {
	first, last := strings.Index(key, "."), strings.LastIndex(key, ".")
	if first < 0 {
		return key, "", ""
	}
	if first < last {
		subsection = key[first+1 : last]
	}
	return key[:first], subsection, key[last+1:]
}

// normalKey writes a key as git prints it.
func normalKey(key string) string {
	section, subsection, name := splitKey(key)
	if subsection != "" {
		return strings.ToLower(section) + "." + subsection + "." + strings.ToLower(name)
	}
	return strings.ToLower(section + "." + name)
}

// parseBool reads a boolean as git writes it. A key alone means true; an empty
// value cannot be told from that here and counts as true as well.
func parseBool(value string, otherwise bool) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "true", "yes", "on", "1", "":
		return true
	case "false", "no", "off", "0":
		return false
	}
	return otherwise
}
