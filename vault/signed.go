package vault

import (
	"strings"

	"longmemory.dev/lm/vault/signature"
)

// Signatures says what a vault asks of signatures.
const (
	SignaturesOff      = "off"
	SignaturesRequired = "required"
)

// readSigners reads the allowed signers.
func (s *Snapshot) readSigners(files []File, found *findings) {
	name := s.Config.Policy.AllowedSigners
	for _, f := range files {
		if f.Path != name {
			continue
		}
		s.signers = &signature.Signers{}
		if f.Kind != FileRegular && f.Kind != FileExecutable || f.Data == nil {
			found.add(Problem{Severity: Error, Path: name, Message: "this is no plain file that can be read, so no signature counts", Mend: "put the file itself here"})
			return
		}
		var faults []signature.Fault
		s.signers, faults = signature.Parse(f.Data)
		for _, fault := range faults {
			found.add(Problem{Severity: Error, Path: name, Line: fault.Line, Column: 1, Message: "this line counts for nothing: " + fault.Message, Mend: "mend or remove it (ssh-keygen(1), ALLOWED SIGNERS)"})
		}
		return
	}
	if s.Config.Policy.Signatures == SignaturesRequired {
		s.signers = &signature.Signers{}
		found.add(Problem{Severity: Error, Path: ConfigFile, Field: "policy.allowed_signers", Message: "signatures are required and there is no file " + name + ", so nothing counts as approved",
			Mend: "add it, with a line for each person: <email> namespaces=\"" + signature.Receipts + "\" <public key>"})
	}
}

// Unsigned says why a receipt counts for nothing in a vault that requires
// signatures, or nil: it has none, or one that is not of this receipt, or by a
// key that is not its actor's. The last receipt of a chain vouches by its prev
// for those before it. The error is a Problem.
func (s *Snapshot) Unsigned(r *Receipt) error {
	if s.Config.Policy.Signatures != SignaturesRequired {
		return nil
	}
	return s.CheckSignature(r)
}

// CheckSignature is Unsigned whatever the vault requires. Where it requires
// none and lists no signers, any key will do.
func (s *Snapshot) CheckSignature(r *Receipt) error {
	why := "it is not signed"
	if r.Signature != "" {
		err := s.verify(r)
		if err == nil {
			return nil
		}
		why = err.Error()
	}
	return Problem{Severity: Error, Path: ReceiptPath(r.Subject, r.Seq), Line: 1, Column: 1, Field: "signature", Message: "the signature counts for nothing: " + why,
		Mend: "whoever may approve it governs it again with a key that " + s.Config.Policy.AllowedSigners + " lists"}
}

func (s *Snapshot) verify(r *Receipt) error {
	key, err := signature.Verify(r.Canonical(), r.Signature, signature.Receipts)
	if err != nil {
		return err
	}
	if s.signers == nil {
		return nil // nobody says whose keys count, and none has to
	}
	return s.signers.Permit(s.Config.Names(r.Actor), key, signature.Receipts, r.At)
}

// Names are all that the allowed signers may know somebody by: "user:alice",
// "alice" and the emails that people lists.
func (c *Config) Names(who Subject) []string {
	names := []string{string(who)}
	if who.Kind() == KindUser {
		names = append(names, who.ID())
		for _, email := range c.People[who.ID()].Emails {
			names = append(names, email, strings.ToLower(email))
		}
	}
	return names
}
