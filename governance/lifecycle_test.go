package governance_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
)

// lifecycle is format.md §3 as a table: + always, * only with another content.
const lifecycle = `
            draft candidate approved deprecated archived failed
new         +     +         .        .          .        .
draft       *     +         +        .          +        +
candidate   +     *         +        .          +        +
approved    .     *         *        +          +        +
deprecated  .     *         +        *          +        .
archived    .     .         .        .          .        .
failed      +     +         .        .          +        *
`

func TestTransitions(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(lifecycle), "\n")
	states := strings.Fields(lines[0])
	for _, line := range lines[1:] {
		row := strings.Fields(line)
		from := vault.Status(strings.TrimPrefix(row[0], "new"))
		for i, mark := range row[1:] {
			to := vault.Status(states[i])
			for _, fresh := range []bool{false, true} {
				err := governance.Transition(from, to, fresh)
				if want := mark == "+" || mark == "*" && fresh; (err == nil) != want {
					t.Errorf("%q to %q, fresh %t: %v", from, to, fresh, err)
				}
				if err != nil && !errors.Is(err, governance.ErrTransition) {
					t.Errorf("%v is no ErrTransition", err)
				}
			}
		}
	}
	if err := governance.Transition(vault.StatusDeprecated, vault.StatusDraft, false); !strings.Contains(fmt.Sprint(err), "may become approved, archived") {
		t.Errorf("the error names no way: %v", err)
	}
}

func TestStateAndVersion(t *testing.T) {
	chain := vault.Chain{{To: vault.StatusApproved, Digest: "a", Version: 3}}
	for _, c := range []struct {
		name    string
		status  vault.Status
		digest  vault.Digest
		chain   vault.Chain
		state   vault.Status
		version int
	}{
		{"new candidate", vault.StatusCandidate, "a", nil, vault.StatusCandidate, 7},
		{"new draft", vault.StatusDraft, "a", nil, vault.StatusDraft, 7},
		{"claims approval without a receipt", vault.StatusApproved, "a", nil, vault.StatusCandidate, 7},
		{"as the chain says", vault.StatusApproved, "a", chain, vault.StatusApproved, 3},
		{"edited, still says approved", vault.StatusApproved, "b", chain, vault.StatusApproved, 4},
		{"edited and sent back", vault.StatusCandidate, "b", chain, vault.StatusCandidate, 4},
		{"sent back without an edit", vault.StatusCandidate, "a", chain, vault.StatusApproved, 3},
		{"claims another state", vault.StatusArchived, "a", chain, vault.StatusApproved, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := governance.State(c.status, c.digest, c.chain); got != c.state {
				t.Errorf("state %s, want %s", got, c.state)
			}
			if got := governance.NextVersion(7, c.digest, c.chain); got != c.version {
				t.Errorf("version %d, want %d", got, c.version)
			}
		})
	}
}
