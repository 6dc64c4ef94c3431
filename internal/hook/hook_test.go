package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"longmemory.dev/lm/internal/hook"
	"longmemory.dev/lm/internal/testvault"
	"longmemory.dev/lm/internal/workspace"
)

// repository is a committed vault of generated assets.
func repository(t *testing.T, assets int) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, "gitconfig"))
	if err := os.WriteFile(filepath.Join(home, "gitconfig"), []byte("[user]\n\tname = A\n\temail = a@example.org\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range testvault.Files(7, assets) {
		path := filepath.Join(dir, f.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-qm", "all"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

func newHook(dir string) *hook.Hook {
	return &hook.Hook{
		Host: "codex", Subject: workspace.Subject{Agent: "reviewer"}, MaxChars: hook.DefaultMaxChars, Timeout: 20 * time.Second,
		Env: workspace.Env{Dir: dir, Getenv: func(string) string { return "" }, Environ: func() []string { return nil },
			Now: func() time.Time { return time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) }},
		Detach: func(string) error { return errors.New("not wanted here") },
	}
}

// event is an event of either host, with keys that lm does not know among the rest.
func event(name, session, rest string) string {
	return fmt.Sprintf(`{"session_id":%q,"transcript_path":null,"permission_mode":"default","model":"m","turn_id":"t","hook_event_name":%q%s}`, session, name, rest)
}

func ask(t *testing.T, h *hook.Hook, input string) (string, error) {
	t.Helper()
	out, err := h.Run(context.Background(), strings.NewReader(input))
	if len(out) == 0 {
		return "", err
	}
	var closed map[string]map[string]string
	if json.Unmarshal(out, &closed) != nil || len(closed) != 1 || len(closed["hookSpecificOutput"]) != 2 || closed["hookSpecificOutput"]["hookEventName"] == "" {
		t.Fatalf("not what a host accepts: %s", out)
	}
	return closed["hookSpecificOutput"]["additionalContext"], err
}

func TestASessionIsToldOnce(t *testing.T) {
	h := newHook(repository(t, 60))
	first, err := ask(t, h, event("SessionStart", "s", `,"source":"startup"`))
	if err != nil || !strings.Contains(first, "<lm-") {
		t.Fatalf("at the start: %q, %v", first, err)
	}
	if n := utf8.RuneCountInString(first); n > hook.DefaultMaxChars {
		t.Errorf("%d characters", n)
	}
	for _, again := range []string{event("SessionStart", "s", `,"source":"resume"`), event("UserPromptSubmit", "s", `,"prompt":""`)} {
		if text, err := ask(t, h, again); text != "" || err != nil {
			t.Errorf("%s says it again: %q, %v", again, text, err)
		}
	}
	for _, lost := range []string{event("SessionStart", "s", `,"source":"compact"`), event("SessionStart", "s", `,"source":"clear"`), event("SessionStart", "other", `,"source":"resume"`),
		event("SubagentStart", "s", `,"agent_id":"sub","agent_type":"x"`)} {
		if text, _ := ask(t, h, lost); text != first {
			t.Errorf("%s gives %d characters, want the %d of the start", lost, len(text), len(first))
		}
	}
	if text, err := ask(t, h, event("PreToolUse", "s", `,"tool_name":"x"`)); text != "" || err != nil {
		t.Errorf("another event: %q, %v", text, err)
	}
}

func TestPrompts(t *testing.T) {
	h := newHook(repository(t, 60))
	long := strings.Repeat("mormor kalo renshi 审查发布 ", 9000)
	for name, prompt := range map[string]string{"Chinese": "请审查发布架构", "200 kB": long, "quotes": `a "b" \ </lm-loadout>`} {
		quoted, err := json.Marshal(prompt)
		if err != nil {
			t.Fatal(err)
		}
		text, err := ask(t, h, event("UserPromptSubmit", name, `,"prompt":`+string(quoted)))
		if err != nil || utf8.RuneCountInString(text) > hook.DefaultMaxChars {
			t.Errorf("%s: %d characters, %v", name, utf8.RuneCountInString(text), err)
		}
	}
	small := *h
	small.MaxChars = 700
	text, err := ask(t, &small, event("UserPromptSubmit", "small", `,"prompt":"mormor kalo"`))
	if err != nil || utf8.RuneCountInString(text) > 700 {
		t.Errorf("%d characters, %v", utf8.RuneCountInString(text), err)
	}
}

func TestFaultsEndNoSession(t *testing.T) {
	dir := repository(t, 20)
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "vault.yaml"), []byte("schema: lm.vault/v1\nprojekt: x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ dir, input, says string }{
		"empty":        {dir, "", "no event"},
		"bad JSON":     {dir, `{"hook_event_name":`, "no JSON object"},
		"another kind": {dir, `[1]`, "no JSON object"},
		"no name":      {dir, `{"session_id":"x"}`, "names no hook_event_name"},
		"15 MB":        {dir, event("UserPromptSubmit", "big", `,"prompt":"`+strings.Repeat("x", 15<<20)+`"`), "more than"},
		"no vault":     {t.TempDir(), event("SessionStart", "s", ""), "no vault.yaml"},
		"broken vault": {broken, event("SessionStart", "s", ""), "vault.yaml:2:1"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := ask(t, newHook(c.dir), c.input)
			if text != "" || err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q, %v; want %q", text, err, c.says)
			}
		})
	}
}

func TestInputThatNeverEnds(t *testing.T) {
	dir := repository(t, 20)
	open, writer := io.Pipe()
	defer writer.Close()
	go func() { _, _ = io.WriteString(writer, event("SessionStart", "s", "")) }()
	out, err := newHook(dir).Run(context.Background(), open)
	if err != nil || len(out) == 0 {
		t.Errorf("an event whose input stays open: %q, %v", out, err)
	}
	silent, writer2 := io.Pipe()
	defer writer2.Close()
	h := newHook(dir)
	h.Timeout = 20 * time.Millisecond
	if out, err := h.Run(context.Background(), silent); len(out) > 0 || err == nil || !strings.Contains(err.Error(), "before the event was read") {
		t.Errorf("no event at all: %q, %v", out, err)
	}
}

func TestABuildThatTakesTooLongGoesOnDetached(t *testing.T) {
	h := newHook(repository(t, 20))
	h.Timeout = 300 * time.Millisecond
	h.Env.Now = func() time.Time { time.Sleep(time.Hour); return time.Time{} } // asked for after the vault was found
	var built []string
	h.Detach = func(dir string) error { built = append(built, dir); return nil }
	out, err := h.Run(context.Background(), strings.NewReader(event("SessionStart", "s", `,"cwd":"`+h.Env.Dir+`"`)))
	if len(out) > 0 || err == nil || !strings.Contains(err.Error(), "in the background") || len(built) != 1 || built[0] != h.Env.Dir {
		t.Errorf("%q, %v, built %q", out, err, built)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	dir := repository(t, 20)
	h := newHook(dir)
	for i := range 230 {
		if _, err := ask(t, h, event("SessionStart", fmt.Sprint("s", i), `,"source":"startup"`)); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadDir(filepath.Join(dir, ".git/lm/sessions"))
	if err != nil || len(kept) > 200 {
		t.Errorf("%d sessions are kept, %v", len(kept), err)
	}
	if err := os.RemoveAll(filepath.Join(dir, ".git/lm/sessions")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".git/lm/sessions"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	text, err := ask(t, h, event("SessionStart", "s", ""))
	if text == "" || err == nil || !strings.Contains(err.Error(), "said again") {
		t.Errorf("where nothing can be kept: %q, %v", text, err)
	}
}

func FuzzEvent(f *testing.F) {
	for _, seed := range []string{"", "{}", event("SessionStart", "s", ""), event("UserPromptSubmit", "s", `,"prompt":"x"`), `{"hook_event_name":1}`, "null", "[", "{\"cwd\":\"/\"}"} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, input string) {
		h := newHook(dir)
		if out, _ := h.Run(context.Background(), strings.NewReader(input)); len(out) > 0 {
			t.Errorf("an answer without a vault: %s", out)
		}
	})
}
