package governance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"longmemory.dev/lm/vault"
)

// ErrTransition says that an asset's state may not change this way.
var ErrTransition = errors.New("no such transition")

// next lists where each state leads (format.md §3). "" is a new asset.
var next = map[vault.Status][]vault.Status{
	"":                     {vault.StatusDraft, vault.StatusCandidate},
	vault.StatusDraft:      {vault.StatusCandidate, vault.StatusApproved, vault.StatusArchived, vault.StatusFailed},
	vault.StatusCandidate:  {vault.StatusDraft, vault.StatusApproved, vault.StatusArchived, vault.StatusFailed},
	vault.StatusApproved:   {vault.StatusDeprecated, vault.StatusArchived, vault.StatusFailed},
	vault.StatusDeprecated: {vault.StatusApproved, vault.StatusArchived},
	vault.StatusFailed:     {vault.StatusDraft, vault.StatusCandidate, vault.StatusArchived},
	vault.StatusArchived:   {},
}

// Transition says why an asset may not go from one state to another, or nil.
// fresh says that its content has changed since its last receipt: then the
// same state is a re-approval or re-submission, and approved or deprecated may
// go back to candidate. The error wraps ErrTransition and names the ways that
// are open.
func Transition(from, to vault.Status, fresh bool) error {
	open := slices.Clone(next[from])
	if fresh && (from == vault.StatusApproved || from == vault.StatusDeprecated) {
		open = append(open, vault.StatusCandidate)
	}
	if fresh && from != "" && from != vault.StatusArchived {
		open = append(open, from)
	}
	if slices.Contains(open, to) {
		return nil
	}
	ways := make([]string, len(open))
	for i, s := range open {
		ways[i] = string(s)
	}
	way := "nothing follows it"
	if len(ways) > 0 {
		way = "it may become " + strings.Join(ways, ", ")
	}
	if from == to {
		return fmt.Errorf("%w: it is %s already and its content is unchanged; %s", ErrTransition, from, way)
	}
	return fmt.Errorf("%w: %s cannot become %s; %s", ErrTransition, named(from), to, way)
}

func named(s vault.Status) string {
	if s == "" {
		return "a new asset"
	}
	return string(s)
}

// State is the state from which the next receipt leads on: what the chain says,
// unless the file was sent back to draft or candidate with another content
// (format.md §4). A file that claims a state nobody gave it is a candidate, and
// what was archived stays so.
func State(status vault.Status, digest vault.Digest, chain vault.Chain) vault.Status {
	waiting := status == vault.StatusDraft || status == vault.StatusCandidate
	last := chain.Last()
	switch {
	case last == nil && waiting:
		return status
	case last == nil:
		return vault.StatusCandidate
	case waiting && digest != last.Digest && last.To != vault.StatusArchived:
		return status
	}
	return last.To
}

// NextVersion is the version that a content has: one more than the last
// receipt's if the content is another, and what the file says if there is no
// receipt yet.
func NextVersion(stated int, digest vault.Digest, chain vault.Chain) int {
	last := chain.Last()
	switch {
	case last == nil:
		return max(stated, 1)
	case digest == last.Digest:
		return last.Version
	}
	return last.Version + 1
}
