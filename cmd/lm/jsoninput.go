package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/internal/workspace"
	"longmemory.dev/lm/vault/memoryfile"
)

// input reads a struct of the contract from --input-json. Keys that it does not
// know are ignored, those too that differ in case alone.
func input[T any](c *command, ctx *cli.Context) (T, error) {
	var out T
	if ctx.String("input-json") == "" {
		return out, nil
	}
	keys, err := c.jsonObject(ctx.String("input-json"), "--input-json")
	if err != nil {
		return out, err
	}
	data, err := json.Marshal(memoryfile.Known[T](keys))
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return out, fmt.Errorf("%w: --input-json: %w", workspace.ErrUsage, err)
	}
	return out, nil
}

// jsonInput reads one JSON object whose numbers are kept as they stand.
func (c *command) jsonInput(value, flag string) (map[string]any, error) {
	out, err := c.jsonObject(value, flag)
	if err != nil {
		return nil, err
	}
	return out, exact(out, flag)
}

// jsonObject reads one JSON object: a literal, a file, or - for standard input. A
// byte order mark is dropped, as in the files of a vault.
func (c *command) jsonObject(value, flag string) (map[string]any, error) {
	const byteOrder = "\ufeff"
	data := []byte(value)
	if first := strings.TrimSpace(strings.TrimPrefix(value, byteOrder)); first == "" || !strings.ContainsAny(first[:1], `{["`) {
		var err error
		if data, err = c.readFile(value, flag); err != nil {
			return nil, err
		}
	}
	data = bytes.TrimPrefix(data, []byte(byteOrder))
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var out map[string]any
	err := decoder.Decode(&out)
	if err == nil && out == nil {
		err = errors.New("it is null")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s is no JSON object: %w", workspace.ErrUsage, flag, err)
	}
	if twice := repeated(data); twice != "" {
		return nil, fmt.Errorf("%w: %s has the key %q twice; keep one of the two", workspace.ErrUsage, flag, twice)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: %s: something follows the JSON object", workspace.ErrUsage, flag)
	}
	return out, nil
}

// repeated finds a key that stands twice in one object of a JSON text: misspelt
// policy must not vanish behind it. "" if there is none.
func repeated(data []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(data))
	var walk func() (string, error)
	walk = func() (string, error) {
		token, err := decoder.Token()
		if err != nil {
			return "", err
		}
		open, _ := token.(json.Delim)
		seen := map[string]bool{}
		for open != 0 && decoder.More() {
			if open == '{' {
				key, err := decoder.Token()
				if err != nil {
					return "", err
				}
				name, _ := key.(string)
				if seen[name] {
					return name, nil
				}
				seen[name] = true
			}
			if twice, err := walk(); twice != "" || err != nil {
				return twice, err
			}
		}
		if open != 0 {
			_, err = decoder.Token()
		}
		return "", err
	}
	twice, _ := walk() // what is no JSON was refused before
	return twice
}

// exact refuses numbers that would be kept as other ones.
func exact(value any, flag string) error {
	switch v := value.(type) {
	case map[string]any:
		for _, item := range v {
			if err := exact(item, flag); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := exact(item, flag); err != nil {
				return err
			}
		}
	case json.Number:
		i, err := v.Int64()
		if integer := !strings.ContainsAny(v.String(), ".eE"); integer && (err != nil || i > 1<<53 || i < -1<<53) {
			return fmt.Errorf("%w: %s: %s is beyond ±2^53, where integers are no longer exact; write it as a string", workspace.ErrUsage, flag, v)
		} else if _, err := v.Float64(); !integer && err != nil {
			return fmt.Errorf("%w: %s: %s is no finite number", workspace.ErrUsage, flag, v)
		}
	}
	return nil
}
