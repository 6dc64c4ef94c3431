package gitstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Resolve turns a revision into the full id of a commit: 40 hex digits or
// fewer, HEAD or @, a branch, tag or remote branch by full or short name, each
// followed by any of ~N, ^N and ^{}. HEAD and branches cost no object read. What only git's
// grammar knows (main@{upstream}, :/text, a describe name) is asked of the git
// program where it is on PATH.
//
// ErrNotFound says why it may be missing and what to fetch.
func (r *Repo) Resolve(rev string) (Hash, error) {
	if rev == "" || strings.HasPrefix(rev, "-") {
		return "", fmt.Errorf("%q is not a revision: %w", rev, ErrNotFound)
	}
	h, err := r.resolve(rev)
	if err == nil || !errors.Is(err, ErrNotFound) {
		return h, err
	}
	out, gitErr := r.git(context.Background(), nil, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", rev)
	if id := strings.TrimSpace(string(out)); gitErr == nil && isHash(id) {
		if h, err := r.peel(Hash(id)); err == nil {
			return h, nil
		}
	}
	return "", r.unresolved(rev, err)
}

// unresolved adds to an ErrNotFound what its reader can do.
func (r *Repo) unresolved(rev string, err error) error {
	mend := "git branch -a and git tag list what there is"
	remote, branch, _ := strings.Cut(strings.TrimPrefix(rev, "refs/remotes/"), "/")
	shallow, _ := r.Shallow()
	for _, name := range r.Remotes() {
		if branch != "" && name == remote {
			return fmt.Errorf("%w; run git fetch %s %s", err, remote, branch)
		}
	}
	if shallow {
		mend = "the clone is shallow: git fetch --unshallow brings the rest of its history"
	}
	return fmt.Errorf("%w; %s", err, mend)
}

// resolve reads a base and the steps after it.
func (r *Repo) resolve(rev string) (Hash, error) {
	base, steps := rev, ""
	if i := strings.IndexAny(rev, "~^"); i >= 0 {
		base, steps = rev[:i], rev[i:]
	}
	h, err := r.resolveBase(base)
	for err == nil && steps != "" {
		h, steps, err = r.step(h, steps)
	}
	if err != nil {
		return "", fmt.Errorf("revision %q in %s: %w", rev, r.where(), err)
	}
	return h, nil
}

// step takes one ~N, ^N, ^{} or ^{commit} off the front of steps.
func (r *Repo) step(h Hash, steps string) (Hash, string, error) {
	for _, peel := range []string{"^{}", "^{commit}"} {
		if rest, ok := strings.CutPrefix(steps, peel); ok {
			return h, rest, nil
		}
	}
	digits := len(steps) - 1 - len(strings.TrimLeft(steps[1:], "0123456789"))
	n := 1
	if digits > 0 {
		var err error
		if n, err = strconv.Atoi(steps[1 : 1+digits]); err != nil {
			return "", "", ErrNotFound
		}
	}
	rest := steps[1+digits:]
	if rest != "" && rest[0] != '~' && rest[0] != '^' {
		return "", "", ErrNotFound
	}
	parent := 1
	if steps[0] == '^' {
		if n == 0 {
			return h, rest, nil
		}
		n, parent = 1, n
	}
	for range n {
		c, err := r.commit(h)
		if err != nil {
			return "", "", err
		}
		if parent > len(c.parents) {
			return "", "", fmt.Errorf("commit %s has no such parent: %w", h, ErrNotFound)
		}
		h = c.parents[parent-1]
	}
	return h, rest, nil
}

// resolveBase finds a name or object id, in git's order of places.
func (r *Repo) resolveBase(name string) (Hash, error) {
	if name == "@" {
		name = "HEAD"
	}
	if isHash(strings.ToLower(name)) {
		return r.peel(Hash(strings.ToLower(name)))
	}
	for _, form := range []string{"%s", "refs/%s", "refs/tags/%s", "refs/heads/%s", "refs/remotes/%s", "refs/remotes/%s/HEAD"} {
		ref := fmt.Sprintf(form, name)
		if !safeRef(ref) {
			continue
		}
		last, h, err := r.followRef(ref)
		if err != nil {
			return "", err
		}
		switch {
		case h == "" && ref == "HEAD":
			return "", fmt.Errorf("there is no commit yet: %w", ErrNotFound)
		case h == "":
		case last == "HEAD" || strings.HasPrefix(last, "refs/heads/") || strings.HasPrefix(last, "refs/remotes/"):
			return h, nil // git keeps nothing but commits there
		default:
			return r.peel(h)
		}
	}
	if short := strings.ToLower(name); len(short) >= 4 && len(short) < 40 && isHex(short) {
		return r.resolveShort(short)
	}
	return "", ErrNotFound
}

// resolveShort finds the one commit whose id begins with short.
func (r *Repo) resolveShort(short string) (Hash, error) {
	ids, err := r.objects.withPrefix(short)
	if err != nil {
		return "", err
	}
	var commits []Hash
	for _, id := range ids {
		if h, err := r.peel(id); err == nil {
			commits = append(commits, h)
		}
	}
	switch len(commits) {
	case 0:
		return "", ErrNotFound
	case 1:
		return commits[0], nil
	}
	return "", fmt.Errorf("%d commits begin with it: %w", len(commits), ErrNotFound)
}
