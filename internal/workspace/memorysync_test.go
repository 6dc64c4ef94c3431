package workspace

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/internal/testvault"
)

// A sync prunes what was settled long ago, an approved proposal only after its memory
// is for so long where agents read; and what one clone pruned another's act keeps.
func TestPruning(t *testing.T) {
	v := track(t, testvault.Files(1, 40))
	ctx, hub, day := context.Background(), filepath.Join(t.TempDir(), "hub.git"), 24*time.Hour
	v.git("config", "user.email", "alice@example.org")
	v.git("config", "user.name", "alice")
	v.git("clone", "-q", "--bare", v.dir, hub)
	v.git("remote", "add", "origin", hub)
	v.git("fetch", "-q", "origin")
	v.git("config", "lm.trustedRef", "origin/main")

	start := time.Now().Add(-100 * day)
	on := func(days int, identity string) {
		t.Helper()
		v.Close()
		var err error
		if v.Vault, err = Open(Env{Dir: v.dir, Environ: os.Environ, Now: func() time.Time { return start.Add(time.Duration(days) * day) }, Getenv: func(name string) string {
			if name == "LM_IDENTITY" {
				return identity
			}
			return os.Getenv(name)
		}}); err != nil {
			t.Fatal(err)
		}
	}
	propose := func() string {
		t.Helper()
		out, err := v.Propose(ctx, agentprotocol.Proposal{Kind: "fact", Summary: "x", Sources: agentprotocol.SourceRefList{{Kind: "file", Ref: "x"}}}, false)
		if err != nil {
			t.Fatal(err)
		}
		return out.Proposal.ProposalID
	}
	pruned := func(days int, want ...string) {
		t.Helper()
		on(days, "")
		out, err := v.SyncMemory(ctx, "")
		if err != nil || !slices.Equal(out.Pruned, want) && len(out.Pruned)+len(want) > 0 {
			t.Fatalf("day %d: pruned %v, want %v; %v", days, out.Pruned, want, err)
		}
	}

	on(0, "agent:a")
	approved, rejected, waiting := propose(), propose(), propose()
	on(40, "")
	v.git("checkout", "-q", "-b", "work")
	if _, err := v.Approve(ctx, approved, memory.Approval{}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Reject(ctx, rejected, "no"); err != nil {
		t.Fatal(err)
	}
	pruned(40)
	pruned(69)
	pruned(71, rejected)
	v.git("push", "-q", "origin", "work:main")
	v.git("fetch", "-q", "origin")
	pruned(72, approved)
	if p, err := v.Proposals(ProposalsAsk{All: true}); err != nil || p.Total != 1 || p.Proposals[0].ProposalID != waiting {
		t.Errorf("%+v, %v", p, err)
	}

	// Another clone had not seen that yet, and rejects what was pruned here.
	other := filepath.Join(t.TempDir(), "other")
	v.git("clone", "-q", "-c", "user.email=bob@example.org", "-c", "user.name=bob", hub, other)
	there, err := Open(Env{Dir: other, Environ: os.Environ, Now: func() time.Time { return start.Add(73 * day) }, Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	if _, err := there.SyncMemory(ctx, ""); err != nil {
		t.Fatal(err)
	}
	on(73, "")
	if _, err := v.Reject(ctx, waiting, "no"); err != nil {
		t.Fatal(err)
	}
	pruned(104, waiting)
	if _, err := there.Reject(ctx, waiting, "not so"); err == nil {
		out, err := there.SyncMemory(ctx, "")
		if err != nil || !slices.Equal(out.Kept, []string{waiting}) {
			t.Errorf("%+v, %v", out, err)
		}
	} else {
		t.Error(err)
	}
	if p, err := there.ShowProposal(waiting); err != nil || p.Review.Message != "not so" {
		t.Errorf("%+v, %v", p, err)
	}
}
