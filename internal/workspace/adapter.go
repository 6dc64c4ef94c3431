package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// AdapterFolder is where a vault describes adapters of its own: one YAML file
// each, whose keys are the JSON names of agentprotocol.AdapterDescriptor.
const AdapterFolder = "adapters"

var adapterCapabilities = []agentprotocol.Capability{
	agentprotocol.CapabilityRead, agentprotocol.CapabilityPropose, agentprotocol.CapabilityHandoff, agentprotocol.CapabilityFeedback,
}

// builtIn are the adapters that lm knows by itself. Claude Code takes about
// 10,000 characters of a hook's context whole.
var builtIn = []agentprotocol.AdapterDescriptor{
	{
		SchemaVersion: agentprotocol.AdapterSchemaVersion, AdapterID: "claude-code", Runtime: "claude-code", SupportedVersions: []string{agentprotocol.SchemaVersion},
		Capabilities: adapterCapabilities, MaxContextItems: 20, MaxContextChars: 8000, SupportsProposal: true, SupportsHandoff: true, SupportsFeedback: true,
	},
	{
		SchemaVersion: agentprotocol.AdapterSchemaVersion, AdapterID: "codex", Runtime: "codex", SupportedVersions: []string{agentprotocol.SchemaVersion},
		Capabilities: adapterCapabilities, MaxContextItems: 20, MaxContextChars: 8000, SupportsProposal: true, SupportsHandoff: true, SupportsFeedback: true,
	},
}

// Adapters are the adapters that a vault may be used through, by id.
type Adapters struct {
	Adapters []agentprotocol.AdapterDescriptor `json:"adapters"`
}

// Adapters lists the built-in adapters and those of the vault, which win.
func (v *Vault) Adapters() (*Adapters, error) {
	own, err := v.ownAdapters()
	if err != nil {
		return nil, err
	}
	out := &Adapters{Adapters: own}
	for _, d := range builtIn {
		if !slices.ContainsFunc(own, func(o agentprotocol.AdapterDescriptor) bool { return o.AdapterID == d.AdapterID }) {
			out.Adapters = append(out.Adapters, d)
		}
	}
	slices.SortFunc(out.Adapters, func(a, b agentprotocol.AdapterDescriptor) int { return strings.Compare(a.AdapterID, b.AdapterID) })
	return out, nil
}

// ownAdapters reads the vault's own at what agents read.
func (v *Vault) ownAdapters() ([]agentprotocol.AdapterDescriptor, error) {
	at, err := v.trusted(Revision{})
	if err != nil {
		return nil, err
	}
	files := at.files
	if at.Commit != "" {
		if files, err = v.Repo.Files(at.Commit, v.Prefix, maxConfig, only(AdapterFolder)); errors.Is(err, gitstore.ErrNotFound) {
			return nil, nil
		}
	}
	var out []agentprotocol.AdapterDescriptor
	for _, f := range files {
		name, ok := strings.CutSuffix(strings.TrimPrefix(f.Path, AdapterFolder+"/"), ".yaml")
		if !ok || !strings.HasPrefix(f.Path, AdapterFolder+"/") || strings.ContainsAny(name[:1], "._") {
			continue
		}
		d, readErr := readAdapter(f, name)
		err = errors.Join(err, readErr)
		out = append(out, d)
	}
	return out, err
}

func readAdapter(f vault.File, name string) (agentprotocol.AdapterDescriptor, error) {
	var d agentprotocol.AdapterDescriptor
	fault := func(err error) error {
		return vault.Problem{Severity: vault.Error, Path: f.Path, Line: 1, Column: 1, Message: err.Error(), Mend: "write the keys of an adapter descriptor; lm adapter list --json shows two"}
	}
	keys, err := vault.ParsePlain(f)
	if err != nil {
		return d, err
	}
	for key, value := range keys {
		text, isText := value.(string)
		switch key {
		case "max_context_items", "max_context_chars":
			n, err := strconv.Atoi(text)
			if err != nil {
				return d, fault(fmt.Errorf("%s: %q is no integer", key, text))
			}
			keys[key] = n
		case "supports_proposal", "supports_handoff", "supports_feedback":
			if !isText || text != "true" && text != "false" {
				return d, fault(fmt.Errorf("%s: write true or false", key))
			}
			keys[key] = text == "true"
		}
	}
	data, err := json.Marshal(keys)
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	if err == nil {
		err = d.Validate()
	}
	if err == nil && d.AdapterID != name {
		err = fmt.Errorf("it describes %s and is named %s.yaml", d.AdapterID, name)
	}
	if err != nil {
		return d, fault(err)
	}
	return d, nil
}

// Adapter finds an adapter by its id, else by its runtime. No such one is
// adapter_unavailable.
func (v *Vault) Adapter(id string) (agentprotocol.AdapterDescriptor, error) {
	all, err := v.Adapters()
	if err != nil {
		return agentprotocol.AdapterDescriptor{}, err
	}
	for _, by := range []func(agentprotocol.AdapterDescriptor) string{
		func(d agentprotocol.AdapterDescriptor) string { return d.AdapterID },
		func(d agentprotocol.AdapterDescriptor) string { return d.Runtime },
	} {
		for _, d := range all.Adapters {
			if by(d) == id {
				return d, nil
			}
		}
	}
	return agentprotocol.AdapterDescriptor{}, agentprotocol.NewStableError(agentprotocol.ErrCodeAdapterUnavailable, fmt.Sprintf("there is no adapter %q; lm adapter list shows those there are", id))
}

// NegotiateAdapter says how an adapter and this lm get along. One that
// negotiates no version is adapter_unavailable.
func (v *Vault) NegotiateAdapter(id string, versions []string, wanted []agentprotocol.Capability) (*agentprotocol.NegotiateResult, error) {
	d, err := v.Adapter(id)
	if err != nil {
		return nil, err
	}
	if len(versions) == 0 {
		versions = []string{agentprotocol.SchemaVersion}
	}
	r := agentprotocol.Negotiate(d, versions, wanted)
	if r.NegotiatedVersion == "" {
		return &r, agentprotocol.NewStableError(agentprotocol.ErrCodeAdapterUnavailable, id+": "+r.Reason)
	}
	return &r, nil
}
