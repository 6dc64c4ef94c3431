package vault

import (
	"maps"
	"slices"
	"strings"
)

// Schemas lists the files that have a JSON Schema.
var Schemas = []string{"asset", "vault", "receipt", "loadout"}

// schema is a JSON Schema (2020-12) or a part of one.
type schema map[string]any

// JSONSchema is the JSON Schema of a kind of file, one of Schemas, as a value
// that encoding/json writes; nil for another. It takes every file that the
// parser takes, read as YAML 1.2, and refuses what can be said without looking
// at other files: unknown keys, wrong types, words that are in no list, ranges.
// It is made of the lists that the parser uses.
func JSONSchema(kind string) map[string]any {
	var s schema
	switch kind {
	case "asset":
		s = assetSchema()
	case "vault":
		s = configSchema()
	case "receipt":
		s = receiptSchema()
	case "loadout":
		s = loadoutSchema()
	default:
		return nil
	}
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	return s
}

// closed is a map with these keys and those of one's own, x-….
func closed(properties schema, required ...string) schema {
	s := schema{"type": "object", "properties": properties, "patternProperties": schema{"^x-": true}, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// entriesOf is a map from ids to something.
func entriesOf(value schema) schema {
	return schema{"type": "object", "propertyNames": schema{"pattern": `^[^\s:*]+$`}, "additionalProperties": value}
}

func listOf(items schema) schema { return schema{"type": "array", "items": items} }

// textSchema is what document.text takes: a scalar whose source text counts, so
// that name: 2026 is a text as well.
func textSchema() schema {
	return schema{"type": []string{"string", "number", "boolean"}, "pattern": `\S`}
}

func textLike(pattern string) schema {
	return schema{"type": []string{"string", "number", "boolean"}, "pattern": pattern}
}

func sizedTextSchema(most int) schema {
	s := textSchema()
	s["maxLength"] = most
	return s
}

func textsSchema() schema { return listOf(textSchema()) }

func wordSchema[T ~string](words []T) schema { return schema{"enum": words} }

func integerSchema(least int64) schema {
	return schema{"type": "integer", "minimum": least, "maximum": maxInteger}
}

func shareSchema() schema { return schema{"type": "number", "minimum": 0, "maximum": 1} }

func booleanSchema() schema { return schema{"type": "boolean"} }

func timeSchema() schema {
	return textLike(`^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:\d{2}))?$`)
}

func idSchema() schema {
	s := textLike(idPattern)
	s["not"] = schema{"type": "string", "pattern": `\.$|^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)`}
	return s
}

// subjectSchema is "<kind>:<id>" of one of the kinds; a bare kind may be left
// out.
func subjectSchema(bare string, star bool, kinds ...string) schema {
	id := `[^\s:*]+`
	if star {
		id = `(?:[^\s:*]+|\*)`
	}
	var ways []string
	for _, kind := range kinds {
		if kind == KindTask {
			ways = append(ways, kind+":"+strings.ReplaceAll(id, `\s:*`, `\s*`))
		} else {
			ways = append(ways, kind+":"+id)
		}
	}
	if bare != "" {
		ways = append(ways, id)
	}
	return textLike("^(?:" + strings.Join(ways, "|") + ")$")
}

// Patterns of what no path in an asset has: an empty, . or .. part, .git, a
// backslash, a colon, a control character.
const badPath = `(?:^|/)\.{0,2}(?:/|$)|(?:^|/)(?:\.[gG][iI][tT]|[gG][iI][tT]~1)[. ]*(?:/|$)|[\\:]|[\x00-\x1f\x7f]`

func pathSchema() schema {
	s := textSchema()
	s["not"] = schema{"type": "string", "pattern": badPath}
	return s
}

func branchSchema() schema {
	s := textSchema()
	s["not"] = schema{"type": "string", "pattern": badBranch}
	return s
}

func described(s schema, description string) schema {
	s["description"] = description
	return s
}

// when is a rule that holds where a key has one of some values.
func when(key string, value schema, then schema) schema {
	return schema{"if": schema{"properties": schema{key: value}, "required": []string{key}}, "then": then}
}

func assetSchema() schema {
	s := closed(schema{
		"schema":      schema{"const": AssetSchema},
		"id":          described(idSchema(), "the file's or folder's name, unique in the vault"),
		"type":        wordSchema(Types),
		"name":        sizedTextSchema(200),
		"description": sizedTextSchema(1024),
		"owner":       described(subjectSchema(KindUser, false, KindUser, KindTeam), "user:<id> or team:<id>"),
		"source":      closed(schema{"type": wordSchema(SourceTypes), "ref": textSchema()}),
		"content_ref": described(schema{
			"type": []string{"string", "number", "boolean"}, "pattern": `\S`,
			"anyOf": []schema{{"pattern": uriForm.String()}, {"not": schema{"type": "string", "pattern": badPath}}},
		}, "a URI, or a path inside the asset's folder"),
		"version":    described(integerSchema(1), "lm sets it when it governs"),
		"status":     wordSchema(Statuses),
		"visibility": wordSchema(Visibilities),
		"teams":      listOf(schema{"allOf": []schema{textSchema(), {"not": schema{"type": "string", "pattern": "^" + KindTeam + ":"}}}}),
		"acl": listOf(closed(schema{
			"effect":      wordSchema([]Effect{Allow, Deny}),
			"subject":     subjectSchema("", true, subjectKinds...),
			"permissions": schema{"type": "array", "items": wordSchema(Permissions), "minItems": 1},
		}, "effect", "subject", "permissions")),
		"bindings": listOf(closed(schema{
			"target":   subjectSchema("", false, KindAgent, KindTask, KindFramework),
			"mode":     wordSchema(Modes),
			"priority": shareSchema(),
			"required": booleanSchema(),
			"enabled":  booleanSchema(),
		}, "target")),
		"priority":   described(shareSchema(), "for unbound use, and for bindings that state none"),
		"confidence": shareSchema(),
		"expires_at": described(timeSchema(), "a date (its UTC midnight) or an RFC 3339 time"),
		"labels":     textsSchema(),
		"payload":    schema{"type": "object"},
		"metadata":   schema{"type": "object"},
	}, "schema", "id", "type", "owner")
	s["$id"], s["title"] = "urn:"+strings.ReplaceAll(AssetSchema, "/", ":"), "The keys of an asset of lm"
	// A skill folder's name and description stand in SKILL.md; beside it they are
	// an error, which only lm validate can see.
	rules := []schema{
		{"if": schema{"not": schema{"properties": schema{"type": schema{"const": TypeSkill}}}}, "then": schema{"required": []string{"name", "description"}}},
		{"dependentRequired": schema{"name": []string{"description"}, "description": []string{"name"}}},
	}
	for _, t := range Types {
		keys := maps.Clone(payloadSchemas[t])
		keys["summary"] = textSchema()
		rules = append(rules, when("type", schema{"const": t}, schema{"properties": schema{"payload": closed(keys)}}))
	}
	s["allOf"] = rules
	return s
}

// payloadSchemas are the payloads of payloadKeys.
var payloadSchemas = map[Type]schema{
	TypeSkill: {"triggers": textsSchema(), "validation": textsSchema()},
	TypeChatMemory: {
		"session_id": textSchema(), "agent": textSchema(), "started_at": timeSchema(), "ended_at": timeSchema(),
		"turns": integerSchema(0), "decisions": textsSchema(), "open_tasks": textsSchema(),
	},
	TypeWiki: {
		"pages": listOf(closed(schema{
			"id": textSchema(), "title": textSchema(), "path": pathSchema(), "summary": textSchema(), "links": textsSchema(),
			"citations": listOf(closed(schema{"ref": textSchema(), "span": textSchema()})),
		})),
	},
	TypeCodeGraph: {
		"repository": textSchema(), "revision": textSchema(), "languages": textsSchema(), "graph": pathSchema(),
		"symbols": integerSchema(0), "edges": integerSchema(0), "entry_points": textsSchema(),
	},
}

func loadoutSchema() schema {
	id := idSchema()
	ids := schema{"pattern": idPattern}
	withMode := schema{"type": "object", "propertyNames": ids, "additionalProperties": wordSchema(Modes), "minProperties": 1, "maxProperties": 1}
	query := textSchema()
	delete(query, "pattern") // "" asks for what is bound
	s := closed(schema{
		"schema": schema{"const": LoadoutSchema},
		"request": closed(schema{
			"query": query, "user": textSchema(), "teams": textsSchema(), "roles": textsSchema(), "agent": textSchema(), "task": textSchema(),
			"framework": textSchema(), "token_budget": integerSchema(LeastTokenBudget), "types": listOf(wordSchema(Types)),
			"bound_only": booleanSchema(), "now": timeSchema(),
		}),
		"select":     listOf(schema{"anyOf": []schema{id, withMode}}),
		"first":      id,
		"exclude":    schema{"type": "object", "propertyNames": ids, "additionalProperties": wordSchema(ExclusionReasons)},
		"max_tokens": integerSchema(0),
		"complete":   booleanSchema(),
	}, "schema", "request")
	s["$id"], s["title"] = "urn:"+strings.ReplaceAll(LoadoutSchema, "/", ":"), "A saved loadout of lm"
	return s
}

func receiptSchema() schema {
	digest, state := textLike(digestForm.String()), textSchema()
	from := schema{"type": []string{"string", "number", "boolean"}, "pattern": `^$|\S`}
	s := closed(schema{
		"schema": schema{"const": ReceiptSchema}, "project": textSchema(), "subject": textSchema(), "kind": textSchema(),
		"seq": integerSchema(1), "version": integerSchema(1), "from": from, "to": state, "digest": digest,
		"object": textLike(objectForm.String()), "prev": digest, "actor": subjectSchema("", false, KindUser, KindAgent),
		"authors": textsSchema(), "reason": textSchema(), "at": timeSchema(), "scope": textSchema(), "memory": textSchema(),
		"proposal": textSchema(), "source_refs": textsSchema(), "signature": textSchema(), "x-identity": textSchema(),
	}, receiptRequired...)
	s["$id"], s["title"] = "urn:"+strings.ReplaceAll(ReceiptSchema, "/", ":"), "A receipt of lm; lm writes them, nobody edits them"
	states := wordSchema(Statuses)
	s["allOf"] = []schema{when("subject", schema{"type": "string", "pattern": "^asset/"}, schema{"properties": schema{
		"from": wordSchema(append(slices.Clone(Statuses), "")), "to": states,
	}})}
	return s
}
