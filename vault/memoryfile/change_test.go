package memoryfile_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/memoryfile"
)

// edited is the file of a document as somebody's editor left it.
func edited[T memoryfile.DTO](t *testing.T, dto T, change func(string) string) vault.File {
	t.Helper()
	d, err := memoryfile.New(dto)
	if err != nil {
		t.Fatal(err)
	}
	text := change(string(d.File.Data))
	if text == string(d.File.Data) {
		t.Fatal("the file was not changed")
	}
	return vault.File{Path: d.File.Path, Data: []byte(text), Size: int64(len(text))}
}

func in(old, fresh string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, fresh, 1) }
}

func TestUnknownKeysAndCommentsStay(t *testing.T) {
	file := edited(t, record(), func(s string) string {
		s = strings.Replace(s, "scope: {kind: project, id: lm}", "scope: {kind: project, id: lm, colour: \"7\"} # where it holds", 1)
		return "# kept by hand\n" + s + "future: {deep: [1, true, 1.5, 2026-01-01]}\n"
	})
	d, err := memoryfile.Read[agentprotocol.MemoryRecord](file)
	if err != nil {
		t.Fatal(err)
	}
	again, err := d.Change(map[string]any{"state": "expired", "conflicts_with": nil, "sources": []any{map[string]any{"kind": "file", "ref": "new"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# kept by hand\n", "colour: \"7\"} # where it holds\n", "future: {deep: [1, true, 1.5, 2026-01-01]}\n", "state: expired\n"} {
		if !strings.Contains(string(again.File.Data), want) {
			t.Errorf("%q is gone:\n%s", want, again.File.Data)
		}
	}
	r := again.DTO
	if r.State != agentprotocol.LifecycleExpired || r.ConflictsWith != nil || len(r.Sources) != 1 || r.Sources[0].Ref != "new" || strings.Contains(string(again.File.Data), "conflicts_with") {
		t.Errorf("the change is not there: %+v\n%s", r, again.File.Data)
	}
	if again.Digest == d.Digest || again.File.Path != d.File.Path || again.File.Size != int64(len(again.File.Data)) {
		t.Errorf("%+v", again)
	}
	if string(d.File.Data) != string(file.Data) || d.DTO.State != agentprotocol.LifecycleConfirmed {
		t.Error("the document that was changed is another now")
	}
	if same(t, record()).Digest == d.Digest {
		t.Error("unknown keys do not count in the digest")
	}
}

func TestKeysOfAnotherCaseAreUnknown(t *testing.T) {
	d, err := memoryfile.Read[agentprotocol.MemoryRecord](edited(t, record(), func(s string) string {
		s = strings.Replace(s, "predicate: are made\n", "Predicate: will be made\n", 1)
		s = strings.Replace(s, "scope: {kind: project, id: lm}", "scope: {kind: project, id: lm, \u212aind: owner, ID: acme}", 1)
		return s + "ID: not-the-id\n\u017ftate: expired\nKind: task\nCONFIDENCE: low\nDATA: [1]\n"
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := record()
	want.Predicate = ""
	if got := d.DTO; got.ID != want.ID || got.State != want.State || got.Scope != want.Scope || got.Kind != want.Kind || got.Confidence != want.Confidence || got.Predicate != "" {
		t.Errorf("%+v", got)
	}
}

func TestChangeRefusesWhatIsNotValid(t *testing.T) {
	d := same(t, record())
	for name, keys := range map[string]map[string]any{
		"a state that is none": {"state": "great"},
		"another id":           {"id": otherID, "conflicts_with": nil, "supersedes_id": nil},
		"another month":        {"created_at": "2026-09-01T00:00:00Z"},
		"no creator":           {"creator_id": nil},
	} {
		if _, err := d.Change(keys); len(vault.Problems(err)) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestChangeThenRead: whatever keys are changed, the file says just that.
func TestChangeThenRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d, err := memoryfile.New(record())
		if err != nil {
			rt.Fatal(err)
		}
		want := record()
		for range rapid.IntRange(1, 4).Draw(rt, "changes") {
			want.State = rapid.SampledFrom([]agentprotocol.LifecycleState{"confirmed", "expired", "superseded", "conflicted"}).Draw(rt, "state")
			want.Summary, want.ConflictsWith, want.UpdatedAt = texts.Draw(rt, "summary"), list(rt, "conflicts"), instant(rt, "updated")
			keys, err := memoryfile.Keys(want)
			if err != nil {
				rt.Fatal(err)
			}
			patch := map[string]any{"summary": nil, "conflicts_with": nil}
			for _, key := range []string{"state", "summary", "conflicts_with", "updated_at"} {
				if value, ok := keys[key]; ok {
					patch[key] = value
				}
			}
			if d, err = d.Change(patch); err != nil {
				rt.Fatal(err)
			}
		}
		fresh, err := memoryfile.New(want)
		if err != nil {
			rt.Fatal(err)
		}
		if d.Digest != fresh.Digest {
			rt.Fatalf("changed\n%s\nnew\n%s", d.File.Data, fresh.File.Data)
		}
	})
}

func TestDigestIgnoresHowItIsWritten(t *testing.T) {
	want := same(t, record()).Digest
	for name, change := range map[string]func(string) string{
		"a comment":         func(s string) string { return "# hello\n" + s },
		"CRLF":              func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"a byte order mark": func(s string) string { return "\ufeff" + s },
		"the order of keys": func(s string) string {
			first, rest, _ := strings.Cut(s, "\n")
			return rest + first + "\n"
		},
		"quotes around a date": in("created_at: 2026-08-01T00:30:00.123Z", `created_at: "2026-08-01T00:30:00.123Z"`),
	} {
		if d, err := memoryfile.Read[agentprotocol.MemoryRecord](edited(t, record(), change)); err != nil || d.Digest != want {
			t.Errorf("%s changes the digest, %v", name, err)
		}
	}
}

func TestARecordOfAnUnknownKindIsKept(t *testing.T) {
	d, err := memoryfile.Read[agentprotocol.MemoryRecord](edited(t, record(), in("kind: decision", "kind: insight")))
	if err != nil || d.DTO.Kind != "insight" {
		t.Fatalf("%+v, %v", d, err)
	}
	if d, err = d.Change(map[string]any{"state": "expired"}); err != nil || d.DTO.Kind != "insight" || d.DTO.State != "expired" {
		t.Fatalf("%+v, %v", d, err)
	}
	fresh := record()
	fresh.Kind = "insight"
	if _, err := memoryfile.New(fresh); err == nil {
		t.Error("a new record of an unknown kind is written")
	}
	if _, err := memoryfile.Read[memoryfile.Proposal](edited(t, proposal(), in("kind: fact", "kind: insight"))); err == nil {
		t.Error("a proposal of an unknown kind is read")
	}
}

func TestFaultsAreProblems(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(string) string
		want   string
	}{
		{"a key twice", func(s string) string { return s + "state: expired\n" }, "state"},
		{"a second document", func(s string) string { return s + "---\na: b\n" }, "document"},
		{"a tab", in("\n  - ", "\n\t- "), "tab"},
		{"not UTF-8", in("releases", "\xff"), "UTF-8"},
		{"a list for a text", in("subject: releases", "subject: [a]"), "subject"},
		{"a text for a map", in("scope: {kind: project, id: lm}", "scope: project"), "scope"},
		{"no value", in("subject: releases", "subject:"), "there is no value"},
		{"no time", in("updated_at: 2026", "updated_at: yesterday # 2026"), "yesterday"},
		{"a kind of scope that is none", in("{kind: project, id: lm}", "{kind: planet, id: lm}"), "planet"},
		{"a source without ref", in("ref: note", "label: note"), "sources[1]"},
		{"a state that is none", in("state: confirmed", "state: great"), "great"},
		{"another version", in("agent_memory.v1", "agent_memory.v2"), "agent_memory.v2"},
		{"in conflict with itself", in("conflicts_with: ["+otherID, "conflicts_with: [mem_"+ulid), "conflicts_with"},
		{"another id", in("id: mem_"+ulid, "id: mem_01kyxp9bm0041061050r3gg28c"), "memory/records/2026/08/mem_01kyxp9bm0041061050r3gg28c.yaml"},
		{"an id that leads away", in("id: mem_"+ulid, "id: mem_../../../../../../../../et"), "no id of the form"},
		{"an id of another kind", in("id: mem_"+ulid, "id: prop_"+ulid), "no id of the form"},
		{"another month", in("created_at: 2026-08", "created_at: 2026-09"), "memory/records/2026/09/"},
		{"another month in UTC", in("created_at: 2026-08-01T00:30:00.123Z", "created_at: 2026-08-01T00:30:00+02:00"), "memory/records/2026/07/"},
		{"no time of its making", in("created_at: 2026", "when: 2026"), "created_at"},
		{"no map", func(string) string { return "- a\n" }, ""},
		{"nothing", func(string) string { return "" }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := edited(t, record(), c.change)
			_, err := memoryfile.Read[agentprotocol.MemoryRecord](file)
			problems := vault.Problems(err)
			if len(problems) == 0 || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want a problem with %s", err, c.want)
			}
			if p := problems[0]; p.Path != file.Path || p.Severity != vault.Error || p.Mend == "" {
				t.Errorf("%+v", p)
			}
		})
	}
}

func TestFilesThatAreNoDocuments(t *testing.T) {
	good := same(t, record()).File
	for name, change := range map[string]func(*vault.File){
		"elsewhere":         func(f *vault.File) { f.Path = "memory/records/mem_" + ulid + ".yaml" },
		"another folder":    func(f *vault.File) { f.Path = strings.Replace(f.Path, "records", "proposals", 1) },
		"another extension": func(f *vault.File) { f.Path = strings.Replace(f.Path, ".yaml", ".yml", 1) },
		"a link":            func(f *vault.File) { f.Kind, f.Data = vault.FileSymlink, nil },
		"too large":         func(f *vault.File) { f.Data, f.Size = nil, 1<<30 },
	} {
		file := good
		change(&file)
		if _, err := memoryfile.Read[agentprotocol.MemoryRecord](file); len(vault.Problems(err)) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := memoryfile.Read[agentprotocol.Handoff](good); len(vault.Problems(err)) == 0 {
		t.Errorf("a record is read as a handoff: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	d, err := memoryfile.New(record())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(d.File.Data)
	f.Add(append(d.File.Data, "x-more: {a: [1, .5]}\nID: 4\n"...))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := vault.File{Path: d.File.Path, Data: data, Size: int64(len(data))}
		read, err := memoryfile.Read[agentprotocol.MemoryRecord](file)
		if err != nil {
			if len(vault.Problems(err)) == 0 {
				t.Fatalf("no problem: %v", err)
			}
			return
		}
		if again, err := memoryfile.New(read.DTO); err == nil && again.File.Path != file.Path {
			t.Fatalf("it lies at %s, and goes to %s", file.Path, again.File.Path)
		}
	})
}
