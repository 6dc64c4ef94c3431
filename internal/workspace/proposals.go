package workspace

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
	"longmemory.dev/lm/vault/memoryfile"
)

// listed is a proposal in a list, with the record that was made of it. Stored is what
// its own file says became of it.
type listed struct {
	proposalDoc
	made   *madeRecord
	Stored agentprotocol.ProposalStatus
}

// madeRecord is what lies where the record of a proposal lies.
type madeRecord struct {
	doc    recordDoc     // nil: its file is none, or is gone
	commit gitstore.Hash // where it is read: where agents read, if it counts there
	acted  bool          // receipts say that it was made: the proposal is used
	flaw   error         // why it counts for nothing; nil: it counts
}

// used says that a record was made of the proposal, whatever became of that. Another
// file in its place does not hide the proposal.
func (r *madeRecord) used() bool { return r != nil && r.acted }

// recordOf finds the record of a proposal where agents read and at HEAD: the first
// that counts, else what lies in its place; nil if nothing does.
func (m *remembering) recordOf(d proposalDoc) (*madeRecord, error) {
	id := memoryfile.RecordOf(d.DTO.ProposalID)
	file := memoryfile.Records.Path(id, d.DTO.CreatedAt)
	head, err := m.v.resolve("HEAD")
	if err != nil {
		return nil, err
	}
	var out *madeRecord
	commits := []gitstore.Hash{m.reads.Commit, m.at.Commit, head}
	for i, commit := range commits {
		if commit == "" || slices.Contains(commits[:i], commit) {
			continue
		}
		made, err := m.recordAt(commit, id, file)
		if err != nil {
			return nil, err
		}
		if made != nil && (out == nil || made.flaw == nil || made.acted && !out.acted) {
			out = made
		}
		if made != nil && made.flaw == nil {
			break
		}
	}
	return out, nil
}

// recordAt looks for a record, or what is left of it, at a commit.
func (m *remembering) recordAt(commit gitstore.Hash, id, file string) (*madeRecord, error) {
	made := &madeRecord{commit: commit}
	there, err := m.v.Repo.Exists(commit, m.v.inRepo(file))
	if err == nil {
		made.acted, err = m.v.Repo.Exists(commit, m.v.inRepo(memoryfile.Records.Receipts()+"/"+id))
	}
	if err != nil || !there && !made.acted {
		return nil, err
	}
	if !there {
		made.flaw = vault.Problem{Severity: vault.Error, Path: file, Line: 1, Column: 1, Message: "this memory is gone, and its receipts are there", Mend: "bring it back from Git: git log -- " + m.v.inGit(file)}
		return made, nil
	}
	f, err := m.v.Repo.File(commit, m.v.inRepo(file), maxConfig)
	if err != nil {
		return nil, err
	}
	f.Path = file
	if made.doc, made.flaw = memoryfile.Read[memory.Record](f); made.flaw == nil {
		made.flaw = m.stands(commit, made.doc, false)
	}
	return made, nil
}

// proposal finds a proposal on the memory branch; one that was used and pruned is
// not found.
func (m *remembering) proposal(id string) (proposalDoc, error) {
	d, err := find[memoryfile.Proposal](m.v, m.tip, memoryfile.Proposals, id)
	if err == nil && (d == nil || m.principal.Agent() && !m.reaches(d.DTO.Scope, d.DTO.Principal.PrincipalID)) {
		err = fmt.Errorf("%w: there is no proposal %s on %s that you may read; lm memory proposals lists those there are", ErrNotFound, id, m.config.Policy.Memory.Branch)
	}
	if err != nil {
		return nil, err
	}
	chain, err := m.v.chainOf(m.tip, m.config, memoryfile.Proposals.SubjectOf(id))
	if err == nil {
		err = memory.Proposed(d.DTO.Proposal, d.DTO.Review.Status, d.Digest, chain)
	}
	if err != nil {
		return nil, vault.Problem{Severity: vault.Error, Path: d.File.Path, Line: 1, Column: 1, Message: "this proposal is not what its receipts say: " + err.Error(),
			Mend: "look at who changed it: git log " + m.config.Policy.Memory.Branch + " -- " + m.v.inGit(d.File.Path)}
	}
	return d, nil
}

// proposalMade is proposal and recordOf.
func (m *remembering) proposalMade(id string) (d proposalDoc, made *madeRecord, err error) {
	if d, err = m.proposal(id); err == nil {
		made, err = m.recordOf(d)
	}
	return d, made, err
}

// sound reads the proposals that are what their receipts say; of the others lm
// verify tells.
func (m *remembering) sound() ([]proposalDoc, error) {
	docs, err := read[memoryfile.Proposal](m.v, m.tip, memoryfile.Proposals)
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	chains, err := m.v.chainsOf(m.tip, memoryfile.Proposals)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(docs, func(d proposalDoc) bool {
		subject := memoryfile.Proposals.SubjectOf(d.DTO.ProposalID)
		chain := chains[subject]
		return chain.Check(m.config.Project, subject) != nil || memory.Proposed(d.DTO.Proposal, d.DTO.Review.Status, d.Digest, chain) != nil
	}), nil
}

// chainsOf reads the receipts of all documents of a kind at a commit.
func (v *Vault) chainsOf(commit gitstore.Hash, kind memoryfile.Kind) (map[string]vault.Chain, error) {
	out := map[string]vault.Chain{}
	files, err := v.Repo.Files(commit, v.Prefix, maxConfig, only(kind.Receipts()))
	if errors.Is(err, gitstore.ErrNotFound) {
		return out, nil
	}
	for _, f := range files {
		if r, err := vault.ParseReceipt(f); err == nil {
			subject := strings.TrimPrefix(path.Dir(f.Path), "receipts/")
			out[subject] = append(out[subject], r)
		}
	}
	return out, err
}

// ProposalsAsk says which proposals to list.
type ProposalsAsk struct {
	All   bool   // also those that wait for nobody
	Scope string // only of this scope; "": every scope that the caller may read
}

// ListedProposal is a proposal in a list.
type ListedProposal struct {
	agentprotocol.Proposal
	Review agentprotocol.ProposalReview `json:"review"`
}

// ProposalList is proposals by id, which is by time.
type ProposalList struct {
	Proposals []ListedProposal `json:"proposals"`
	Total     int              `json:"total"`
	Branch    string           `json:"branch"`
}

// Proposals lists the proposals that wait, or all.
func (v *Vault) Proposals(ask ProposalsAsk) (*ProposalList, error) {
	m, err := v.remember(true, agentprotocol.Principal{})
	if err != nil {
		return nil, err
	}
	docs, err := m.proposals(ask)
	if err != nil {
		return nil, err
	}
	out := &ProposalList{Proposals: []ListedProposal{}, Branch: m.config.Policy.Memory.Branch}
	for _, d := range docs {
		out.Proposals = append(out.Proposals, ListedProposal{d.DTO.Proposal, d.DTO.Review})
	}
	out.Total = len(out.Proposals)
	return out, nil
}

// proposals reads the proposals that the principal may read, by id. One that was
// approved since says so.
func (m *remembering) proposals(ask ProposalsAsk) ([]listed, error) {
	within, err := m.scope(ask.Scope)
	if err != nil {
		return nil, err
	}
	if err := m.principal.Needs(m.tree, agentprotocol.CapabilityRead, within); err != nil {
		return nil, err
	}
	docs, err := m.sound()
	if err != nil {
		return nil, err
	}
	var out []listed
	for _, doc := range docs {
		d := listed{proposalDoc: doc, Stored: doc.DTO.Review.Status}
		if d.made, err = m.recordOf(doc); err != nil {
			return nil, err
		}
		if d.made.used() {
			d.DTO.Review.Status = agentprotocol.ProposalStatusApproved
		}
		// What is out of every scope that is known still waits for a person to see it.
		visible := slices.Contains(m.tree.Line(d.DTO.Scope, m.principal.Home), within) && m.sees(d.DTO.Scope, d.DTO.Principal.PrincipalID) || ask.Scope == "" && !m.principal.Agent()
		if visible && (ask.All || memory.Pending(d.DTO.Review.Status)) {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b listed) int {
		if a.DTO.ProposalID < b.DTO.ProposalID {
			return -1
		}
		return 1
	})
	return out, nil
}
