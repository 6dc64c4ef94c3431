package agentprotocol_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"longmemory.dev/lm/agentprotocol"
)

var update = flag.Bool("update", false, "rewrite testdata/*.json")

// dto is a wire type: a name, a zero and a full value, and how to read one.
type dto struct {
	name       string
	zero, full any
	decode     func(data []byte) (any, error)
}

func newDTO[T any](full T) dto {
	var zero T
	return dto{reflect.TypeFor[T]().Name(), zero, full, func(data []byte) (any, error) {
		var v T
		err := json.Unmarshal(data, &v)
		return v, err
	}}
}

var dtos = []dto{
	newDTO(fullDescriptor()),
	newDTO(agentprotocol.ContextBudget{MaxItems: 20, MaxChars: 8000}),
	newDTO(fullPack().Conflicts[0]),
	newDTO(fullEntry("mem_1", agentprotocol.MemoryKindFact)),
	newDTO(fullPack()),
	newDTO(fullRequest()),
	newDTO(fullFeedback()),
	newDTO(fullHandoff()),
	newDTO(fullRecord()),
	newDTO(agentprotocol.NegotiateResult{
		Compatible: true, NegotiatedVersion: "v1", Degraded: true, Reason: "not the first choice",
		SharedCapabilities: []agentprotocol.Capability{agentprotocol.CapabilityRead},
	}),
	newDTO(fullPack().NextActions[0]),
	newDTO(fullPrincipal()),
	newDTO(fullProposal()),
	newDTO(agentprotocol.ProposalReview{
		ProposalID: "prop_1", Status: agentprotocol.ProposalStatusConflictRequired,
		Reason: agentprotocol.ReasonConflictExisting, Message: "mem_2 and mem_3 say otherwise",
		ConflictingMemoryIDs: []string{"mem_2", "mem_3"}, DuplicateMemoryID: "mem_4",
	}),
	newDTO(agentprotocol.Receipt{
		SchemaVersion: agentprotocol.SchemaVersion, ReceiptID: "rcpt_1", Kind: "proposal_approved",
		PrincipalID: "ada", Scope: fullScope(), MemoryID: "mem_1", ProposalID: "prop_1", SourceRefs: fullSources(),
		LifecycleFrom: agentprotocol.LifecycleProposed, LifecycleTo: agentprotocol.LifecycleConfirmed, CreatedAt: created,
	}),
	newDTO(fullScope()),
	newDTO(fullSources()[0]),
	newDTO(*agentprotocol.NewStableError("rejected", "already used").WithDetail("proposal_id", "prop_1")),
}

func TestEveryStructIsTested(t *testing.T) {
	surface, err := os.ReadFile("testdata/surface.txt")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for line := range strings.Lines(string(surface)) {
		if words := strings.Fields(line); words[0] == "type" && words[2] == "struct" {
			want = append(want, words[1])
		}
	}
	for _, d := range dtos {
		got = append(got, d.name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestGoldens(t *testing.T) {
	values := map[string]func(dto) any{
		"testdata/zero.json": func(d dto) any { return d.zero },
		"testdata/full.json": func(d dto) any { return d.full },
	}
	for path, value := range values {
		got := bytes.NewBufferString("{\n")
		for i, d := range dtos {
			if i > 0 {
				got.WriteString(",\n")
			}
			got.WriteString(`"` + d.name + `": `)
			got.Write(encode(t, value(d)))
		}
		got.WriteString("\n}\n")
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		gotLines, wantLines := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
		if len(gotLines) != len(wantLines) {
			t.Fatalf("%s: %d lines, want %d", path, len(gotLines), len(wantLines))
		}
		for i := range gotLines {
			if gotLines[i] != wantLines[i] {
				t.Errorf("%s:%d:\ngot  %s\nwant %s", path, i+1, gotLines[i], wantLines[i])
			}
		}
	}
}

// The zero values that the contract itself writes out.
func TestZeroJSON(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{agentprotocol.Principal{}, `{"schema_version":"","principal_id":"","capabilities":null,"trust":""}`},
		{agentprotocol.NegotiateResult{}, `{"compatible":false}`},
		{agentprotocol.ContextRequest{}, `"scope":{"kind":"","id":""},"budget":{}}`},
		{agentprotocol.ContextPack{}, `"trust":""},"scope":{"kind":"","id":""}}`},
		{agentprotocol.MemoryRecord{}, `"created_at":"0001-01-01T00:00:00Z","updated_at":"0001-01-01T00:00:00Z"}`},
	} {
		if got := string(encode(t, c.value)); !strings.HasSuffix(got, c.want) {
			t.Errorf("%T:\ngot    %s\nsuffix %s", c.value, got, c.want)
		}
	}
}

// A golden guards only what the full value sets.
func TestFullValuesSetEveryField(t *testing.T) {
	for _, d := range dtos {
		v := reflect.ValueOf(d.full)
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("%s.%s is not set", d.name, v.Type().Field(i).Name)
			}
		}
	}
}

func TestFullValuesSurvive(t *testing.T) {
	for _, d := range dtos {
		got, err := d.decode(encode(t, d.full))
		if err != nil {
			t.Errorf("%s: %v", d.name, err)
		} else if !reflect.DeepEqual(got, d.full) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", d.name, got, d.full)
		}
	}
}

func TestUnknownKeysAreIgnored(t *testing.T) {
	for _, d := range dtos {
		var tree any
		if err := json.Unmarshal(encode(t, d.full), &tree); err != nil {
			t.Fatal(err)
		}
		addKeys(tree)
		data := encode(t, tree)
		if !bytes.Contains(data, []byte("from_a_later_version")) {
			t.Fatalf("%s: no key added: %s", d.name, data)
		}
		got, err := d.decode(data)
		if err != nil {
			t.Errorf("%s: %v", d.name, err)
		} else if !reflect.DeepEqual(got, d.full) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", d.name, got, d.full)
		}
	}
}

func TestUnknownKindIsKept(t *testing.T) {
	var r agentprotocol.MemoryRecord
	if err := json.Unmarshal([]byte(`{"id":"mem_1","kind":"hunch"}`), &r); err != nil {
		t.Fatal(err)
	}
	if r.Kind != "hunch" {
		t.Errorf("kind = %q", r.Kind)
	}
	if got := encode(t, r); !bytes.Contains(got, []byte(`"kind":"hunch"`)) {
		t.Errorf("kind is lost: %s", got)
	}
}

// addKeys adds an unknown key to every object but the open maps.
func addKeys(tree any) {
	switch v := tree.(type) {
	case []any:
		for _, item := range v {
			addKeys(item)
		}
	case map[string]any:
		for key, item := range v {
			if key != "metadata" && key != "details" {
				addKeys(item)
			}
		}
		v["from_a_later_version"] = map[string]any{"deep": []any{1, "two"}}
	}
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
