package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"longmemory.dev/lm/internal/workspace"
	"longmemory.dev/lm/vault"
)

// Bounds of what is kept about sessions.
const (
	keptSessions = 200  // files; the oldest go
	keptAssets   = 2000 // of one session; above that it starts anew
)

// session is what one session, or one subagent of it, has been given.
type session struct {
	file  string // "": nothing is kept
	Given map[vault.ID]given
}

// given is an asset as it was given.
type given struct {
	Digest vault.Digest `json:"digest"`
	Mode   vault.Mode   `json:"mode"`
}

// openSession reads what the event's session has been given: nothing, if its
// context was cleared or compacted away, or if it cannot be read.
func openSession(dir string, e event) *session {
	s := &session{Given: map[vault.ID]given{}}
	if dir == "" || e.SessionID == "" {
		return s
	}
	sum := sha256.Sum256([]byte(e.SessionID + "\x00" + e.AgentID))
	s.file = filepath.Join(dir, hex.EncodeToString(sum[:16])+".json")
	if e.Name == "SessionStart" && (e.Source == "clear" || e.Source == "compact" || e.Source == "startup") {
		return s
	}
	if data, err := os.ReadFile(s.file); err != nil || json.Unmarshal(data, &s.Given) != nil || s.Given == nil || len(s.Given) > keptAssets {
		s.Given = map[vault.ID]given{}
	}
	return s
}

// fresh says whether an asset is new to the session: never given, given with
// another content, or in a smaller form.
func (s *session) fresh(a workspace.Selected) bool {
	old, ok := s.Given[a.ID]
	return !ok || old.Digest != a.Digest || slices.Index(vault.Modes, a.Mode) < slices.Index(vault.Modes, old.Mode)
}

func (s *session) add(a workspace.Selected) {
	if s.fresh(a) {
		s.Given[a.ID] = given{a.Digest, a.Mode}
	}
}

// save keeps what was given, and drops the oldest sessions.
func (s *session) save() error {
	if s.file == "" {
		return nil
	}
	data, err := json.Marshal(s.Given)
	if err != nil {
		return err
	}
	dir := filepath.Dir(s.file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := workspace.WriteFile(s.file, data, 0o600); err != nil {
		return err
	}
	workspace.Prune(dir, keptSessions)
	return nil
}
