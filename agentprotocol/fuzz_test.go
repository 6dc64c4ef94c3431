package agentprotocol_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"longmemory.dev/lm/agentprotocol"
	"pgregory.net/rapid"
)

// FuzzDecode reads arbitrary bytes as every wire type. What can be read can be
// written, and what was written once is read and written unchanged from then
// on; no method panics on it.
func FuzzDecode(f *testing.F) {
	for _, d := range dtos {
		f.Add(encode(f, d.zero))
		f.Add(encode(f, d.full))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, d := range dtos {
			// An empty list that was read is left out when written, so only the
			// second value must come back whole.
			first, err := d.decode(data)
			if err != nil {
				continue
			}
			call(first)
			written := encode(t, first)
			second, err := d.decode(written)
			if err != nil {
				t.Fatalf("%s: %s: %v", d.name, written, err)
			}
			if again := encode(t, second); string(again) != string(written) {
				t.Fatalf("%s:\nfirst  %s\nsecond %s", d.name, written, again)
			}
			if third, err := d.decode(written); err != nil || !reflect.DeepEqual(third, second) {
				t.Fatalf("%s:\nsecond %+v\nthird  %+v, %v", d.name, second, third, err)
			}
		}
	})
}

// call calls every method that takes what an agent sent.
func call(value any) {
	if v, ok := value.(validator); ok {
		if err := v.Validate(); err != nil {
			_ = err.Error()
		}
	}
	switch v := value.(type) {
	case agentprotocol.ContextPack:
		v.EntryCount()
		v.EntryPreviewChars()
		_ = v.AssertNoBody(1)
		v.Sources.Dedupe()
	case agentprotocol.MemoryRecord:
		v.IsExpired(created)
	case agentprotocol.AdapterDescriptor:
		agentprotocol.Negotiate(v, v.SupportedVersions, v.Capabilities)
	}
}

// TestRecordSurvives is decode(encode(x)) = x for whatever text and time a
// record holds, valid or not.
func TestRecordSurvives(t *testing.T) {
	text := rapid.String()
	instant := rapid.Custom(func(t *rapid.T) time.Time {
		seconds := rapid.Int64Range(-62135596800, 253402300799).Draw(t, "seconds") // the years 1 to 9999
		return time.Unix(seconds, rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC()
	})
	source := rapid.Custom(func(t *rapid.T) agentprotocol.SourceRef {
		return agentprotocol.SourceRef{Kind: text.Draw(t, "kind"), Ref: text.Draw(t, "ref"), Label: text.Draw(t, "label"), Span: text.Draw(t, "span")}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := agentprotocol.MemoryRecord{
			SchemaVersion: text.Draw(t, "schema_version"),
			ID:            text.Draw(t, "id"),
			Kind:          agentprotocol.MemoryKind(text.Draw(t, "kind")),
			Scope:         agentprotocol.Scope{Kind: agentprotocol.ScopeKind(text.Draw(t, "scope")), ID: text.Draw(t, "scope id")},
			State:         agentprotocol.LifecycleState(text.Draw(t, "state")),
			Subject:       text.Draw(t, "subject"),
			Predicate:     text.Draw(t, "predicate"),
			Object:        text.Draw(t, "object"),
			Summary:       text.Draw(t, "summary"),
			Confidence:    agentprotocol.Confidence(text.Draw(t, "confidence")),
			Sources:       rapid.SliceOfN(source, 1, 3).Draw(t, "sources"),
			CreatorID:     text.Draw(t, "creator_id"),
			SupersedesID:  text.Draw(t, "supersedes_id"),
			ConflictsWith: rapid.SliceOfN(text, 1, 3).Draw(t, "conflicts_with"),
			CreatedAt:     instant.Draw(t, "created_at"),
			UpdatedAt:     instant.Draw(t, "updated_at"),
			ExpiresAt:     rapid.Ptr(instant, true).Draw(t, "expires_at"),
			Metadata:      rapid.MapOfN(text, text, 1, 3).Draw(t, "metadata"),
		}
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got agentprotocol.MemoryRecord
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
	})
}
