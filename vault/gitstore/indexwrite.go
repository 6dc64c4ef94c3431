package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
)

// newIndex writes the index with a journal's files in their new state to a
// draft beside the index and gives the draft's name. The caller holds
// index.lock and renames the draft.
func (r *Repo) newIndex(ctx context.Context, j *journal) (draft string, err error) {
	draft = fmt.Sprintf("%s.lm-%.12s-%d", r.indexPath(), j.New, os.Getpid())
	old, err := os.ReadFile(r.indexPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if !haveGit() {
		return draft, r.encodeIndex(j, old, draft)
	}
	if err == nil {
		if err := os.WriteFile(draft, old, 0o666); err != nil {
			return "", err
		}
	}
	if err := r.updateIndex(ctx, j, draft); err != nil {
		return "", err
	}
	f, err := os.Open(draft)
	if err != nil {
		return "", err
	}
	return draft, errors.Join(f.Sync(), f.Close())
}

// updateIndex lets git refresh the touched entries, which keeps every extension
// of the file and fills in sizes and times.
func (r *Repo) updateIndex(ctx context.Context, j *journal, draft string) error {
	env := []string{"GIT_INDEX_FILE=" + draft}
	var files, absent, kept bytes.Buffer
	for _, f := range j.Files {
		if !f.Absent {
			files.WriteString(f.Path + "\x00")
			continue
		}
		absent.WriteString(indexInfo(f))
		if f.NewMode != "" {
			kept.WriteString(f.Path + "\x00")
		}
	}
	if _, err := r.git(ctx, env, files.Bytes(), "update-index", "--add", "--remove", "--replace", "-z", "--stdin"); err != nil {
		return err
	}
	if absent.Len() > 0 {
		if _, err := r.git(ctx, env, absent.Bytes(), "update-index", "--replace", "-z", "--index-info"); err != nil {
			return err
		}
		if _, err := r.git(ctx, env, kept.Bytes(), "update-index", "--skip-worktree", "-z", "--stdin"); err != nil {
			return err
		}
	}
	// An editor may have written a file after lm did. What it wrote is a change
	// of the user's and not what lm commits.
	now, err := r.readIndex(draft)
	if err != nil {
		return err
	}
	var wrong bytes.Buffer
	for _, f := range j.Files {
		if !indexHas(now, f.Path, f.new()) {
			wrong.WriteString(indexInfo(f))
		}
	}
	if wrong.Len() == 0 {
		return nil
	}
	_, err = r.git(ctx, env, wrong.Bytes(), "update-index", "--replace", "-z", "--index-info")
	return err
}

// indexInfo is a file's new state for `git update-index -z --index-info`.
func indexInfo(f journalFile) string {
	if f.NewMode == "" {
		return fmt.Sprintf("0 %s\t%s\x00", strings.Repeat("0", 40), f.Path)
	}
	return fmt.Sprintf("%s %s\t%s\x00", f.NewMode, f.NewID, f.Path)
}

func decodeIndex(data []byte) (*index.Index, error) {
	decoded := &index.Index{Version: 2}
	if len(data) == 0 {
		return decoded, nil
	}
	return decoded, index.NewDecoder(bytes.NewReader(data)).Decode(decoded)
}

// checkCodec says whether go-git's codec can write this index.
func checkCodec(path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_, err = decodeIndex(data)
	}
	if err != nil {
		return fmt.Errorf("%w: lm cannot write the index %s without the git program (%v); put git on PATH", ErrUnsupported, path, err)
	}
	return nil
}

// encodeIndex writes the new index without git. Caches in the file (tree,
// untracked files) are dropped, and git makes them again.
func (r *Repo) encodeIndex(j *journal, old []byte, draft string) error {
	decoded, err := decodeIndex(old)
	if err != nil {
		return fmt.Errorf("%w: the index %s: %v", ErrUnsupported, r.indexPath(), err)
	}
	changed := make(map[string]journalFile, len(j.Files))
	for _, f := range j.Files {
		changed[f.Path] = f
	}
	entries := decoded.Entries[:0]
	for _, e := range decoded.Entries {
		if _, ok := changed[e.Name]; !ok {
			entries = append(entries, e)
		}
	}
	for _, f := range j.Files {
		if f.NewMode != "" {
			entries = append(entries, r.newEntry(f))
			if f.Absent {
				decoded.Version = max(decoded.Version, 3) // the first with that flag
			}
		}
	}
	decoded.Entries, decoded.Cache = entries, nil
	var b bytes.Buffer
	if err := index.NewEncoder(&b).Encode(decoded); err != nil {
		return err
	}
	return writeSynced(draft, b.Bytes(), 0o666)
}

// newEntry is a file's new index entry. Size and times are filled in if the
// work tree holds just what was committed; otherwise git looks for itself.
func (r *Repo) newEntry(f journalFile) *index.Entry {
	e := &index.Entry{Name: f.Path, Hash: plumbing.NewHash(string(f.NewID)), Mode: filemode.Regular, SkipWorktree: f.Absent}
	if f.NewMode == modeExecutable {
		e.Mode = filemode.Executable
	}
	rules, err := r.workRules()
	if err != nil || f.Absent {
		return e
	}
	file := filepath.Join(r.root, filepath.FromSlash(f.Path))
	info, err := os.Lstat(file)
	if err != nil {
		return e
	}
	if same, err := r.holds(rules, f.Path, f.new()); err == nil && same {
		e.Size, e.CreatedAt, e.ModifiedAt = uint32(info.Size()), info.ModTime(), info.ModTime()
		fillStat(e, file)
	}
	return e
}
