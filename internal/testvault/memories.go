package testvault

import (
	"fmt"
	"math/rand/v2"
	"time"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/memoryfile"
)

// OldestWords are in the oldest memory of Memories and in no other.
const OldestWords = "zzyzx quokka"

// Memories makes n confirmed memories of the project with their receipts, a
// minute apart, the newest at the end. They go beside what Files makes.
func Memories(seed uint64, n int) []vault.File {
	g := generator{rand.New(rand.NewPCG(seed, seed+1))}
	kinds := []agentprotocol.MemoryKind{agentprotocol.MemoryKindFact, agentprotocol.MemoryKindDecision, agentprotocol.MemoryKindPreference, agentprotocol.MemoryKindProcedure, agentprotocol.MemoryKindTask}
	scope := agentprotocol.Scope{Kind: agentprotocol.ScopeKindProject, ID: Project}
	var files []vault.File
	for i := range n {
		at := time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC)
		var random [10]byte
		for j := range random {
			random[j] = byte(g.IntN(256))
		}
		r := agentprotocol.MemoryRecord{
			SchemaVersion: agentprotocol.SchemaVersion, ID: memoryfile.Records.NewID(at, random), Kind: kinds[g.IntN(len(kinds))], Scope: scope, State: agentprotocol.LifecycleConfirmed,
			Subject: g.words(3), Object: g.words(2), Summary: g.words(15 + g.IntN(25)), Confidence: agentprotocol.ConfidenceMedium,
			Sources: agentprotocol.SourceRefList{{Kind: "file", Ref: fmt.Sprintf("docs/%05d.md", i)}}, CreatorID: "agent:builder", CreatedAt: at, UpdatedAt: at,
		}
		if i == 0 {
			r.Summary = OldestWords
		}
		d, err := memoryfile.New(r)
		if err != nil {
			panic(err) // what is made here is valid
		}
		receipt := vault.Receipt{
			Project: Project, Subject: memoryfile.Records.SubjectOf(r.ID), Kind: memoryfile.ProposalApproved, Seq: 1, From: "proposed", To: "confirmed", Digest: d.Digest,
			Actor: "user:alice", Authors: []string{r.CreatorID}, At: at, Scope: memoryfile.ScopeName(scope), Memory: r.ID, Proposal: memoryfile.ProposalOf(r.ID), SourceRefs: memoryfile.SourceNames(r.Sources),
		}
		files = append(files, d.File, receipt.File())
	}
	return files
}
