package workspace

import (
	"errors"
	"fmt"
	"strings"

	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// Snapshot says of which state of the files an answer speaks.
type Snapshot struct {
	// Ref is the name that was resolved: a revision as it was asked for, a
	// trusted ref, "HEAD", "worktree" for files as they lie, or "folder" for a
	// vault without Git.
	Ref string `json:"ref"`
	// Commit is the full hash; "" for files as they lie.
	Commit gitstore.Hash `json:"commit"`
	// Tree is the id of the vault's folder.
	Tree gitstore.Hash `json:"vault_tree"`
}

// Refs of snapshots that no commit names.
const (
	RefWorktree = "worktree"
	RefFolder   = "folder"
)

// Revision says what to read: Rev if it is set, the files as they lie if
// Worktree is, else what the use case reads by itself.
type Revision struct {
	Rev      string
	Worktree bool
}

// loaded is a snapshot with its files, where they had to be read already.
type loaded struct {
	Snapshot
	files []vault.File // nil: not read yet
}

// trusted resolves what loadouts, search and explain read (format.md §5): the
// revision asked for, git config lm.trustedRef, the policy's trusted_ref as
// the remote's default branch states it, else HEAD.
func (v *Vault) trusted(r Revision) (loaded, error) {
	if r.Rev != "" || r.Worktree || v.Repo == nil {
		return v.revision(r)
	}
	ref, ok, err := v.Repo.Config("lm.trustedRef")
	if err != nil {
		return loaded{}, err
	}
	if ok {
		at, err := v.commit(ref)
		if err != nil {
			return loaded{}, fmt.Errorf("git config lm.trustedRef: %w", err)
		}
		return at, nil
	}
	for _, remote := range v.Repo.Remotes() {
		if def, ok := v.Repo.RemoteDefault(remote); ok {
			at, err := v.stated(def)
			if err != nil || at.Commit != "" {
				return at, err
			}
		}
	}
	if at, err := v.stated("HEAD"); err == nil && at.Commit != "" {
		return at, nil
	}
	return v.commit("HEAD")
}

// stated is the trusted ref that the vault.yaml at a ref names; a zero result
// means that it names none or that there is no vault.
func (v *Vault) stated(at string) (loaded, error) {
	commit, err := v.Repo.Resolve(at)
	if err != nil {
		return loaded{}, nil
	}
	fact, err := v.fact(commit)
	if err != nil || fact.trusted == "" {
		return loaded{}, nil
	}
	found, err := v.commit(fact.trusted)
	if err != nil {
		return loaded{}, fmt.Errorf("policy.trusted_ref as %s states it: %w", at, err)
	}
	return found, nil
}

// revision resolves what list, show and writes read: the revision asked for,
// the files as they lie, else HEAD.
func (v *Vault) revision(r Revision) (loaded, error) {
	switch {
	case r.Rev != "" && r.Worktree:
		return loaded{}, fmt.Errorf("%w: --rev and --worktree exclude each other", ErrUsage)
	case r.Rev != "" && v.Repo == nil:
		return loaded{}, fmt.Errorf("%w: %s is no Git repository, so it has no revision %s", gitstore.ErrNotFound, v.Dir, r.Rev)
	case v.Repo == nil:
		return v.lying(RefFolder)
	case r.Worktree:
		return v.lying(RefWorktree)
	}
	return v.commit(cmpOr(r.Rev, "HEAD"))
}

// lying reads the vault's files as they lie on disk. The tree is the whole
// folder's, though only the vault's own files are kept.
func (v *Vault) lying(ref string) (loaded, error) {
	if v.Dir == "" {
		return loaded{}, fmt.Errorf("%w: a bare repository has no work tree; name a revision with --rev", ErrUsage)
	}
	var files []vault.File
	var tree gitstore.Hash
	var err error
	if ref == RefFolder {
		files, tree, err = gitstore.Folder(v.Dir, maxFile, nil)
	} else {
		files, tree, err = v.Repo.WorkFiles(v.Prefix, maxFile, nil)
	}
	kept := files[:0]
	for _, f := range files {
		if keepFile(f.Path) {
			kept = append(kept, f)
		}
	}
	return loaded{Snapshot: Snapshot{Ref: ref, Tree: tree}, files: kept}, err
}

// maxFile is the size in bytes above which no file of a vault is loaded,
// whatever its policy says.
const maxFile = 64 << 20

func keepFile(path string) bool {
	for i, r := range path {
		if r == '/' && !vault.Relevant(path[:i], true) {
			return false
		}
	}
	return vault.Relevant(path, false)
}

func (v *Vault) commit(rev string) (loaded, error) {
	commit, err := v.resolve(rev)
	if err != nil {
		return loaded{}, err
	}
	fact, err := v.fact(commit)
	if err != nil {
		return loaded{}, err
	}
	return loaded{Snapshot: Snapshot{Ref: strings.TrimPrefix(rev, "refs/remotes/"), Commit: commit, Tree: fact.tree}}, nil
}

func (v *Vault) resolve(rev string) (gitstore.Hash, error) {
	if rev != "HEAD" {
		return v.Repo.Resolve(rev)
	}
	ref, head, err := v.Repo.Head()
	if err == nil && head == "" {
		err = fmt.Errorf("%w: %s has no commit yet; commit the vault first, or read it as it lies with --worktree", gitstore.ErrNotFound, ref)
	}
	return head, err
}

// load reads the files of a snapshot, if that was not done already.
func (v *Vault) load(at *loaded) error {
	if at.files != nil {
		return nil
	}
	files, err := v.Repo.Files(at.Commit, v.Prefix, maxFile, vault.Relevant)
	if err != nil {
		return err
	}
	at.files = files
	return nil
}

// read makes the snapshot of a vault's files.
func (v *Vault) read(at *loaded) (*vault.Snapshot, error) {
	if err := v.load(at); err != nil {
		return nil, err
	}
	s, err := vault.Read(at.files)
	if errors.Is(err, vault.ErrNoVault) {
		return nil, fmt.Errorf("%w at %s in %s; commit it first, or read the files as they lie with --worktree", vault.ErrNoVault, at.Ref, cmpOr(v.Prefix, "the repository's root"))
	}
	return s, err
}
