package gitstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"

	"longmemory.dev/lm/vault"
)

// add lists one name that is no folder. What vanished meanwhile is not there.
func (w *walker) add(file string, rules workRules) error {
	f, err := w.file(file, rules)
	if missing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("file %s: %w", file, err)
	}
	w.files = append(w.files, f)
	return nil
}

// most is how many bytes of a file are loaded.
func (w *walker) most(file string) int64 { return w.limit(w.relative(file)) }

func (w *walker) file(file string, rules workRules) (vault.File, error) {
	f := vault.File{Path: file}
	info, err := os.Lstat(w.full(file))
	switch {
	case err != nil:
		return f, err
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := os.Readlink(w.full(file))
		f.Kind, f.Object = vault.FileSymlink, string(BlobID([]byte(filepath.ToSlash(target))))
		return f, err
	case !info.Mode().IsRegular():
		f.Kind = vault.FileSpecial
		return f, nil
	}
	if f.Kind, err = w.regularKind(file, info); err != nil {
		return f, err
	}
	ends := rules.lines.of(rules.attributesOf(file))
	if info.Size() > w.most(file) && !ends.convert {
		f.Size, f.Object, err = hashFile(w.full(file), info)
		return f, err
	}
	data, err := readRegular(w.full(file), info)
	if err != nil {
		return f, err
	}
	if f.Kind == vault.FileSymlink {
		f.Object = string(BlobID(data))
		return f, nil
	}
	stored := ends.stored(data, func() (old []byte) { old, err = w.staged(file); return old })
	if err != nil {
		return f, err
	}
	f.Size, f.Object = int64(len(data)), string(BlobID(stored))
	if f.Size <= w.most(file) {
		f.Data = data
	}
	return f, nil
}

// regularKind is what a regular file on disk is to Git: where the file system
// keeps no modes or links, the index knows.
func (w *walker) regularKind(file string, info fs.FileInfo) (vault.FileKind, error) {
	if w.fileModes && w.symlinks {
		return diskKind(info), nil
	}
	index, err := w.index()
	if err != nil {
		return 0, err
	}
	known := mode("")
	if entries := index.find(file); len(entries) > 0 {
		known = entries[0].mode
	}
	switch {
	case !w.symlinks && known == modeSymlink:
		return vault.FileSymlink, nil
	case w.fileModes:
		return diskKind(info), nil
	case known == modeExecutable:
		return vault.FileExecutable, nil
	}
	return vault.FileRegular, nil
}

func diskKind(info fs.FileInfo) vault.FileKind {
	if info.Mode()&0o100 != 0 {
		return vault.FileExecutable
	}
	return vault.FileRegular
}

// staged gives the bytes that the index has for a file, nil for none.
func (w *walker) staged(file string) ([]byte, error) {
	index, err := w.index()
	if err != nil {
		return nil, err
	}
	for _, e := range index.find(file) {
		if e.stage == 0 && readable(e.mode.kind()) && !e.intent {
			return w.blob(e.id)
		}
	}
	return nil, nil
}

var errSwapped = errors.New("was replaced while it was read")

// openRegular opens the very file that info describes: no symlink that took
// its place is followed.
func openRegular(name string, info fs.FileInfo) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	now, err := f.Stat()
	if err == nil && !os.SameFile(info, now) {
		err = errSwapped
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func readRegular(name string, info fs.FileInfo) ([]byte, error) {
	f, err := openRegular(name, info)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err := b.ReadFrom(f); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// hashFile gives a file's size and blob id without holding it in memory.
func hashFile(name string, info fs.FileInfo) (int64, string, error) {
	f, err := openRegular(name, info)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	h := plumbing.NewHasher(plumbing.BlobObject, info.Size())
	n, err := io.Copy(h, f)
	if err == nil && n != info.Size() {
		err = errSwapped
	}
	return n, h.Sum().String(), err
}
