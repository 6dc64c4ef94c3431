package gitstore

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

// A loose object is read as git reads it; one whose file is damaged is said to be
// so, and never believed.
func TestLooseObjects(t *testing.T) {
	isolate(t)
	dir := t.TempDir()
	runGit(t, dir, "init", "-q")
	for _, text := range []string{"", "short\n", string(bytes.Repeat([]byte("long "), 1<<20))} {
		write(t, dir, "file", text)
		id := Hash(runGit(t, dir, "hash-object", "-w", "file"))
		repo, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := repo.Blob(id); err != nil || string(data) != text || !repo.Loose(id) {
			t.Errorf("%d bytes: %d read, %v", len(text), len(data), err)
		}
		if _, size, data, err := repo.objects.read(id, 3); err != nil || size != int64(len(text)) || (data == nil) != (size > 3) {
			t.Errorf("%d bytes under a limit: size %d, %d read, %v", len(text), size, len(data), err)
		}
		repo.Close()
	}

	write(t, dir, "file", "the one text\n")
	id := Hash(runGit(t, dir, "hash-object", "-w", "file"))
	write(t, dir, "file", "another text\n")
	other := Hash(runGit(t, dir, "hash-object", "-w", "file"))
	repo, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	file := loosePath(repo.objects.dir, id)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := os.ReadFile(loosePath(repo.objects.dir, other))
	if err != nil {
		t.Fatal(err)
	}
	damage := map[string][]byte{"another object": wrong, "cut off": whole[:len(whole)-6], "no zlib": []byte("x"), "empty": {}}
	for name, data := range damage {
		_ = os.Remove(file)
		if err := os.WriteFile(file, data, 0o444); err != nil {
			t.Fatal(err)
		}
		if got, err := repo.Blob(id); err == nil || !strings.Contains(err.Error(), string(id)+" is damaged") {
			t.Errorf("%s: read as %q, %v", name, got, err)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Blob(id); !errors.Is(err, ErrNotFound) {
		t.Errorf("gone: %v", err)
	}
}
