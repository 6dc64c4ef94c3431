package gitstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// staged is one entry of Git's index.
type staged struct {
	path   string
	mode   mode
	id     Hash
	stage  int  // 0, or 1 to 3 in a merge that is not done
	absent bool // skip-worktree: a sparse checkout left the file out
	intent bool // git add --intent-to-add: nothing is staged yet
}

// stagedFiles is an index in its own order: by path, then stage.
type stagedFiles []staged

// find gives the entries of one path.
func (s stagedFiles) find(file string) stagedFiles {
	from := sort.Search(len(s), func(i int) bool { return s[i].path >= file })
	to := from
	for to < len(s) && s[to].path == file {
		to++
	}
	return s[from:to]
}

// below gives the entries in a folder ("" is the root).
func (s stagedFiles) below(dir string) stagedFiles {
	if dir == "" {
		return s
	}
	from := sort.Search(len(s), func(i int) bool { return s[i].path >= dir+"/" })
	to := sort.Search(len(s), func(i int) bool { return s[i].path >= dir+"0" }) // '0' follows '/'
	return s[from:to]
}

func (r *Repo) indexPath() string { return filepath.Join(r.gitDir, "index") }

// readIndex reads this work tree's index, or another file of its kind. A split
// or sparse index is asked of git.
func (r *Repo) readIndex(file string) (stagedFiles, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, plain, err := parseIndex(data)
	if err != nil {
		return nil, fmt.Errorf("%w: the index %s: %v; git status says more", ErrUnsupported, file, err)
	}
	if plain {
		return entries, nil
	}
	out, err := r.git(context.Background(), []string{"GIT_INDEX_FILE=" + file}, nil, "ls-files", "--stage", "-t", "-z", "--full-name", ":/")
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%w: the index %s is split or sparse, which only git reads, and git is not on PATH", ErrUnsupported, file)
	}
	if err != nil {
		return nil, err
	}
	return parseStaged(string(out))
}

// parseStaged reads `git ls-files --stage -t -z`.
func parseStaged(out string) (stagedFiles, error) {
	var entries stagedFiles
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if line == "" {
			continue
		}
		head, file, ok := strings.Cut(line, "\t")
		f := strings.Fields(head)
		if !ok || len(f) != 4 {
			return nil, fmt.Errorf("git ls-files said %q: %w", line, ErrUnsupported)
		}
		stage, err := strconv.Atoi(f[3])
		if err != nil {
			return nil, err
		}
		entries = append(entries, staged{path: file, mode: mode(f[1]), id: Hash(f[2]), stage: stage, absent: strings.EqualFold(f[0], "S")})
	}
	return entries, nil
}

var errIndexDamaged = errors.New("is damaged")

// parseIndex reads an index file of version 2, 3 or 4 (gitformat-index(5)).
// plain is false where entries are kept elsewhere or stand for whole folders.
func parseIndex(data []byte) (entries stagedFiles, plain bool, err error) {
	defer func() {
		if recover() != nil { // cut short: a slice went out of range
			entries, plain, err = nil, false, errIndexDamaged
		}
	}()
	if string(data[:4]) != "DIRC" {
		return nil, false, errIndexDamaged
	}
	version, count := binary.BigEndian.Uint32(data[4:]), int(binary.BigEndian.Uint32(data[8:]))
	if version < 2 || version > 4 {
		return nil, false, fmt.Errorf("has version %d, which is not known here", version)
	}
	if count > len(data)/62 {
		return nil, false, errIndexDamaged
	}
	entries = make(stagedFiles, 0, count)
	rest, previous := data[12:], ""
	for range count {
		e := staged{
			mode: mode(strconv.FormatUint(uint64(binary.BigEndian.Uint32(rest[24:])), 8)),
			id:   Hash(hex.EncodeToString(rest[40:60])),
		}
		flags, head := binary.BigEndian.Uint16(rest[60:]), 62
		e.stage = int(flags >> 12 & 3)
		if flags&0x4000 != 0 {
			more := binary.BigEndian.Uint16(rest[62:])
			e.absent, e.intent = more&0x4000 != 0, more&0x2000 != 0
			head = 64
		}
		if version == 4 {
			strip, n := offsetInt(rest[head:])
			head += n
			end := bytes.IndexByte(rest[head:], 0)
			e.path = previous[:len(previous)-strip] + string(rest[head:head+end])
			rest = rest[head+end+1:]
		} else {
			end := bytes.IndexByte(rest[head:], 0)
			e.path = string(rest[head : head+end])
			rest = rest[(head+end+8)/8*8:]
		}
		previous = e.path
		entries = append(entries, e)
	}
	for len(rest) > 20 {
		if name := string(rest[:4]); name == "link" || name == "sdir" {
			return nil, false, nil
		}
		rest = rest[8+binary.BigEndian.Uint32(rest[4:]):]
	}
	return entries, true, nil
}

// offsetInt reads the variable-width number of pack files and index version 4.
func offsetInt(data []byte) (value, n int) {
	value = int(data[0] & 0x7f)
	for n = 1; data[n-1]&0x80 != 0; n++ {
		value = (value+1)<<7 | int(data[n]&0x7f)
	}
	return value, n
}
