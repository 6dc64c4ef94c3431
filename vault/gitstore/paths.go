package gitstore

import (
	"fmt"
	"path"
	"strings"
	"unicode"

	"longmemory.dev/lm/vault"
)

// isDotGit says whether some file system takes a name for ".git": in any case,
// with trailing dots or spaces, as NTFS's short name or stream, or with letters
// that HFS+ ignores.
func isDotGit(name string) bool {
	name = strings.Map(func(c rune) rune {
		if unicode.Is(unicode.Cf, c) {
			return -1
		}
		return unicode.ToLower(c)
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return name == ".git" || name == "git~1"
}

// Pathspec is a path relative to the repository's root as a word of a git command
// for people: one that works from anywhere in the work tree.
func Pathspec(file string) string { return vault.Quote(":/" + file) }

// checkPath refuses a path that must not be written: not relative to the root,
// not in its one form, or one that reaches out of the work tree on some system.
func checkPath(file string) error {
	if file == "" || file != path.Clean(file) || path.IsAbs(file) || strings.ContainsAny(file, "\\:\x00") {
		return fmt.Errorf("%q is no path below the repository's root", file)
	}
	for part := range strings.SplitSeq(file, "/") {
		if part == ".." || part == "." || isDotGit(part) {
			return fmt.Errorf("%q is no path that lm writes: it has the part %q", file, part)
		}
	}
	return nil
}
