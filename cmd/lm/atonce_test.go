package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// atOnce runs lm with each list of arguments, all at the same time, and gives the
// exit codes, sorted.
func (f *forger) atOnce(calls ...[]string) []int {
	f.t.Helper()
	binary, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	codes := make(chan int)
	for _, args := range calls {
		go func() {
			cmd := exec.Command(binary, append(args, "-C", f.dir)...)
			cmd.Env = append(os.Environ(), asLM+"=1")
			_ = cmd.Run()
			codes <- cmd.ProcessState.ExitCode()
		}()
	}
	var out []int
	for range calls {
		out = append(out, <-codes)
	}
	slices.Sort(out)
	return out
}

// propose proposes a fact and gives its id.
func (f *forger) propose(args ...string) string {
	f.t.Helper()
	var p struct {
		ID string `json:"proposal_id"`
	}
	if err := json.Unmarshal([]byte(f.lm(0, append([]string{"memory", "propose", "--kind", "fact", "--summary", "x", "--source", "file:x", "--json"}, args...)...)), &p); err != nil {
		f.t.Fatal(err)
	}
	return p.ID
}

// recalled are the ids of the memories that agents get.
func (f *forger) recalled() []string {
	f.t.Helper()
	var r struct{ Records []struct{ ID string } }
	if err := json.Unmarshal([]byte(f.lm(0, "memory", "recall", "--json")), &r); err != nil {
		f.t.Fatal(err)
	}
	var ids []string
	for _, record := range r.Records {
		ids = append(ids, record.ID)
	}
	return ids
}

// TestOneApprovalWins: two processes approve one proposal at once; one makes the
// record, the other gets conflict, and one record exists.
func TestOneApprovalWins(t *testing.T) {
	f := newForger(t)
	for range 5 {
		f.as("alice")
		id := f.propose()
		f.as("bob")
		approve := []string{"memory", "approve", id, "--reason", "yes"}
		if codes := f.atOnce(approve, approve); !slices.Equal(codes, []int{0, exitConflict}) {
			t.Errorf("exit codes %d, want 0 and %d", codes, exitConflict)
		}
		var shown struct{ Receipts []any }
		if err := json.Unmarshal([]byte(f.lm(0, "memory", "show", "mem_"+strings.TrimPrefix(id, "prop_"), "--json")), &shown); err != nil || len(shown.Receipts) != 1 {
			t.Errorf("%d receipts, %v", len(shown.Receipts), err)
		}
	}
	f.sh(`test "$(git status --porcelain | wc -l)" = 0 && git fsck --strict 2>/dev/null`)
	f.lm(0, "verify")
}

// TestContradictionsMeet: approvals at once of proposals that contradict or repeat
// each other are decided one after the other.
func TestContradictionsMeet(t *testing.T) {
	f := newForger(t)
	for round := range 3 {
		var approvals [][]string
		for i, object := range []string{"postgres", "mysql", "postgres"} {
			// Another proposer each time: one's own later proposal takes the earlier one's place.
			t.Setenv("LM_IDENTITY", fmt.Sprintf("agent:a%d", i))
			id := f.propose("--subject", fmt.Sprintf("db %d", round), "--object", object)
			approvals = append(approvals, []string{"memory", "approve", id, "--reason", "yes"})
		}
		t.Setenv("LM_IDENTITY", "")
		if codes := f.atOnce(approvals...); !slices.Equal(codes, []int{0, exitConflict, exitConflict}) {
			t.Errorf("exit codes %d, want one 0 and two %d", codes, exitConflict)
		}
	}
	f.lm(0, "verify")
}

// TestAgentsAtOnce: what agents propose and confirm at the same time is decided one
// after the other: no two confirmed memories contradict or repeat each other, and of
// an agent's proposals of one subject the last one waits.
func TestAgentsAtOnce(t *testing.T) {
	f := newForger(t)
	f.sh(`sed -i 's/require_reason: true}/require_reason: true, memory: {auto_confirm: true}}\nagents:\n  conf: {capabilities: [read, propose, confirm]}/' vault.yaml`)
	f.commit("Let an agent confirm")
	t.Setenv("LM_IDENTITY", "agent:conf")
	call := func(subject, object string, more ...string) []string {
		return append([]string{"memory", "propose", "--kind", "fact", "--summary", "x", "--source", "file:x", "--subject", subject, "--object", object}, more...)
	}
	for name, objects := range map[string][]string{"contradict": {"a", "b", "c", "d"}, "repeat": {"a", "a", "a", "a"}} {
		before := len(f.recalled())
		var calls [][]string
		for _, object := range objects {
			calls = append(calls, call(name, object, "--confirm"))
		}
		if codes := f.atOnce(calls...); slices.Max(codes) > exitConflict {
			t.Errorf("%s: exit codes %d", name, codes)
		}
		if n := len(f.recalled()) - before; n != 1 {
			t.Errorf("%s: %d memories are confirmed, want 1", name, n)
		}
	}
	var calls [][]string
	for _, object := range []string{"a", "b", "c", "d"} {
		calls = append(calls, call("later", object))
	}
	if codes := f.atOnce(calls...); !slices.Equal(codes, []int{0, 0, 0, 0}) {
		t.Errorf("exit codes %d", codes)
	}
	var waiting struct{ Proposals []struct{ Subject string } }
	if err := json.Unmarshal([]byte(f.lm(0, "memory", "proposals", "--json")), &waiting); err != nil {
		t.Fatal(err)
	}
	later := 0
	for _, p := range waiting.Proposals {
		if p.Subject == "later" {
			later++
		}
	}
	if later != 1 {
		t.Errorf("%d proposals of one subject wait, want 1", later)
	}
	f.lm(0, "verify")
}

// TestRestoresAtOnce: two memories that contradict each other are not both brought
// back, whoever is faster.
func TestRestoresAtOnce(t *testing.T) {
	f := newForger(t)
	for round := range 4 {
		var ids []string
		for _, object := range []string{"a", "b"} {
			t.Setenv("LM_IDENTITY", "agent:"+object)
			id := f.propose("--subject", fmt.Sprintf("db %d", round), "--object", object)
			t.Setenv("LM_IDENTITY", "")
			f.lm(0, "memory", "approve", id, "--reason", "yes")
			ids = append(ids, "mem_"+strings.TrimPrefix(id, "prop_"))
			f.lm(0, "memory", "expire", ids[len(ids)-1], "--reason", "no")
		}
		var calls [][]string
		for _, id := range ids {
			calls = append(calls, []string{"memory", "restore", id, "--reason", "yes"})
		}
		if codes := f.atOnce(calls...); !slices.Equal(codes, []int{0, exitConflict}) {
			t.Errorf("exit codes %d, want 0 and %d", codes, exitConflict)
		}
	}
	f.lm(0, "verify")
}

// TestApproveBesideReject: of an approval and a rejection at once one holds.
func TestApproveBesideReject(t *testing.T) {
	f := newForger(t)
	for range 4 {
		t.Setenv("LM_IDENTITY", "agent:a")
		id := f.propose()
		t.Setenv("LM_IDENTITY", "")
		if codes := f.atOnce([]string{"memory", "approve", id, "--reason", "yes"}, []string{"memory", "reject", id, "--reason", "no"}); !slices.Equal(codes, []int{0, exitConflict}) {
			t.Errorf("exit codes %d, want 0 and %d", codes, exitConflict)
		}
	}
	if out := f.lm(0, "inbox"); strings.Contains(out, "elsewhere") {
		t.Errorf("both hold:\n%s", out)
	}
	f.lm(0, "verify")
}
