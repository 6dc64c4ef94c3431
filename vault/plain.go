package vault

import (
	"bytes"
	"encoding/json"
	"fmt"

	"gopkg.in/yaml.v3"
)

// ParsePlain reads a file that is one map in YAML, as strictly as every file of
// a vault, without knowing its keys. Every scalar is its source text, whatever
// YAML would take it for. The error holds all problems.
func ParsePlain(file File) (map[string]any, error) {
	var found findings
	d := plainYAML(file.Path, file.Data, &found)
	var out map[string]any
	if d.root != nil {
		out, _ = d.tree(d.root, "", d.texty).(map[string]any)
	}
	if err := found.err(); err != nil {
		return nil, err
	}
	return out, nil
}

// PlainPlace is where the value of a key stands in a file that ParsePlain reads, the
// file's head if it is not there.
func PlainPlace(file File, key string) Place {
	d := plainYAML(file.Path, file.Data, new(findings))
	for i := 0; d.root != nil && i+1 < len(d.root.Content); i += 2 {
		if d.root.Content[i].Value == key {
			return d.place(d.root.Content[i+1])
		}
	}
	return Place{1, 1}
}

func (d *document) texty(n *yaml.Node, field string) any {
	if plain(n) && coreNull[n.Value] {
		d.at(n, Error, field, "leave the key out, or write a value", "there is no value")
	}
	return n.Value
}

// EncodePlain writes a value as YAML with the keys in the order in which its
// JSON has them: of a struct, that of its fields. It must be a JSON object.
func EncodePlain(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	n, err := jsonNode(decoder, 0)
	if err != nil {
		return nil, err
	}
	if n.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%T is no JSON object", value)
	}
	return encodeNode(n), nil
}

// jsonNode reads the next JSON value.
func jsonNode(decoder *json.Decoder, depth int) (*yaml.Node, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	open, isDelim := token.(json.Delim)
	if !isDelim {
		return toNode(token, depth), nil
	}
	n := &yaml.Node{Kind: yaml.SequenceNode}
	if open == '{' {
		n.Kind = yaml.MappingNode
	}
	for decoder.More() {
		child, err := jsonNode(decoder, depth+1)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, child)
	}
	if depth > 0 && (len(n.Content) == 0 || oneLine(n)) {
		n.Style = yaml.FlowStyle
	}
	_, err = decoder.Token()
	return n, err
}
