package vault

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// valueReader reads one value of a payload into the form that is hashed.
type valueReader func(p *assetParser, d *document, n *yaml.Node, field string) any

// payloadKeys is format.md §2 as data.
var payloadKeys = map[Type]map[string]valueReader{
	TypeSkill: {
		"triggers":   payloadTexts,
		"validation": payloadTexts,
	},
	TypeChatMemory: {
		"session_id": payloadText,
		"agent":      payloadText,
		"started_at": payloadTime,
		"ended_at":   payloadTime,
		"turns":      payloadCount,
		"decisions":  payloadTexts,
		"open_tasks": payloadTexts,
	},
	TypeWiki: {
		"pages": payloadList(map[string]valueReader{
			"id":      payloadText,
			"title":   payloadText,
			"path":    payloadPath,
			"summary": payloadText,
			"citations": payloadList(map[string]valueReader{
				"ref":  payloadText,
				"span": payloadText,
			}),
			"links": payloadTexts,
		}),
	},
	TypeCodeGraph: {
		"repository":   payloadText,
		"revision":     payloadText,
		"languages":    payloadTexts,
		"graph":        payloadPath,
		"symbols":      payloadCount,
		"edges":        payloadCount,
		"entry_points": payloadTexts,
	},
}

func (p *assetParser) readPayload(d *document, n *yaml.Node, field string) {
	schema, known := payloadKeys[p.asset.Type]
	if !known {
		return // the type's own problem says enough
	}
	p.asset.Payload = p.readMap(d, n, field, schema, map[string]valueReader{"summary": payloadText})
	if len(p.asset.Payload) > 0 {
		p.asset.keys[field] = p.asset.Payload
	}
}

// readMap reads a map by a schema; keys of one's own (x-…) are kept as they are.
func (p *assetParser) readMap(d *document, n *yaml.Node, field string, schemas ...map[string]valueReader) map[string]any {
	out := map[string]any{}
	readers := map[string]keyReader{}
	for _, schema := range schemas {
		for key, read := range schema {
			readers[key] = func(value *yaml.Node, f string) { out[key] = read(p, d, value, f) }
		}
	}
	d.keys(n, field, readers)
	if n = follow(n); n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			if key := n.Content[i].Value; readers[key] == nil {
				out[key] = d.free(n.Content[i+1], join(field, key))
			}
		}
	}
	return out
}

func payloadText(_ *assetParser, d *document, n *yaml.Node, field string) any {
	value, _ := d.text(n, field)
	return value
}

func payloadTexts(_ *assetParser, d *document, n *yaml.Node, field string) any {
	if values := d.texts(n, field); values != nil {
		return values
	}
	return []string{}
}

func payloadTime(_ *assetParser, d *document, n *yaml.Node, field string) any {
	return FormatTime(d.instant(n, field))
}

func payloadCount(_ *assetParser, d *document, n *yaml.Node, field string) any {
	return d.integer(n, field, 0)
}

func payloadPath(p *assetParser, d *document, n *yaml.Node, field string) any {
	value, ok := d.text(n, field)
	if ok {
		p.inFolder(d, n, field, value)
	}
	return value
}

func payloadList(schema map[string]valueReader) valueReader {
	return func(p *assetParser, d *document, n *yaml.Node, field string) any {
		out := []any{}
		for i, item := range d.items(n, field) {
			out = append(out, p.readMap(d, item, fmt.Sprintf("%s[%d]", field, i), schema))
		}
		return out
	}
}
