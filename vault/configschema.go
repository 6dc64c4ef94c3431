package vault

import "strings"

// configSchema is the schema of vault.yaml. That teams hold only people, that
// an email has one holder, and what a signature policy needs, only lm validate
// can see.
func configSchema() schema {
	member := func(extra schema) schema {
		s := schema{
			"roles": textsSchema(), "capabilities": listOf(wordSchema(personCapabilities)), "trust": wordSchema(trustLevels),
		}
		for key, value := range extra {
			s[key] = value
		}
		return closed(s)
	}
	scope := subjectSchema("", false, scopeKinds...)
	memory := DefaultConfig().Policy.Memory
	s := closed(schema{
		"schema":  schema{"const": ConfigSchema},
		"project": idSchema(),
		"name":    sizedTextSchema(200),
		"defaults": closed(schema{
			"owner":        subjectSchema(KindUser, false, KindUser, KindTeam),
			"visibility":   wordSchema(Visibilities),
			"token_budget": integerSchema(LeastTokenBudget),
			"tokenizer":    wordSchema(Tokenizers),
		}),
		"people": entriesOf(member(schema{"emails": textsSchema(), "github": textSchema()})),
		"teams":  entriesOf(textsSchema()),
		"agents": entriesOf(member(schema{"framework": textSchema(), "scope": scope})),
		"scopes": listOf(closed(schema{"kind": wordSchema(scopeKinds), "id": textSchema(), "parent": scope}, "kind", "id")),
		"policy": closed(schema{
			"trusted_ref":       textSchema(),
			"approvers":         schema{"type": "array", "items": subjectSchema(KindUser, false, KindUser, KindTeam, KindRole), "minItems": 1},
			"distinct_approver": booleanSchema(),
			"require_reason":    booleanSchema(),
			"on_edit":           wordSchema(onEdit),
			"signatures":        wordSchema(signatureRules),
			"allowed_signers":   pathSchema(),
			"relevance_floor":   shareSchema(),
			"limits":            closed(schema{"asset_bytes": integerSchema(1), "folder_bytes": integerSchema(1), "folder_files": integerSchema(1)}),
			"memory": closed(schema{
				"branch": branchSchema(), "kinds": listOf(wordSchema(memory.Kinds)), "max_risk": wordSchema(risks),
				"auto_confirm": booleanSchema(), "self_approval": booleanSchema(),
			}),
		}),
	}, "schema", "project")
	s["$id"], s["title"] = "urn:"+strings.ReplaceAll(ConfigSchema, "/", ":"), "vault.yaml of lm"
	return s
}
