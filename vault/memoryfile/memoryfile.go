// Package memoryfile is how the documents of the agent protocol lie in a vault
// (protocol.md §3). Each is a YAML file of its own whose keys are the JSON names
// of the contract:
//
//	memory/records/<yyyy>/<mm>/mem_<ulid>.yaml       agentprotocol.MemoryRecord
//	memory/proposals/<yyyy>/<mm>/prop_<ulid>.yaml    agentprotocol.Proposal, and its latest review
//	memory/handoffs/<yyyy>/<mm>/hand_<ulid>.yaml     agentprotocol.Handoff
//	memory/feedback/<yyyy>/<mm>/fb_<ulid>.yaml       agentprotocol.Feedback
//
// Year and month are those of created_at in UTC. A record has the ULID of the
// proposal that it was made of: two who approve one proposal at the same time,
// on whatever machines, collide on one file instead of making two records.
//
// Every act on a document has a receipt (format.md §4) in the chain of the
// document's own subject, memory/<id>, proposal/<id>, handoff/<id> or
// feedback/<id>; its digest is that of all keys of the file. Bytes in, values
// out: ids and times come from the caller.
package memoryfile

import (
	"fmt"
	"path"
	"strings"
	"time"
)

// Folder is where the documents lie, relative to the vault.
const Folder = "memory"

// Kind is a kind of document.
type Kind struct {
	Folder  string // below Folder
	Prefix  string // of its ids
	Subject string // of its receipts: before the slash
}

// The kinds of documents.
var (
	Records   = Kind{"records", "mem_", "memory"}
	Proposals = Kind{"proposals", "prop_", "proposal"}
	Handoffs  = Kind{"handoffs", "hand_", "handoff"}
	Feedbacks = Kind{"feedback", "fb_", "feedback"}
)

// Kinds lists every kind.
var Kinds = []Kind{Records, Proposals, Handoffs, Feedbacks}

// In is the folder of the kind, relative to the vault.
func (k Kind) In() string { return Folder + "/" + k.Folder }

// Receipts is the folder of the kind's receipts, relative to the vault.
func (k Kind) Receipts() string { return "receipts/" + k.Subject }

// SubjectOf is the subject of a document's receipts.
func (k Kind) SubjectOf(id string) string { return k.Subject + "/" + id }

// Path is where a document lies, relative to the vault.
func (k Kind) Path(id string, created time.Time) string {
	return path.Join(k.In(), created.UTC().Format("2006/01"), id+".yaml")
}

// crockford is the alphabet of ULIDs, in lower case.
const crockford = "0123456789abcdefghjkmnpqrstvwxyz"

// NewID makes an id of a time, to the millisecond, and ten random bytes: the
// kind's prefix and a lower-case ULID.
func (k Kind) NewID(at time.Time, random [10]byte) string {
	var raw [16]byte
	ms := uint64(at.UnixMilli())
	for i := range 6 {
		raw[i] = byte(ms >> (8 * (5 - i)))
	}
	copy(raw[6:], random[:])
	// 128 bits in 26 digits of 5, the first of which has 3.
	out := make([]byte, 26)
	for i := range out {
		var digit byte
		for bit := range 5 {
			at := i*5 + bit - 2
			if at >= 0 && raw[at/8]&(0x80>>(at%8)) != 0 {
				digit |= 0x10 >> bit
			}
		}
		out[i] = crockford[digit]
	}
	return k.Prefix + string(out)
}

// Check says why an id is none of the kind's, or nil. What it accepts is safe in
// a path.
func (k Kind) Check(id string) error {
	ulid, ok := strings.CutPrefix(id, k.Prefix)
	if !ok || len(ulid) != 26 || ulid[0] > '7' || strings.Trim(ulid, crockford) != "" {
		return fmt.Errorf("%q is no id of the form %s<26 digits and lower-case letters>", id, k.Prefix)
	}
	return nil
}

// RecordOf is the id of the record that a proposal becomes.
func RecordOf(proposal string) string {
	return Records.Prefix + strings.TrimPrefix(proposal, Proposals.Prefix)
}

// ProposalOf is the id of the proposal that a record was made of.
func ProposalOf(record string) string {
	return Proposals.Prefix + strings.TrimPrefix(record, Records.Prefix)
}
