package index

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"longmemory.dev/lm/vault"
)

// Whatever happens to a file of an index: opening or reading says so, and no
// answer differs. Then building mends it.
func TestDamage(t *testing.T) {
	root := t.TempDir()
	base := many(30, 5)
	mustBuild(t, root, key(1), base)
	c := base
	c.Documents = append([]Document(nil), base.Documents...)
	c.Documents[3].Text.Body = "another body, so that there are two segments"
	mustBuild(t, root, key(2), c)
	dir := filepath.Join(root, string(key(2)))
	want := answers(t, mustOpen(t, root, key(2)))

	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		try := func(what string, damage func() error) {
			t.Helper()
			// In place would reach the other index, which has the file too.
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			// The form that the base had of the changed asset is of no use any more.
			unnoticed := strings.HasSuffix(f.Name(), formsSuffix) && strings.HasSuffix(what, "flipped")
			if err := check(root, want); err != nil && !(unnoticed && errors.Is(err, errUnnoticed)) {
				t.Errorf("%s %s: %v", f.Name(), what, err)
			}
		}
		positions := []int{0, 1, len(whole) / 2, len(whole) - 2, len(whole) - 1}
		for range 20 {
			positions = append(positions, r.IntN(len(whole)))
		}
		for _, at := range positions {
			try(fmt.Sprintf("with byte %d flipped", at), func() error {
				broken := append([]byte(nil), whole...)
				broken[at] ^= byte(1 + r.IntN(255))
				return os.WriteFile(path, broken, 0o600)
			})
		}
		for _, size := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
			try(fmt.Sprintf("cut to %d bytes", size), func() error { return os.WriteFile(path, whole[:size], 0o600) })
		}
		try("with more at its end", func() error { return os.WriteFile(path, append(whole[:len(whole):len(whole)], 0), 0o600) })
		try("a folder", func() error { return os.Mkdir(path, 0o700) })
		try("gone", func() error {
			_, err := os.Create(path)
			return errors.Join(err, os.Remove(path), os.WriteFile(path+"x", nil, 0o600))
		})
		if err := os.Remove(path + "x"); err != nil {
			t.Fatal(err)
		}

		mustBuild(t, root, key(2), c)
		if answers(t, mustOpen(t, root, key(2))) != want {
			t.Errorf("after %s was damaged, building does not mend it", f.Name())
		}
	}
	assertTidy(t, root)
}

var errUnnoticed = errors.New("it went unnoticed")

// check says what is wrong with how a damaged index is noticed.
func check(root, want string) error {
	x, status, err := Open(root, key(2))
	if status == Damaged {
		if x != nil || !errors.Is(err, ErrDamaged) {
			return fmt.Errorf("damaged, but %v", err)
		}
		return nil
	}
	if err != nil || status != Current {
		return fmt.Errorf("%s, %v", status, err)
	}
	defer x.Close()
	var failed caught
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(&failed) {
				panic(r)
			}
		}()
		if answers(&failed, x) == want {
			failed.err = errUnnoticed
		} else if failed.err == nil {
			failed.err = errors.New("it gave other answers")
		}
	}()
	if errors.Is(failed.err, ErrDamaged) {
		return nil
	}
	return failed.err
}

// caught is where a Fatal of answers ends.
type caught struct{ err error }

func (c *caught) Fatal(args ...any) {
	c.err, _ = args[0].(error)
	panic(c)
}

// A damaged form must not keep the others from being read.
func TestDamagedFormStaysAlone(t *testing.T) {
	root := t.TempDir()
	mustBuild(t, root, key(1), library())
	path := filepath.Join(root, string(key(1)), "0"+formsSuffix)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(data), "brew tea")
	data[at] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	x := mustOpen(t, root, key(1))
	for i, f := range x.Facts() {
		_, err := x.Form(i, vault.ModeDirect)
		if got := errors.Is(err, ErrDamaged); got != (f.ID == "tea") {
			t.Errorf("%s: %v", f.ID, err)
		}
	}
}
