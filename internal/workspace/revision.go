package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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
		at, err := v.stated(v.defaultOf(remote))
		if err != nil || at.Commit != "" {
			return at, err
		}
	}
	// No remote says what is trusted. HEAD may still name a ref that is stricter
	// than itself; one that is not there yet (nothing was pushed) is HEAD.
	head, err := v.commit("HEAD")
	if err != nil {
		return loaded{}, err
	}
	if at, err := v.stated("HEAD"); err == nil && at.Commit != "" {
		return at, nil
	}
	return head, nil
}

// defaultOf is a remote's default branch: what its HEAD says here, else main or
// master, as after a fetch that set no HEAD.
func (v *Vault) defaultOf(remote string) string {
	if def, ok := v.Repo.RemoteDefault(remote); ok {
		return def
	}
	for _, branch := range []string{"main", "master"} {
		ref := "refs/remotes/" + remote + "/" + branch
		if _, err := v.Repo.Resolve(ref); err == nil {
			return ref
		}
	}
	return "refs/remotes/" + remote + "/HEAD"
}

// stated is the trusted ref that the vault.yaml at a ref names; a zero result
// means that it names none or that there is no vault. A vault.yaml that cannot
// be read is an error: what it would have stated is not known.
func (v *Vault) stated(at string) (loaded, error) {
	commit, err := v.Repo.Resolve(at)
	if errors.Is(err, gitstore.ErrNotFound) {
		return loaded{}, nil
	}
	if err != nil {
		return loaded{}, err
	}
	fact, err := v.fact(commit)
	if errors.Is(err, vault.ErrNoVault) { // a branch that moved the vault is still bound by what it had stated
		before := *v
		if before.Prefix, err = v.folderAt(commit); err == nil {
			fact, err = before.fact(commit)
		}
	}
	switch {
	case errors.Is(err, vault.ErrNoVault) || err == nil && fact.trusted == "":
		return loaded{}, nil
	case err != nil:
		return loaded{}, fmt.Errorf("what %s trusts cannot be read: %w", at, err)
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
	return v.commit(cmp.Or(r.Rev, "HEAD"))
}

// lying reads the vault's files as they lie on disk. The tree is the whole
// folder's, though only the vault's own files are kept.
func (v *Vault) lying(ref string) (loaded, error) {
	if v.Dir == "" {
		return loaded{}, fmt.Errorf("%w: a bare repository has no work tree; name a revision with --rev", ErrUsage)
	}
	walk := v.workFiles
	if ref == RefFolder {
		walk = v.folderFiles
	}
	onlyConfig := func(p string, folder bool) bool { return p == vault.ConfigFile && !folder }
	config, _, err := walk(func(string) int64 { return maxConfig }, onlyConfig)
	if err != nil {
		return loaded{}, err
	}
	most, keep := maxConfig, gitstore.Keep(vault.Relevant)
	if len(config) == 1 {
		most, keep = loading(config[0].Data, keep)
	}
	// A vault that is a repository's root lies among much that is not the
	// vault's: that is hashed for the tree, and never held.
	files, tree, err := walk(func(p string) int64 {
		if keepFile(p, keep) {
			return most
		}
		return -1
	}, nil)
	kept := []vault.File{}
	for _, f := range files {
		if keepFile(f.Path, keep) {
			kept = append(kept, f)
		}
	}
	return loaded{Snapshot: Snapshot{Ref: ref, Tree: tree}, files: kept}, err
}

// keepFile says whether a file of the vault's folder is kept.
func keepFile(p string, keep gitstore.Keep) bool {
	for i, r := range p {
		if r == '/' && !keep(p[:i], true) {
			return false
		}
	}
	return keep(p, false)
}

// loading says what of a vault is loaded by its vault.yaml: the allowed signers
// besides what keep does, and nothing above so many bytes.
func loading(configData []byte, keep gitstore.Keep) (int64, gitstore.Keep) {
	config, err := vault.ParseConfig(configData)
	if err != nil {
		return maxConfig, keep
	}
	return limitOf(config), signersToo(keep, config)
}

// signersToo keeps a vault's allowed signers besides what keep does.
func signersToo(keep gitstore.Keep, config *vault.Config) gitstore.Keep {
	signers := only(config.Policy.AllowedSigners)
	return func(p string, folder bool) bool { return keep(p, folder) || signers(p, folder) }
}

func (v *Vault) workFiles(limit gitstore.Limit, keep gitstore.Keep) ([]vault.File, gitstore.Hash, error) {
	return v.Repo.WorkFiles(v.Prefix, limit, keep)
}

func (v *Vault) folderFiles(limit gitstore.Limit, keep gitstore.Keep) ([]vault.File, gitstore.Hash, error) {
	return gitstore.Folder(v.Dir, limit, keep)
}

// maxConfig is the size in bytes above which vault.yaml and receipts are not
// read.
const maxConfig int64 = vault.ConfigBytes

// loadLimit is the size in bytes above which a file of a vault is not loaded:
// what its vault.yaml allows for an asset.
func loadLimit(configData []byte) int64 {
	config, err := vault.ParseConfig(configData)
	if err != nil {
		return maxConfig
	}
	return limitOf(config)
}

func limitOf(config *vault.Config) int64 { return max(config.Policy.Limits.AssetBytes, maxConfig) }

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
		err = fmt.Errorf("%w: %s has no commit yet; run: git add %s && git commit", gitstore.ErrNotFound, ref, v.inGit(""))
	}
	return head, err
}

// load reads the files of a snapshot, if that was not done already.
func (v *Vault) load(at *loaded) error {
	if at.files != nil {
		return nil
	}
	files, err := v.filesAt(at.Commit, vault.Relevant)
	at.files = notNil(files)
	return err
}

// filesAt reads files of the vault at a commit and its allowed signers, none
// above what its vault.yaml allows.
func (v *Vault) filesAt(commit gitstore.Hash, keep gitstore.Keep) ([]vault.File, error) {
	config, err := v.Repo.File(commit, v.inRepo(vault.ConfigFile), maxConfig)
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return nil, err
	}
	limit, keep := loading(config.Data, keep)
	return v.Repo.Files(commit, v.Prefix, limit, keep)
}

// governed gives the bytes that receipts name, from the repository: what a
// vault's files refer to beside themselves. Files of more than limit bytes are
// not loaded.
func (v *Vault) governed(limit int64) vault.Past {
	if v.Repo == nil {
		return nil
	}
	return func(object string) ([]vault.File, error) { return v.Repo.Object(gitstore.Hash(object), limit) }
}

// read makes the snapshot of a vault's files.
func (v *Vault) read(at *loaded) (*vault.Snapshot, error) {
	if err := v.load(at); err != nil {
		return nil, err
	}
	limit := maxConfig
	if i := slices.IndexFunc(at.files, func(f vault.File) bool { return f.Path == vault.ConfigFile }); i >= 0 {
		limit = loadLimit(at.files[i].Data)
	}
	s, err := vault.Read(at.files, v.governed(limit)) // beside an invalid vault.yaml there may be a snapshot, for validate
	switch {
	case errors.Is(err, vault.ErrNoVault) && at.Ref == RefWorktree:
		return nil, fmt.Errorf("%w in the work tree in %s; bring it back with git checkout, or name a revision with --rev", vault.ErrNoVault, folderName(v.Prefix))
	case errors.Is(err, vault.ErrNoVault):
		return nil, fmt.Errorf("%w at %s in %s; commit it first, or read the files as they lie with --worktree", vault.ErrNoVault, at.Ref, folderName(v.Prefix))
	}
	return s, err
}
