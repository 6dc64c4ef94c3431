package workspace

import (
	"errors"
	"strings"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
	"longmemory.dev/lm/vault/memoryfile"
)

// memoryFiles reads the vault's documents of memory at a revision or as they lie.
func (v *Vault) memoryFiles(at loaded) ([]vault.File, error) {
	return v.lyingIn(at, memoryfile.Folder)
}

// lyingIn reads the files in a folder of the vault at a revision or as they lie.
func (v *Vault) lyingIn(at loaded, folder string) ([]vault.File, error) {
	limit := func(string) int64 { return maxConfig }
	keep := only(folder)
	switch {
	case at.Commit != "":
		files, err := v.Repo.Files(at.Commit, v.Prefix, maxConfig, keep)
		if errors.Is(err, gitstore.ErrNotFound) {
			err = nil
		}
		return files, err
	case v.Repo == nil:
		files, _, err := v.folderFiles(limit, keep)
		return files, err
	}
	files, _, err := v.workFiles(limit, keep)
	return files, err
}

// memoryProblems are what is wrong with documents of memory: one that cannot be
// read is an error, a record that counts for nothing a warning.
func memoryProblems(s *vault.Snapshot, files []vault.File) []vault.Problem {
	var out []vault.Problem
	for _, f := range files {
		var err error
		switch {
		case strings.HasSuffix(f.Path, "/README.md") || strings.HasPrefix(f.Path[strings.LastIndex(f.Path, "/")+1:], "."):
			continue
		case strings.HasPrefix(f.Path, memoryfile.Records.In()+"/"):
			var d *memoryfile.Document[memory.Record]
			if d, err = memoryfile.Read[memory.Record](f); err == nil {
				if why := standing(s, d, s.Config, false); why != nil {
					out = append(out, vault.Problem{Severity: vault.Warning, Path: f.Path, Line: 1, Column: 1, Message: "nobody remembers it, as it counts for nothing: " + why.Error(),
						Mend: "propose it, and let somebody approve it: lm memory propose"})
				}
			}
		case strings.HasPrefix(f.Path, memoryfile.Proposals.In()+"/"):
			_, err = memoryfile.Read[memoryfile.Proposal](f)
		case strings.HasPrefix(f.Path, memoryfile.Handoffs.In()+"/"):
			_, err = memoryfile.Read[agentprotocol.Handoff](f)
		case strings.HasPrefix(f.Path, memoryfile.Feedbacks.In()+"/"):
			_, err = memoryfile.Read[agentprotocol.Feedback](f)
		default:
			err = vault.Problem{Severity: vault.Error, Path: f.Path, Line: 1, Column: 1, Message: "this is no place of a document of memory", Mend: "documents lie at memory/{records,proposals,handoffs,feedback}/<yyyy>/<mm>/<id>.yaml; move it away"}
		}
		out = append(out, vault.Problems(err)...)
	}
	return out
}
