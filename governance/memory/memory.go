// Package memory is the rules for what agents propose, people approve and
// agents recall (protocol.md §3). It is pure: documents, ids, time, candidates
// and relevance come in as arguments, and what is to be written comes out.
//
// The order of decisions on a proposal (Review): its scope must lie in the
// proposer's, then the vault's policy must allow kind and risk; only then is it
// held against the records of its scope. All that holds is in the message, and
// the strongest is the status:
//
//	rejected/scope_mismatch, rejected/policy_denied
//	rejected/duplicate            a record says the same
//	conflict_required             a record says something else of the same subject
//	approval_required/unsourced   no source is named
//	approval_required/valid
//	approved/valid                only where the policy confirms by itself
//
// A person who may approve makes a record of it (Approve); never the proposer
// unless the policy says so, and never an agent. What happens to a record
// afterwards follows agentprotocol.ValidTransition, each step with a receipt.
//
// A record counts (Standing) if its chain of receipts holds and the last one
// names this very content and state. Recall and Compile hand out what counts,
// lies in the request's scope or above it, and has not expired.
//
// Every refusal is an *agentprotocol.StableError that errors.As finds.
package memory

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"longmemory.dev/lm/agentprotocol"
)

// Record is a memory as the contract has it.
type Record = agentprotocol.MemoryRecord

// refuse makes an error of the contract.
func refuse(code, format string, args ...any) error {
	return agentprotocol.NewStableError(code, fmt.Sprintf(format, args...))
}

// folded is text as duplicates are told by: NFC, without blanks around it,
// whatever its case: ß is SS, and ς is Σ, which lower case alone would not tell.
func folded(s string) string {
	return norm.NFC.String(cases.Fold().String(norm.NFC.String(strings.TrimSpace(s))))
}

// has says whether a list holds an id.
func has(list []string, id string) bool { return slices.Contains(list, id) }
