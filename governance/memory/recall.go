package memory

import (
	"cmp"
	"slices"
	"time"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/vault"
)

// Candidate is a record that counts, with its relevance to what is asked. Of the
// record only what ranking and the rules look at has to be there: id, kind,
// scope, state, subject, confidence, times, and the sources that Visible is asked
// about (with any one of the others, if there are some). Loading gives the rest
// of those that are handed out.
type Candidate struct {
	Record    Record
	Relevance vault.Ratio
	// Chars is what its entry in a context costs but for the score's reason; 0:
	// not known yet.
	Chars int
	Place int // for whoever loads it
}

// Loading gives the whole record of a candidate.
type Loading func(*Candidate) (Record, error)

// Visible says whether a principal may know of a source: known is false if the
// vault cannot tell. Only sources of kind asset and receipt are asked about.
type Visible func(agentprotocol.SourceRef) (visible, known bool)

// Eligible are the candidates that a request in a scope may see: in the scope or
// above it, recallable, not expired, and with a source left if they had any; the
// others' sources are taken out of them. sees says whose records in an unlisted
// scope are the reader's to see (Tree.Sees). What the vault cannot tell about a source
// is permission_unknown.
func Eligible(candidates []Candidate, line []Scope, now time.Time, visible Visible, sees func(*Record) bool) ([]*Candidate, error) {
	out := make([]*Candidate, 0, len(candidates))
	for i := range candidates {
		c := &candidates[i]
		r := &c.Record
		if !slices.Contains(line, r.Scope) || !r.IsRecallable() || r.IsExpired(now) || !sees(r) {
			continue
		}
		kept, err := Sources(*r, visible)
		if err != nil {
			return nil, err
		}
		if len(kept) == 0 && len(r.Sources) > 0 {
			continue
		}
		if len(kept) < len(r.Sources) {
			c.Chars = 0
		}
		r.Sources = kept
		out = append(out, c)
	}
	return out, nil
}

// Sources are those of a record that the principal may know of.
func Sources(r Record, visible Visible) (agentprotocol.SourceRefList, error) {
	if !slices.ContainsFunc(r.Sources, asked) {
		return r.Sources, nil
	}
	var kept agentprotocol.SourceRefList
	for _, s := range r.Sources {
		if asked(s) {
			ok, known := visible(s)
			if !known {
				return nil, refuse(agentprotocol.ErrCodePermissionUnknown, "%s names the %s %s, and the vault cannot tell who may read it; run: lm validate", r.ID, s.Kind, s.Ref)
			}
			if !ok {
				continue
			}
		}
		kept = append(kept, s)
	}
	return kept, nil
}

func asked(s agentprotocol.SourceRef) bool { return s.Kind == "asset" || s.Kind == "receipt" }

// Recalled is the answer to a recall: the first of Total.
type Recalled struct {
	Candidates []*Candidate
	Total      int
}

// Recall orders eligible candidates of some kinds (none: of all) by relevance, then
// id. Where text was asked for, what it does not match is left out. limit 0: all.
func Recall(eligible []*Candidate, kinds []agentprotocol.MemoryKind, text bool, limit int) Recalled {
	found := slices.DeleteFunc(slices.Clone(eligible), func(c *Candidate) bool { return !wanted(c, kinds) || text && c.Relevance <= 0 })
	slices.SortFunc(found, func(a, b *Candidate) int {
		return cmp.Or(cmp.Compare(b.Relevance, a.Relevance), cmp.Compare(a.Record.ID, b.Record.ID))
	})
	total := len(found)
	if limit > 0 && total > limit {
		found = found[:limit]
	}
	return Recalled{Candidates: found, Total: total}
}
