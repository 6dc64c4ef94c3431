package workspace

import (
	"fmt"
	"slices"
	"strings"

	"longmemory.dev/lm/vault"
)

// check holds the loadout of a saved request against its promises: a problem
// for each that is broken, with what was expected, what is, and why.
func (o *outcome) check() []vault.Problem {
	c := checker{outcome: o}
	for _, p := range o.test.Select {
		c.selected(p)
	}
	if first := o.test.First; first != nil {
		c.first(*first)
	}
	for _, p := range o.test.Exclude {
		c.excluded(p)
	}
	if most := o.test.MaxTokens; most != nil && o.TokensUsed > most.Most {
		c.broken(most.Place, "max_tokens", "shorten what is selected, or raise the number", "expected at most %d tokens, is %d: %s", most.Most, o.TokensUsed, c.costs())
	}
	if complete := o.test.Complete; complete != nil && complete.Want != o.Complete {
		why := "nothing that is required is missing"
		if len(o.Missing) > 0 {
			var missing []string
			for _, id := range o.Missing {
				missing = append(missing, fmt.Sprintf("%s (%s)", id, o.why(id)))
			}
			why = "required and missing: " + strings.Join(missing, ", ")
		}
		c.broken(complete.Place, "complete", "see lm loadout --explain for the whole answer", "expected %t, is %t: %s", complete.Want, o.Complete, why)
	}
	return c.problems
}

type checker struct {
	*outcome
	problems []vault.Problem
}

func (c *checker) broken(at vault.Place, field, mend, format string, args ...any) {
	c.problems = append(c.problems, vault.Problem{Severity: vault.Error, Path: c.test.Path, Line: at.Line, Column: at.Column,
		Field: field, Message: fmt.Sprintf(format, args...), Mend: mend})
}

func (o *outcome) place(id vault.ID) int {
	return slices.IndexFunc(o.Selected, func(s Selected) bool { return s.ID == id })
}

func (c *checker) selected(p vault.Promise) {
	i := c.place(p.ID)
	if i < 0 {
		c.broken(p.Place, "select", c.look(p.ID), "expected %s to be in, is out: %s", p.ID, c.why(p.ID))
		return
	}
	s := c.Selected[i]
	if p.Want == "" || p.Want == string(s.Mode) {
		return
	}
	why := "nothing is bound to this subject, and unbound assets come as reference"
	switch {
	case s.DegradedFrom != "":
		why = fmt.Sprintf("its %s form does not fit into what is left of %d tokens", s.DegradedFrom, c.TokenBudget)
	case s.Binding != nil:
		why = "its binding to " + string(s.Binding.Target) + " says so"
	}
	c.broken(p.Place, "select", c.look(p.ID), "expected %s in mode %s, is %s: %s", p.ID, p.Want, s.Mode, why)
}

func (c *checker) first(p vault.Promise) {
	i := c.place(p.ID)
	switch {
	case i == 0:
	case i < 0:
		c.broken(p.Place, "first", c.look(p.ID), "expected %s first, is out: %s", p.ID, c.why(p.ID))
	default:
		ahead, own := c.Selected[0], c.Selected[i]
		why := fmt.Sprintf("its score is %s, and that of %s %s", own.Score.Total, ahead.ID, ahead.Score.Total)
		if ahead.Binding != nil && ahead.Binding.Required && (own.Binding == nil || !own.Binding.Required) {
			why = fmt.Sprintf("%s is required, and required assets come first", ahead.ID)
		}
		c.broken(p.Place, "first", c.look(p.ID), "expected %s first, is at place %d: %s", p.ID, i+1, why)
	}
}

func (c *checker) excluded(p vault.Promise) {
	field := "exclude." + string(p.ID)
	if i := c.place(p.ID); i >= 0 {
		c.broken(p.Place, field, c.look(p.ID), "expected out (%s), is in as %s: nothing keeps it out", p.Want, c.Selected[i].Mode)
		return
	}
	switch why := c.why(p.ID); {
	case why == noAsset:
		c.broken(p.Place, field, "correct the id, or remove the line", "expected out (%s), and %s", p.Want, noAsset)
	case why != p.Want && !strings.HasPrefix(why, p.Want+": "):
		mend := c.look(p.ID)
		if _, hidden := c.unread[p.ID]; hidden {
			mend = "write " + vault.Hidden + ", or let its visibility or its acl show it to this subject"
		}
		c.broken(p.Place, field, mend, "expected out (%s), is out for another reason: %s", p.Want, why)
	}
}

// noAsset is why an asset is out that is not there.
const noAsset = "there is no such asset"

// why says what keeps an asset out: its reason first, then a colon and detail.
func (o *outcome) why(id vault.ID) string {
	for _, e := range o.Excluded {
		if e.ID == id {
			if e.Detail == "" {
				return string(e.Reason)
			}
			return fmt.Sprintf("%s: %s", e.Reason, e.Detail)
		}
	}
	if why, ok := o.unread[id]; ok {
		return vault.Hidden + ": " + why
	}
	return noAsset
}

// look is what to do about an asset: the command that shows each decision about
// it for this very request, or, where the subject sees no such asset, the way out.
func (c *checker) look(id vault.ID) string {
	if c.why(id) == noAsset && c.place(id) < 0 {
		return "correct the id, or remove the line"
	}
	if _, hidden := c.unread[id]; hidden {
		return "let its visibility or its acl show it to this subject, or remove the line"
	}
	r, command := c.test.Request, "run: lm asset explain "+string(id)
	add := func(flag, value string) {
		if value != "" {
			command += " --" + flag + " " + vault.Quote(value)
		}
	}
	switch c.Snapshot.Ref {
	case RefFolder:
	case RefWorktree:
		command += " --worktree"
	default:
		add("rev", c.Snapshot.Ref)
	}
	add("query", strings.Join(strings.Fields(r.Query), " "))
	add("user", r.User)
	if r.User == "" && !c.request.Sole {
		command += " --no-user"
	}
	add("teams", strings.Join(r.Teams, ","))
	add("roles", strings.Join(r.Roles, ","))
	add("agent", r.Agent)
	add("task", r.Task)
	add("framework", r.Framework)
	var types []string
	for _, t := range r.Types {
		types = append(types, string(t))
	}
	add("types", strings.Join(types, ","))
	if r.BoundOnly {
		command += " --bound-only"
	}
	if r.TokenBudget > 0 {
		add("token-budget", fmt.Sprint(r.TokenBudget))
	}
	if !r.Now.IsZero() {
		add("now", vault.FormatTime(r.Now))
	}
	return command
}

// costs lists what the selected assets take, the largest first.
func (c *checker) costs() string {
	all := slices.Clone(c.Selected)
	slices.SortStableFunc(all, func(a, b Selected) int { return b.Tokens - a.Tokens })
	var out []string
	for _, s := range all {
		out = append(out, fmt.Sprintf("%s %d", s.ID, s.Tokens))
	}
	return strings.Join(out, ", ")
}
