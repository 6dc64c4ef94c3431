package index

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Format is the version of the files of an index. It counts up with every
// change that an older lm would misread.
const Format = 3

// Key names an index by all that it is a function of: 32 hex digits.
type Key string

// KeyOf is the key of the index of a vault whose folder has the tree id
// vaultTree, with the memory branch's tree, "" if there is none, rendered and
// counted by what renderer and tokenizer name with their versions. Format and
// Analyzer count as well.
func KeyOf(vaultTree, memoryTree, renderer, tokenizer string) Key {
	var all []byte
	all = binary.AppendUvarint(all, Format)
	all = binary.AppendUvarint(all, Analyzer)
	for _, part := range []string{vaultTree, memoryTree, renderer, tokenizer} {
		all = binary.AppendUvarint(all, uint64(len(part)))
		all = append(all, part...)
	}
	sum := sha256.Sum256(all)
	return Key(hex.EncodeToString(sum[:16]))
}

// valid says whether the key is one that KeyOf can have made.
func (k Key) valid() bool {
	data, err := hex.DecodeString(string(k))
	return err == nil && len(data) == 16 && hex.EncodeToString(data) == string(k)
}
