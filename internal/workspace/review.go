package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// Review is an approving review on a forge: the act of a person that a machine
// writes down.
type Review struct {
	Reviewer string // "github:<login>", as vault.yaml's people have it
	Base     string // what the change goes to, whose vault.yaml says who that is; "": what is trusted
}

// reviewed makes the reviewer the actor, by the base's vault.yaml: a change
// cannot say who its reviewers are. It says which assets the review is of: those
// that differ between HEAD and where it left the base. Whoever is bound to an
// identity, or runs in an agent's shell, reports no review.
func (s *session) reviewed(config *vault.Config, r Review) (func(vault.ID) bool, error) {
	forge, login, _ := strings.Cut(r.Reviewer, ":")
	if forge != "github" || login == "" {
		return nil, fmt.Errorf("%w: --reviewer is %q; write github:<login>", ErrUsage, r.Reviewer)
	}
	bound, err := s.v.bound()
	if err != nil {
		return nil, err
	}
	if other := cmp.Or(bound, s.v.hostAgent()); other != "" {
		return nil, fmt.Errorf("%w: this process acts as %s, so it cannot report the review of somebody else", governance.ErrDenied, other)
	}
	at, err := s.v.trusted(Revision{Rev: r.Base})
	if err != nil {
		return nil, err
	}
	if r.Base == "" && at.Commit == s.head.Commit {
		return nil, fmt.Errorf("%w: a review is of what a change brings, and nothing here says what it goes to; add --base origin/main", ErrUsage)
	}
	holds, err := (&session{v: s.v, head: at}).config()
	if err != nil {
		return nil, err
	}
	if digestOf(config, nil) != digestOf(holds, nil) {
		return nil, fmt.Errorf("%w: the policy, people or teams of vault.yaml are others than at %s, and no review on a forge approves that; bring the branch up to date, or run: lm policy approve", governance.ErrDenied, at.Ref)
	}
	id := holds.PersonOnGitHub(login)
	if id == "" {
		return nil, fmt.Errorf("%w: GitHub's %s is none of the people in vault.yaml at %s; add `github: %s` to one of them", governance.ErrDenied, login, at.Ref, login)
	}
	s.writer.Actor = governance.Actor{
		Subject: vault.Subject("user:" + id), Listed: true,
		Who: governance.Who{User: id, Teams: holds.TeamsOf(id), Roles: holds.People[id].Roles},
	}
	s.writer.person = "" // Git names the machine
	s.writer.identity = fmt.Sprintf("%s by the approving review of %s", s.writer.Subject, r.Reviewer)
	return s.since(at)
}

// since says which assets have other files or receipts at HEAD than where it left
// a base.
func (s *session) since(base loaded) (func(vault.ID) bool, error) {
	fork, err := s.v.parted(s.head.Commit, base.Commit)
	if err != nil {
		return nil, err
	}
	var before, now side
	for commit, end := range map[gitstore.Hash]*side{fork: &before, s.head.Commit: &now} {
		if end.files, err = s.v.Repo.List(commit, s.v.Prefix, only("assets", "receipts/asset")); err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return nil, err
		}
	}
	return func(id vault.ID) bool { return before.all(id) != now.all(id) }, nil
}
