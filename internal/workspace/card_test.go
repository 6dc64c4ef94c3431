package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// cardOf is a card as its readers get it.
func cardOf(t *testing.T) ([]byte, map[string]any) {
	t.Helper()
	m, _ := manifestOf(t, openAt(t, sharedVault(t), noon, nil), "alice", nil)
	data, err := json.Marshal(m.Card)
	if err != nil {
		t.Fatal(err)
	}
	var card map[string]any
	if err := json.Unmarshal(data, &card); err != nil {
		t.Fatal(err)
	}
	return data, card
}

// The card has the fields that a2a.proto of 1.0 marks as required, the two
// that say what lm does not serve, the extension, and nothing of 0.3: no url,
// preferredTransport, additionalInterfaces, protocolVersion or
// supportsAuthenticatedExtendedCard of its own, no stateTransitionHistory.
func TestCardHasTheFieldsOfA2A(t *testing.T) {
	data, card := cardOf(t)
	expect := func(object any, keys string) {
		t.Helper()
		if got := strings.Join(keysOf(object), " "); got != keys {
			t.Errorf("keys %s, want %s", got, keys)
		}
	}
	first := func(list any) any { return list.([]any)[0] }
	capabilities := card["capabilities"].(map[string]any)
	expect(card, "capabilities defaultInputModes defaultOutputModes description name skills supportedInterfaces version")
	expect(first(card["supportedInterfaces"]), "protocolBinding protocolVersion url")
	expect(capabilities, "extendedAgentCard extensions pushNotifications streaming")
	expect(first(capabilities["extensions"]), "description params required uri")
	for _, skill := range card["skills"].([]any) {
		expect(skill, "description id name tags")
	}
	for _, claim := range []string{"streaming", "pushNotifications", "extendedAgentCard"} {
		if capabilities[claim] != false {
			t.Errorf("the card claims %s, which nothing serves", claim)
		}
	}
	if strings.Contains(string(data), "null") || strings.Contains(string(data), `""`) || strings.Contains(string(data), "[]") {
		t.Errorf("a required field is empty: %s", data)
	}
}

func TestCardInterface(t *testing.T) {
	for _, c := range []struct{ url, binding, wrong string }{
		{"", "", ""},
		{"https://agents.example.org/reviewer", "", ""},
		{"http://127.0.0.1:8080", "GRPC", ""},
		{"http://[::1]:8080/a?tenant=x", "HTTP+JSON", ""},
		{"HTTPS://agents.example.org", "https://example.org/bindings/queue/v1", ""},
		{"", "GRPC", "says nothing without --interface-url"},
		{"agents.example.org/reviewer", "", "neither http nor https"},
		{"/reviewer", "", "neither http nor https"},
		{"//agents.example.org", "", "neither http nor https"},
		{"ftp://agents.example.org", "", "neither http nor https"},
		{"javascript:alert(1)", "", "neither http nor https"},
		{"https://", "", "no host"},
		{"https://:443/", "", "no host"},
		{"https:agents.example.org", "", "no host"},
		{"https:///reviewer", "", "no host"},
		{"https://alice:secret@agents.example.org", "", "user name or password"},
		{"https://@agents.example.org", "", "user name or password"},
		{"https://agents.example.org/#top", "", "fragment"},
		{"https://agents.example.org/#", "", "fragment"},
		{"https://agents.example.org:0/", "", "port"},
		{"https://agents.example.org:70000/", "", "port"},
		{"https://agents.example.org:port/secret", "", "no URL"},
		{"https://agents.example.org/a b", "", "percent-encoded"},
		{"https://agents.example.org/\n", "", "percent-encoded"},
		{"https://bücher.example", "", "ASCII"},
		{"https://agents.example.org", "jsonrpc", "none of JSONRPC, GRPC, HTTP+JSON"},
		{"https://agents.example.org", "urn:x", "nor the URI"},
	} {
		at, err := agentInterface(c.url, c.binding)
		switch {
		case c.wrong != "":
			if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%q %q: %v, want %s", c.url, c.binding, err, c.wrong)
			}
		case err != nil || (at == nil) != (c.url == "") || at != nil && *at != AgentInterface{c.url, cmp.Or(c.binding, "JSONRPC"), "1.0"}:
			t.Errorf("%q %q: %+v, %v", c.url, c.binding, at, err)
		}
	}
}

// sdk is the A2A project's own JavaScript SDK, which has the types of 1.0.
const sdk = "@a2a-js/sdk@1.3.0"

// readCard parses the card with the SDK, makes a client of it, as whoever
// discovers an agent does, and prints what the SDK understood.
const readCard = `
import { readFileSync } from "node:fs";
import { AgentCard, A2A_PROTOCOL_VERSION } from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";
const card = AgentCard.fromJSON(JSON.parse(readFileSync("card.json", "utf8")));
await new ClientFactory().createFromAgentCard(card);
console.log(JSON.stringify({ protocol: A2A_PROTOCOL_VERSION, card: AgentCard.toJSON(card) }));
`

// The SDK drops what it does not know, so what it prints must be the card.
func TestCardIsReadByTheA2ASDK(t *testing.T) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not here, so nothing can run %s", program, sdk)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	data, card := cardOf(t)
	for name, content := range map[string][]byte{"package.json": []byte(`{"private": true}`), "card.json": data, "read.mjs": []byte(readCard)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	install := exec.CommandContext(ctx, "npm", "install", "--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=0", sdk)
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("npm cannot install %s here: %v\n%s", sdk, err, out)
	}
	read := exec.CommandContext(ctx, "node", "read.mjs")
	read.Dir, read.Stderr = dir, os.Stderr
	out, err := read.Output()
	if err != nil {
		t.Fatalf("%s does not take the card: %v\n%s", sdk, err, data)
	}
	var got struct {
		Protocol string
		Card     map[string]any
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	// protobuf's JSON leaves out a false that is not optional.
	for _, e := range card["capabilities"].(map[string]any)["extensions"].([]any) {
		delete(e.(map[string]any), "required")
	}
	if got.Protocol != a2aVersion || !reflect.DeepEqual(got.Card, card) {
		t.Errorf("for A2A %s the SDK understood\n%v\nof\n%v", got.Protocol, got.Card, card)
	}
}
