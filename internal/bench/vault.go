package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"longmemory.dev/lm/internal/testvault"
	"longmemory.dev/lm/vault"
)

// leastAssets is the size from which a generated vault has enough assets of
// every kind to change some and ask for others.
const leastAssets = 40

// task is what there is to do with a vault.
type task struct {
	Query string         // some words of one approved asset
	Word  string         // the one of them that the fewest files hold
	Hits  int            // in so many files
	Edits []vaultSubject // approved assets that may be changed
}

// vaultSubject is an asset that a measurement changes.
type vaultSubject struct{ ID, Path string }

// writeVault writes a generated vault into a folder. The measuring process has
// it done by a process of its own: until a child runs its own program, the
// memory of its parent counts as the child's on Linux.
func writeVault(dir string, seed uint64, n int) (*task, error) {
	files := testvault.Files(seed, n)
	if err := writeFiles(dir, files); err != nil {
		return nil, err
	}
	s, err := vault.Read(files, nil)
	if err != nil {
		return nil, err
	}
	t := new(task)
	var approved []*vault.Asset
	for _, a := range s.Assets {
		if a.Approved() && a.Receipted {
			approved = append(approved, a)
		}
	}
	const edits = 200 // more than any measurement takes, all over the vault
	for i := range min(edits, len(approved)) {
		a := approved[i*len(approved)/min(edits, len(approved))]
		t.Edits = append(t.Edits, vaultSubject{string(a.ID), a.Path})
	}
	words := strings.Fields(approved[len(approved)/2].Description)
	t.Query = strings.Join(words[:min(8, len(words))], " ")
	for _, word := range strings.Fields(t.Query) {
		hits := 0
		for _, f := range files {
			if strings.HasPrefix(f.Path, "assets/") && bytes.Contains(f.Data, []byte(word)) {
				hits++
			}
		}
		if t.Word == "" || hits < t.Hits {
			t.Word, t.Hits = word, hits
		}
	}
	return t, nil
}

func writeFiles(dir string, files []vault.File) error {
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// repository is a generated vault, committed and packed.
type repository struct {
	task
	dir    string
	assets int
	blobs  string // a file that lists the ids of all that the vault consists of
	edited int    // how many of Edits are used up
}

// next is an asset that no measurement has changed lately.
func (r *repository) next() vaultSubject {
	r.edited++
	return r.Edits[r.edited%len(r.Edits)]
}

// vault makes a repository.
func (l *lab) vault(seed uint64, n int) (*repository, error) {
	fmt.Fprintf(l.stderr, "making a vault of %d assets\n", n)
	r := &repository{dir: filepath.Join(l.dir, "vault-"+strconv.Itoa(n)), assets: n, blobs: filepath.Join(l.dir, "blobs-"+strconv.Itoa(n))}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out, err := l.output(r.dir, self, "-write", r.dir, "-n", strconv.Itoa(n), "-seed", strconv.FormatUint(seed, 10))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(out, &r.task); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "A generated vault"}, {"gc", "-q"}} {
		if _, err := l.output(r.dir, "git", args...); err != nil {
			return nil, err
		}
	}
	tree, err := l.output(r.dir, "git", "ls-tree", "-r", "--format=%(objectname)", "HEAD")
	if err != nil {
		return nil, err
	}
	return r, os.WriteFile(r.blobs, tree, 0o644)
}

// output runs something that is not measured.
func (l *lab) output(dir, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(l.ctx, program, args...)
	cmd.Dir, cmd.Env = dir, l.env
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, bytes.TrimSpace(failed.Stderr))
	}
	return out, err
}
