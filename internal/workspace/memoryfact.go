package workspace

import (
	"encoding/json"
	"errors"

	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
	"longmemory.dev/lm/vault/memoryfile"
)

// memoryFact is what is true of a commit for ever about memory: what an index of
// its memories is made of, and the vault's rules there. It is kept beside the
// commit's other fact, for the same reason.
type memoryFact struct {
	Trees  memoryTrees   `json:"trees"` // but for the branch
	Config *vault.Config `json:"config"`
}

// memoryFact looks a commit's fact up, or finds it out and keeps it.
func (v *Vault) memoryFact(commit gitstore.Hash) (memoryFact, error) {
	file := v.factFile(commit) + "-memory"
	if f, ok := readMemoryFact(file); ok {
		return f, nil
	}
	var f memoryFact
	config, err := v.Repo.File(commit, v.inRepo(vault.ConfigFile), maxConfig)
	if err != nil {
		return f, err
	}
	if f.Config, err = vault.ReadConfig(config); err != nil {
		return f, err
	}
	f.Trees.Config = gitstore.Hash(config.Object)
	for folder, into := range map[string]*gitstore.Hash{memoryfile.Records.In(): &f.Trees.Records, memoryfile.Records.Receipts(): &f.Trees.Receipts} {
		tree, err := v.Repo.Subtree(commit, v.inRepo(folder))
		if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return f, err
		}
		*into = tree
	}
	if f.Config.Policy.Signatures == vault.SignaturesRequired {
		signers, err := v.Repo.File(commit, v.inRepo(f.Config.Policy.AllowedSigners), 0)
		if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return f, err
		}
		f.Trees.Signers = gitstore.Hash(signers.Object)
	}
	writeMemoryFact(file, f)
	return f, nil
}

// rulesOfFacts names what a kept fact's configuration was read by.
const rulesOfFacts = vault.RulesVersion + "/" + memoryRules

func readMemoryFact(file string) (f memoryFact, ok bool) {
	line, ok := readKept(file, rulesOfFacts)
	if !ok || json.Unmarshal([]byte(line), &f) != nil || f.Config == nil {
		return memoryFact{}, false
	}
	return f, true
}

func writeMemoryFact(file string, f memoryFact) {
	if data, err := json.Marshal(f); err == nil {
		writeKept(file, rulesOfFacts, string(data))
	}
}
