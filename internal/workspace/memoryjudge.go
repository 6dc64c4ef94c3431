package workspace

import (
	"errors"
	"fmt"
	"strings"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
	"longmemory.dev/lm/vault/memoryfile"
)

// recordsIn reads the valid records among files, by id.
func recordsIn(files []vault.File) map[string]recordDoc {
	out := map[string]recordDoc{}
	for _, f := range files {
		if !strings.HasPrefix(f.Path, memoryfile.Records.In()+"/") {
			continue
		}
		if d, err := memoryfile.Read[memory.Record](f); err == nil {
			out[d.DTO.ID] = d
		}
	}
	return out
}

// memories holds the memories that a change touches against the base's rules: who
// approved or changed them, and that each still counts.
func (j *judge) memories() error {
	before, err := j.v.memoryFiles(loaded{Snapshot: Snapshot{Commit: j.fork.commit}})
	if err != nil {
		return err
	}
	now, err := j.v.memoryFiles(loaded{Snapshot: Snapshot{Commit: j.head.commit}})
	if err != nil {
		return err
	}
	old, records := recordsIn(before), recordsIn(now)
	for id, d := range records {
		chain := j.head.s.Receipts[memoryfile.Records.SubjectOf(id)]
		touched := old[id] == nil || old[id].File.Object != d.File.Object
		for _, r := range chain {
			p := vault.ReceiptPath(r.Subject, r.Seq)
			if j.fork.object(p) != "" || j.base.object(p) == j.head.object(p) {
				continue
			}
			touched = true
			if err := memory.Entitled(j.config, r, d.DTO.CreatorID, d.DTO.Scope); err != nil {
				j.add(vault.Error, p, "actor", fmt.Sprintf("by the base's vault.yaml, %v", err), "let somebody approve the memory who may by what the base says")
			}
		}
		if !touched {
			continue
		}
		if err := standing(j.head.s, d, j.config, false); err != nil {
			j.add(vault.Error, d.File.Path, "", "the memory counts for nothing: "+err.Error(), "propose it, and let somebody approve it: lm memory propose")
		}
	}
	for id, d := range old {
		if records[id] == nil {
			j.add(vault.Error, d.File.Path, "", "this change removes or breaks the memory, and its receipts stay", "bring it back, and run: lm memory supersede "+id)
		}
	}
	return nil
}

// memories checks the chains of memories against the records that they are of, and
// their people against the vault.yaml of then.
func (c *verifier) memories() error {
	files, err := c.v.memoryFiles(c.at)
	if err != nil {
		return err
	}
	records := recordsIn(files)
	for subject, chain := range c.s.Receipts {
		id, ok := strings.CutPrefix(subject, memoryfile.Records.Subject+"/")
		if !ok || chain.Check(c.s.Config.Project, subject) != nil {
			continue
		}
		p := vault.ReceiptPath(subject, chain.Last().Seq)
		d := records[id]
		if d == nil {
			c.fault(p, "", "the memory is gone, or its file is no valid document", "bring it back from Git: git log -- "+c.v.inGit(memoryfile.Records.In()))
			continue
		}
		if err := standing(c.s, d, c.s.Config, false); err != nil {
			if problems := vault.Problems(err); len(problems) > 0 {
				c.out.Problems = append(c.out.Problems, problems...)
			} else {
				c.fault(p, "digest", fmt.Sprintf("the memory that it is of counts for nothing: %v", err), "restore "+c.v.inRepo(d.File.Path)+" from Git")
			}
		}
		for _, r := range chain {
			p := vault.ReceiptPath(subject, r.Seq)
			from, known := c.origins[p]
			config := c.configOf(from)
			switch {
			case c.at.Commit == "":
				continue
			case !known || config == nil:
				c.unknown = append(c.unknown, c.v.inRepo(p))
				continue
			}
			if err := memory.Entitled(config, r, d.DTO.CreatorID, d.DTO.Scope); err != nil {
				c.fault(p, "actor", fmt.Sprintf("by the vault.yaml of then, %v", err), forgedMend)
			}
		}
	}
	return nil
}

// branch checks what lies on the memory branch: each document against the last
// receipt of its chain. What is wrong there counts for nothing anywhere.
func (c *verifier) branch() error {
	tip, err := c.v.memoryTip(c.s.Config)
	if err != nil || tip == "" {
		return err
	}
	name := c.s.Config.Policy.Memory.Branch
	bad := func(path, why string) {
		c.out.Problems = append(c.out.Problems, vault.Problem{Severity: vault.Error, Path: path, Line: 1, Column: 1, Message: "on " + name + ": " + why,
			Mend: "look at who changed it: git log " + name + " -- " + c.v.inGit(path)})
	}
	files, err := c.v.Repo.Files(tip, c.v.Prefix, maxConfig, only(memoryfile.Folder))
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return err
	}
	for _, kind := range memoryfile.Kinds {
		chains, err := c.v.chainsOf(tip, kind)
		if err != nil {
			return err
		}
		for _, f := range files {
			if !strings.HasPrefix(f.Path, kind.In()+"/") {
				continue
			}
			id := strings.TrimSuffix(f.Path[strings.LastIndex(f.Path, "/")+1:], ".yaml")
			chain := chains[kind.SubjectOf(id)]
			c.out.Receipts += len(chain)
			c.out.Chains += min(len(chain), 1)
			if why := c.onBranch(kind, f, chain); why != nil {
				bad(f.Path, why.Error())
			}
		}
	}
	return nil
}

// onBranch says what is wrong with one document of the memory branch, or nil.
func (c *verifier) onBranch(kind memoryfile.Kind, f vault.File, chain vault.Chain) error {
	var digest vault.Digest
	var err error
	switch kind {
	case memoryfile.Records:
		var d recordDoc
		if d, err = memoryfile.Read[memory.Record](f); err == nil {
			s := *c.s
			s.Receipts = map[string]vault.Chain{kind.SubjectOf(d.DTO.ID): chain}
			return standing(&s, d, c.s.Config, true)
		}
	case memoryfile.Proposals:
		var d proposalDoc
		if d, err = memoryfile.Read[memoryfile.Proposal](f); err == nil {
			if err := chain.Check(c.s.Config.Project, kind.SubjectOf(d.DTO.ProposalID)); err != nil {
				return err
			}
			return memory.Proposed(d.DTO.Proposal, d.DTO.Review.Status, d.Digest, chain)
		}
	case memoryfile.Handoffs:
		var d *memoryfile.Document[agentprotocol.Handoff]
		if d, err = memoryfile.Read[agentprotocol.Handoff](f); err == nil {
			digest = d.Digest
		}
	default:
		var d *memoryfile.Document[agentprotocol.Feedback]
		if d, err = memoryfile.Read[agentprotocol.Feedback](f); err == nil {
			digest = d.Digest
		}
	}
	if err == nil && (len(chain) == 0 || chain.Last().Digest != digest) {
		err = errors.New("no receipt names this content")
	}
	return err
}
