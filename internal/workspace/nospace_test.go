//go:build linux

package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"longmemory.dev/lm/internal/workspace"
)

// TestNoSpaceForAnIndex: where the disk is full the answer comes from memory, and
// nothing half built is left. It needs the right to mount a small file system.
func TestNoSpaceForAnIndex(t *testing.T) {
	isolate(t)
	dir := folder(t, files())
	commit(t, dir)
	v := open(t, dir)
	defer v.Close()
	ask := workspace.Ask{Query: "kalo mormor 发布", TokenBudget: 2000}
	want, err := v.Loadout(context.Background(), ask)
	if err != nil {
		t.Fatal(err)
	}
	small := filepath.Join(dir, ".git", "lm", "index")
	if err := os.RemoveAll(small); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(small, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("lm-test", small, "tmpfs", 0, "size=16k"); err != nil {
		t.Skipf("no small file system can be mounted here: %v", err)
	}
	defer func() {
		if err := unix.Unmount(small, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	t.Setenv("XDG_CACHE_HOME", os.DevNull) // no second place
	got, err := v.Loadout(context.Background(), ask)
	if err != nil || got.Context != want.Context || got.Digest != want.Digest {
		t.Errorf("on a full disk: %v, the same answer: %t", err, err == nil && got.Digest == want.Digest)
	}
	left, err := filepath.Glob(filepath.Join(small, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %s, %v", left, err)
	}
	if _, err := v.BuildIndex(context.Background(), workspace.Revision{}); err == nil {
		t.Error("a build that wrote nothing says that it did")
	}
}
