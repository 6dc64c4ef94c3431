package hook_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"longmemory.dev/lm/internal/hook"
)

func TestInstallAndRemoveKeepTheRest(t *testing.T) {
	others := `{"hooks": {"SessionStart": [ {"matcher":"x", "hooks":[{"type":"command","command":"echo hi"}]} ]}, "model" : "m"}`
	for name, before := range map[string]string{
		"other settings": "{\n\t\"permissions\": {\"allow\": [ \"Bash(ls)\" ]},\n\n\t\"model\":\"opus\"\n}\n",
		"other hooks":    others,
		"one line":       `{"a":1}`,
		"no line end":    "{\n  \"a\": 1\n}",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), ".claude", "settings.json")
			if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(before), 0o640); err != nil {
				t.Fatal(err)
			}
			done, err := hook.Install(file, "claude-code", "lm hook claude-code --agent a")
			if err != nil || !done.Changed {
				t.Fatalf("%+v, %v", done, err)
			}
			after := read(t, file)
			var parsed struct {
				Hooks map[string][]struct {
					Hooks []struct {
						Type, Command string
						Timeout       int
					}
				}
			}
			if err := json.Unmarshal([]byte(after), &parsed); err != nil {
				t.Fatalf("%v\n%s", err, after)
			}
			for _, event := range []string{"SessionStart", "UserPromptSubmit", "SubagentStart"} {
				groups := parsed.Hooks[event]
				if last := groups[len(groups)-1].Hooks[0]; last.Type != "command" || last.Command != "lm hook claude-code --agent a" || last.Timeout == 0 {
					t.Errorf("%s: %+v", event, groups)
				}
			}
			if info, _ := os.Stat(file); info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v", info.Mode())
			}
			if again, err := hook.Install(file, "claude-code", "lm hook claude-code --agent a"); err != nil || again.Changed || read(t, file) != after {
				t.Errorf("a second time: %+v, %v", again, err)
			}
			if other, err := hook.Install(file, "claude-code", "lm hook claude-code"); err != nil || !other.Changed || strings.Contains(read(t, file), "--agent a") || strings.Count(read(t, file), "lm hook") != 3 {
				t.Errorf("another command: %+v, %v\n%s", other, err, read(t, file))
			}
			if other, err := hook.Remove(file, "codex"); err != nil || other.Changed {
				t.Errorf("the other host's: %+v, %v", other, err)
			}
			if gone, err := hook.Remove(file, "claude-code"); err != nil || !gone.Changed || read(t, file) != before {
				t.Errorf("%+v, %v, left:\n%s\nwant:\n%s", gone, err, read(t, file), before)
			}
			if again, err := hook.Remove(file, "claude-code"); err != nil || again.Changed {
				t.Errorf("removed twice: %+v, %v", again, err)
			}
		})
	}
}

func TestInstallInNoFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "hooks.json")
	if _, err := hook.Install(file, "codex", "lm hook codex"); err != nil {
		t.Fatal(err)
	}
	if !json.Valid([]byte(read(t, file))) {
		t.Errorf("%s", read(t, file))
	}
	if _, err := hook.Remove(file, "codex"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(file); err == nil {
		t.Errorf("left: %s", read(t, file))
	}
}

func TestSettingsThatAreNotTouched(t *testing.T) {
	for name, text := range map[string]string{"no JSON": `{"a":`, "no object": `[]`, "hooks of another kind": `{"hooks": []}`, "hooks twice": `{"hooks": {}, "hooks": {}}`, "an event of another kind": `{"hooks": {"SessionStart": {}}}`} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "settings.json")
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			if _, err := hook.Install(file, "codex", "lm hook codex"); !errors.Is(err, hook.ErrSettings) || read(t, file) != text {
				t.Errorf("%v, left: %s", err, read(t, file))
			}
		})
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "real.json"), []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "settings.json")
	if err := os.Symlink("real.json", link); err != nil {
		t.Skip(err)
	}
	if _, err := hook.Install(link, "codex", "lm hook codex"); !errors.Is(err, hook.ErrSettings) || read(t, link) != "{}" {
		t.Errorf("a symbolic link: %v", err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
