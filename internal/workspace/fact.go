package workspace

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// fact is what is true of a commit for ever: which tree the vault's folder
// has, and which trusted ref its vault.yaml states. It is kept beside the
// index, because finding it out means opening a pack file, which costs more
// than a whole loadout in a large repository.
type fact struct {
	tree    gitstore.Hash
	trusted string
}

// fact looks a commit's fact up, or finds it out and keeps it. A commit
// without the vault is an error that wraps vault.ErrNoVault, one whose
// vault.yaml cannot be read the problems of that file.
func (v *Vault) fact(commit gitstore.Hash) (fact, error) {
	file := v.factFile(commit)
	if f, ok := readFact(file); ok {
		return f, nil
	}
	tree, err := v.Repo.Subtree(commit, v.Prefix)
	if errors.Is(err, gitstore.ErrNotFound) {
		return fact{}, fmt.Errorf("%w: %.12s has no folder %s", vault.ErrNoVault, commit, v.Prefix)
	}
	if err != nil {
		return fact{}, err
	}
	f := fact{tree: tree}
	config, err := v.Repo.File(commit, v.inRepo(vault.ConfigFile), maxConfig)
	if errors.Is(err, gitstore.ErrNotFound) {
		return fact{}, fmt.Errorf("%w at %.12s in %s; commit it first, or read the files as they lie with --worktree", vault.ErrNoVault, commit, folderName(v.Prefix))
	}
	if err != nil {
		return fact{}, err
	}
	parsed, err := vault.ReadConfig(config)
	if err != nil {
		return fact{}, err // never kept: another lm may read it
	}
	f.trusted = parsed.Policy.TrustedRef
	writeFact(file, f) // best effort: the next call finds it out again
	return f, nil
}

func (v *Vault) factDir() string { return filepath.Join(v.Repo.CommonDir(), "lm", "commits") }

func (v *Vault) factFile(commit gitstore.Hash) string {
	sum := sha256.Sum256([]byte(v.Prefix))
	return filepath.Join(v.factDir(), string(commit)+"-"+hex.EncodeToString(sum[:16]))
}

func readFact(file string) (fact, bool) {
	line, ok := readKept(file, "")
	tree, trusted, _ := strings.Cut(line, " ")
	return fact{tree: gitstore.Hash(tree), trusted: trusted}, ok
}

func writeFact(file string, f fact) { writeKept(file, "", string(f.tree)+" "+f.trusted) }

// readKept reads a line that writeKept kept by the same rules.
func readKept(file, rules string) (line string, ok bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", false
	}
	line, sum, _ := strings.Cut(string(data), "\n")
	return line, strings.TrimSuffix(sum, "\n") == checksum(rules+line)
}

// writeKept keeps a line with a checksum over it and the rules that it was found
// out by, and says whether it could. What cannot be kept is found out again.
func writeKept(file, rules, line string) bool {
	return os.MkdirAll(filepath.Dir(file), 0o700) == nil && WriteFile(file, []byte(line+"\n"+checksum(rules+line)+"\n"), 0o600) == nil
}

func checksum(line string) string {
	sum := sha256.Sum256([]byte(line))
	return hex.EncodeToString(sum[:8])
}

// keptFacts is how many commits' facts are kept.
const keptFacts = 64

// pruneFacts drops the oldest facts.
func (v *Vault) pruneFacts() { Prune(v.factDir(), keptFacts) }

// Prune keeps the newest files of a folder that holds nothing but files of lm's
// that can be made again. What it cannot remove stays.
func Prune(dir string, keep int) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= keep {
		return
	}
	age := func(e os.DirEntry) int64 {
		if info, err := e.Info(); err == nil {
			return info.ModTime().UnixNano()
		}
		return 0
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return cmp.Compare(age(b), age(a)) })
	for _, e := range entries[keep:] {
		_ = os.Remove(filepath.Join(dir, e.Name()))
	}
}
