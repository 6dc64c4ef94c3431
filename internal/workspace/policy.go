package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// PolicyApproved is the receipt of a change of who may do what.
type PolicyApproved struct {
	Receipt string        `json:"receipt"` // its path, relative to the vault
	Hash    vault.Digest  `json:"receipt_hash"`
	Digest  vault.Digest  `json:"digest"`
	Actor   vault.Subject `json:"actor"`
	Commit  gitstore.Hash `json:"commit"`
	Hooks   []string      `json:"hooks_not_run"`
}

// ApprovePolicy writes a receipt of PolicySubject on what the committed
// vault.yaml says of project, policy, people and teams and on the allowed
// signers, by somebody who may by the trusted revision's vault.yaml. What is
// receipted already is ErrConflict.
func (v *Vault) ApprovePolicy(ctx context.Context, reason string) (*PolicyApproved, error) {
	s, err := v.session()
	if err != nil {
		return nil, err
	}
	config, err := s.config()
	if err != nil {
		return nil, err
	}
	at, err := v.trusted(Revision{})
	if err != nil {
		return nil, err
	}
	holds, err := (&session{v: v, head: at}).config()
	if err != nil {
		return nil, err
	}
	if s.writer, err = v.actor(holds); err != nil {
		return nil, err
	}
	files, err := v.filesAt(s.head.Commit, only(vault.ConfigFile, "receipts/"+PolicySubject))
	if err != nil {
		return nil, err
	}
	snapshot, err := vault.Read(files, nil)
	if err != nil {
		return nil, err
	}
	chain := snapshot.Receipts[PolicySubject]
	if err := chain.Check(config.Project, PolicySubject); err != nil {
		return nil, err
	}
	signers, err := v.Repo.File(s.head.Commit, v.inRepo(config.Policy.AllowedSigners), maxConfig)
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return nil, err
	}
	r := &vault.Receipt{Project: config.Project, Subject: PolicySubject, Kind: "policy_changed", Seq: 1, To: vault.StatusApproved,
		Digest: digestOf(config, signers.Data), Actor: s.writer.Subject, Reason: strings.TrimSpace(reason), At: s.now, Identity: s.writer.identity}
	stop := ""
	if last := chain.Last(); last != nil {
		if r.Seq, r.Prev, r.From = last.Seq+1, last.Hash(), last.To; last.Digest == r.Digest {
			return nil, fmt.Errorf("%w: receipt %04d of %s approved this already", ErrConflict, last.Seq, PolicySubject)
		}
		stop = v.inRepo(vault.ReceiptPath(PolicySubject, last.Seq))
	}
	if r.Authors, err = s.policyAuthors(holds, at.Commit, stop, vault.ConfigFile, config.Policy.AllowedSigners); err != nil {
		return nil, err
	}
	if err := governance.MaySetPolicy(holds, r.Actor, r.Authors, r.Reason); err != nil {
		return nil, err
	}
	rules, from := config, s.head // what the change brings is about to count
	if holds.Policy.Signatures == vault.SignaturesRequired {
		rules, from = holds, at
	}
	if err := v.sign(rules, from, r); err != nil {
		return nil, err
	}
	file := r.File()
	if _, err := vault.ParseReceipt(file); err != nil {
		return nil, fmt.Errorf("%w: no receipt can be written, perhaps for its reason: %w", ErrUsage, err)
	}
	out := &PolicyApproved{Receipt: file.Path, Hash: r.Hash(), Digest: r.Digest, Actor: r.Actor, Hooks: notNil(v.Repo.Hooks())}
	out.Commit, err = v.Repo.Commit(ctx, gitstore.Change{
		Expect: s.head.Commit, Files: map[string][]byte{v.inRepo(file.Path): file.Data}, Name: s.writer.name, Email: s.writer.email, When: s.now,
		Message: fmt.Sprintf("Approve the policy\n\nLm-Receipt: %s\nLm-Actor: %s\n", r.Hash(), r.Actor),
		Reads:   []string{v.inRepo(vault.ConfigFile), v.inRepo(config.Policy.AllowedSigners), v.inRepo("receipts/" + PolicySubject)},
	})
	return out, err
}

// policyAuthors are who changed vault.yaml or the allowed signers since the trusted
// revision; where that is the one at hand, since the last receipt on them.
func (s *session) policyAuthors(config *vault.Config, trusted gitstore.Hash, stop string, files ...string) ([]string, error) {
	var all []string
	for _, file := range files {
		if trusted != s.head.Commit {
			emails, err := s.v.Repo.AuthorsSince(trusted, s.head.Commit, s.v.inRepo(file))
			if err != nil {
				return nil, err
			}
			all = append(all, emails...)
			continue
		}
		found, err := s.v.Repo.Authors(s.head.Commit, s.v.inRepo(file), stop)
		if err == nil && !found.Complete && config.Policy.DistinctApprover {
			err = fmt.Errorf("%w: %s", governance.ErrDenied, unshallow)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, found.Emails...)
	}
	return people(config, all), nil
}

// people names those whom vault.yaml lists, and leaves the others' addresses.
func people(config *vault.Config, emails []string) []string {
	var out []string
	for _, email := range emails {
		if id := config.PersonWithEmail(email); id != "" {
			email = "user:" + id
		}
		out = append(out, email)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
