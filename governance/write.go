package governance

import (
	"errors"
	"fmt"
	"slices"

	"longmemory.dev/lm/vault"
)

// ErrDenied says that somebody may not do what was asked.
var ErrDenied = errors.New("denied")

// ErrReason says that the vault asks for a reason and none was given.
var ErrReason = errors.New("this vault asks for a reason")

// Actor is who changes a vault.
type Actor struct {
	Who
	// Subject is what receipts name: user:<id> or agent:<id>. An agent never
	// approves (format.md §5).
	Subject vault.Subject
	// Listed says that vault.yaml lists the person, or lists nobody.
	Listed bool
}

func (a Actor) agent() bool { return a.Subject.Kind() == vault.KindAgent }

// Act is one change that somebody wants to make to an asset.
type Act struct {
	To      vault.Status
	Changed []string // the governed keys that this act changes, "body" among them
	Authors []string // who wrote this version, as user:<id> or email
	Reason  string
}

// MayRegister says why the actor may not register an asset in this state, or
// nil. born says that everything is given that a skill born approved needs.
// Errors wrap ErrDenied, ErrReason or ErrTransition.
func MayRegister(config *vault.Config, f *vault.Facts, a Actor, born bool, reason string) error {
	if !a.Listed {
		return fmt.Errorf("%w: %s is none of the people in vault.yaml; ask one of them to register it, or to add you", ErrDenied, a.Subject)
	}
	if f.Status != vault.StatusApproved {
		return Transition("", f.Status, true)
	}
	switch {
	case f.Type != vault.TypeSkill || !born:
		return fmt.Errorf("%w: only a skill with triggers, instructions and validation may be born approved; register it as candidate and govern it", ErrTransition)
	case config.Policy.DistinctApprover:
		return fmt.Errorf("%w: this vault asks for an approver who is no author; register it as candidate and let somebody else approve it", ErrDenied)
	}
	return mayApprove(config, f, a, Act{To: vault.StatusApproved, Reason: reason})
}

// MayGovern says why the actor may not do this to an asset, or nil (format.md
// §5). f is the asset as it stands before. Errors wrap ErrDenied or ErrReason.
func MayGovern(config *vault.Config, f *vault.Facts, a Actor, act Act) error {
	if !a.Listed {
		return fmt.Errorf("%w: %s is none of the people in vault.yaml", ErrDenied, a.Subject)
	}
	needs := map[vault.Permission]bool{}
	for _, key := range act.Changed {
		switch key {
		case "bindings":
			needs[vault.PermissionAssign] = true
		case "visibility", "teams", "acl":
			needs[vault.PermissionShare] = true
		default:
			needs[vault.PermissionManage] = true
		}
	}
	if act.To != vault.StatusApproved && len(act.Changed) == 0 {
		needs[vault.PermissionManage] = true
	}
	for _, p := range vault.Permissions {
		if needs[p] && !Allowed(f, a.Who, p) {
			return fmt.Errorf("%w: %s may not %s %s; its owner %s may, or somebody whom its acl allows it", ErrDenied, a.Subject, p, f.ID, f.Owner)
		}
	}
	if act.To == vault.StatusApproved {
		return mayApprove(config, f, a, act)
	}
	return needsReason(config, act)
}

func needsReason(config *vault.Config, act Act) error {
	if config.Policy.RequireReason && act.Reason == "" {
		return fmt.Errorf("%w: add --reason \"…\"", ErrReason)
	}
	return nil
}

func mayApprove(config *vault.Config, f *vault.Facts, a Actor, act Act) error {
	policy := config.Policy
	switch {
	case a.agent():
		return fmt.Errorf("%w: an agent never approves (%s); a person can: set LM_IDENTITY=user:<id> where a person acts from an agent's shell", ErrDenied, a.Subject)
	case len(policy.Approvers) == 0 && !Allowed(f, a.Who, vault.PermissionManage):
		return fmt.Errorf("%w: %s may not approve %s; its owner %s may", ErrDenied, a.Subject, f.ID, f.Owner)
	case len(policy.Approvers) > 0 && !slices.ContainsFunc(policy.Approvers, a.Is):
		return fmt.Errorf("%w: %s is no approver; policy.approvers in vault.yaml names %v", ErrDenied, a.Subject, policy.Approvers)
	case !Allowed(f, a.Who, vault.PermissionRead):
		return fmt.Errorf("%w: %s may not read %s and so not approve it", ErrDenied, a.Subject, f.ID)
	case policy.DistinctApprover && slices.Contains(act.Authors, string(a.Subject)):
		return fmt.Errorf("%w: %s wrote this version, and this vault asks for an approver who is no author", ErrDenied, a.Subject)
	}
	return needsReason(config, act)
}
