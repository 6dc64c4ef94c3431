package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/memoryfile"
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
	all, broken, err := v.adapters()
	for _, b := range broken {
		err = errors.Join(err, b.err)
	}
	if err != nil {
		return nil, err
	}
	return &Adapters{Adapters: all}, nil
}

// adapters are the built-in adapters and the vault's own at what agents read, by
// id, and those of the vault's that cannot be read.
func (v *Vault) adapters() ([]agentprotocol.AdapterDescriptor, []brokenAdapter, error) {
	at, err := v.trusted(Revision{})
	if err != nil {
		return nil, nil, err
	}
	files, err := v.lyingIn(at, AdapterFolder)
	if err != nil {
		return nil, nil, err
	}
	all, broken := readAdapters(files)
	for _, d := range builtIn {
		if !slices.ContainsFunc(all, func(o agentprotocol.AdapterDescriptor) bool { return o.AdapterID == d.AdapterID }) {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b agentprotocol.AdapterDescriptor) int { return strings.Compare(a.AdapterID, b.AdapterID) })
	return all, broken, nil
}

// brokenAdapter is a descriptor that cannot be read: the ids that it has by its
// name and by its text, and its runtime, "" if that is not known.
type brokenAdapter struct {
	ids     []string
	runtime string
	err     error // a Problem
}

// readAdapters reads the descriptors among a vault's files. README.md and names
// that begin with . or _ are none.
func readAdapters(files []vault.File) (out []agentprotocol.AdapterDescriptor, broken []brokenAdapter) {
	for _, f := range files {
		if f.Path == AdapterFolder && f.Kind == vault.FileSymlink {
			broken = append(broken, brokenAdapter{err: vault.Problem{Severity: vault.Error, Path: f.Path, Line: 1, Column: 1, Message: "a symbolic link; lm follows none", Mend: "put the folder itself here"}})
		}
		rel, ok := strings.CutPrefix(f.Path, AdapterFolder+"/")
		base, ext := path.Base(rel), path.Ext(rel)
		if !ok || strings.ContainsAny(base[:1], "._") || ext != ".yaml" && ext != ".yml" {
			continue
		}
		d, err := readAdapter(f)
		if err == nil {
			out = append(out, d)
			continue
		}
		b := brokenAdapter{ids: []string{strings.TrimSuffix(base, ext)}, err: err}
		if keys, err := vault.ParsePlain(f); err == nil {
			b.runtime, _ = keys["runtime"].(string)
			if id, ok := keys["adapter_id"].(string); ok {
				b.ids = append(b.ids, id)
			}
		}
		broken = append(broken, b)
	}
	return out, broken
}

func readAdapter(f vault.File) (agentprotocol.AdapterDescriptor, error) {
	var d agentprotocol.AdapterDescriptor
	fault := func(key string, err error) error {
		at := vault.PlainPlace(f, key)
		return vault.Problem{Severity: vault.Error, Path: f.Path, Line: at.Line, Column: at.Column, Field: key, Message: err.Error(), Mend: "write the keys of an adapter descriptor; lm adapter list --json shows some"}
	}
	if f.Kind != vault.FileRegular && f.Kind != vault.FileExecutable || f.Data == nil && f.Size > 0 {
		return d, fault("", errors.New("this is no plain file of a descriptor's size"))
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
				return d, fault(key, fmt.Errorf("%q is no integer", text))
			}
			keys[key] = n
		case "supports_proposal", "supports_handoff", "supports_feedback":
			if !isText || text != "true" && text != "false" {
				return d, fault(key, errors.New("write true or false"))
			}
			keys[key] = text == "true"
		}
	}
	data, err := json.Marshal(memoryfile.Known[agentprotocol.AdapterDescriptor](keys))
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	if err == nil {
		err = d.Validate()
	}
	if err != nil {
		return d, fault(keyOf(err), err)
	}
	if want := AdapterFolder + "/" + d.AdapterID + ".yaml"; f.Path != want {
		return d, fault("adapter_id", fmt.Errorf("it describes %s, so it lies at %s", d.AdapterID, want))
	}
	return d, nil
}

// keyOf is the key that an error of reading or of the contract is about.
func keyOf(err error) string {
	var wrongType *json.UnmarshalTypeError
	var stable *agentprotocol.StableError
	switch {
	case errors.As(err, &wrongType):
		return strings.Split(wrongType.Field, ".")[0]
	case errors.As(err, &stable):
		end := strings.IndexFunc(stable.Message, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })
		return stable.Message[:max(end, 0)]
	}
	return ""
}

// adapterProblems are what is wrong with the descriptors among a vault's files.
func adapterProblems(files []vault.File) []vault.Problem {
	var out []vault.Problem
	_, broken := readAdapters(files)
	for _, b := range broken {
		out = append(out, vault.Problems(b.err)...)
	}
	return out
}

// noAdapter is the error of an adapter that nothing describes.
func noAdapter(id string) error {
	return agentprotocol.NewStableError(agentprotocol.ErrCodeAdapterUnavailable, fmt.Sprintf("there is no adapter %q; lm adapter list shows those there are", id))
}

// Adapter finds an adapter by its id, else by its runtime. No such one is
// adapter_unavailable. One that cannot be read is its problem, and so is one that
// may be it, where no other is: what it would have said is not known.
func (v *Vault) Adapter(id string) (agentprotocol.AdapterDescriptor, error) {
	d, err := v.adapter(id)
	if err == nil && d == nil {
		err = noAdapter(id)
	}
	if err != nil {
		return agentprotocol.AdapterDescriptor{}, err
	}
	return *d, nil
}

// adapter is Adapter; nil if there is none.
func (v *Vault) adapter(id string) (*agentprotocol.AdapterDescriptor, error) {
	all, broken, err := v.adapters()
	if err != nil {
		return nil, err
	}
	for _, b := range broken {
		if slices.Contains(b.ids, id) {
			return nil, b.err
		}
	}
	for i := range all {
		if all[i].AdapterID == id {
			return &all[i], nil
		}
	}
	for _, b := range broken {
		if b.runtime == id {
			return nil, b.err
		}
	}
	for i := range all {
		if all[i].Runtime == id {
			return &all[i], nil
		}
	}
	for _, b := range broken {
		if b.runtime == "" {
			return nil, b.err
		}
	}
	return nil, nil
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
