// Package hook answers the hooks of agent hosts: it reads the event that the
// host writes to standard input, asks the vault for what the agent should know,
// and gives the JSON that the host accepts.
//
// A hook never blocks a session. There is a deadline on input and on work; on
// expiry, without a vault and on any fault there is no context, one line for
// standard error, and exit code 0. Where the index was not ready in time its
// build goes on detached, for the next event.
//
// # Events
//
// SessionStart and SubagentStart ask for what is bound to the agent;
// UserPromptSubmit asks with the prompt. What a session has been given already
// is not said again, until it is cleared or compacted; with nothing new there is
// no output. All other events are accepted and not answered.
//
// # Hosts
//
// Both hosts take {"hookSpecificOutput": {"hookEventName": …,
// "additionalContext": …}}; Codex refuses any key beside those of its schema.
// Of their input only what both have in common counts: session_id, agent_id,
// cwd, hook_event_name, source and prompt. Unknown keys are ignored.
package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"longmemory.dev/lm/internal/workspace"
)

// Hosts are the agent hosts that can be answered, by the names of the command.
var Hosts = []string{"claude-code", "codex"}

// Defaults of a hook: what a host takes whole, and how long a person waits.
const (
	DefaultTimeout  = 2 * time.Second
	DefaultMaxChars = 9500
)

// maxEvent is the size in bytes above which an event is not read.
const maxEvent = 8 << 20

// event is what both hosts say.
type event struct {
	Name      string `json:"hook_event_name"`
	SessionID string `json:"session_id"`
	AgentID   string `json:"agent_id"`
	Cwd       string `json:"cwd"`
	Source    string `json:"source"`
	Prompt    string `json:"prompt"`
}

// Hook is one call of a hook.
type Hook struct {
	Host string // one of Hosts; it is the framework of the request
	// Subject is who the agent is, as the installed command names it.
	Subject     workspace.Subject
	TokenBudget int // 0: the vault's default
	MaxChars    int
	Timeout     time.Duration
	Env         workspace.Env
	// Detach starts the build of the index of the vault in dir, to go on after
	// this process.
	Detach func(dir string) error
}

// answer is what hosts accept.
type answer struct {
	Output output `json:"hookSpecificOutput"`
}

type output struct {
	Event   string `json:"hookEventName"`
	Context string `json:"additionalContext"`
}

var errTime = errors.New("out of time")

// Run answers one event. out is what to print, nil for nothing. err is for one
// line on standard error; the session goes on all the same.
func (h *Hook) Run(ctx context.Context, stdin io.Reader) (out []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	type result struct {
		out []byte
		err error
	}
	done := make(chan result, 1)
	at := make(chan string, 1) // the vault, once it is found
	go func() {
		defer func() {
			if p := recover(); p != nil { // no fault of lm's may stop a session
				done <- result{nil, fmt.Errorf("fault: %v", p)}
			}
		}()
		out, err := h.answer(ctx, stdin, at)
		done <- result{out, err}
	}()
	select {
	case r := <-done:
		return r.out, r.err
	case <-ctx.Done():
	}
	select {
	case dir := <-at:
		if err := h.Detach(dir); err != nil {
			return nil, fmt.Errorf("%w after %s, and the index cannot be built: %w", errTime, h.Timeout, err)
		}
		return nil, fmt.Errorf("%w after %s; the index is built in the background, for the next event", errTime, h.Timeout)
	default:
		return nil, fmt.Errorf("%w after %s, before the event was read", errTime, h.Timeout)
	}
}

func (h *Hook) answer(ctx context.Context, stdin io.Reader, at chan<- string) ([]byte, error) {
	e, err := read(stdin)
	if err != nil {
		return nil, err
	}
	ask := workspace.Ask{Subject: h.Subject, TokenBudget: h.TokenBudget, MaxChars: h.MaxChars, Brief: true}
	ask.Framework = h.Host
	switch e.Name {
	case "SessionStart", "SubagentStart":
		ask.BoundOnly = true
	case "UserPromptSubmit":
		ask.Query = e.Prompt
	default:
		return nil, nil
	}
	env := h.Env
	if filepath.IsAbs(e.Cwd) {
		env.Dir = e.Cwd
	}
	v, err := workspace.Open(env)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	at <- env.Dir
	l, err := v.Loadout(ctx, ask)
	if err != nil {
		return nil, err
	}
	given := openSession(v.StateDir(), e)
	text := l.Part(given.fresh)
	if text == "" {
		return nil, remark(l)
	}
	if n := utf8.RuneCountInString(text); n > h.MaxChars {
		return nil, fmt.Errorf("the context has %d characters, more than %d", n, h.MaxChars)
	}
	for _, s := range l.Selected {
		given.add(s)
	}
	note := remark(l)
	if err := given.save(); err != nil && note == nil {
		note = fmt.Errorf("what this session has been given is not kept, so it will be said again: %w", err)
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer{output{e.Name, text}}); err != nil {
		return nil, err
	}
	return b.Bytes(), note
}

// remark says which required assets are not in, or else of which one an edit
// waits.
func remark(l *workspace.Loadout) error {
	if !l.Complete {
		ids := make([]string, len(l.Missing))
		for i, id := range l.Missing {
			ids[i] = string(id)
		}
		return fmt.Errorf("required and missing: %s; lm asset explain says why", strings.Join(ids, ", "))
	}
	var edited []string
	for _, s := range l.Selected {
		if s.EditWaits {
			edited = append(edited, fmt.Sprintf("%s@%d", s.ID, s.Version))
		}
	}
	if len(edited) == 0 {
		return nil
	}
	return fmt.Errorf("edited since they were approved, and given as they were: %s; lm asset explain says what to do", strings.Join(edited, ", "))
}

// read reads one event. Hosts may leave standard input open, so it ends with
// the object and not with the input.
func read(stdin io.Reader) (event, error) {
	limited := &io.LimitedReader{R: stdin, N: maxEvent}
	var e event
	switch err := json.NewDecoder(limited).Decode(&e); {
	case limited.N <= 0:
		return e, fmt.Errorf("the event has more than %d bytes", maxEvent)
	case errors.Is(err, io.EOF):
		return e, errors.New("there is no event on standard input")
	case err != nil:
		return e, fmt.Errorf("the event is no JSON object that is known here: %w", err)
	case e.Name == "":
		return e, errors.New("the event names no hook_event_name")
	}
	return e, nil
}
