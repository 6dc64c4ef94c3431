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
	out    Inbox
	behind bool            // agents read memories that HEAD may lack
	ahead  map[string]bool // those that it lacks
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
	b := &inbox{remembering: m, out: Inbox{Items: []Waiting{}}, ahead: map[string]bool{}}
	if m.reads.Commit != "" && m.reads.Commit != m.at.Commit {
		has, err := v.Repo.Reaches(m.at.Commit, m.reads.Commit)
		if b.behind = !has; err != nil {
			return nil, err
		}
	}
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

// pending looks for proposals that wait, and those of which a record was made that
// something is wrong with.
func (b *inbox) pending(ctx context.Context) error {
	docs, err := b.proposals(ProposalsAsk{All: true})
	if err != nil {
		return err
	}
	before := len(b.out.Items)
	return b.v.withMemories(ctx, b.at, func(x *memories) error {
		b.out.Items = b.out.Items[:before]
		subjects := x.subjects()
		for _, d := range docs {
			if d.made.used() {
				b.madeOf(d)
			} else if err := b.waits(x, subjects, d); err != nil {
				return err
			}
		}
		return nil
	})
}

// madeOf tells of a record that does not count, or whose proposal was settled
// otherwise elsewhere.
func (b *inbox) madeOf(d listed) {
	p := d.DTO.Proposal
	record, title := memoryfile.RecordOf(p.ProposalID), titleOf(p.Subject, p.Summary)
	switch {
	case d.made.flaw != nil:
		b.add("conflict", record, title, "agents do not get it: "+d.made.flaw.Error(), "lm verify")
	case !memory.Pending(d.Stored) && d.Stored != agentprotocol.ProposalStatusApproved && d.made.doc.DTO.IsRecallable():
		b.add("conflict", record, title, "approved, and its proposal was "+string(d.Stored)+" elsewhere: "+d.DTO.Review.Message, "lm memory show "+record)
	}
}

// waits tells of a proposal that waits, with what can be done about it now: since it
// was reviewed the records may have changed.
func (b *inbox) waits(x *memories, subjects map[subject][]memory.Candidate, d listed) error {
	p, status := d.DTO.Proposal, d.DTO.Review.Status
	title, mine := titleOf(p.Subject, p.Summary), p.Principal.PrincipalID == b.principal.PrincipalID
	switch {
	case !memory.Pending(status):
		return nil
	case status == agentprotocol.ProposalStatusDraftSaved:
		if mine { // another's waits for its author
			b.add("proposal", p.ProposalID, title, fmt.Sprintf("%s, %s by %s", status, p.Kind, p.Principal.PrincipalID), "lm memory submit "+p.ProposalID)
		}
		return nil
	}
	related, err := b.relatedIn(x, subjects[subject{p.Kind, memory.Subject(p.Subject)}], p)
	if err != nil {
		return err
	}
	review, err := b.reviewNow(p, related)
	if err != nil {
		review = agentprotocol.ProposalReview{Status: agentprotocol.ProposalStatusRejected, Message: err.Error()}
	}
	detail := fmt.Sprintf("%s, %s by %s", review.Status, p.Kind, p.Principal.PrincipalID)
	if review.Message != "" {
		detail += ": " + review.Message
	}
	command := b.reasoned("lm memory approve " + p.ProposalID)
	refused := memory.MayApprove(p, status, b.principal, b.tree, b.config.Policy.Memory)
	switch {
	case d.made != nil: // without receipts
		detail, command = detail+"; "+d.made.flaw.Error(), "lm verify"
	case review.Status == agentprotocol.ProposalStatusRejected:
		command = "lm memory reject " + p.ProposalID + ` --reason "…"`
		if memory.MayReject(p, status, false, b.principal, b.tree) != nil {
			command = "lm memory show " + p.ProposalID
		}
	case refused != nil:
		command = "lm memory show " + p.ProposalID
		if detail += "; you may not approve it"; mine {
			detail += ": somebody else does"
		}
	case review.Status == agentprotocol.ProposalStatusConflictRequired:
		command = b.reasoned("lm memory approve " + p.ProposalID + " --supersede " + strings.Join(review.ConflictingMemoryIDs, " --supersede "))
		for _, id := range review.ConflictingMemoryIDs {
			if _, onBranch, err := b.recordDoc(id); err == nil && onBranch {
				detail += "; nobody approved " + id + ", which is changed by itself first"
				command = b.reasoned("lm memory supersede " + id)
				break
			}
		}
	}
	b.add("proposal", p.ProposalID, title, detail, command)
	return nil
}

// change is a command that changes a record, or shows it to whoever may not.
func (b *inbox) change(r *memory.Record, command string) string {
	if !memory.MayChange(b.principal, b.tree, r.Scope) {
		return "lm memory show " + r.ID
	}
	return b.reasoned(command)
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
	known := map[string]memory.Record{}
	before := len(b.out.Items)
	err := b.v.withMemories(ctx, b.at, func(x *memories) (err error) {
		b.out.Items = b.out.Items[:before]
		if known, err = b.records(x); err == nil {
			err = b.contradictions(x)
		}
		return err
	})
	if err == nil && b.behind {
		err = b.v.withMemories(ctx, loaded{Snapshot: b.reads}, func(x *memories) error {
			for _, c := range x.candidates(nil) {
				if _, here := known[c.Record.ID]; !here && b.reaches(c.Record.Scope, c.Record.CreatorID) {
					known[c.Record.ID], b.ahead[c.Record.ID] = c.Record, true
				}
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	if len(b.ahead) > 0 {
		for i := range b.out.Items {
			if item := &b.out.Items[i]; item.Kind == "proposal" && strings.HasPrefix(item.Command, "lm memory approve ") {
				item.Detail, item.Command = item.Detail+"; agents read memories that this branch does not have", b.merge()
			}
		}
	}
	return b.feedback(known)
}

// merge is the command that brings HEAD what agents read.
func (b *inbox) merge() string { return "git merge " + b.reads.Ref }

// contradictions tells of confirmed records that say different things of one subject,
// as branches that were joined may leave them.
func (b *inbox) contradictions(x *memories) error {
	for _, group := range x.subjects() {
		var confirmed []memory.Record
		for _, c := range group {
			if len(group) < 2 || c.Record.State != agentprotocol.LifecycleConfirmed || !b.reaches(c.Record.Scope, c.Record.CreatorID) {
				continue
			}
			r, err := x.record(c.Place)
			if err != nil {
				return err
			}
			confirmed = append(confirmed, r)
		}
		for i, r := range confirmed {
			for _, later := range confirmed[i+1:] {
				if !b.sameScope(r.Scope, r.CreatorID, later.Scope, later.CreatorID) || !memory.Contradicts(r, later, b.now) || b.keptBoth(r.ID, later.ID) {
					continue
				}
				command := "lm memory supersede " + r.ID
				_, first, err := b.recordDoc(r.ID)
				_, second, err2 := b.recordDoc(later.ID)
				if err == nil && err2 == nil && first == second { // on one branch, where one can name the other
					command += " --by " + later.ID
				}
				b.add("conflict", r.ID, titleOf(r.Subject, r.Summary), "says something else than "+later.ID+", and both are confirmed", b.change(&r, command))
				break
			}
		}
	}
	return nil
}

// records looks at each memory, and gives all by id.
func (b *inbox) records(x *memories) (map[string]memory.Record, error) {
	told := map[string]bool{}
	known := map[string]memory.Record{}
	for _, c := range x.candidates(nil) {
		r := c.Record
		if !b.reaches(r.Scope, r.CreatorID) {
			continue
		}
		known[r.ID] = r
		title := titleOf(r.Subject, "")
		if title == "" {
			full, err := x.record(c.Place)
			if err != nil {
				return nil, err
			}
			title = titleOf(full.Summary, "")
		}
		switch {
		case r.State == agentprotocol.LifecycleConflicted && r.IsExpired(b.now):
			b.add("expired", r.ID, title, "its time ended at "+r.ExpiresAt.Format(time.RFC3339)+", and it is in conflict", b.change(&r, "lm memory supersede "+r.ID))
		case r.State == agentprotocol.LifecycleConflicted && !told[r.ID]:
			full, err := x.record(c.Place)
			if err != nil {
				return nil, err
			}
			for _, id := range append(full.ConflictsWith, r.ID) {
				told[id] = true
			}
			b.add("conflict", r.ID, title, "says something else than "+strings.Join(full.ConflictsWith, ", "), b.change(&r, "lm memory resolve "+r.ID))
		case r.IsExpired(b.now) && r.State == agentprotocol.LifecycleConfirmed:
			b.add("expired", r.ID, title, "its time ended at "+r.ExpiresAt.Format(time.RFC3339), b.change(&r, "lm memory expire "+r.ID))
		case b.now.Sub(r.UpdatedAt) >= staleAfter && r.State == agentprotocol.LifecycleConfirmed:
			b.add("stale", r.ID, title, fmt.Sprintf("nobody touched it for %d days", int(b.now.Sub(r.UpdatedAt)/(24*time.Hour))), b.change(&r, "lm memory expire "+r.ID))
		}
	}
	return known, nil
}

// feedback since a memory was changed last; that it was useful asks for nothing.
func (b *inbox) feedback(known map[string]memory.Record) error {
	docs, err := read[agentprotocol.Feedback](b.v, b.tip, memoryfile.Feedbacks)
	if err != nil {
		return err
	}
	for _, d := range docs {
		f := d.DTO
		r, there := known[f.MemoryID]
		if f.Kind == agentprotocol.FeedbackUseful || !b.reaches(f.Scope, f.Principal.PrincipalID) || f.MemoryID != "" && (!there || f.CreatedAt.Before(r.UpdatedAt)) {
			continue
		}
		command := "lm feedback list"
		if f.MemoryID != "" {
			if command = b.change(&r, "lm memory expire "+r.ID); r.State == agentprotocol.LifecycleConflicted {
				command = b.change(&r, "lm memory resolve "+r.ID)
			}
			if f.Kind == agentprotocol.FeedbackIrrelevant || f.Kind == agentprotocol.FeedbackScopeTooWide {
				command = "lm memory show " + f.MemoryID
			}
			if b.ahead[f.MemoryID] {
				command = b.merge()
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
	actor := governance.Actor{Who: b.who}
	if w, err := b.v.actor(b.config); err == nil { // else nobody whom vault.yaml lists
		actor = w.Actor
	}
	for i := range x.Facts() {
		f := &x.Facts()[i]
		if f.Invalid || !governance.Allowed(f, b.who, vault.PermissionRead) {
			continue
		}
		govern := func(to vault.Status) string {
			if governance.MayGovern(b.config, f, actor, governance.Act{To: to, Reason: "…"}) != nil {
				return "lm asset show " + string(f.ID)
			}
			return b.config.GovernCommand(f.ID, to)
		}
		switch {
		case f.Status == vault.StatusCandidate:
			b.add("candidate", string(f.ID), f.Name, fmt.Sprintf("version %d by %s", f.Version, f.Owner), govern(vault.StatusApproved))
		case f.Status == vault.StatusApproved && !f.Receipted:
			b.add("unreceipted", string(f.ID), f.Name, "no receipt for its content", govern(vault.StatusApproved))
		case f.Approved() && !f.Expires.IsZero() && !b.now.Before(f.Expires):
			b.add("asset_expired", string(f.ID), f.Name, "its time ended at "+vault.FormatTime(f.Expires), govern(vault.StatusDeprecated))
		}
	}
	return nil
}
