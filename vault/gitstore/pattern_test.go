package gitstore

import (
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestIgnoreIsGits compares ignore rules with git's own on made-up patterns and
// paths over a small alphabet, where most of them meet.
func TestIgnoreIsGits(t *testing.T) {
	dir := newRepo(t, nil)
	part := rapid.StringOfN(rapid.SampledFrom([]rune("ab*?[]!-^/\\ #.")), 1, 8, -1)
	name := rapid.StringOfN(rapid.SampledFrom([]rune("ab-]!#.")), 1, 3, -1).Filter(func(s string) bool { return strings.Trim(s, ".") != "" })
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOfN(rapid.OneOf(part, rapid.SampledFrom([]string{"**/a", "a/**", "a/**/b", "**", "/a", "a/", "!a", "!a/b", "a/*", "*/b", "**/a/**", "[[:alpha:]]", "[!a]", "[^b]b", "\\!a", "\\#a", "a\\ ", "a  ", "b**", "/**/b"})), 1, 4).Draw(rt, "lines")
		var files []string
		for range 8 {
			files = append(files, strings.Join(rapid.SliceOfN(name, 1, 3).Draw(rt, "path"), "/"))
		}
		text := strings.Join(lines, "\n") + "\n"
		write(t, dir, ".git/info/exclude", text)
		cmd := exec.Command("git", "check-ignore", "--no-index", "--stdin", "-z")
		cmd.Dir = dir
		cmd.Stdin = strings.NewReader(strings.Join(files, "\x00"))
		out, _ := cmd.Output()
		said := "\x00" + string(out)
		rules := ignores(nil).with([]byte(text), "", false)
		for _, file := range files {
			got := false
			for i, c := range file {
				got = got || c == '/' && rules.ignored(file[:i], true)
			}
			got = got || rules.ignored(file, false)
			if want := strings.Contains(said, "\x00"+file+"\x00"); got != want {
				rt.Fatalf("rules %q, path %q: ignored %t, git says %t", lines, file, got, want)
			}
		}
	})
}
