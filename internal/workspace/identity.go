package workspace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// Subject is who a request is for, as flags name it.
type Subject struct {
	User      string
	NoUser    bool // nobody, not even the person whose Git email is known
	Teams     []string
	Roles     []string
	Agent     string
	Task      string
	Framework string
}

// bound is the identity that the surroundings fix: LM_IDENTITY, LM_AGENT.
func (v *Vault) bound() (vault.Subject, error) {
	var identity, agent vault.Subject
	var err error
	if value := v.env.Getenv("LM_IDENTITY"); value != "" {
		if identity, err = vault.ParseSubject(value, "", vault.KindUser, vault.KindAgent); err != nil || identity.ID() == "*" {
			return "", fmt.Errorf("%w: LM_IDENTITY is %q; write user:<id> or agent:<id>", ErrUsage, value)
		}
	}
	if value := v.env.Getenv("LM_AGENT"); value != "" {
		if agent, err = vault.ParseSubject(value, vault.KindAgent, vault.KindAgent); err != nil || agent.ID() == "*" {
			return "", fmt.Errorf("%w: LM_AGENT is %q; write the agent's id", ErrUsage, value)
		}
	}
	if identity != "" && agent != "" && identity != agent {
		return "", fmt.Errorf("%w: LM_IDENTITY says %s and LM_AGENT %s; unset one of them", ErrUsage, identity, agent)
	}
	return cmp.Or(identity, agent), nil
}

// who settles the subject of a request (design.md §3): what vault.yaml says of
// a listed person or agent, among which flags may choose; an unlisted subject
// is taken as given.
func (v *Vault) who(config *vault.Config, s Subject) (governance.Who, error) {
	bound, err := v.bind(&s)
	if err != nil {
		return governance.Who{}, err
	}
	if s.NoUser && s.User != "" {
		return governance.Who{}, fmt.Errorf("%w: --user and --no-user exclude each other", ErrUsage)
	}
	w := governance.Who{
		User: strings.TrimPrefix(s.User, "user:"), Agent: strings.TrimPrefix(s.Agent, "agent:"),
		Task: strings.TrimPrefix(s.Task, "task:"), Framework: strings.TrimPrefix(s.Framework, "framework:"),
		Sole: len(config.People) == 0 && !s.NoUser,
	}
	for kind, id := range map[string]string{vault.KindUser: w.User, vault.KindAgent: w.Agent, vault.KindTask: w.Task, vault.KindFramework: w.Framework} {
		if _, err := vault.ParseSubject(kind+":"+id, "", kind); id != "" && (err != nil || id == "*") {
			return governance.Who{}, fmt.Errorf("%w: %q is no id of a %s", ErrUsage, id, kind)
		}
	}
	if err := v.person(config, s, bound, &w); err != nil {
		return governance.Who{}, err
	}
	person, listedPerson := config.People[w.User]
	agent, listedAgent := config.Agents[w.Agent]
	if w.Framework == "" {
		w.Framework = agent.Framework
	}
	// Whom vault.yaml lists, and whose identity is bound, is what vault.yaml says.
	fixed := listedPerson || bound != "" || w.User == "" && listedAgent
	if w.Teams, err = choose("team", s.Teams, config.TeamsOf(w.User), fixed); err != nil {
		return governance.Who{}, err
	}
	roles := append(slices.Clone(person.Roles), agent.Roles...)
	slices.Sort(roles)
	w.Roles, err = choose("role", s.Roles, slices.Compact(roles), fixed || listedAgent)
	return w, err
}

// person fills in the person whose Git email vault.yaml lists, if the request
// names none. A process that is bound to an agent works for that person and for
// nobody else.
func (v *Vault) person(config *vault.Config, s Subject, bound vault.Subject, w *governance.Who) error {
	if len(config.People) == 0 || s.NoUser || v.Repo == nil || w.User != "" && bound.Kind() != vault.KindAgent {
		return nil
	}
	_, email, err := v.Repo.Person()
	if err != nil {
		return err
	}
	person := config.PersonWithEmail(email)
	if w.User != "" && w.User != person {
		return fmt.Errorf("%w: this process is bound to %s, which works for %q here, so --user %s is refused", governance.ErrDenied, bound, person, w.User)
	}
	w.User = person
	return nil
}

// bind holds flags against the bound identity, which it returns: they may
// repeat it, never change it.
func (v *Vault) bind(s *Subject) (vault.Subject, error) {
	bound, err := v.bound()
	if err != nil || bound == "" {
		return "", err
	}
	flag, name := &s.Agent, "--agent"
	if bound.Kind() == vault.KindUser {
		flag, name = &s.User, "--user"
		if s.NoUser {
			return "", fmt.Errorf("%w: this process is bound to %s, so --no-user is refused", governance.ErrDenied, bound)
		}
	}
	if given := strings.TrimPrefix(*flag, bound.Kind()+":"); given != "" && given != bound.ID() {
		return "", fmt.Errorf("%w: this process is bound to %s, so %s %s is refused", governance.ErrDenied, bound, name, given)
	}
	*flag = bound.ID()
	return bound, nil
}

// choose picks the given values: among the known ones if those are fixed.
func choose(kind string, given, known []string, fixed bool) ([]string, error) {
	given = slices.Clone(given)
	for i := range given {
		given[i] = strings.TrimPrefix(given[i], kind+":")
	}
	slices.Sort(given)
	given = slices.Compact(given)
	if len(given) == 0 {
		return known, nil
	}
	if fixed {
		for _, value := range given {
			if !slices.Contains(known, value) {
				return nil, fmt.Errorf("%w: vault.yaml gives this subject no %s %s, only [%s]", governance.ErrDenied, kind, value, strings.Join(known, " "))
			}
		}
	}
	return given, nil
}

// writer is somebody who changes the vault.
type writer struct {
	governance.Actor
	name, email string
	person      vault.Subject // whom Git's email names; "" for a machine that reports a review
	// identity says how the actor was told apart from the agent in whose shell
	// the call was made; "" if nothing had to be.
	identity string
}

// actor settles who changes the vault (format.md §5, "Who acts"). No email is
// ErrUsage.
func (v *Vault) actor(config *vault.Config) (writer, error) {
	repo := v.Repo
	if repo == nil {
		repo = new(gitstore.Repo) // outside of any: what Git says of this person everywhere
	}
	name, email, err := repo.Person()
	if err != nil {
		return writer{}, err
	}
	if email == "" {
		return writer{}, fmt.Errorf("%w: Git does not know who you are; run: git config --global user.email you@example.org", ErrUsage)
	}
	local, _, _ := strings.Cut(email, "@")
	w := writer{name: cmp.Or(name, local), email: email}
	id := cmp.Or(config.PersonWithEmail(email), strings.ToLower(local))
	bound, err := v.bound()
	if err != nil {
		return writer{}, err
	}
	host := v.hostAgent()
	w.person = vault.Subject("user:" + id)
	if bound.Kind() == vault.KindUser {
		if host != "" {
			w.identity = fmt.Sprintf("%s by LM_IDENTITY in a shell of %s", bound, host)
		} else if bound != w.person {
			w.identity = fmt.Sprintf("%s by LM_IDENTITY; Git says %s", bound, email)
		}
		id, host = bound.ID(), ""
	}
	listed, known := config.People[id]
	w.Listed = known || len(config.People) == 0
	w.Who = governance.Who{User: id, Teams: config.TeamsOf(id), Roles: listed.Roles, Sole: len(config.People) == 0}
	w.Subject = vault.Subject("user:" + id)
	if agent := cmp.Or(agentOf(bound), host); agent != "" {
		w.Who.Agent = agent.ID()
		w.Subject = agent
	}
	if w.Subject, err = vault.ParseSubject(string(w.Subject), "", vault.KindUser, vault.KindAgent); err != nil {
		return writer{}, fmt.Errorf("%w: your Git email %s gives no usable name; set LM_IDENTITY=user:<id>", ErrUsage, email)
	}
	return w, nil
}

func agentOf(s vault.Subject) vault.Subject {
	if s.Kind() == vault.KindAgent {
		return s
	}
	return ""
}

// hostAgent is the agent whose host's environment the process runs in.
// CODEX_HOME is left out: people set it in their own shells.
func (v *Vault) hostAgent() vault.Subject {
	if v.env.Getenv("CLAUDECODE") != "" {
		return "agent:claude-code"
	}
	for _, entry := range v.env.Environ() {
		if key, value, _ := strings.Cut(entry, "="); strings.HasPrefix(key, "CODEX_") && key != "CODEX_HOME" && value != "" {
			return "agent:codex"
		}
	}
	return ""
}
