package vault_test

import (
	"testing"

	"longmemory.dev/lm/internal/testvault"
	"longmemory.dev/lm/vault"
)

func BenchmarkRead(b *testing.B) {
	files := testvault.Files(1, 1000)
	for b.Loop() {
		if _, err := vault.Read(files, nil); err != nil {
			b.Fatal(err)
		}
	}
}
