package gitstore

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"longmemory.dev/lm/vault"
)

// Head is the branch that is checked out, as a full ref name ("" when HEAD is
// detached), and the commit it names ("" on an unborn branch). It reads ref
// files only.
func (r *Repo) Head() (ref string, h Hash, err error) {
	ref, h, err = r.followRef("HEAD")
	if ref == "HEAD" {
		ref = ""
	}
	return ref, h, err
}

// Branch is the commit that a branch or other full ref name ("refs/heads/x")
// stands for; ErrNotFound if there is none. It reads ref files only.
func (r *Repo) Branch(ref string) (Hash, error) {
	if !safeRef(ref) {
		return "", fmt.Errorf("%q is not a full ref name such as refs/heads/main: %w", ref, ErrNotFound)
	}
	_, h, err := r.followRef(ref)
	if err == nil && h == "" {
		err = fmt.Errorf("%s in %s: %w", ref, r.where(), ErrNotFound)
	}
	return h, err
}

// Remotes lists the configured remotes, sorted.
func (r *Repo) Remotes() []string {
	names := r.local.subsections("remote")
	slices.Sort(names)
	return slices.Compact(names)
}

// RemoteDefault is the branch that a remote calls its default, as the full
// name of its tracking ref: what refs/remotes/<remote>/HEAD points to.
func (r *Repo) RemoteDefault(remote string) (ref string, ok bool) {
	name := "refs/remotes/" + remote + "/HEAD"
	if !safeRef(name) {
		return "", false
	}
	target, _, err := r.readRef(name)
	return target, err == nil && target != ""
}

// followRef follows symbolic refs from name to the last one, which need not
// exist (h is then "").
func (r *Repo) followRef(name string) (last string, h Hash, err error) {
	for range 6 { // git's own limit is five
		target, h, err := r.readRef(name)
		if err != nil || target == "" {
			return name, h, err
		}
		if !safeRef(target) {
			return "", "", fmt.Errorf("%s in %s points to %q, which is no ref: %w", name, r.where(), target, ErrUnsupported)
		}
		name = target
	}
	return "", "", fmt.Errorf("the symbolic refs of %s in %s go in a circle: %w", name, r.where(), ErrUnsupported)
}

// readRef reads one ref, the loose file before packed-refs: git writes a packed
// ref before it removes the loose one, so a ref is never missed. Both results
// are "" if there is none.
func (r *Repo) readRef(name string) (target string, h Hash, err error) {
	data, err := os.ReadFile(r.refPath(name))
	switch {
	case missing(err):
		h, err = r.packedRef(name)
		return "", h, err
	case err != nil:
		return "", "", err
	}
	line := strings.TrimSpace(string(data))
	if target, ok := strings.CutPrefix(line, "ref:"); ok {
		return strings.TrimSpace(target), "", nil
	}
	if first, _, _ := strings.Cut(line, "\n"); isHash(first) {
		return "", Hash(first), nil
	}
	return "", "", fmt.Errorf("the ref %s in %s holds no commit id: %w; git fsck says more", name, r.where(), ErrUnsupported)
}

// missing says that a file is not there: also that a folder stands in its
// place, or a file in the place of one of its folders.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTDIR)
}

// refPath is the loose file of a ref: pseudo-refs and a few namespaces belong
// to the work tree, all others to the repository.
func (r *Repo) refPath(name string) string {
	dir := r.commonDir
	if !strings.HasPrefix(name, "refs/") || strings.HasPrefix(name, "refs/bisect/") ||
		strings.HasPrefix(name, "refs/worktree/") || strings.HasPrefix(name, "refs/rewritten/") {
		dir = r.gitDir
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

func (r *Repo) packedRef(name string) (found Hash, err error) {
	err = r.eachPackedRef(func(ref string, h Hash) bool {
		if ref == name {
			found = h
		}
		return found == ""
	})
	return found, err
}

// eachPackedRef calls f for each packed ref until it says false.
func (r *Repo) eachPackedRef(f func(name string, h Hash) bool) error {
	file, err := os.Open(filepath.Join(r.commonDir, "packed-refs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		id, name, ok := strings.Cut(lines.Text(), " ")
		if ok && isHash(id) && !f(name, Hash(id)) {
			break
		}
	}
	return lines.Err()
}

// refExists says whether a ref, or any ref below it as a folder, exists.
func (r *Repo) refExists(name string) (exact, below bool, err error) {
	target, h, err := r.readRef(name)
	if err != nil {
		return false, false, err
	}
	exact = target != "" || h != ""
	_ = filepath.WalkDir(r.refPath(name), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && path != r.refPath(name) && !strings.HasSuffix(path, ".lock") {
			below = true
		}
		return nil
	})
	err = r.eachPackedRef(func(ref string, _ Hash) bool {
		below = below || strings.HasPrefix(ref, name+"/")
		return !below
	})
	return exact, below, err
}

var pseudoRef = regexp.MustCompile(`^[A-Z][A-Z_]*$`)

// safeRef says whether name may be used as a path below a Git directory: a ref
// below refs/ by git check-ref-format's rules, or a pseudo-ref such as HEAD.
func safeRef(name string) bool {
	if pseudoRef.MatchString(name) {
		return true
	}
	below, ok := strings.CutPrefix(name, "refs/")
	return ok && vault.CheckBranch(below) == nil
}

func isHash(s string) bool { return len(s) == 40 && isHex(s) }

func isHex(s string) bool {
	for _, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return s != ""
}
