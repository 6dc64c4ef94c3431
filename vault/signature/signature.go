// Package signature makes and checks SSH signatures as ssh-keygen -Y does
// (OpenSSH's PROTOCOL.sshsig), and reads the allowed signers that say whose key
// counts (ssh-keygen(1), "ALLOWED SIGNERS"). Bytes in, values out: keys and
// time come from the caller.
//
// A receipt is signed in the namespace Receipts over its canonical form, a
// commit in Commits over its object without the signature (format.md §4). A
// signature says which key made it and nothing about whose that is:
//
//	key, err := signature.Verify(canonical, armored, signature.Receipts)
//	…
//	err = signers.Permit([]string{"user:alice", "alice@example.org"}, key, signature.Receipts, receipt.At)
package signature

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// The namespaces of what is signed: a signature of one counts for nothing as
// one of another.
const (
	Receipts = "lm-receipt"
	Commits  = "git"
)

// dsa is the type of keys that are too weak.
const dsa = "ssh-dss"

// maxArmored is the size in bytes of the largest signature that is looked at;
// one of a 16,384-bit RSA key has less than half of it.
const maxArmored = 16 << 10

// Sign signs a message for a namespace and gives the armored signature.
func Sign(message []byte, namespace string, signer ssh.Signer) (string, error) {
	s, err := sshsig.Sign(bytes.NewReader(message), signer, sshsig.HashSHA512, namespace)
	if err != nil {
		return "", err
	}
	return string(sshsig.Armor(s)), nil
}

// Verify says which key made an armored signature of a message in a namespace.
// The error says why it is none.
func Verify(message []byte, armored, namespace string) (ssh.PublicKey, error) {
	if len(armored) > maxArmored {
		return nil, fmt.Errorf("a signature has at most %d bytes", maxArmored)
	}
	text := strings.TrimSpace(armored)
	if !strings.HasPrefix(text, "-----BEGIN SSH SIGNATURE-----") || !strings.HasSuffix(text, "-----END SSH SIGNATURE-----") {
		return nil, errors.New("it is no armored SSH signature")
	}
	s, err := sshsig.Unarmor([]byte(text + "\n"))
	if err != nil {
		return nil, fmt.Errorf("it is no SSH signature: %w", err)
	}
	if s.PublicKey.Type() == dsa {
		return nil, errors.New("it is by a DSA key, which is too weak")
	}
	if s.Namespace != namespace {
		return nil, fmt.Errorf("it is of the namespace %q, not %q", s.Namespace, namespace)
	}
	if err := sshsig.Verify(bytes.NewReader(message), s, s.PublicKey, s.HashAlgorithm, namespace); err != nil {
		return nil, errors.New("it is not of this content")
	}
	return s.PublicKey, nil
}

// Line is the line of allowed signers that lets a principal sign with a key in
// a namespace.
func Line(principal string, key ssh.PublicKey, namespace string) string {
	return fmt.Sprintf("%s namespaces=%q %s", principal, namespace, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))))
}
