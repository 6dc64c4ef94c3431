package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"longmemory.dev/lm/internal/workspace"
)

// Scopes are where a hook can be installed: for everyone who works in the
// repository, or for one person everywhere.
var Scopes = []string{"project", "user"}

// events are those that lm answers, in the order in which they are written.
var events = []string{"SessionStart", "UserPromptSubmit", "SubagentStart"}

// hostTimeout is how many seconds the host gives the hook: more than the
// hook's own deadline, so that it is lm that ends it.
const hostTimeout = 5

// The blanks that end what Install makes; by them Remove knows what to take
// away when it is empty again.
const (
	newFile  = "{\n}\n"
	hooksEnd = "\n  "
	listEnd  = "\n    "
)

// ErrSettings says that a settings file cannot be edited safely.
var ErrSettings = errors.New("the settings cannot be edited")

// SettingsFile is where a host looks for hooks. root is the repository's, home
// the user's folder.
func SettingsFile(host, scope, root, home string, getenv func(string) string) string {
	var dir, name string
	switch host {
	case "claude-code":
		dir, name = getenv("CLAUDE_CONFIG_DIR"), "settings.json"
		if scope == "project" {
			dir = filepath.Join(root, ".claude")
		} else if dir == "" {
			dir = filepath.Join(home, ".claude")
		}
	case "codex":
		dir, name = getenv("CODEX_HOME"), "hooks.json"
		if scope == "project" {
			dir = filepath.Join(root, ".codex")
		} else if dir == "" {
			dir = filepath.Join(home, ".codex")
		}
	}
	return filepath.Join(dir, name)
}

// Installed is what an edit of a settings file did.
type Installed struct {
	File    string   `json:"file"`
	Command string   `json:"command"`
	Changed bool     `json:"changed"`
	Events  []string `json:"events"`
}

// Install makes the host run command at the events that lm answers. Every other
// byte of the file stays as it is; a command of lm's that is there already is
// brought up to date. It wraps ErrSettings.
func Install(file, host, command string) (*Installed, error) {
	return edit(file, host, command, func(hooks *hujson.Object, out *Installed) error {
		for _, name := range events {
			list, err := eventList(hooks, name)
			if err != nil {
				return err
			}
			handlers := ours(list, host)
			switch {
			case len(handlers) == 0:
				list.Elements = append(list.Elements, element(entry(command), "\n      "))
				out.Changed = true
			case handlers[0].value(command):
				out.Changed = true
			}
			out.Events = append(out.Events, name)
		}
		return nil
	})
}

// Remove takes the commands of lm out again, and what they leave empty. It
// wraps ErrSettings.
func Remove(file, host string) (*Installed, error) {
	return edit(file, host, "", func(hooks *hujson.Object, out *Installed) error {
		for i := len(hooks.Members) - 1; i >= 0; i-- {
			list, ok := hooks.Members[i].Value.Value.(*hujson.Array)
			if !ok {
				continue
			}
			handlers := ours(list, host)
			for _, h := range slices.Backward(handlers) {
				h.remove()
			}
			if len(handlers) == 0 {
				continue
			}
			out.Changed = true
			out.Events = append(out.Events, name(hooks.Members[i]))
			if len(list.Elements) == 0 && string(list.AfterExtra) == listEnd {
				hooks.Members = slices.Delete(hooks.Members, i, i+1)
			}
		}
		slices.Reverse(out.Events)
		return nil
	})
}

// edit reads a settings file, changes its hooks and writes it back whole.
func edit(file, host, command string, change func(*hujson.Object, *Installed) error) (*Installed, error) {
	out := &Installed{File: file, Command: command, Events: []string{}}
	data, mode, err := readSettings(file)
	if err != nil {
		return nil, err
	}
	tree, err := hujson.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s is no JSON: %w; mend it first", ErrSettings, file, err)
	}
	root, ok := tree.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("%w: %s is no JSON object", ErrSettings, file)
	}
	hooks, err := child[*hujson.Object](root, "hooks", "\n  ", func() hujson.ValueTrimmed {
		return &hujson.Object{AfterExtra: hujson.Extra(hooksEnd)}
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrSettings, file, err)
	}
	if err := change(hooks, out); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrSettings, file, err)
	}
	if len(hooks.Members) == 0 && string(hooks.AfterExtra) == hooksEnd {
		root.Members = slices.DeleteFunc(root.Members, func(m hujson.ObjectMember) bool { return name(m) == "hooks" })
	}
	if !out.Changed {
		return out, nil
	}
	packed := tree.Pack()
	if string(packed) == newFile {
		return out, os.Remove(file)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return nil, err
	}
	return out, workspace.WriteFile(file, packed, mode)
}

// readSettings reads the file; one that is not there is an empty object.
func readSettings(file string) ([]byte, fs.FileMode, error) {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []byte(newFile), 0o644, nil
	case err != nil:
		return nil, 0, err
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(file)
		return nil, 0, fmt.Errorf("%w: %s is a symbolic link to %s, and lm follows none; edit that file, or install with the other --scope", ErrSettings, file, target)
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%w: %s is no plain file", ErrSettings, file)
	}
	data, err := os.ReadFile(file)
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte(newFile)
	}
	return data, info.Mode().Perm(), err
}

func name(m hujson.ObjectMember) string {
	var s string
	_ = json.Unmarshal(m.Name.Pack(), &s) // the parser took it for a string
	return s
}

// child is the value of a key, made if it is not there.
func child[T hujson.ValueTrimmed](o *hujson.Object, key, indent string, fresh func() hujson.ValueTrimmed) (T, error) {
	var none T
	twice := func(m hujson.ObjectMember) bool { return name(m) == key }
	if i := slices.IndexFunc(o.Members, twice); i >= 0 && slices.ContainsFunc(o.Members[i+1:], twice) {
		return none, fmt.Errorf("%q stands there twice, and hosts read one of the two", key)
	}
	for i := range o.Members {
		if name(o.Members[i]) == key {
			value, ok := o.Members[i].Value.Value.(T)
			if !ok {
				return none, fmt.Errorf("%q is not of the kind that the host documents", key)
			}
			return value, nil
		}
	}
	m := hujson.ObjectMember{Name: hujson.Value{BeforeExtra: hujson.Extra(indent), Value: hujson.String(key)}}
	m.Value = hujson.Value{BeforeExtra: hujson.Extra(" "), Value: fresh()}
	o.Members = append(o.Members, m)
	return m.Value.Value.(T), nil
}

func eventList(hooks *hujson.Object, event string) (*hujson.Array, error) {
	return child[*hujson.Array](hooks, event, "\n    ", func() hujson.ValueTrimmed { return &hujson.Array{AfterExtra: hujson.Extra(listEnd)} })
}

// entry is one matcher group with lm's command.
func entry(command string) string {
	quoted, _ := json.Marshal(command) // a string always encodes
	return fmt.Sprintf(`{"hooks": [{"type": "command", "command": %s, "timeout": %d}]}`, quoted, hostTimeout)
}

func element(text, indent string) hujson.ArrayElement {
	v, err := hujson.Parse([]byte(text))
	if err != nil {
		panic("hook: " + err.Error()) // entry makes JSON
	}
	v.BeforeExtra = hujson.Extra(indent)
	return v
}

// handler is a command of lm's in a settings file.
type handler struct {
	groups *hujson.Array // of the event
	group  int
	list   *hujson.Array // of the group
	at     int
}

// ours finds the handlers of an event whose command is lm's hook for the host.
func ours(groups *hujson.Array, host string) []handler {
	var out []handler
	for g := range groups.Elements {
		hooks := groups.Elements[g].Find("/hooks")
		if hooks == nil {
			continue
		}
		list, ok := hooks.Value.(*hujson.Array)
		if !ok {
			continue
		}
		for i := range list.Elements {
			if command, ok := commandOf(&list.Elements[i]); ok && isOurs(command, host) {
				out = append(out, handler{groups, g, list, i})
			}
		}
	}
	return out
}

func commandOf(v *hujson.Value) (string, bool) {
	command := v.Find("/command")
	if command == nil {
		return "", false
	}
	literal, ok := command.Value.(hujson.Literal)
	return literal.String(), ok && literal.Kind() == '"'
}

func isOurs(command, host string) bool {
	words := strings.Fields(command)
	return len(words) >= 3 && filepath.Base(strings.Trim(words[0], `"'`)) == "lm" && words[1] == "hook" && words[2] == host
}

// value sets the handler's command and says whether it was another.
func (h handler) value(command string) bool {
	if old, _ := commandOf(&h.list.Elements[h.at]); old == command {
		return false
	}
	h.list.Elements[h.at].Find("/command").Value = hujson.String(command)
	return true
}

// remove takes the handler out, and its group if nothing else is in it.
func (h handler) remove() {
	h.list.Elements = slices.Delete(h.list.Elements, h.at, h.at+1)
	if len(h.list.Elements) == 0 {
		h.groups.Elements = slices.Delete(h.groups.Elements, h.group, h.group+1)
	}
}
