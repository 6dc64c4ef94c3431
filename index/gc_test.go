package index

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func age(t *testing.T, path string, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

func TestNewestAndGC(t *testing.T) {
	root := filepath.Join(t.TempDir(), "index")
	if keys := Newest(root); len(keys) != 0 {
		t.Fatalf("a missing root holds %v", keys)
	}
	if removed, err := GC(root, 1, key(1)); err != nil || len(removed) != 0 {
		t.Fatalf("GC of a missing root: %v, %v", removed, err)
	}
	for n := range 5 {
		mustBuild(t, root, key(n), library())
		age(t, filepath.Join(root, string(key(n))), time.Duration(10-n)*time.Minute)
	}
	if err := os.WriteFile(filepath.Join(root, string(key(2)), catalogName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	age(t, filepath.Join(root, string(key(2))), 8*time.Minute)
	keys := Newest(root)
	for _, k := range keys {
		size, err := Verify(root, k)
		if damaged := k == key(2); damaged != errors.Is(err, ErrDamaged) || damaged != (size == 0) {
			t.Errorf("%s has %d bytes, %v", k, size, err)
		}
	}
	if want := []Key{key(4), key(3), key(2), key(1), key(0)}; !slices.Equal(keys, want) {
		t.Errorf("listed %v, want %v", keys, want)
	}

	open := mustOpen(t, root, key(1))
	want := answers(t, open)
	removed, err := GC(root, 2, key(0))
	if err != nil || !slices.Equal(removed, []Key{key(2), key(1)}) {
		t.Errorf("removed %v, %v", removed, err)
	}
	if answers(t, open) != want {
		t.Error("a reader lost its index")
	}
	if _, status, err := Open(root, key(1)); status != Stale || err != nil {
		t.Errorf("a removed index is %s, %v", status, err)
	}
	assertTidy(t, root)
}

func TestGCOfTemporaryFolders(t *testing.T) {
	root := t.TempDir()
	live, unlock, err := newTemporary(root)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	dead, release, err := newTemporary(root)
	if err != nil {
		t.Fatal(err)
	}
	release()
	young, release, err := newTemporary(root)
	if err != nil {
		t.Fatal(err)
	}
	release()
	// A builder that died on the way leaves a part of an index.
	if err := os.WriteFile(filepath.Join(dead, catalogName), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	age(t, live, 2*time.Hour)
	age(t, dead, 2*time.Hour)

	if _, status, err := Open(root, key(1)); status != Missing || err != nil {
		t.Errorf("half an index is %s, %v", status, err)
	}
	if keys := Newest(root); len(keys) != 0 {
		t.Errorf("half an index is listed: %v", keys)
	}
	if _, err := GC(root, 1, key(1)); err != nil {
		t.Fatal(err)
	}
	if !exists(live) || exists(dead) || !exists(young) {
		t.Errorf("live %t, dead %t, young %t", exists(live), exists(dead), exists(young))
	}
}
