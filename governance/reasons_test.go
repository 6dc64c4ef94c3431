package governance

import (
	"slices"
	"testing"

	"longmemory.dev/lm/vault"
)

// TestSavedLoadoutsKnowEveryReason: what a saved loadout may give as a reason is
// what a loadout gives.
func TestSavedLoadoutsKnowEveryReason(t *testing.T) {
	var want []string
	for i := range checks {
		want = append(want, string(checks[i].reason))
	}
	want = append(want, string(ReasonOverBudget), vault.Hidden)
	if !slices.Equal(vault.ExclusionReasons, want) {
		t.Errorf("vault.ExclusionReasons is %v, want %v", vault.ExclusionReasons, want)
	}
}
