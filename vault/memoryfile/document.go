package memoryfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/vault"
)

// Proposal is a proposal with the review of it that counts.
type Proposal struct {
	agentprotocol.Proposal
	Review agentprotocol.ProposalReview `json:"review"`
}

// DTO is what a document holds: one of the contract's structs.
type DTO interface {
	agentprotocol.MemoryRecord | Proposal | agentprotocol.Handoff | agentprotocol.Feedback
}

// Document is one file with what it says.
type Document[T DTO] struct {
	DTO    T
	File   vault.File
	Digest vault.Digest // of all keys of the file; what receipts name
}

// about is what the package has to know of each struct.
type about struct {
	kind    Kind
	id      string
	created time.Time
	check   error
}

// sound is what the contract says of a document, and what its scope has to be.
func sound(err error, s agentprotocol.Scope) error { return cmp.Or(err, CheckScope(s)) }

func aboutOf[T DTO](dto T) about {
	switch v := any(dto).(type) {
	case agentprotocol.MemoryRecord:
		return about{Records, v.ID, v.CreatedAt, sound(readable(v).Validate(), v.Scope)}
	case Proposal:
		return about{Proposals, v.ProposalID, v.CreatedAt, sound(v.Validate(), v.Scope)}
	case agentprotocol.Handoff:
		return about{Handoffs, v.HandoffID, v.CreatedAt, sound(v.Validate(), v.Scope)}
	case agentprotocol.Feedback:
		return about{Feedbacks, v.FeedbackID, v.CreatedAt, sound(v.Validate(), v.Scope)}
	}
	panic("memoryfile: a DTO that is none")
}

// readable is a record as readers take it: one of a kind that is not known yet
// is kept as a generic one (protocol.md §2).
func readable(r agentprotocol.MemoryRecord) agentprotocol.MemoryRecord {
	if strings.TrimSpace(string(r.Kind)) != "" && !slices.Contains(kinds, r.Kind) {
		r.Kind = agentprotocol.MemoryKindFact
	}
	return r
}

var kinds = []agentprotocol.MemoryKind{
	agentprotocol.MemoryKindFact, agentprotocol.MemoryKindDecision, agentprotocol.MemoryKindPreference, agentprotocol.MemoryKindProcedure,
	agentprotocol.MemoryKindEvent, agentprotocol.MemoryKindTask, agentprotocol.MemoryKindFailure,
}

// MaxBytes is the size of the largest document.
const MaxBytes = 1 << 20

// fits refuses what no reader would take.
func fits(data []byte) error {
	if len(data) > MaxBytes {
		return agentprotocol.NewStableError(agentprotocol.ErrCodeValidationFailed, fmt.Sprintf("the document has %d bytes, and %d are the most; keep the text in a file, and name that as a source", len(data), MaxBytes))
	}
	return nil
}

// New writes a document. It fails if its contents are not valid by the contract,
// to which no record of an unknown kind is: those are read, and never made.
func New[T DTO](dto T) (*Document[T], error) {
	a := aboutOf(dto)
	if r, ok := any(dto).(agentprotocol.MemoryRecord); ok {
		a.check = cmp.Or(r.Validate(), a.check)
	}
	if err := errors.Join(a.check, a.kind.Check(a.id)); err != nil {
		return nil, err
	}
	data, err := vault.EncodePlain(dto)
	if err != nil {
		return nil, err
	}
	if err := fits(data); err != nil {
		return nil, err
	}
	return Read[T](vault.File{Path: a.kind.Path(a.id, a.created), Data: data, Size: int64(len(data))})
}

// Read reads a document. Keys that the contract does not know are ignored, and
// kept by Change. The error is of Problems: it is no plain YAML map, it is not
// valid by the contract, or it does not lie where its id and time say.
func Read[T DTO](file vault.File) (*Document[T], error) {
	d := &Document[T]{File: file}
	fault := func(message, mend string) error {
		return vault.Problem{Severity: vault.Error, Path: file.Path, Line: 1, Column: 1, Message: message, Mend: mend}
	}
	if file.Kind != vault.FileRegular && file.Kind != vault.FileExecutable || file.Data == nil {
		return nil, fault("this is no plain file of a document's size", mend)
	}
	keys, err := vault.ParsePlain(file)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(Known[T](keys))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &d.DTO); err != nil {
		return nil, fault(strings.TrimPrefix(err.Error(), "json: "), mend)
	}
	a := aboutOf(d.DTO)
	if a.check != nil {
		return nil, fault(a.check.Error(), mend)
	}
	if err := a.kind.Check(a.id); err != nil {
		return nil, fault(err.Error(), mend)
	}
	if want := a.kind.Path(a.id, a.created); want != file.Path {
		return nil, fault(fmt.Sprintf("by its id and created_at it lies at %s", want), "move it there, or restore it from Git")
	}
	d.Digest = vault.CanonicalDigest(keys)
	return d, nil
}

// Known are the keys of a struct of the contract among those of a map, in maps
// within maps too. Package json would take others for them that differ in case
// alone.
func Known[T any](keys any) any { return known(reflect.TypeFor[T](), keys) }

func known(t reflect.Type, value any) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := value.(type) {
	case map[string]any:
		if t.Kind() != reflect.Struct {
			return v
		}
		out := map[string]any{}
		for _, field := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if child, ok := v[name]; ok && name != "" {
				out[name] = known(field.Type, child)
			}
		}
		return out
	case []any:
		if t.Kind() != reflect.Slice {
			return v
		}
		out := make([]any, len(v))
		for i, child := range v {
			out[i] = known(t.Elem(), child)
		}
		return out
	}
	return value
}

const mend = "documents of memory are written by lm: restore the file from Git (git log -- :/<file>)"

// Change writes a document with some of its keys changed, nil removing one; the
// rest of the file stays as it is, comments and unknown keys too.
func (d *Document[T]) Change(keys map[string]any) (*Document[T], error) {
	data, err := vault.Edit(d.File.Data, false, keys)
	if err != nil {
		return nil, err
	}
	if err := fits(data); err != nil {
		return nil, err
	}
	return Read[T](vault.File{Path: d.File.Path, Data: data, Size: int64(len(data))})
}

// Keys are a struct of the contract as Change takes it.
func Keys(value any) (map[string]any, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	err = json.Unmarshal(data, &out)
	return out, err
}
