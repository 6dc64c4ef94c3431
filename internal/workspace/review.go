package workspace

import (
	"cmp"
	"fmt"
	"strings"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
)

// Review is an approving review on a forge: the act of a person that a machine
// writes down.
type Review struct {
	Reviewer string // "github:<login>", as vault.yaml's people have it
	Base     string // the revision whose vault.yaml says who that is; "": what is trusted
}

// reviewed makes the reviewer the actor, by the base's vault.yaml: a change
// cannot say who its reviewers are. Whoever is bound to an identity, or runs in
// an agent's shell, reports no review.
func (s *session) reviewed(config *vault.Config, r Review) error {
	forge, login, _ := strings.Cut(r.Reviewer, ":")
	if forge != "github" || login == "" {
		return fmt.Errorf("%w: --reviewer is %q; write github:<login>", ErrUsage, r.Reviewer)
	}
	bound, err := s.v.bound()
	if err != nil {
		return err
	}
	if other := cmp.Or(bound, s.v.hostAgent()); other != "" {
		return fmt.Errorf("%w: this process acts as %s, so it cannot report the review of somebody else", governance.ErrDenied, other)
	}
	at, err := s.v.trusted(Revision{Rev: r.Base})
	if err != nil {
		return err
	}
	holds, err := (&session{v: s.v, head: at}).config()
	if err != nil {
		return err
	}
	if digestOf(config, nil) != digestOf(holds, nil) {
		return fmt.Errorf("%w: the policy, people or teams of vault.yaml are others than at %s, and no review on a forge approves that; bring the branch up to date, or run: lm policy approve", governance.ErrDenied, at.Ref)
	}
	id := holds.PersonOnGitHub(login)
	if id == "" {
		return fmt.Errorf("%w: GitHub's %s is none of the people in vault.yaml at %s; add `github: %s` to one of them", governance.ErrDenied, login, at.Ref, login)
	}
	s.writer.Actor = governance.Actor{
		Subject: vault.Subject("user:" + id), Listed: true,
		Who: governance.Who{User: id, Teams: holds.TeamsOf(id), Roles: holds.People[id].Roles},
	}
	s.writer.person = "" // Git names the machine
	s.writer.identity = fmt.Sprintf("%s by the approving review of %s", s.writer.Subject, r.Reviewer)
	return nil
}
