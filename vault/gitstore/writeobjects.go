package gitstore

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// greatTree is the size in bytes from which a tree is stored as it is: most of it are
// ids, of which deflate saves little and which the next reader, who is near, would
// wait for. git gc packs it like any other.
const greatTree = 64 << 10

// writeObject stores an object as a loose file, down to the disk.
func (r *Repo) writeObject(kind plumbing.ObjectType, data []byte) (Hash, error) {
	id := plumbing.ComputeHash(kind, data).String()
	dir := filepath.Join(r.objects.dir, id[:2])
	file := filepath.Join(dir, id[2:])
	if isFile(file) {
		return Hash(id), nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	var b bytes.Buffer
	level := zlib.BestSpeed
	if kind == plumbing.TreeObject && len(data) >= greatTree {
		level = zlib.NoCompression
	}
	z, err := zlib.NewWriterLevel(&b, level)
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(z, "%s %d\x00%s", kind, len(data), data)
	if err = errors.Join(err, z.Close()); err != nil {
		return "", err
	}
	// The prefix is git's own: git gc sweeps up what a kill leaves.
	f, err := os.CreateTemp(dir, "tmp_obj_")
	if err != nil {
		return "", err
	}
	_, err = f.Write(b.Bytes())
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Chmod(f.Name(), 0o444)
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", fmt.Errorf("object %s: %w", id, err)
	}
	return Hash(id), nil
}

// writeTree stores the tree that base becomes by the changes, whose paths are
// relative to it, and gives its id: "" for a folder that is left empty.
func (r *Repo) writeTree(base Hash, dir string, changes []touched) (Hash, error) {
	entries, err := r.tree(base, dir)
	if err != nil {
		return "", err
	}
	for len(changes) > 0 {
		name, _, _ := strings.Cut(changes[0].path, "/")
		var self *touched
		var inside, rest []touched
		for _, t := range changes {
			switch first, deeper, ok := strings.Cut(t.path, "/"); {
			case first != name:
				rest = append(rest, t)
			case ok:
				t.path = deeper
				inside = append(inside, t)
			default:
				self = &t
			}
		}
		changes = rest
		i := slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
		var old entry
		if i >= 0 {
			old = entries[i]
			entries = slices.Delete(entries, i, i+1)
		}
		e, err := r.replace(old, path.Join(dir, name), self, inside)
		if err != nil {
			return "", err
		}
		if e.mode != "" {
			e.name = name
			entries = append(entries, e)
		}
	}
	if len(entries) == 0 && dir != "" {
		return "", nil
	}
	return r.writeObject(plumbing.TreeObject, encodeTree(entries))
}

// replace gives the entry that stands in old's place when self and what lies
// inside of it have changed.
func (r *Repo) replace(old entry, where string, self *touched, inside []touched) (entry, error) {
	e := old
	if len(inside) > 0 {
		base := emptyTree
		switch {
		case old.mode == modeTree:
			base = old.id
		case old.mode != "" && (self == nil || self.new.mode != ""):
			return e, fmt.Errorf("%s is a file in the last commit, so nothing can lie below it: %w", where, ErrConflict)
		}
		id, err := r.writeTree(base, where, inside)
		if err != nil {
			return e, err
		}
		if e = (entry{}); id != "" {
			e = entry{mode: modeTree, id: id}
		}
	}
	switch {
	case self == nil:
	case e.mode == modeTree && self.new.mode != "":
		return e, fmt.Errorf("%s is a folder in the last commit: %w; choose another name", where, ErrConflict)
	case self.new.mode != "":
		e = self.new
	case e.mode != modeTree:
		e = entry{}
	}
	return e, nil
}

// writeCommit stores a commit object.
func (r *Repo) writeCommit(tree, parent Hash, c *Change) (Hash, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, p := range []Hash{parent, c.Merge} {
		if p != "" {
			fmt.Fprintf(&b, "parent %s\n", p)
		}
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n", c.ident(), c.ident())
	head := b.String()
	fmt.Fprintf(&b, "\n%s\n", strings.TrimRight(c.Message, "\n"))
	sig, err := r.signature(b.Bytes())
	if err != nil {
		return "", err
	}
	if sig != "" {
		sig = "gpgsig " + strings.ReplaceAll(strings.TrimRight(sig, "\n"), "\n", "\n ") + "\n"
	}
	return r.writeObject(plumbing.CommitObject, []byte(head+sig+b.String()[len(head):]))
}

// signature is that of a commit, "" if none is asked for. What cannot be signed
// is never left unsigned.
func (r *Repo) signature(commit []byte) (string, error) {
	on, err := r.configBool("commit.gpgsign", false)
	if err != nil || !on {
		return "", err
	}
	format, _, err := r.Config("gpg.format")
	if err != nil {
		return "", err
	}
	if format = cmp.Or(format, "openpgp"); format != "ssh" || r.Sign == nil {
		return "", fmt.Errorf("%w: commit.gpgsign asks for a commit signed with %s, and lm signs with SSH keys alone; run: git config gpg.format ssh && git config user.signingkey <public key file>, or leave lm's commits unsigned: git config commit.gpgsign false",
			ErrUnsupported, format)
	}
	return r.Sign(commit)
}

// ident is the author as commits and reflogs have it.
func (c *Change) ident() string {
	return fmt.Sprintf("%s <%s> %d +0000", identPart(c.Name), identPart(c.Email), c.When.In(time.UTC).Unix())
}

// identPart leaves out what would break an identity line, as git does.
func identPart(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == '<' || c == '>' || c == 0x7f {
			return -1
		}
		return c
	}, s)
	return strings.Trim(s, " .,:;\"\\'")
}
