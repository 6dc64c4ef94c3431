package workspace

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

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
	data, err := os.ReadFile(file)
	if err != nil {
		return f, false
	}
	line, rest, _ := strings.Cut(string(data), "\n")
	rules, sum, _ := strings.Cut(strings.TrimSuffix(rest, "\n"), " ")
	if rules != rulesOfFacts || sum != checksum(rules+line) || json.Unmarshal([]byte(line), &f) != nil || f.Config == nil {
		return memoryFact{}, false
	}
	return f, true
}

func writeMemoryFact(file string, f memoryFact) {
	data, err := json.Marshal(f)
	if err != nil || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	_ = WriteFile(file, []byte(string(data)+"\n"+rulesOfFacts+" "+checksum(rulesOfFacts+string(data))+"\n"), 0o600)
}
