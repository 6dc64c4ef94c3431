// Package workspace joins files, index and rules into what a person or an
// agent asks of a vault: one method of Vault for each use case, shared by the
// command line and every other surface. It finds the vault, settles which
// revision is read and who is asking, opens or builds the index, calls
// governance, and commits what a write changes. It prints nothing.
package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
	"longmemory.dev/lm/vault/memoryfile"
)

// Errors that callers ask for with errors.Is, besides those of vault,
// governance and gitstore. The message around them says what to do next.
var (
	// ErrUsage: the call itself is wrong.
	ErrUsage = errors.New("usage")
	// ErrNotFound: no such asset, or none that the caller may read.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the id is taken, or the asset has another version by now.
	ErrConflict = errors.New("conflict")
)

// Env is what a process knows of its surroundings. Clock and environment come
// in here and nowhere else.
type Env struct {
	Dir      string // where the call is made
	Vault    string // the vault's folder, if the call names one
	Key      string // what the call signs receipts with: a key file; "": Git's key, where signatures are required
	Getenv   func(string) string
	Environ  func() []string
	Now      func() time.Time
	Progress func(done, total int) // of building an index; nil: nobody looks
}

// Vault is a vault that was found. Close it after use.
type Vault struct {
	// Repo is the repository that the vault lies in; nil without Git.
	Repo *gitstore.Repo
	// Dir is the vault's folder on disk; "" in a bare repository.
	Dir string
	// Prefix is the vault's folder relative to the repository's root, with
	// slashes; "" if it is the root.
	Prefix string

	named bool // the call, the environment or Git's config names its folder
	env   Env
}

// Close lets go of open files.
func (v *Vault) Close() {
	if v.Repo != nil {
		v.Repo.Close()
	}
}

// Open finds the vault that a call is about (format.md, "Which vault"): the
// one named, LM_VAULT, git config lm.vault, the nearest folder with vault.yaml
// from here up to the work tree's root, or the only tracked one within two
// folders below that root. It wraps vault.ErrNoVault if there is none.
func Open(env Env) (*Vault, error) {
	dir, err := realDir(env.Dir)
	if err != nil {
		return nil, err
	}
	v := &Vault{env: env}
	if err := v.openRepo(dir); err != nil && !errors.Is(err, gitstore.ErrNoRepository) {
		return nil, err
	}
	named, by := env.Vault, "--vault"
	if named == "" {
		named, by = env.Getenv("LM_VAULT"), "LM_VAULT"
	}
	if named != "" {
		return v.at(dir, named, by)
	}
	if v.Repo == nil {
		return v.nearest(dir, filepath.VolumeName(dir)+string(filepath.Separator))
	}
	configured, ok, err := v.Repo.Config("lm.vault")
	if err != nil {
		return nil, err
	}
	if ok {
		return v.at(cmp.Or(v.Repo.Root(), v.Repo.GitDir()), configured, "git config lm.vault")
	}
	if !v.Repo.Bare() {
		if found, err := v.nearest(dir, v.Repo.Root()); err == nil {
			return found, nil
		}
	}
	return v.tracked()
}

// openRepo opens the repository that a folder lies in.
func (v *Vault) openRepo(dir string) error {
	repo, err := gitstore.Open(dir)
	if v.Repo = repo; repo != nil {
		repo.Sign = v.signCommit
	}
	return err
}

// realDir is a folder's path without symlinks, so that it can be held against
// the repository's.
func realDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("%w: there is no folder %s", ErrUsage, dir)
	}
	return real, nil
}

// at is the vault in a folder that somebody named. The folder may lie in
// another repository than the one the call was made in.
func (v *Vault) at(base, named, by string) (*Vault, error) {
	v.named = true
	if !filepath.IsAbs(named) {
		named = filepath.Join(base, named)
	}
	if v.Repo != nil && v.Repo.Bare() {
		if rel, err := filepath.Rel(base, named); err == nil && !strings.HasPrefix(rel, "..") {
			v.Prefix = cleanPrefix(rel)
			return v, nil
		}
	}
	dir, err := realDir(named)
	if err != nil {
		return nil, fmt.Errorf("%w: %s names %s, and there is no such folder", vault.ErrNoVault, by, named)
	}
	if !hasConfig(dir) {
		return nil, fmt.Errorf("%w in %s, which %s names; make one with lm init", vault.ErrNoVault, dir, by)
	}
	if v.Repo == nil || !within(v.Repo.Root(), dir) {
		if err := v.openRepo(dir); err != nil && !errors.Is(err, gitstore.ErrNoRepository) {
			return nil, err
		}
	}
	return v.in(dir), nil
}

func within(root, dir string) bool {
	rel, err := filepath.Rel(root, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func cleanPrefix(rel string) string {
	if rel = filepath.ToSlash(filepath.Clean(rel)); rel == "." {
		return ""
	}
	return rel
}

// in completes the vault that lies in dir.
func (v *Vault) in(dir string) *Vault {
	v.Dir, v.Prefix = dir, ""
	if v.Repo != nil {
		if rel, err := filepath.Rel(v.Repo.Root(), dir); err == nil {
			v.Prefix = cleanPrefix(rel)
		}
	}
	return v
}

func hasConfig(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, vault.ConfigFile))
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}

// worldWritable says whether everybody may write into a folder, as into /tmp: what lies
// there speaks for nobody who works below it.
func worldWritable(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.Mode().Perm()&0o002 != 0
}

// nearest looks for vault.yaml from dir up to top.
func (v *Vault) nearest(dir, top string) (*Vault, error) {
	for at := dir; ; at = filepath.Dir(at) {
		if hasConfig(at) && (at == dir || !worldWritable(at)) {
			return v.in(at), nil
		}
		if at == top || filepath.Dir(at) == at {
			return nil, fmt.Errorf("%w in %s or a folder above it; make a vault with lm init", vault.ErrNoVault, dir)
		}
	}
}

// tracked looks for the only vault.yaml that Git tracks near the root.
func (v *Vault) tracked() (*Vault, error) {
	where := cmp.Or(v.Repo.Root(), v.Repo.GitDir())
	_, head, err := v.Repo.Head()
	if err != nil {
		return nil, err
	}
	var found []string
	if head != "" {
		if found, err = v.Repo.TrackedVaults(head, 2); err != nil {
			return nil, err
		}
	}
	switch len(found) {
	case 0:
		if head != "" && slices.ContainsFunc(memoryfile.Kinds, func(k memoryfile.Kind) bool {
			there, err := v.Repo.Exists(head, k.In())
			return err == nil && there
		}) {
			return nil, fmt.Errorf("%w here: what is checked out in %s is a branch of memories, which has no vault.yaml; %s", vault.ErrNoVault, where, v.elsewhere())
		}
		return nil, fmt.Errorf("%w in this folder, above it, or tracked in %s; make a vault with lm init", vault.ErrNoVault, where)
	case 1:
		v.Prefix = found[0]
		if !v.Repo.Bare() {
			v.Dir = filepath.Join(v.Repo.Root(), filepath.FromSlash(found[0]))
		}
		return v, nil
	}
	return nil, fmt.Errorf("%w: %s has several vaults (%s); name one with --vault, LM_VAULT or git config lm.vault", vault.ErrNoVault, where, strings.Join(found, ", "))
}

// elsewhere is what to do where the memory branch is checked out.
func (v *Vault) elsewhere() string {
	if v.Repo.GitDir() == v.Repo.CommonDir() {
		return "run: git checkout -"
	}
	return "run lm where the vault is, such as: lm -C " + vault.Quote(filepath.Dir(v.Repo.CommonDir())) + " inbox"
}

// inRepo is the path of a vault's file relative to the repository's root.
func (v *Vault) inRepo(path string) string {
	if v.Prefix == "" {
		return path
	}
	return v.Prefix + "/" + path
}

// inGit is a vault's file as a word of a git command; "" is the vault's folder.
func (v *Vault) inGit(file string) string { return gitstore.Pathspec(path.Join(v.Prefix, file)) }

// StateDir is where lm keeps what it knows about sessions: beside the index,
// outside of all tracked files; "" if there is no such place.
func (v *Vault) StateDir() string {
	if v.Repo != nil {
		return filepath.Join(v.Repo.CommonDir(), "lm", "sessions")
	}
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "lm", "sessions")
	}
	return ""
}
