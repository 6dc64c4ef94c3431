package workspace

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/index"
	"longmemory.dev/lm/vault"
)

// ManifestSchema names what Manifest gives (docs/agents.md).
const ManifestSchema = "https://longmemory.dev/schemas/agent-memory-manifest/v1"

// ExtensionURI names the A2A extension that tells of an agent's memory assets.
const ExtensionURI = "https://longmemory.dev/extensions/memory-assets/v1"

// ManifestAsk asks for the manifest of Ask.Agent. What it is asked for decides
// its loadout; with Now zero, no time stands in the answer.
type ManifestAsk struct {
	Ask
	Name            string // "": the agent's id
	Description     string // "": one that names agent and project
	InterfaceURL    string // where the agent's A2A server listens; "": no card
	ProtocolBinding string // of that server; "": JSONRPC
}

// Manifest tells other systems of an agent: who it is, and which memory it may
// use. The same snapshot and the same ask give the same bytes, until an asset
// expires.
type Manifest struct {
	Schema       string         `json:"schema"`
	ID           string         `json:"manifest_id"`
	Version      string         `json:"version"`
	Project      string         `json:"project_id"`
	Agent        AgentRecord    `json:"agent"`
	Capabilities Capabilities   `json:"capabilities"`
	Loadout      *Loadout       `json:"loadout"`
	MCP          MCPNames       `json:"mcp"`
	Extension    AgentExtension `json:"a2a_extension"`
	Card         *AgentCard     `json:"agent_card"`
}

// AgentRecord is the agent that a manifest is of.
type AgentRecord struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Framework   string `json:"framework"`
	Task        string `json:"task_id"`
}

// Capabilities are what is there for the agent. AssetTypes counts what it may
// use, bound to it or not; every type has its count.
type Capabilities struct {
	AssetTypes    map[vault.Type]int `json:"asset_types"`
	ContextBudget int                `json:"context_budget"` // tokens
	MCP           bool               `json:"mcp"`            // false: no server answers to MCPNames
	Card          bool               `json:"a2a_agent_card"`
}

// MCPNames are the names that are kept for the tools and resources of an MCP
// server: a tool is called like its command.
type MCPNames struct {
	CatalogTool      string `json:"catalog_tool"`
	ContextTool      string `json:"context_tool"`
	AssetsResource   string `json:"assets_resource"`
	ManifestResource string `json:"manifest_resource"`
}

// Manifest makes the manifest of an agent, and its A2A card if the ask has an
// interface. A wrong name or interface is ErrUsage, another agent than the one
// that the process is bound to governance.ErrDenied.
func (v *Vault) Manifest(ctx context.Context, ask ManifestAsk) (*Manifest, error) {
	if _, err := vault.ParseSubject(ask.Agent, vault.KindAgent, vault.KindAgent); err != nil || strings.HasSuffix(ask.Agent, "*") {
		return nil, fmt.Errorf("%w: %q is no agent; write its id, as in reviewer", ErrUsage, ask.Agent)
	}
	at, err := agentInterface(ask.InterfaceURL, ask.ProtocolBinding)
	if err != nil {
		return nil, err
	}
	var m *Manifest
	err = v.answer(ctx, ask.Ask, func(x *opened, request governance.Request, ranking *index.Ranking) error {
		m, err = v.manifest(x, request, ranking, ask, at)
		return err
	})
	return m, err
}

func (v *Vault) manifest(x *opened, request governance.Request, ranking *index.Ranking, ask ManifestAsk, at *AgentInterface) (*Manifest, error) {
	loadout, err := x.loadout(request, ranking, nil)
	if err != nil {
		return nil, err
	}
	if ask.Now.IsZero() {
		loadout.Now, loadout.Request.Now = "", ""
	}
	reachable, counts := x.reachable(request)
	m := &Manifest{
		Schema: ManifestSchema, Version: fmt.Sprintf("%.12s", x.Tree), Project: x.config.Project,
		Agent:        agentRecord(x.config, request, ask),
		Capabilities: Capabilities{AssetTypes: counts, ContextBudget: request.TokenBudget, Card: at != nil},
		Loadout:      loadout,
		MCP:          mcpNames(x.config.Project, request.Agent),
	}
	m.Extension = m.extension()
	if at != nil {
		if m.Card, err = v.card(x, m, *at, reachable); err != nil {
			return nil, err
		}
	}
	m.ID = m.id()
	return m, nil
}

// reachable lists the assets that the subject of a request may use, by id, and
// counts them by type.
func (x *opened) reachable(request governance.Request) ([]*vault.Facts, map[vault.Type]int) {
	var out []*vault.Facts
	counts := map[vault.Type]int{}
	for _, t := range vault.Types {
		counts[t] = 0
	}
	facts := x.Facts()
	for i := range facts {
		if governance.Reachable(&facts[i], request) {
			out = append(out, &facts[i])
			counts[facts[i].Type]++
		}
	}
	return out, counts
}

func agentRecord(config *vault.Config, request governance.Request, ask ManifestAsk) AgentRecord {
	return AgentRecord{
		ID:          request.Agent,
		Name:        cmp.Or(strings.TrimSpace(ask.Name), request.Agent),
		Description: cmp.Or(strings.TrimSpace(ask.Description), fmt.Sprintf("The agent %s of the project %s.", request.Agent, cmp.Or(config.Name, config.Project))),
		Framework:   request.Framework,
		Task:        request.Task,
	}
}

func mcpNames(project, agent string) MCPNames {
	base := "longmemory://project/" + url.PathEscape(project)
	return MCPNames{
		CatalogTool: "asset_list", ContextTool: "loadout",
		AssetsResource: base + "/assets", ManifestResource: base + "/agents/" + url.PathEscape(agent) + "/manifest",
	}
}

// extension is the manifest in short, as a card carries it.
func (m *Manifest) extension() AgentExtension {
	return AgentExtension{
		URI: ExtensionURI, Description: "Which approved memory assets this agent may use.",
		Params: ExtensionParams{
			ManifestSchema: m.Schema, Version: m.Version, Project: m.Project, Agent: m.Agent.ID,
			AssetTypes: m.Capabilities.AssetTypes, ContextBudget: m.Capabilities.ContextBudget,
		},
	}
}

// id is made of all the rest: the manifest with "" for its id.
func (m *Manifest) id() string {
	rest := *m
	rest.ID = ""
	return fmt.Sprintf("manifest-%.16s", strings.TrimPrefix(string(vault.CanonicalDigest(rest)), "sha256:"))
}
