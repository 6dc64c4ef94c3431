package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/internal/testvault"
	"longmemory.dev/lm/vault/memoryfile"
)

// What is kept of handoffs is what reading all of them anew gives, whatever was
// added, changed, moved or removed since, and whatever their texts are.
func TestKeptNotesAreThoseOfAFreshReading(t *testing.T) {
	v := track(t, testvault.Files(1, 1))
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	var paths []string
	add := func(to, objective string) {
		n := len(paths)
		p := agentprotocol.DefaultAdapterPrincipal("agent:a", "")
		h := agentprotocol.Handoff{HandoffID: memoryfile.Handoffs.NewID(at.AddDate(0, n%3, 0), [10]byte{byte(n)}), FromPrincipal: p, ToPrincipal: p, Objective: objective, CreatedAt: at.AddDate(0, n%3, 0),
			Scope: agentprotocol.Scope{Kind: "session", ID: "a b.yaml c"}}
		h.ToPrincipal.PrincipalID = to
		d, err := memoryfile.New(h)
		if err != nil {
			t.Fatal(err)
		}
		v.files[d.File.Path] = string(d.File.Data)
		paths = append(paths, d.File.Path)
	}
	look := func() []glance {
		t.Helper()
		head, err := v.resolve("HEAD")
		if err != nil {
			t.Fatal(err)
		}
		out, err := glances(v.Vault, head, memoryfile.Handoffs, handoffNote, "agent:a", "agent:*")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := look(); len(got) != 0 {
		t.Fatalf("without any: %v", got)
	}
	notes := filepath.Join(v.dir, ".git", "lm", "notes")
	for round := range 8 {
		add("agent:a", "x.yaml y\t\"z\"\n")
		add([]string{"agent:*", "agent:aa", "agent:b"}[round%3], fmt.Sprint(round))
		switch first := paths[0]; round {
		case 3:
			v.files[first] = strings.Replace(v.files[first], "agent:a", "agent:other", 2)
		case 4: // where no document may lie
			v.files[strings.Replace(first, "2026/12", "2026/11", 1)] = v.files[first]
		case 5:
			delete(v.files, paths[2])
		case 6:
			v.files["memory/handoffs/README.md"] = "No document"
		}
		v.commitAll()
		kept := look()
		if again := look(); !reflect.DeepEqual(again, kept) {
			t.Fatalf("round %d: kept %v, then %v", round, kept, again)
		}
		if err := os.RemoveAll(notes); err != nil {
			t.Fatal(err)
		}
		if fresh := look(); !reflect.DeepEqual(fresh, kept) || len(fresh) == 0 {
			t.Fatalf("round %d: kept %v, fresh %v", round, kept, fresh)
		}
		if !slices.IsSortedFunc(kept, func(a, b glance) int { return strings.Compare(b.id(), a.id()) }) {
			t.Fatalf("round %d: not the newest first: %v", round, kept)
		}
		for _, g := range kept {
			if note := g.note(6); note == nil || note[0] != "agent:a" && note[0] != "agent:*" || note[4] != "a b.yaml c" {
				t.Fatalf("round %d: %q", round, note)
			}
		}
	}
}
