// Package sshkeys finds the SSH key that somebody signs with, as Git does for
// gpg.format=ssh: a private key in a file, or the one of a public key that the
// ssh-agent holds. It asks for no passphrase: a key that has one is the agent's.
package sshkeys

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// ErrNoKey is wrapped where no key can be had; the message says what to do.
var ErrNoKey = errors.New("no key to sign with")

// patience bounds a call of the agent, which may ask a person.
const patience = 60 * time.Second

// maxKey is the size in bytes of the largest key file that is read.
const maxKey = 64 << 10

// Find gives the signer that a word stands for: a path of a private key or of a
// public one, "~/" being home, or a public key itself, "key::" before it or not
// (git-config(1), user.signingKey). getenv tells HOME and SSH_AUTH_SOCK. Close
// ends the connection to the agent, if one is held.
func Find(word string, getenv func(string) string) (signer ssh.Signer, close func(), err error) {
	none := func() {}
	word = strings.TrimSpace(word)
	literal, isLiteral := strings.CutPrefix(word, "key::")
	if isLiteral || strings.HasPrefix(word, "ssh-") || strings.HasPrefix(word, "ecdsa-") || strings.HasPrefix(word, "sk-") {
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(literal))
		if err != nil {
			return nil, none, fmt.Errorf("%w: %.40q is no public key", ErrNoKey, word)
		}
		return fromAgent(key, word, getenv)
	}
	if rest, ok := strings.CutPrefix(word, "~/"); ok {
		word = filepath.Join(getenv("HOME"), rest)
	}
	data, err := readKey(word)
	if err != nil {
		return nil, none, fmt.Errorf("%w: %w", ErrNoKey, err)
	}
	if key, _, _, _, err := ssh.ParseAuthorizedKey(data); err == nil {
		if private, err := readKey(strings.TrimSuffix(word, ".pub")); err == nil && strings.HasSuffix(word, ".pub") {
			if signer, err := ssh.ParsePrivateKey(private); err == nil && bytes.Equal(signer.PublicKey().Marshal(), key.Marshal()) {
				return signer, none, nil
			}
		}
		return fromAgent(key, word, getenv)
	}
	signer, err = ssh.ParsePrivateKey(data)
	var locked *ssh.PassphraseMissingError
	switch {
	case err == nil:
		return signer, none, nil
	case !errors.As(err, &locked):
		return nil, none, fmt.Errorf("%w: %s is no SSH key: %w", ErrNoKey, word, err)
	case locked.PublicKey == nil:
		return nil, none, fmt.Errorf("%w: %s has a passphrase; run ssh-add %s, and name its public key (.pub)", ErrNoKey, word, word)
	}
	return fromAgent(locked.PublicKey, word, getenv)
}

func readKey(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxKey {
		return nil, fmt.Errorf("%s is no key file", file)
	}
	return os.ReadFile(file)
}

// fromAgent gives the agent's signer of a public key.
func fromAgent(key ssh.PublicKey, word string, getenv func(string) string) (ssh.Signer, func(), error) {
	none := func() {}
	private := strings.TrimSuffix(word, ".pub")
	if strings.ContainsAny(private, " ") {
		private = "<its private key>"
	}
	socket := getenv("SSH_AUTH_SOCK")
	if socket == "" {
		return nil, none, fmt.Errorf("%w: the private part of %s is not readable without a passphrase, and no ssh-agent runs here; run: eval \"$(ssh-agent)\" && ssh-add %s", ErrNoKey, ssh.FingerprintSHA256(key), private)
	}
	conn, err := net.DialTimeout("unix", socket, 5*time.Second)
	if err != nil {
		return nil, none, fmt.Errorf("%w: the ssh-agent does not answer: %w", ErrNoKey, err)
	}
	closing := func() { _ = conn.Close() }
	_ = conn.SetDeadline(time.Now().Add(patience))
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		closing()
		return nil, none, fmt.Errorf("%w: the ssh-agent: %w", ErrNoKey, err)
	}
	for _, s := range signers {
		if bytes.Equal(s.PublicKey().Marshal(), key.Marshal()) {
			return s, closing, nil
		}
	}
	closing()
	return nil, none, fmt.Errorf("%w: the ssh-agent does not hold %s; run: ssh-add %s", ErrNoKey, ssh.FingerprintSHA256(key), private)
}
