package workspace

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"longmemory.dev/lm/vault"
)

// a2aVersion is the version of the A2A protocol whose cards these are.
const a2aVersion = "1.0"

// bindings are A2A's own protocol bindings; others are named by a URI.
var bindings = []string{"JSONRPC", "GRPC", "HTTP+JSON"}

// AgentCard is the card of A2A 1.0, as far as lm knows what to put there: its
// required fields. What the agent's server asks of its callers (security
// schemes, signatures) is for those who run it to add.
type AgentCard struct {
	Name                string            `json:"name"`
	Description         string            `json:"description"`
	SupportedInterfaces []AgentInterface  `json:"supportedInterfaces"`
	Version             string            `json:"version"`
	Capabilities        AgentCapabilities `json:"capabilities"`
	DefaultInputModes   []string          `json:"defaultInputModes"`
	DefaultOutputModes  []string          `json:"defaultOutputModes"`
	Skills              []AgentSkill      `json:"skills"`
}

// AgentInterface is where an agent can be reached, and how.
type AgentInterface struct {
	URL             string `json:"url"`
	ProtocolBinding string `json:"protocolBinding"`
	ProtocolVersion string `json:"protocolVersion"`
}

// AgentCapabilities are those of A2A. lm serves none of the first three.
type AgentCapabilities struct {
	Streaming         bool             `json:"streaming"`
	PushNotifications bool             `json:"pushNotifications"`
	ExtendedAgentCard bool             `json:"extendedAgentCard"`
	Extensions        []AgentExtension `json:"extensions"`
}

// AgentExtension is an extension that only carries data, so it is never
// required.
type AgentExtension struct {
	URI         string          `json:"uri"`
	Description string          `json:"description"`
	Required    bool            `json:"required"`
	Params      ExtensionParams `json:"params"`
}

// ExtensionParams is the data of the extension ExtensionURI.
type ExtensionParams struct {
	ManifestSchema string             `json:"manifest_schema"`
	Version        string             `json:"version"`
	Project        string             `json:"project_id"`
	Agent          string             `json:"agent_id"`
	AssetTypes     map[vault.Type]int `json:"asset_types"`
	ContextBudget  int                `json:"context_budget"`
}

// AgentSkill is a skill on a card. Tags are the asset's labels.
type AgentSkill struct {
	ID          vault.ID `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
}

// card makes the card of a manifest's agent; reachable are the assets that the
// agent may use, by id.
func (v *Vault) card(x *opened, m *Manifest, at AgentInterface, reachable []*vault.Facts) (*AgentCard, error) {
	skills := slices.DeleteFunc(slices.Clone(reachable), func(f *vault.Facts) bool { return f.Type != vault.TypeSkill })
	labels, err := v.labels(x, skills)
	if err != nil {
		return nil, err
	}
	out := &AgentCard{
		Name: m.Agent.Name, Description: m.Agent.Description, SupportedInterfaces: []AgentInterface{at}, Version: m.Version,
		Capabilities:      AgentCapabilities{Extensions: []AgentExtension{m.Extension}},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []AgentSkill{},
	}
	for _, f := range skills {
		tags := labels[f.ID]
		if len(tags) == 0 {
			tags = []string{string(vault.TypeSkill)}
		}
		out.Skills = append(out.Skills, AgentSkill{ID: f.ID, Name: f.Name, Description: f.Description, Tags: tags})
	}
	return out, nil
}

// labels reads the labels of some assets, which no index keeps, from the files
// of the very snapshot that was opened.
func (v *Vault) labels(x *opened, of []*vault.Facts) (map[vault.ID][]string, error) {
	out := map[vault.ID][]string{}
	if len(of) == 0 {
		return out, nil
	}
	at := loaded{Snapshot: x.Snapshot, files: x.files}
	if at.files == nil {
		paths := []string{vault.ConfigFile}
		for _, f := range of {
			paths = append(paths, f.Path)
		}
		var err error
		if at.files, err = v.filesAt(at.Commit, only(paths...)); err != nil {
			return nil, err
		}
	}
	s, err := v.read(&at)
	if err != nil {
		return nil, err
	}
	for _, f := range of {
		if a, ok := s.Asset(f.ID); ok {
			out[f.ID] = a.Labels
		}
	}
	return out, nil
}

// agentInterface checks where an agent is said to be reached; nil: nowhere.
// Its errors never repeat the URL, which may hold a password.
func agentInterface(raw, binding string) (*AgentInterface, error) {
	if raw == "" {
		if binding != "" {
			return nil, fmt.Errorf("%w: --protocol-binding says nothing without --interface-url", ErrUsage)
		}
		return nil, nil
	}
	if what := wrongURL(raw); what != "" {
		return nil, fmt.Errorf("%w: --interface-url %s; write an absolute http or https URL, as in https://agents.example.org/reviewer", ErrUsage, what)
	}
	binding = cmp.Or(binding, bindings[0])
	if !slices.Contains(bindings, binding) {
		if u, err := url.Parse(binding); err != nil || u.Scheme == "" || u.Host == "" {
			return nil, fmt.Errorf("%w: --protocol-binding %q is none of %s, nor the URI of another", ErrUsage, binding, strings.Join(bindings, ", "))
		}
	}
	return &AgentInterface{URL: raw, ProtocolBinding: binding, ProtocolVersion: a2aVersion}, nil
}

// wrongURL says what is wrong with an interface's URL; "" if nothing is.
func wrongURL(raw string) string {
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "has a character that must be percent-encoded, or a host that must be written in ASCII"
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "is no URL"
	}
	port, err := strconv.Atoi(cmp.Or(u.Port(), "1"))
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "is neither http nor https"
	case u.Hostname() == "":
		return "has no host"
	case u.User != nil:
		return "holds a user name or password, and cards are public"
	case strings.Contains(raw, "#"):
		return "has a fragment"
	case err != nil || port < 1 || port > 65535:
		return "has no usable port"
	}
	return ""
}
