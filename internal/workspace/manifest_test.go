package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// shared is a vault with an asset for each way to see one, or not to.
var shared = []struct{ id, keys string }{
	{"alices", "type: skill\nvisibility: private\nlabels: [release, notes]\n"},
	{"everyones", "type: skill\nlabels: [review]\n"},
	{"fading", "type: skill\nexpires_at: 2026-06-02\n"},
	{"looked-at", "type: skill\nacl: [{effect: deny, subject: \"agent:reviewer\", permissions: [use]}]\n"},
	{"page", "type: llm_wiki\n"},
	{"unseen", "type: skill\nacl: [{effect: deny, subject: \"agent:reviewer\", permissions: [read]}]\n"},
	{"waiting", "type: skill\nstatus: candidate\n"},
}

// sharedVault writes that vault into a folder without Git.
func sharedVault(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, data []byte) {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, data, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	put(vault.ConfigFile, []byte("schema: lm.vault/v1\nproject: shop\nname: The shop\npeople: {alice: {}, bob: {}}\nagents: {reviewer: {framework: codex}}\n"))
	for _, a := range shared {
		status := ""
		if !strings.Contains(a.keys, "status:") {
			status = "status: approved\n"
		}
		path := "assets/" + a.id + ".md"
		file := vault.File{Path: path, Data: []byte("---\nschema: lm.asset/v1\nid: " + a.id + "\nname: The " + a.id + "\ndescription: About " + a.id + "\nowner: alice\n" + a.keys + status + "---\nText of " + a.id + ".\n")}
		put(path, file.Data)
		parsed, err := vault.ParseAsset(path, []vault.File{file}, vault.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Status == vault.StatusApproved {
			r := vault.Receipt{Project: "shop", Subject: "asset/" + a.id, Kind: vault.ReceiptGoverned, Seq: 1, Version: 1, From: vault.StatusCandidate, To: vault.StatusApproved,
				Digest: parsed.Digest, Actor: "user:alice", Authors: []string{"user:alice"}, At: noon.Add(-time.Hour)}
			put(r.File().Path, r.File().Data)
		}
	}
	return dir
}

func openAt(t *testing.T, dir string, now time.Time, environment map[string]string) *Vault {
	t.Helper()
	v, err := Open(Env{Dir: dir, Getenv: func(key string) string { return environment[key] }, Environ: func() []string { return nil }, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// manifestOf is the reviewer's manifest, on behalf of a person.
func manifestOf(t *testing.T, v *Vault, user string, change func(*ManifestAsk)) (*Manifest, []byte) {
	t.Helper()
	ask := ManifestAsk{Ask: Ask{Subject: Subject{Agent: "reviewer", User: user, NoUser: user == ""}, Query: "text"}, InterfaceURL: "https://agents.example.org/reviewer"}
	if change != nil {
		change(&ask)
	}
	m, err := v.Manifest(context.Background(), ask)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return m, data
}

func skillIDs(c *AgentCard) string {
	var ids []string
	for _, s := range c.Skills {
		ids = append(ids, string(s.ID))
	}
	return strings.Join(ids, " ")
}

func TestManifestAndCardShowWhatTheIdentityMay(t *testing.T) {
	v := openAt(t, sharedVault(t), noon, nil)
	for _, c := range []struct {
		user, cards   string // cards: the skills of the card
		skills, wikis int
		never, named  []string
		hidden        int
	}{
		// looked-at may be read and not used: it is named as left out, and is on no card.
		{"alice", "alices everyones fading", 3, 1, []string{"unseen"}, []string{"looked-at", "waiting"}, 1},
		{"bob", "everyones fading", 2, 1, []string{"alices", "unseen"}, []string{"looked-at", "waiting"}, 2},
		{"", "everyones fading", 2, 1, []string{"alices", "unseen"}, []string{"looked-at", "waiting"}, 2},
	} {
		m, data := manifestOf(t, v, c.user, nil)
		if got := skillIDs(m.Card); got != c.cards {
			t.Errorf("%q: the card has %s, want %s", c.user, got, c.cards)
		}
		if n := m.Capabilities.AssetTypes; n[vault.TypeSkill] != c.skills || n[vault.TypeWiki] != c.wikis || len(n) != len(vault.Types) {
			t.Errorf("%q: counts %v", c.user, n)
		}
		if m.Loadout.Hidden != c.hidden {
			t.Errorf("%q: %d hidden, want %d", c.user, m.Loadout.Hidden, c.hidden)
		}
		for _, id := range c.never {
			if bytes.Contains(data, []byte(id)) {
				t.Errorf("%q: %s is named in %s", c.user, id, data)
			}
		}
		for _, id := range c.named {
			if !slices.ContainsFunc(m.Loadout.Excluded, func(e governance.Exclusion) bool { return string(e.ID) == id }) {
				t.Errorf("%q: %s may be read, and is not among the excluded", c.user, id)
			}
		}
	}
	m, _ := manifestOf(t, v, "alice", nil)
	for i, tags := range []string{"release notes", "review", "skill"} {
		if got := strings.Join(m.Card.Skills[i].Tags, " "); got != tags {
			t.Errorf("%s has the tags %q, want %q", m.Card.Skills[i].ID, got, tags)
		}
	}
}

func TestManifestBytes(t *testing.T) {
	dir := sharedVault(t)
	_, first := manifestOf(t, openAt(t, dir, noon, nil), "bob", nil)
	_, later := manifestOf(t, openAt(t, sharedVault(t), noon.Add(11*time.Hour), nil), "bob", nil)
	if !bytes.Equal(first, later) {
		t.Errorf("another hour, other bytes:\n%s\n%s", first, later)
	}
	expired, _ := manifestOf(t, openAt(t, dir, noon.AddDate(0, 0, 1), nil), "bob", nil)
	if got := skillIDs(expired.Card); got != "everyones" {
		t.Errorf("the day after, the card has %s", got)
	}
	at := func(ask *ManifestAsk) { ask.Now = noon }
	fixed, data := manifestOf(t, openAt(t, dir, noon.AddDate(1, 0, 0), nil), "bob", at)
	if got := skillIDs(fixed.Card); got != "everyones fading" || fixed.Loadout.Now != "2026-06-01T12:00:00Z" || fixed.Loadout.Request.Now != fixed.Loadout.Now {
		t.Errorf("as of noon the card has %s: %s", got, data)
	}
}

func TestManifestID(t *testing.T) {
	v := openAt(t, sharedVault(t), noon, nil)
	m, data := manifestOf(t, v, "bob", nil)
	var rest map[string]any
	if err := json.Unmarshal(data, &rest); err != nil {
		t.Fatal(err)
	}
	rest["manifest_id"] = ""
	if want := "manifest-" + string(vault.CanonicalDigest(rest))[len("sha256:"):][:16]; m.ID != want {
		t.Errorf("the id is %s, the digest of the rest says %s", m.ID, want)
	}
	for name, change := range map[string]func(*ManifestAsk){
		"name": func(a *ManifestAsk) { a.Name = "Reviewer" }, "query": func(a *ManifestAsk) { a.Query = "page" },
		"agent": func(a *ManifestAsk) { a.Agent = "other" }, "interface": func(a *ManifestAsk) { a.InterfaceURL = "" },
	} {
		if other, _ := manifestOf(t, v, "bob", change); other.ID == m.ID {
			t.Errorf("another %s, the same id", name)
		}
	}
	if alone, _ := manifestOf(t, v, "bob", func(a *ManifestAsk) { a.InterfaceURL = "" }); alone.Card != nil || alone.Capabilities.Card {
		t.Error("a card without an interface")
	}
}

func TestManifestRefuses(t *testing.T) {
	dir := sharedVault(t)
	for _, agent := range []string{"", "*", "agent:", "user:bob", "a b", "agent:*", "a*"} {
		if _, err := openAt(t, dir, noon, nil).Manifest(context.Background(), ManifestAsk{Ask: Ask{Subject: Subject{Agent: agent}}}); !errors.Is(err, ErrUsage) {
			t.Errorf("agent %q: %v", agent, err)
		}
	}
	bound := openAt(t, dir, noon, map[string]string{"LM_IDENTITY": "agent:builder"})
	if _, err := bound.Manifest(context.Background(), ManifestAsk{Ask: Ask{Subject: Subject{Agent: "reviewer"}}}); !errors.Is(err, governance.ErrDenied) {
		t.Errorf("bound to another: %v", err)
	}
	m, err := bound.Manifest(context.Background(), ManifestAsk{Ask: Ask{Subject: Subject{Agent: "agent:builder", NoUser: true}}})
	if err != nil || m.Agent.ID != "builder" || m.Agent.Description != "The agent builder of the project The shop." {
		t.Errorf("%+v, %v", m, err)
	}
}

// keysOf lists the keys of a JSON object.
func keysOf(object any) []string {
	return slices.Sorted(maps.Keys(object.(map[string]any)))
}
