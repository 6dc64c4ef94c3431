package vault

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// idPattern is what every id looks like.
const idPattern = `^[a-z0-9][a-z0-9._-]{0,127}$`

var (
	idForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(idPattern) }) // as long to make as all others
	uriForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:[^\s]*$`)
	device  = regexp.MustCompile(`^(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)`)
)

// CheckID says why id cannot name an asset, or nil (format.md §1).
func CheckID(id string) error {
	switch {
	case !idForm().MatchString(id):
		return fmt.Errorf("%q is no id: a to z, 0 to 9, then also . _ and -, up to 128 in all", id)
	case strings.HasSuffix(id, "."):
		return fmt.Errorf("%q is no id: it ends in a dot", id)
	case device.MatchString(id):
		return fmt.Errorf("%q is no id: Windows keeps this name for a device", id)
	}
	return nil
}

// CheckPath says why path may not stand in an asset, or nil: it is relative to
// the asset's folder and stays in it on every system (format.md §1).
func CheckPath(path string) error {
	if path == "" {
		return fmt.Errorf("the path is empty")
	}
	if strings.ContainsAny(path, "\\:") || strings.HasPrefix(path, "/") {
		return fmt.Errorf("%q is no path inside the asset's folder: no \\, no :, no leading /", path)
	}
	for _, part := range strings.Split(path, "/") {
		switch {
		case part == "" || part == "." || part == "..":
			return fmt.Errorf("%q is no path inside the asset's folder: it has an empty, a . or a .. part", path)
		case isDotGit(part):
			return fmt.Errorf("%q reaches into .git", path)
		case strings.ContainsFunc(part, func(r rune) bool { return r < 0x20 || r == 0x7f }):
			return fmt.Errorf("%q has a control character", path)
		}
	}
	return nil
}

// isDotGit knows the forms in which file systems take a name for .git: other
// case, trailing dots and blanks, the short name of Windows, and characters
// that HFS+ ignores.
func isDotGit(part string) bool {
	part = strings.Map(func(r rune) rune {
		if r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff {
			return -1
		}
		return r
	}, part)
	part = strings.ToLower(strings.TrimRight(part, ". "))
	return part == ".git" || part == "git~1"
}

// isURI tells a URI from a path. A single letter before the colon is a drive.
func isURI(ref string) bool { return uriForm.MatchString(ref) }
