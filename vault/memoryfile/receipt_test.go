package memoryfile_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/memoryfile"
)

// stored is a receipt as the vault gives it back.
func stored(t *testing.T, r vault.Receipt) *vault.Receipt {
	t.Helper()
	read, err := vault.ParseReceipt(r.File())
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func approval() vault.Receipt {
	return vault.Receipt{
		Project: "lm", Subject: memoryfile.Records.SubjectOf("mem_" + ulid), Kind: memoryfile.ProposalApproved, Seq: 1, From: "proposed", To: "confirmed",
		Digest: vault.Digest("sha256:" + strings.Repeat("0", 64)), Actor: "user:alice", Reason: "because", At: at,
		Scope: memoryfile.ScopeName(record().Scope), Memory: "mem_" + ulid, Proposal: "prop_" + ulid, SourceRefs: memoryfile.SourceNames(record().Sources),
	}
}

func TestAsProtocol(t *testing.T) {
	r := stored(t, approval())
	want := agentprotocol.Receipt{
		SchemaVersion: agentprotocol.SchemaVersion, ReceiptID: "rcpt_" + strings.TrimPrefix(string(r.Hash()), "sha256:")[:26],
		Kind: "proposal_approved", PrincipalID: "user:alice", Scope: agentprotocol.Scope{Kind: "project", ID: "lm"},
		MemoryID: "mem_" + ulid, ProposalID: "prop_" + ulid, LifecycleFrom: "proposed", LifecycleTo: "confirmed", CreatedAt: at,
		SourceRefs: agentprotocol.SourceRefList{{Kind: "url", Ref: "https://example.org/a"}, {Kind: "asset", Ref: "note"}},
	}
	if got := memoryfile.AsProtocol(r); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestAsProtocolOfHandoffsAndFeedback(t *testing.T) {
	for kind, what := range map[string]memoryfile.Kind{memoryfile.HandoffCreated: memoryfile.Handoffs, memoryfile.FeedbackAdded: memoryfile.Feedbacks} {
		r := approval()
		r.Kind, r.Subject, r.From, r.To, r.Scope = kind, what.SubjectOf(what.Prefix+ulid), "", memoryfile.Recorded, "task:a:b"
		r.Memory, r.Proposal, r.SourceRefs = "", "", nil
		got := memoryfile.AsProtocol(stored(t, r))
		if got.LifecycleFrom != "" || got.LifecycleTo != "" {
			t.Errorf("%s has a lifecycle: %+v", kind, got)
		}
		if got.Scope != (agentprotocol.Scope{Kind: "task", ID: "a:b"}) || got.SourceRefs != nil || got.MemoryID != "" {
			t.Errorf("%+v", got)
		}
	}
}

func TestScopeNames(t *testing.T) {
	for _, want := range []agentprotocol.Scope{{Kind: "project", ID: "lm"}, {Kind: "task", ID: "a:b"}, {Kind: "owner", ID: " x "}} {
		if got, err := memoryfile.ParseScope(memoryfile.ScopeName(want)); err != nil || got != want {
			t.Errorf("%v is %v, %v", want, got, err)
		}
	}
	for _, name := range []string{"", "lm", "project", "project:", ":lm", "planet:lm", "Project:lm", "project: "} {
		_, err := memoryfile.ParseScope(name)
		refused(t, err, agentprotocol.ErrCodeInvalidScope)
	}
}

func refused(t *testing.T, err error, code string) {
	t.Helper()
	var stable *agentprotocol.StableError
	if !errors.As(err, &stable) || stable.Code != code {
		t.Errorf("%v, want %s", err, code)
	}
}
