package gitstore

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestAdvanceAndMerge(t *testing.T) {
	dir := newRepo(t, map[string]string{"a": "1"})
	r := open(t, dir)
	first := head(t, r)
	second := commitFiles(t, r, map[string]string{"b": "2"})
	git := func(t *testing.T, dir string, args ...string) string {
		return strings.TrimSpace(runGit(t, dir, args...))
	}
	by := func(expect Hash) Change {
		return Change{Branch: "refs/heads/lm/inbox", Expect: expect, Message: "sync", Name: "A", Email: "a@example.org", When: time.Unix(1e9, 0)}
	}
	ctx := context.Background()
	if err := r.Advance(ctx, by(""), first); err != nil {
		t.Fatal(err)
	}
	wantErr(t, r.Advance(ctx, by(""), second), ErrConflict, "moved")
	if err := r.Advance(ctx, by(first), second); err != nil {
		t.Fatal(err)
	}
	wantErr(t, r.Advance(ctx, by(second), first), ErrConflict, "does not come after")
	if got := git(t, dir, "rev-parse", "lm/inbox"); Hash(got) != second {
		t.Errorf("the branch is at %s, want %s", got, second)
	}
	main := by(first)
	main.Branch = "refs/heads/main"
	wantErr(t, r.Advance(ctx, main, second), ErrConflict, "checked out")

	// A merge has both parents, also where it changes nothing.
	c := by(second)
	c.Merge = first
	merged, err := r.Commit(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if got := git(t, dir, "log", "-1", "--format=%P %T", "lm/inbox"); got != string(second)+" "+string(first)+" "+git(t, dir, "rev-parse", "main^{tree}") {
		t.Errorf("parents and tree of %s: %s", merged, got)
	}
	git(t, dir, "fsck", "--strict")
}
