// Package governance holds the rules of lm: who may do what with an asset,
// how an asset's state may change, and which assets a request gets. It is
// pure: files, relevance, token counts and the time come in as arguments, and
// the same arguments give the same answer on every machine.
//
// # The order of decisions
//
// Resolve takes every asset of a snapshot through the same gates; the first
// that closes gives the reason (design.md §3):
//
//  1. read: what the subject may not read is counted and never named
//  2. type_not_requested, invalid, status, unreceipted, expired, denied,
//     bound_elsewhere, unbound, irrelevant
//  3. rank: required first, then priority + relevance + confidence/4, then id
//  4. budget: each in its mode, else in a smaller form, else over_budget
//
// Governance comes first, relevance second, the budget last: nothing that a
// later step knows can bring back what an earlier one left out.
//
//	loadout := governance.Resolve(config, facts, request, relevance, cost)
//	for _, s := range loadout.Selected {
//		fmt.Println(facts[s.Index].ID, s.Mode, s.Tokens)
//	}
//
// # Access
//
// A matching deny wins over everything, over the owner too. Then the owner,
// then a matching allow, then (for read and use) the asset's visibility. See
// Allowed.
package governance
