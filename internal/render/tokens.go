package render

import (
	"fmt"
	"sync"

	"github.com/tiktoken-go/tokenizer"
)

// TokensVersion names the tables that tokens are counted by.
const TokensVersion = "tiktoken-1"

// Counter counts the tokens of one encoding. It is safe for concurrent use.
type Counter struct{ codec tokenizer.Codec }

var (
	counters   = map[string]*Counter{}
	countersMu sync.Mutex
)

// NewCounter loads an encoding of vault.Tokenizers, once in a process: that
// takes some 50 milliseconds.
func NewCounter(encoding string) (*Counter, error) {
	countersMu.Lock()
	defer countersMu.Unlock()
	if c := counters[encoding]; c != nil {
		return c, nil
	}
	codec, err := tokenizer.Get(tokenizer.Encoding(encoding))
	if err != nil {
		return nil, fmt.Errorf("the encoding %q: %w", encoding, err)
	}
	counters[encoding] = &Counter{codec}
	return counters[encoding], nil
}

// Count is the number of tokens of text.
func (c *Counter) Count(text string) int {
	n, err := c.codec.Count(text)
	if err != nil {
		return len(text) // what cannot be counted costs the most it could
	}
	return n
}
