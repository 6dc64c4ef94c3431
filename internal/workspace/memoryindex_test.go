package workspace

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"longmemory.dev/lm/index"
	"longmemory.dev/lm/internal/testvault"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/memoryfile"
)

// An index of memories that was derived says what a fresh one says, whatever was
// added, changed or removed, with receipts and without; and the oldest memory is
// found by its own words.
func TestDerivedMemoriesAreThoseOfAFreshBuild(t *testing.T) {
	const n = 300
	files := append(testvault.Files(1, 40), testvault.Memories(1, n)...)
	v := track(t, files)
	v.git("config", "user.email", "alice@example.org")
	more := testvault.Memories(7, 40) // other ids
	random := rand.New(rand.NewPCG(1, 2))
	var records []string
	for _, f := range files {
		if strings.HasPrefix(f.Path, memoryfile.Records.In()) {
			records = append(records, f.Path)
		}
	}
	derived := 0
	for round := range 12 {
		for range 1 + random.IntN(3) {
			switch p := records[1+random.IntN(len(records)-1)]; random.IntN(4) {
			case 0: // another content without a receipt
				v.files[p] = strings.Replace(v.files[p], "summary: ", "summary: edited ", 1)
			case 1:
				delete(v.files, p)
			case 2: // its receipt is gone
				id := strings.TrimSuffix(filepath.Base(p), ".yaml")
				delete(v.files, vault.ReceiptPath(memoryfile.Records.SubjectOf(id), 1))
			default:
				for _, f := range more[2*round : 2*round+2] {
					v.files[f.Path] = string(f.Data)
				}
			}
		}
		v.commitAll()
		ctx := context.Background()
		near := index.Newest(v.memoryRoots()[0])
		got := recalled(t, v)
		if len(near) > 0 && len(index.Newest(v.memoryRoots()[0])) > 1 {
			derived++
		}
		if err := os.RemoveAll(filepath.Join(v.dir, ".git", "lm", "memory")); err != nil {
			t.Fatal(err)
		}
		if want := recalled(t, v); !reflect.DeepEqual(got, want) {
			t.Fatalf("round %d: derived and fresh differ", round)
		}
		// The next round has one to derive from.
		x, err := v.memories(ctx, mustTrusted(t, v))
		if err != nil {
			t.Fatal(err)
		}
		x.Close()
	}
	if derived < 8 {
		t.Errorf("derived %d of 12", derived)
	}
	oldest, err := v.Recall(context.Background(), RecallAsk{Text: testvault.OldestWords, Limit: 1})
	if err != nil || len(oldest.Records) != 1 || oldest.Records[0].Summary != testvault.OldestWords {
		t.Errorf("the oldest memory is not found by its own words: %v %+v", err, oldest)
	}
}

func mustTrusted(t *testing.T, v *tracked) loaded {
	t.Helper()
	at, err := v.trusted(Revision{})
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// recalled is all that is remembered, and how it ranks.
func recalled(t *testing.T, v *tracked) []string {
	t.Helper()
	var out []string
	for _, text := range []string{"", "ka lo mi", "edited", testvault.OldestWords} {
		found, err := v.Recall(context.Background(), RecallAsk{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range found.Records {
			out = append(out, fmt.Sprintf("%s: %+v", text, r))
		}
	}
	return out
}
