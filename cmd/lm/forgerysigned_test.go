package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/signature"
)

// signers are keys of people, the same in every run.
var signers = map[string]ed25519.PrivateKey{
	"alice": ed25519.NewKeyFromSeed([]byte(strings.Repeat("a", 32))),
	"bob":   ed25519.NewKeyFromSeed([]byte(strings.Repeat("b", 32))),
	"carol": ed25519.NewKeyFromSeed([]byte(strings.Repeat("c", 32))),
}

func (f *forger) signer(who string) ssh.Signer {
	f.t.Helper()
	s, err := ssh.NewSignerFromKey(signers[who])
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// signed makes a receipt as whoever holds a key would sign it.
func (f *forger) signed(r *vault.Receipt, who, namespace string) {
	f.t.Helper()
	armored, err := signature.Sign(r.Canonical(), namespace, f.signer(who))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Signature = armored
}

// newSignedForger is newForger where signatures are required and bob has signed
// what he approved.
func newSignedForger(t *testing.T) *forger {
	f := newForger(t)
	var lines strings.Builder
	for _, who := range []string{"alice", "bob"} {
		lines.WriteString(signature.Line(who+"@example.org", f.signer(who).PublicKey(), signature.Receipts) + "\n")
	}
	for who, key := range signers {
		block, err := ssh.MarshalPrivateKey(key, who)
		if err != nil {
			t.Fatal(err)
		}
		f.write(".git/"+who, string(pem.EncodeToMemory(block)))
	}
	f.write("allowed_signers", lines.String())
	f.replace("vault.yaml", "require_reason: true", "require_reason: true, signatures: required")
	f.commit("ask for signatures")
	f.as("bob")
	for _, id := range []string{"page", "other"} {
		f.lm(0, "asset", "govern", id, "--status", "approved", "--reason", "read it", "--key", filepath.Join(f.dir, ".git", "bob"))
	}
	f.as("alice")
	return f
}

const (
	page4  = "receipts/asset/page/0004.yaml"
	other3 = "receipts/asset/other/0003.yaml"
)

// forgeFourth is forge after three receipts.
func (f *forger) forgeFourth(change func(*vault.Receipt)) {
	f.t.Helper()
	f.replace(pageFile, "text\n", "another text\n")
	f.replace(pageFile, "status: approved", "status: candidate")
	f.commit("edit")
	f.replace(pageFile, "version: 1", "version: 2")
	f.replace(pageFile, "status: candidate", "status: approved")
	last := f.receipt(page3)
	f.next(func(r *vault.Receipt) {
		r.Seq, r.Prev, r.Signature = 4, last.Hash(), ""
		change(r)
		f.sh("cp " + page3 + " .git/third")
		f.write(page4, string(r.File().Data))
	})
	f.sh("cp .git/third " + page3 + " && git commit -qa --amend -m govern")
}

// TestSignedForgeries: what nothing shows without signatures is found with them,
// and reaches no agent.
func TestSignedForgeries(t *testing.T) {
	honest := newSignedForger(t)
	honest.lm(0, "verify")
	honest.lm(0, "validate")
	for name, c := range map[string]struct {
		file, reason string
		forge        func(f *forger)
	}{
		"in an approver's name": {page4, "it is not signed", func(f *forger) { f.forgeFourth(func(*vault.Receipt) {}) }},
		"by another's key": {page4, "is not one of user:bob", func(f *forger) {
			f.forgeFourth(func(r *vault.Receipt) { f.signed(r, "alice", signature.Receipts) })
		}},
		"by a key that nobody listed": {page4, "is none of the allowed signers", func(f *forger) {
			f.forgeFourth(func(r *vault.Receipt) { f.signed(r, "carol", signature.Receipts) })
		}},
		"with the signature of a commit": {page4, `it is of the namespace "git"`, func(f *forger) {
			f.forgeFourth(func(r *vault.Receipt) { f.signed(r, "bob", signature.Commits) })
		}},
		"with the signature of another receipt": {page4, "it is not of this content", func(f *forger) {
			f.forgeFourth(func(r *vault.Receipt) { r.Signature = f.receipt(other3).Signature })
		}},
		"changed after it was signed": {page4, "it is not of this content", func(f *forger) {
			f.forgeFourth(func(r *vault.Receipt) { f.signed(r, "bob", signature.Receipts); r.Reason = "new" })
		}},
		"with half a signature": {page4, "no SSH signature", func(f *forger) {
			f.forgeFourth(func(r *vault.Receipt) {
				f.signed(r, "bob", signature.Receipts)
				r.Signature = r.Signature[:100] + "\n-----END SSH SIGNATURE-----"
			})
		}},
		"its signature is taken away": {page3, "it is not signed", func(f *forger) {
			r := f.receipt(page3)
			r.Signature = ""
			f.write(page3, string(r.File().Data))
			f.commit("x")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &forger{t, filepath.Join(t.TempDir(), "vault")}
			if out, err := exec.Command("cp", "-R", honest.dir, f.dir).CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			c.forge(f)
			out, found := f.lm(exitInvalid, "verify"), false
			for _, line := range strings.Split(out, "\n") {
				found = found || strings.HasPrefix(line, c.file+":") && strings.Contains(line, c.reason)
			}
			if !found {
				t.Errorf("no line says %q of %s:\n%s", c.reason, c.file, out)
			}
			if given := f.lm(0, "loadout", "text page other", "--no-user"); strings.Contains(given, `id="page"`) || !strings.Contains(given, `id="other"`) {
				t.Errorf("an agent gets\n%s", given)
			}
		})
	}
}

// A branch that lists its own key, or asks for no signatures any more, is judged
// by the base's signers.
func TestSignersAreTheBases(t *testing.T) {
	f := newSignedForger(t)
	f.sh("git branch base")
	f.write("allowed_signers", string(f.read("allowed_signers"))+signature.Line("bob@example.org", f.signer("carol").PublicKey(), signature.Receipts)+"\n")
	f.commit("list a key")
	f.forgeFourth(func(r *vault.Receipt) { f.signed(r, "carol", signature.Receipts) })
	out := f.lm(exitInvalid, "validate", "--base", "base", "--rev", "HEAD")
	for _, want := range []string{"no receipt of vault/policy says that it was approved", "status: unreceipted, so no agent gets it: of receipt 0004, the signature counts for nothing"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	// Its policy receipt needs an approver's signature too.
	f.sh("git reset -q --hard HEAD~2")
	f.as("bob")
	f.lm(exitUsage, "policy", "approve", "--reason", "one more key")
	f.lm(exitDenied, "policy", "approve", "--reason", "one more key", "--key", filepath.Join(f.dir, ".git", "alice"))
	f.sh("git config lm.trustedRef base")
	f.lm(exitDenied, "policy", "approve", "--reason", "one more key", "--key", filepath.Join(f.dir, ".git", "carol"))
	f.lm(0, "policy", "approve", "--reason", "one more key", "--key", filepath.Join(f.dir, ".git", "bob"))
	f.lm(0, "validate", "--base", "base", "--rev", "HEAD")
	f.replace("receipts/vault/policy/0001.yaml", "one more key", "one key less")
	f.commit("x")
	if out := f.lm(exitInvalid, "validate", "--base", "base", "--rev", "HEAD"); !strings.Contains(out, "receipts/vault/policy/0001.yaml:1:1: error: signature") {
		t.Error(out)
	}
}

// Another place for the allowed signers is a change of policy, and what lies there is
// part of what is approved.
func TestSignersMoveWithTheirContent(t *testing.T) {
	f := newSignedForger(t)
	f.sh("git branch base && git config lm.trustedRef base")
	f.write("keys", string(f.read("allowed_signers")))
	f.replace("vault.yaml", "signatures: required", "signatures: required, allowed_signers: keys")
	f.commit("move the keys")
	f.as("bob")
	f.lm(0, "policy", "approve", "--reason", "another name", "--key", filepath.Join(f.dir, ".git", "bob"))
	f.lm(0, "validate", "--base", "base", "--rev", "HEAD")
	f.write("keys", string(f.read("keys"))+signature.Line("bob@example.org", f.signer("carol").PublicKey(), signature.Receipts)+"\n")
	f.commit("one more")
	if out := f.lm(exitInvalid, "validate", "--base", "base", "--rev", "HEAD"); !strings.Contains(out, "no receipt of vault/policy says that it was approved") {
		t.Error(out)
	}
	// Who wrote the keys is an author of the policy.
	if out, err := f.try("policy", "approve", "--reason", "mine", "--key", filepath.Join(f.dir, ".git", "bob")); err != exitDenied || !strings.Contains(out, "wrote this change") {
		t.Errorf("%d %s", err, out)
	}
}

// try is lm whatever it says.
func (f *forger) try(args ...string) (string, int) {
	f.t.Helper()
	var out bytes.Buffer
	code := run(context.Background(), append(args, "-C", f.dir), strings.NewReader(""), &out, &out)
	return out.String(), code
}
