package workspace

import (
	"errors"
	"fmt"

	"golang.org/x/crypto/ssh"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/internal/sshkeys"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
	"longmemory.dev/lm/vault/signature"
)

// signer finds the key of the call: the one that it names, else Git's
// user.signingkey. It wraps sshkeys.ErrNoKey.
func (v *Vault) signer(named string) (ssh.Signer, func(), error) {
	if named == "" {
		var err error
		if named, _, err = v.Repo.Config("user.signingkey"); err != nil {
			return nil, nil, err
		}
	}
	if named == "" {
		return nil, nil, fmt.Errorf("%w: name one with --key FILE, or for good: git config user.signingkey <file>", sshkeys.ErrNoKey)
	}
	return sshkeys.Find(named, v.env.Getenv)
}

// sign signs a receipt where the vault requires it or the call names a key.
func (v *Vault) sign(config *vault.Config, at loaded, r *vault.Receipt) error {
	key, done, err := v.signing(config, at, r)
	if err != nil || key == nil {
		return err
	}
	defer done()
	if r.Signature, err = signature.Sign(r.Canonical(), signature.Receipts, key); err != nil {
		return fmt.Errorf("%w: %w", sshkeys.ErrNoKey, err)
	}
	_, err = signature.Verify(r.Canonical(), r.Signature, signature.Receipts)
	return err
}

// maySign is sign but for the signature itself, which somebody may have to
// confirm.
func (v *Vault) maySign(config *vault.Config, at loaded, r *vault.Receipt) error {
	key, done, err := v.signing(config, at, r)
	if key != nil {
		done()
	}
	return err
}

// signing is the key that is to sign a receipt; nil if it goes unsigned. config and
// the allowed signers of at say whose key counts: one that does not is refused
// before anything is written, as the receipt would count for nothing.
func (v *Vault) signing(config *vault.Config, at loaded, r *vault.Receipt) (ssh.Signer, func(), error) {
	required := config.Policy.Signatures == vault.SignaturesRequired
	if !required && v.env.Key == "" {
		return nil, nil, nil
	}
	key, done, err := v.signer(v.env.Key)
	if err != nil {
		if required {
			err = fmt.Errorf("this vault requires signed receipts: %w", err)
		}
		return nil, nil, err
	}
	if required {
		if err := v.mayuse(key.PublicKey(), config, at, r); err != nil {
			done()
			return nil, nil, err
		}
	}
	return key, done, nil
}

// mayuse says why a key may not sign a receipt, or nil.
func (v *Vault) mayuse(key ssh.PublicKey, config *vault.Config, at loaded, r *vault.Receipt) error {
	name := config.Policy.AllowedSigners
	file, err := v.Repo.File(at.Commit, v.inRepo(name), maxConfig)
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return err
	}
	signers, _ := signature.Parse(file.Data) // faults are lm validate's
	names := config.Names(r.Actor)
	if err := signers.Permit(names, key, signature.Receipts, r.At); err != nil {
		return fmt.Errorf("%w: %w in %s; let an approver add this line and run lm policy approve: %s", governance.ErrDenied, err, name,
			signature.Line(names[len(names)-1], key, signature.Receipts))
	}
	return nil
}

// signCommit signs a commit with Git's own key, as commit.gpgsign asks.
func (v *Vault) signCommit(commit []byte) (string, error) {
	key, done, err := v.signer("")
	if err != nil {
		return "", fmt.Errorf("commit.gpgsign asks for a signed commit: %w; or leave it unsigned: git config commit.gpgsign false", err)
	}
	defer done()
	return signature.Sign(commit, signature.Commits, key)
}
