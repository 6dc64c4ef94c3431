package workspace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
	"longmemory.dev/lm/vault/memoryfile"
)

// ContextAsk is a request for a context, with the adapter that it comes through.
type ContextAsk struct {
	Request agentprotocol.ContextRequest
	Adapter string // "": that of the principal's runtime, if there is one
	Now     time.Time
}

// shownHandoffs is how many handoffs a context points to.
const shownHandoffs = 5

// Context compiles the memories of a scope into a pack for an agent.
func (v *Vault) Context(ctx context.Context, ask ContextAsk) (*agentprotocol.ContextPack, error) {
	m, err := v.remember(false, ask.Request.Principal)
	if err != nil {
		return nil, err
	}
	if !ask.Now.IsZero() {
		m.now = ask.Now.UTC()
	}
	r := ask.Request
	if r.Scope == (agentprotocol.Scope{}) {
		r.Scope = m.principal.Home
	}
	r.Principal, r.Scope = m.principal.Principal, m.tree.Named(r.Scope)
	if r.SchemaVersion == "" {
		r.SchemaVersion = agentprotocol.ContextSchemaVersion
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	most, err := m.maxima(ask.Adapter)
	if err != nil {
		return nil, err
	}
	var pack agentprotocol.ContextPack
	text := strings.TrimSpace(strings.Join(append([]string{r.Task, r.Intent}, r.Entities...), "\n"))
	err = m.recall(ctx, r.Scope, text, func(_ *memories, eligible []*memory.Candidate, load memory.Loading) (err error) {
		pack, err = memory.Compile(r, eligible, load, m.now, most)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range pack.NextActions {
		if a := &pack.NextActions[i]; a.Name == memory.ShowMore && !ask.Now.IsZero() {
			a.Command += " --now " + vault.FormatTime(m.now)
		}
	}
	handoffs, more, err := m.addressed(r.Scope)
	if err != nil {
		return nil, err
	}
	pack.NextActions = append(pack.NextActions, memory.HandoffActions(handoffs, more)...)
	return &pack, nil
}

// maxima are those of an adapter: the one that is named, else that of the
// principal's runtime where it has one.
func (m *remembering) maxima(adapter string) (agentprotocol.ContextBudget, error) {
	named := adapter != ""
	if !named {
		adapter = m.principal.Runtime
	}
	if adapter == "" {
		return agentprotocol.ContextBudget{}, nil
	}
	d, err := m.v.adapter(adapter)
	if err == nil && d == nil && named {
		err = noAdapter(adapter)
	}
	if err != nil || d == nil {
		return agentprotocol.ContextBudget{}, err
	}
	if r := agentprotocol.Negotiate(*d, []string{agentprotocol.SchemaVersion}, nil); !r.Compatible {
		return agentprotocol.ContextBudget{}, agentprotocol.NewStableError(agentprotocol.ErrCodeAdapterUnavailable, d.AdapterID+": "+r.Reason)
	}
	return agentprotocol.ContextBudget{MaxItems: d.MaxContextItems, MaxChars: d.MaxContextChars}, nil
}

// HandedOff is a handoff with what was written.
type HandedOff struct {
	agentprotocol.Handoff
	Receipt agentprotocol.Receipt `json:"receipt"`
	Commit  gitstore.Hash         `json:"commit"`
	Branch  string                `json:"branch"`
	// Warnings say why it may not be found.
	Warnings []string `json:"warnings"`
}

// HandOff keeps a handoff on the memory branch. Of h the id, time and giver are
// set here; ToPrincipal needs only an id.
func (v *Vault) HandOff(ctx context.Context, h agentprotocol.Handoff) (*HandedOff, error) {
	m, err := v.remember(false, h.FromPrincipal)
	if err != nil {
		return nil, err
	}
	if h.Scope == (agentprotocol.Scope{}) {
		h.Scope = m.principal.Home
	}
	h.SchemaVersion, h.FromPrincipal, h.Scope, h.CreatedAt = cmp.Or(strings.TrimSpace(h.SchemaVersion), agentprotocol.HandoffSchemaVersion), m.principal.Principal, m.tree.Named(h.Scope), m.now
	to, err := m.receiver(h.ToPrincipal)
	if err != nil {
		return nil, err
	}
	h.ToPrincipal = to.Principal
	if h.HandoffID, err = m.newID(memoryfile.Handoffs); err != nil {
		return nil, err
	}
	if err := memory.MayHandOff(h, m.principal, to, m.tree); err != nil {
		return nil, err
	}
	doc, err := memoryfile.New(h)
	if err != nil {
		return nil, err
	}
	w := m.write("Hand work over to "+h.ToPrincipal.PrincipalID, true)
	r, err := w.add(memoryAct{kind: memoryfile.HandoffCreated, subject: memoryfile.Handoffs.SubjectOf(h.HandoffID), to: string(memoryfile.Recorded), digest: doc.Digest, file: doc.File,
		scope: h.Scope, sources: h.Sources, authors: []string{h.FromPrincipal.PrincipalID}}, nil)
	if err != nil {
		return nil, err
	}
	commit, err := w.commit(ctx)
	return &HandedOff{Handoff: h, Warnings: m.handoffWarnings(h, to), Receipt: memoryfile.AsProtocol(r), Commit: commit, Branch: w.ref}, err
}

// handoffWarnings say why who takes work over may not find it.
func (m *remembering) handoffWarnings(h agentprotocol.Handoff, to memory.Principal) []string {
	out := []string{}
	host := slices.ContainsFunc(builtIn, func(d agentprotocol.AdapterDescriptor) bool { return d.AdapterID == to.AgentID })
	if _, listed := m.config.Agents[to.AgentID]; to.AgentID != "" && !listed && !host {
		out = append(out, fmt.Sprintf("vault.yaml lists no %s; whoever is to find this has to act by that name", to.PrincipalID))
	}
	if how := memory.Overlooks(h, to, m.tree); how != "" {
		out = append(out, how)
	}
	return out
}

// receiver fills in who takes work over, as vault.yaml has them: "agent:*" is
// whichever agent comes next.
func (m *remembering) receiver(to agentprotocol.Principal) (memory.Principal, error) {
	out := memory.Principal{Principal: to}
	switch {
	case to.PrincipalID == memory.AnyAgent:
		out.Principal = agentprotocol.DefaultAdapterPrincipal(to.PrincipalID, to.Runtime)
		return out, nil
	case !named(to.PrincipalID):
		return out, agentprotocol.NewStableError(agentprotocol.ErrCodeValidationFailed, fmt.Sprintf("to_principal: principal_id: %q is nobody; write agent:<id>, agent:* or user:<id>", to.PrincipalID))
	}
	out, err := memory.PrincipalOf(m.config, vault.Subject(to.PrincipalID), "")
	if err != nil {
		return out, fmt.Errorf("to_principal: %w", err)
	}
	return out, nil
}

// named says whether a word names an agent or a person.
func named(id string) bool {
	_, err := vault.ParseSubject(id, "", vault.KindAgent, vault.KindUser)
	return err == nil && !strings.HasSuffix(id, ":*")
}

// HandoffList is handoffs, the newest first.
type HandoffList struct {
	Handoffs []agentprotocol.Handoff `json:"handoffs"`
	Total    int                     `json:"total"`
}

// Handoffs lists the handoffs that the principal may read: all in the scopes it
// is bound to, or only those that are for it.
func (v *Vault) Handoffs(mine bool, scope string, limit int) (*HandoffList, error) {
	m, err := v.remember(false, agentprotocol.Principal{})
	if err != nil {
		return nil, err
	}
	within, err := m.scope(scope)
	if err != nil {
		return nil, err
	}
	if err := m.principal.Needs(m.tree, agentprotocol.CapabilityRead, within); err != nil {
		return nil, err
	}
	docs, err := read[agentprotocol.Handoff](m.v, m.tip, memoryfile.Handoffs)
	if err != nil {
		return nil, err
	}
	out := &HandoffList{Handoffs: []agentprotocol.Handoff{}}
	for i := len(docs) - 1; i >= 0; i-- {
		h := docs[i].DTO
		if m.reaches(h.Scope, h.FromPrincipal.PrincipalID) && (scope == "" || h.Scope == within) && (!mine || memory.Addressed(h, m.principal, []agentprotocol.Scope{h.Scope})) {
			out.Handoffs = append(out.Handoffs, h)
		}
	}
	out.Total = len(out.Handoffs)
	if limit > 0 && len(out.Handoffs) > limit {
		out.Handoffs = out.Handoffs[:limit]
	}
	return out, nil
}

// reaches says whether the principal may read what somebody wrote in a scope: it
// lies in its own, or above it.
func (m *remembering) reaches(s agentprotocol.Scope, author string) bool {
	return m.tree.Reaches(m.principal, s, m.home(author))
}

// sees says whether the principal sees what somebody wrote in a scope that it may
// read: another's session is none of its own.
func (m *remembering) sees(s agentprotocol.Scope, author string) bool {
	return m.tree.Sees(m.principal, s, m.home(author))
}

// home is the scope of an author who says nothing of it.
func (m *remembering) home(author string) agentprotocol.Scope {
	home, known := m.homes[author]
	if !known {
		home = m.tree.Project()
		if p, err := memory.PrincipalOf(m.config, vault.Subject(author), ""); err == nil {
			home = p.Home
		}
		m.homes[author] = home
	}
	return home
}

func (m *remembering) seesRecord(r *memory.Record) bool { return m.sees(r.Scope, r.CreatorID) }

// ShowHandoff shows one handoff.
func (v *Vault) ShowHandoff(id string) (*agentprotocol.Handoff, error) {
	m, err := v.remember(false, agentprotocol.Principal{})
	if err != nil {
		return nil, err
	}
	if err := m.mayRead(); err != nil {
		return nil, err
	}
	d, err := find[agentprotocol.Handoff](v, m.tip, memoryfile.Handoffs, id)
	if err != nil {
		return nil, err
	}
	if d == nil || !m.reaches(d.DTO.Scope, d.DTO.FromPrincipal.PrincipalID) {
		return nil, fmt.Errorf("%w: there is no handoff %s that you may read; lm handoff list shows those there are", ErrNotFound, id)
	}
	return &d.DTO, nil
}

// GivenFeedback is feedback with what was written.
type GivenFeedback struct {
	agentprotocol.Feedback
	Receipt agentprotocol.Receipt `json:"receipt"`
	Commit  gitstore.Hash         `json:"commit"`
	Branch  string                `json:"branch"`
}

// GiveFeedback keeps feedback on the memory branch; it rewrites nothing and
// shows in the inbox.
func (v *Vault) GiveFeedback(ctx context.Context, f agentprotocol.Feedback) (*GivenFeedback, error) {
	m, err := v.remember(false, f.Principal)
	if err != nil {
		return nil, err
	}
	if f.Scope == (agentprotocol.Scope{}) {
		f.Scope = m.principal.Home
	}
	f.SchemaVersion, f.Principal, f.Scope, f.CreatedAt = cmp.Or(strings.TrimSpace(f.SchemaVersion), agentprotocol.SchemaVersion), m.principal.Principal, m.tree.Named(f.Scope), m.now
	if f.FeedbackID, err = m.newID(memoryfile.Feedbacks); err != nil {
		return nil, err
	}
	known := false
	if f.MemoryID != "" {
		if err := memoryfile.Records.Check(f.MemoryID); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUsage, err)
		}
		d, _, err := m.recordDoc(f.MemoryID)
		known = err == nil && m.sourced(ctx, &d.DTO) == nil
	}
	if err := memory.MayGiveFeedback(f, known, m.principal, m.tree); err != nil {
		return nil, err
	}
	doc, err := memoryfile.New(f)
	if err != nil {
		return nil, err
	}
	w := m.write("Feedback: "+string(f.Kind), true)
	r, err := w.add(memoryAct{kind: memoryfile.FeedbackAdded, subject: memoryfile.Feedbacks.SubjectOf(f.FeedbackID), to: string(memoryfile.Recorded), digest: doc.Digest, file: doc.File,
		scope: f.Scope, memory: f.MemoryID, authors: []string{f.Principal.PrincipalID}}, nil)
	if err != nil {
		return nil, err
	}
	commit, err := w.commit(ctx)
	return &GivenFeedback{Feedback: f, Receipt: memoryfile.AsProtocol(r), Commit: commit, Branch: w.ref}, err
}

// FeedbackList is feedback, the newest first.
type FeedbackList struct {
	Feedback []agentprotocol.Feedback `json:"feedback"`
	Total    int                      `json:"total"`
}

// Feedback lists feedback, of one memory if id is not "".
func (v *Vault) Feedback(id string, limit int) (*FeedbackList, error) {
	if err := memoryfile.Records.Check(id); id != "" && err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	m, err := v.remember(false, agentprotocol.Principal{})
	if err != nil {
		return nil, err
	}
	if err := m.mayRead(); err != nil {
		return nil, err
	}
	docs, err := read[agentprotocol.Feedback](m.v, m.tip, memoryfile.Feedbacks)
	if err != nil {
		return nil, err
	}
	out := &FeedbackList{Feedback: []agentprotocol.Feedback{}}
	for i := len(docs) - 1; i >= 0; i-- {
		if f := docs[i].DTO; m.reaches(f.Scope, f.Principal.PrincipalID) && (id == "" || f.MemoryID == id) {
			out.Feedback = append(out.Feedback, f)
		}
	}
	out.Total = len(out.Feedback)
	if limit > 0 && len(out.Feedback) > limit {
		out.Feedback = out.Feedback[:limit]
	}
	return out, nil
}
