package workspace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/memoryfile"
)

// Waiting is one thing that waits for a person, with the command that deals with
// it.
type Waiting struct {
	// Kind is one of proposal, conflict, stale, expired, feedback, candidate,
	// unreceipted and asset_expired, the list's order.
	Kind    string `json:"kind"`
	ID      string `json:"id"`
	Title   string `json:"title"`
	Detail  string `json:"detail"`
	Command string `json:"command"`
}

// Inbox is what waits, by kind, then id.
type Inbox struct {
	Items []Waiting `json:"items"`
	Total int       `json:"total"`
}

var waitingKinds = []string{"proposal", "conflict", "stale", "expired", "feedback", "candidate", "unreceipted", "asset_expired"}

// staleAfter is the age at which a memory that nobody touched wants a look.
const staleAfter = 180 * 24 * time.Hour

// inbox is one look into it.
type inbox struct {
	*remembering
	out Inbox
}

func (b *inbox) add(kind, id, title, detail, command string) {
	b.out.Items = append(b.out.Items, Waiting{kind, id, title, detail, command})
}

// Inbox lists what waits for a person at HEAD and on the memory branch: only what
// the caller may read.
func (v *Vault) Inbox(ctx context.Context) (*Inbox, error) {
	m, err := v.remember(true, agentprotocol.Principal{})
	if err != nil {
		return nil, err
	}
	b := &inbox{remembering: m, out: Inbox{Items: []Waiting{}}}
	for _, look := range []func(context.Context) error{b.pending, b.memories, b.assets} {
		if err := look(ctx); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(b.out.Items, func(x, y Waiting) int {
		return cmp.Or(cmp.Compare(slices.Index(waitingKinds, x.Kind), slices.Index(waitingKinds, y.Kind)), cmp.Compare(x.ID, y.ID))
	})
	b.out.Total = len(b.out.Items)
	return &b.out, nil
}

// reasoned is a command with the reason that the vault asks for.
func (b *inbox) reasoned(command string) string {
	if b.config.Policy.RequireReason {
		command += ` --reason "…"`
	}
	return command
}

func (b *inbox) pending(context.Context) error {
	docs, err := b.proposals(ProposalsAsk{All: true})
	if err != nil {
		return err
	}
	for _, d := range docs {
		p, review := d.DTO.Proposal, d.DTO.Review
		if record := memoryfile.RecordOf(p.ProposalID); d.Settled {
			b.add("conflict", record, titleOf(p.Subject, p.Summary), "approved, and its proposal was "+string(d.Stored)+" elsewhere: "+review.Message, "lm memory show "+record)
			continue
		}
		if !memory.Pending(review.Status) {
			continue
		}
		detail := fmt.Sprintf("%s, %s by %s", review.Status, p.Kind, p.Principal.PrincipalID)
		if review.Message != "" {
			detail += ": " + review.Message
		}
		if p.Principal.PrincipalID == b.principal.PrincipalID && !b.config.Policy.Memory.SelfApproval && review.Status != agentprotocol.ProposalStatusDraftSaved {
			detail += "; somebody else approves it"
		}
		command := b.reasoned("lm memory approve " + p.ProposalID)
		switch review.Status {
		case agentprotocol.ProposalStatusDraftSaved:
			if p.Principal.PrincipalID != b.principal.PrincipalID {
				continue // its author's
			}
			command = "lm memory submit " + p.ProposalID
		case agentprotocol.ProposalStatusConflictRequired:
			command = b.reasoned("lm memory approve " + p.ProposalID + " --supersede " + strings.Join(review.ConflictingMemoryIDs, " --supersede "))
		}
		b.add("proposal", p.ProposalID, titleOf(p.Subject, p.Summary), detail, command)
	}
	return nil
}

func titleOf(subject, summary string) string {
	text := strings.Join(strings.Fields(cmp.Or(subject, summary)), " ")
	if runes := []rune(text); len(runes) > 80 {
		text = string(runes[:79]) + "…"
	}
	return text
}

// memories looks for conflicts, what has expired or is old, and what feedback
// says.
func (b *inbox) memories(ctx context.Context) error {
	var updated map[string]time.Time
	before := len(b.out.Items)
	err := b.v.withMemories(ctx, b.at, func(x *memories) (err error) {
		b.out.Items = b.out.Items[:before]
		updated, err = b.records(x)
		return err
	})
	if err != nil {
		return err
	}
	return b.feedback(updated)
}

// records looks at each memory, and gives the time of its last change by id.
func (b *inbox) records(x *memories) (map[string]time.Time, error) {
	told := map[string]bool{}
	updated := map[string]time.Time{}
	for _, c := range x.candidates(nil) {
		r := c.Record
		if !b.reaches(r.Scope, r.CreatorID) {
			continue
		}
		updated[r.ID] = r.UpdatedAt
		title := titleOf(r.Subject, "")
		if title == "" {
			full, err := x.record(c.Place)
			if err != nil {
				return nil, err
			}
			title = titleOf(full.Summary, "")
		}
		switch {
		case r.State == agentprotocol.LifecycleConflicted && !told[r.ID]:
			full, err := x.record(c.Place)
			if err != nil {
				return nil, err
			}
			for _, id := range append(full.ConflictsWith, r.ID) {
				told[id] = true
			}
			b.add("conflict", r.ID, title, "says something else than "+strings.Join(full.ConflictsWith, ", "), b.reasoned("lm memory resolve "+r.ID))
		case r.IsExpired(b.now) && r.State == agentprotocol.LifecycleConfirmed:
			b.add("expired", r.ID, title, "its time ended at "+r.ExpiresAt.Format(time.RFC3339), b.reasoned("lm memory expire "+r.ID))
		case b.now.Sub(r.UpdatedAt) >= staleAfter && r.State == agentprotocol.LifecycleConfirmed:
			b.add("stale", r.ID, title, fmt.Sprintf("nobody touched it for %d days", int(b.now.Sub(r.UpdatedAt)/(24*time.Hour))), b.reasoned("lm memory expire "+r.ID))
		}
	}
	return updated, nil
}

// feedback since a memory was changed last; that it was useful asks for nothing.
func (b *inbox) feedback(updated map[string]time.Time) error {
	docs, err := read[agentprotocol.Feedback](b.v, b.tip, memoryfile.Feedbacks)
	if err != nil {
		return err
	}
	for _, d := range docs {
		f := d.DTO
		at, known := updated[f.MemoryID]
		if f.Kind == agentprotocol.FeedbackUseful || !b.reaches(f.Scope, f.Principal.PrincipalID) || f.MemoryID != "" && (!known || f.CreatedAt.Before(at)) {
			continue
		}
		command := "lm feedback list"
		if f.MemoryID != "" {
			command = b.reasoned("lm memory expire " + f.MemoryID)
			if f.Kind == agentprotocol.FeedbackIrrelevant || f.Kind == agentprotocol.FeedbackScopeTooWide {
				command = "lm memory show " + f.MemoryID
			}
		}
		detail := string(f.Kind) + " by " + f.Principal.PrincipalID
		if f.Comment != "" {
			detail += ": " + titleOf(f.Comment, "")
		}
		b.add("feedback", f.FeedbackID, f.MemoryID, detail, command)
	}
	return nil
}

// assets looks for candidates, what has no receipt, and what has expired.
func (b *inbox) assets(ctx context.Context) error {
	x, err := b.v.open(ctx, b.at)
	if err != nil {
		return err
	}
	defer x.Close()
	for i := range x.Facts() {
		f := &x.Facts()[i]
		if f.Invalid || !governance.Allowed(f, b.who, vault.PermissionRead) {
			continue
		}
		command := b.config.GovernCommand(f.ID, vault.StatusApproved)
		switch {
		case f.Status == vault.StatusCandidate:
			b.add("candidate", string(f.ID), f.Name, fmt.Sprintf("version %d by %s", f.Version, f.Owner), command)
		case f.Status == vault.StatusApproved && !f.Receipted:
			b.add("unreceipted", string(f.ID), f.Name, "no receipt for its content", command)
		case f.Approved() && !f.Expires.IsZero() && !b.now.Before(f.Expires):
			b.add("asset_expired", string(f.ID), f.Name, "its time ended at "+vault.FormatTime(f.Expires), b.config.GovernCommand(f.ID, vault.StatusDeprecated))
		}
	}
	return nil
}
