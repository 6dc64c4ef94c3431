// Package testvault makes vaults of any size for tests and benchmarks: the same
// seed and size give the same bytes on every machine. The texts are made of
// invented words with a long tail, as real texts have, so that an index of
// them behaves like an index of real ones.
package testvault

import (
	"crypto/sha1"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"longmemory.dev/lm/vault"
)

// Config is the vault.yaml of every generated vault.
const Config = "schema: lm.vault/v1\nproject: generated\ndefaults: {owner: \"user:alice\"}\n"

// Project is the project that Config names.
const Project = "generated"

var types = []struct {
	kind   vault.Type
	folder string
}{{vault.TypeSkill, "skills"}, {vault.TypeWiki, "wikis"}, {vault.TypeChatMemory, "chats"}, {vault.TypeCodeGraph, "graphs"}}

// Files makes a vault of n assets with bodies of about 2.5 kB. Of twenty,
// seventeen are approved, one is a candidate, one deprecated, one edited after
// its approval; one in ten is bound to agent:reviewer.
func Files(seed uint64, n int) []vault.File {
	g := generator{rand.New(rand.NewPCG(seed, seed))}
	files := []vault.File{file(vault.ConfigFile, Config)}
	for i := range n {
		files = append(files, g.asset(i)...)
	}
	return files
}

type generator struct{ *rand.Rand }

func file(path, data string) vault.File {
	return vault.File{Path: path, Data: []byte(data), Size: int64(len(data))}
}

// asset makes an asset and its receipts.
func (g generator) asset(i int) []vault.File {
	kind := types[g.IntN(len(types))]
	id := fmt.Sprintf("%s-%s-%05d", g.word(), g.word(), i)
	status := vault.StatusApproved
	switch i % 20 {
	case 7:
		status = vault.StatusCandidate
	case 13:
		status = vault.StatusDeprecated
	}
	keys := map[string]any{
		"schema": vault.AssetSchema, "id": id, "type": string(kind.kind), "name": g.words(2 + g.IntN(3)), "description": g.words(10 + g.IntN(15)),
		"owner": "user:alice", "version": 1, "status": string(status), "labels": []any{g.word(), g.word()},
	}
	if i%10 == 3 {
		keys["bindings"] = []any{map[string]any{"target": "agent:reviewer", "mode": string(vault.Modes[g.IntN(len(vault.Modes))]), "priority": float64(g.IntN(100)) / 100}}
	}
	path := fmt.Sprintf("assets/%s/%s.md", kind.folder, id)
	asset := file(path, string(vault.NewAssetFile(keys, []byte(g.body()))))
	parsed, err := vault.ParseAsset(path, []vault.File{asset}, vault.DefaultConfig())
	if err != nil {
		panic(err) // the generator makes valid assets only
	}
	out := []vault.File{asset}
	var prev vault.Digest
	from := vault.Status("")
	for seq, to := range states(status) {
		r := vault.Receipt{Project: Project, Subject: "asset/" + id, Kind: vault.ReceiptGoverned, Seq: seq + 1, Version: 1, From: from, To: to,
			Digest: parsed.Digest, Object: blob(asset.Data), Prev: prev, Actor: "user:alice", Authors: []string{"user:alice"}, At: time.Unix(1700000000+int64(i), 0).UTC()}
		out = append(out, r.File())
		from, prev = to, r.Hash()
	}
	if i%20 == 17 {
		out[0].Data = append(out[0].Data, "Edited since.\n"...)
		out[0].Size = int64(len(out[0].Data))
	}
	return out
}

// blob is Git's id of a file.
func blob(data []byte) string {
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(data), data)))
}

// states are those that an asset went through to get where it is.
func states(status vault.Status) []vault.Status {
	switch status {
	case vault.StatusCandidate:
		return []vault.Status{vault.StatusCandidate}
	case vault.StatusDeprecated:
		return []vault.Status{vault.StatusCandidate, vault.StatusApproved, vault.StatusDeprecated}
	}
	return []vault.Status{vault.StatusCandidate, vault.StatusApproved}
}

func (g generator) body() string {
	var b strings.Builder
	for b.Len() < 2400 {
		fmt.Fprintf(&b, "## %s\n\n", g.words(3))
		for range 2 + g.IntN(3) {
			fmt.Fprintf(&b, "%s. ", g.words(8+g.IntN(12)))
		}
		b.WriteString("\n\n")
	}
	return b.String()
}

func (g generator) words(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = g.word()
	}
	return strings.Join(out, " ")
}

var syllables = strings.Fields("ka lo mi ren tas vu pel dor shi nak bru fen gol hap jin kel lum mor nis pra")

// word is one of some 160,000 invented words; the rank of a word is drawn so
// that a few are common and most are rare.
func (g generator) word() string {
	rank := int(160000 * g.Float64() * g.Float64() * g.Float64() * g.Float64())
	out := ""
	for range 2 + rank%3 {
		out += syllables[rank%len(syllables)]
		rank = rank/len(syllables) + 7*rank%13
	}
	return out
}
