package memoryfile_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/memoryfile"
)

// anyRecord draws a record with any text in it.
func anyRecord(t *rapid.T) agentprotocol.MemoryRecord {
	text := rapid.StringOf(rapid.RuneFrom([]rune("ab é漢\"'#:-{}[]|>&*!%@`\\\n\t<0~")))
	at := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), 0).UTC()
	r := agentprotocol.MemoryRecord{
		SchemaVersion: agentprotocol.SchemaVersion, ID: "mem_01arz3ndektsv4rrffq69g5fav", Kind: "fact", Scope: agentprotocol.Scope{Kind: "project", ID: "lm"},
		State: "confirmed", Subject: text.Draw(t, "subject"), Object: text.Draw(t, "object"), Summary: text.Draw(t, "summary"), CreatorID: "agent:a", CreatedAt: at, UpdatedAt: at,
		Confidence: rapid.SampledFrom([]agentprotocol.Confidence{"", "low", "verified"}).Draw(t, "confidence"),
	}
	if rapid.Bool().Draw(t, "sourced") {
		r.Sources = agentprotocol.SourceRefList{{Kind: "file", Ref: "x" + text.Draw(t, "ref")}}
	}
	if rapid.Bool().Draw(t, "more") {
		r.Metadata = map[string]string{"k" + text.Draw(t, "key"): text.Draw(t, "value")}
		r.ExpiresAt = &at
		r.ConflictsWith = []string{"mem_0"}
	}
	return r
}

// What is written reads back as it was, and so does what is changed.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyRecord(t)
		d, err := memoryfile.New(r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := memoryfile.Read[agentprotocol.MemoryRecord](d.File)
		if err != nil || !reflect.DeepEqual(back.DTO, r) || back.Digest != d.Digest {
			t.Fatalf("%v\n%s\n%+v\n%+v", err, d.File.Data, r, back.DTO)
		}
		again, err := back.Change(map[string]any{"state": "superseded"})
		if err != nil {
			t.Fatal(err)
		}
		r.State = "superseded"
		if !reflect.DeepEqual(again.DTO, r) || again.Digest == d.Digest {
			t.Fatalf("%s\n%+v", again.File.Data, again.DTO)
		}
	})
}

const written = `# why this is here
schema_version: yeisme.agent_memory.v1
id: mem_01arz3ndektsv4rrffq69g5fav
kind: rumour
scope: {kind: project, id: lm}
state: confirmed
summary: 2026
creator_id: agent:a
created_at: 2026-12-01T00:00:00Z
updated_at: 2026-12-01T00:00:00Z
later: {unknown: key}
`

// A reader takes kinds and keys that it does not know, and keeps what it does not
// understand; a file that lies elsewhere, or is none, is named with its mend.
func TestReading(t *testing.T) {
	const at = "memory/records/2026/12/mem_01arz3ndektsv4rrffq69g5fav.yaml"
	d, err := memoryfile.Read[agentprotocol.MemoryRecord](vault.File{Path: at, Data: []byte(written)})
	if err != nil || d.DTO.Kind != "rumour" || d.DTO.Summary != "2026" {
		t.Fatalf("%v %+v", err, d)
	}
	changed, err := d.Change(map[string]any{"state": "expired"})
	if err != nil || string(changed.File.Data) != strings.Replace(written, "state: confirmed", "state: expired", 1) {
		t.Fatalf("%v\n%s", err, changed.File.Data)
	}
	reordered, err := memoryfile.Read[agentprotocol.MemoryRecord](vault.File{Path: at, Data: []byte(strings.Replace(strings.Replace(written, "kind: rumour\n", "", 1), "state:", "kind: \"rumour\"\nstate:", 1))})
	if err != nil || reordered.Digest != d.Digest {
		t.Errorf("order and quotes change the digest: %v", err)
	}
	for name, c := range map[string]struct{ path, data, want string }{
		"another month":    {"memory/records/2026/11/mem_01arz3ndektsv4rrffq69g5fav.yaml", written, "by its id and created_at it lies at " + at},
		"another name":     {"memory/records/2026/12/mem_01arz3ndektsv4rrffq69g5faw.yaml", written, "it lies at " + at},
		"no id":            {at, strings.Replace(written, "id: mem_01arz3ndektsv4rrffq69g5fav", "id: ../x", 1), "is no id of the form"},
		"twice":            {at, written + "kind: fact\n", "twice"},
		"not valid":        {at, strings.Replace(written, "state: confirmed", "state: odd", 1), "state"},
		"no YAML":          {at, "{", "no YAML"},
		"a null":           {at, strings.Replace(written, "summary: 2026", "summary:", 1), "no value"},
		"a scope of lines": {at, strings.Replace(written, "{kind: project, id: lm}", `{kind: project, id: "l\nm"}`, 1), "one line"},
	} {
		_, err := memoryfile.Read[agentprotocol.MemoryRecord](vault.File{Path: c.path, Data: []byte(c.data)})
		if problems := vault.Problems(err); len(problems) == 0 || !strings.Contains(err.Error(), c.want) || problems[0].Mend == "" {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	big := d.DTO
	big.Summary = strings.Repeat("x", memoryfile.MaxBytes)
	if _, err := memoryfile.New(big); err == nil {
		t.Error("a document of more than MaxBytes is written")
	}
}
