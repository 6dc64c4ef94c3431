package vault

import "strings"

var schemaBases = map[string]string{
	"asset":   "schema: lm.asset/v1\nid: a\ntype: llm_wiki\nname: n\ndescription: d\nowner: alice\n",
	"vault":   "schema: lm.vault/v1\nproject: p\n",
	"loadout": "schema: lm.loadout-test/v1\nrequest: {query: q}\n",
	"receipt": "schema: lm.receipt/v1\nproject: p\nsubject: asset/a\nkind: asset_governed\nseq: 1\nfrom: \"\"\nto: candidate\ndigest: sha256:" + strings.Repeat("a", 64) + "\nactor: user:alice\nat: 2026-12-01T00:00:00Z\n",
}

// parsesAs says whether lm takes a file of a kind.
func parsesAs(kind, data string) error {
	file := File{Data: []byte(data), Size: int64(len(data))}
	var err error
	switch kind {
	case "asset":
		file.Path = "assets/a.yaml"
		_, err = ParseAsset(file.Path, []File{file}, DefaultConfig())
	case "vault":
		_, err = ParseConfig(file.Data)
	case "receipt":
		file.Path = "receipts/asset/a/0001.yaml"
		_, err = ParseReceipt(file)
	case "loadout":
		file.Path = "loadouts/a.yaml"
		_, err = ParseLoadoutTest(file)
	}
	return err
}

// schemaFaults are keys that neither the parser nor a schema takes; a line
// replaces the base's line of that key.
var schemaFaults = map[string][]string{
	"asset": {
		"visibilty: private", "schema: lm.asset/v2", "id: A", "id: con", "id: x.", "type: page", "name: \"\"", "name:", "name: [a]", "description: " + strings.Repeat("x", 1025),
		"owner: agent:x", "owner: \"a b\"", "source: {type: web}", "source: {reff: x}", "content_ref: ../x", "content_ref: 'a\\b'", "content_ref: .git/x", "version: 0",
		"version: \"1\"", "version: 1.5", "status: done", "visibility: public", "teams: core", "teams: [\"team:core\"]", "acl: [{effect: allow, subject: \"user:a\"}]",
		"acl: [{effect: allow, subject: \"x:a\", permissions: [read]}]", "acl: [{effect: maybe, subject: \"user:a\", permissions: [read]}]",
		"acl: [{effect: deny, subject: \"user:a\", permissions: []}]", "acl: [{effect: deny, subject: \"user:a\", permissions: [fly]}]", "bindings: [{mode: tool}]",
		"bindings: [{target: \"agent:*\"}]", "bindings: [{target: \"user:a\"}]", "bindings: [{target: \"agent:a\", mode: loud}]", "bindings: [{target: \"agent:a\", required: 1}]",
		"priority: 2", "priority: -0.1", "priority: high", "confidence: \"0.5\"", "expires_at: soon", "labels: x", "payload: {triggers: [x]}", "payload: {pages: [{titel: x}]}",
		"payload: {pages: [{path: /etc/passwd}]}", "payload: []", "metadata: x", "description: null",
	},
	"vault": {
		"projekt: p", "schema: lm.vault/v9", "project: P", "defaults: {owner: \"agent:x\"}", "defaults: {token_budget: 63}", "defaults: {tokenizer: gpt}", "people: [a]",
		"people: {\"a b\": {}}", "people: {a: {trust: total}}", "people: {a: {capabilities: [fly]}}", "agents: {a: {scope: lm}}", "agents: {a: {email: x}}", "scopes: [{id: lm}]",
		"scopes: [{kind: planet, id: lm}]", "teams: {a: b}", "policy: {approvers: []}", "policy: {on_edit: panic}", "policy: {signatures: maybe}", "policy: {relevance_floor: 2}",
		"policy: {distinct_approver: \"true\"}", "policy: {limits: {asset_bytes: 0}}", "policy: {memory: {kinds: [rumour]}}", "policy: {memory: {max_risk: wild}}",
		"policy: {memory: {branch: \"../x y\"}}", "policy: {memory: {branch: lm/inbox.lock}}", "policy: {memory: {branch: a/}}", "policy: {memory: {branch: \"-x\"}}", "policy: {memory: {branch: \"@\"}}", "policy: {memory: {branch: \"a@{1}\"}}", "policy: {allowed_signers: ../x}",
	},
	"loadout": {
		"schema: lm.asset/v1", "request: x", "request: {agnet: a}", "request: {token_budget: 1}", "request: {types: [page]}", "request: {now: today}", "request: {bound_only: 1}",
		"select: a", "select: [{a: loud}]", "select: [A]", "first: [a]", "exclude: [a]", "exclude: {a: boring}", "max_tokens: -1", "complete: maybe", "selects: [a]",
	},
	"receipt": {
		"schema: lm.receipt/v2", "seq: 0", "version: 0", "digest: sha256:x", "prev: x", "object: x", "actor: alice", "actor: team:a", "at: now", "to: done", "from: done", "authors: a", "actors: a",
	},
}
