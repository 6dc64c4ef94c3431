package signature_test

import (
	"crypto/ed25519"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"longmemory.dev/lm/vault/signature"
)

// keygen runs the real ssh-keygen in a folder.
func keygen(t *testing.T, dir, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("ssh-keygen", args...)
	cmd.Dir, cmd.Stdin, cmd.Env = dir, strings.NewReader(stdin), append(os.Environ(), "TZ=UTC")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func needKeygen(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("there is no ssh-keygen here")
	}
}

func newKey(t *testing.T, dir, name string, kind ...string) ssh.Signer {
	t.Helper()
	if out, err := keygen(t, dir, "", append([]string{"-q", "-N", "", "-C", "c", "-f", name, "-t"}, kind...)...); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(data)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// What ssh-keygen signs is verified here, and the other way round, for each kind
// of key.
func TestAgreesWithSSHKeygen(t *testing.T) {
	needKeygen(t)
	for _, kind := range [][]string{{"ed25519"}, {"rsa", "-b", "2048"}, {"ecdsa", "-b", "256"}} {
		dir := t.TempDir()
		signer := newKey(t, dir, "key", kind...)
		const message = "a receipt\n"
		theirs := strings.Builder{}
		cmd := exec.Command("ssh-keygen", "-q", "-Y", "sign", "-n", signature.Receipts, "-f", "key")
		cmd.Dir, cmd.Stdin, cmd.Stdout = dir, strings.NewReader(message), &theirs
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		key, err := signature.Verify([]byte(message), theirs.String(), signature.Receipts)
		if err != nil || string(key.Marshal()) != string(signer.PublicKey().Marshal()) {
			t.Errorf("%s: what ssh-keygen signed: %v", kind[0], err)
		}
		ours, err := signature.Sign([]byte(message), signature.Receipts, signer)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"sig": ours, "allowed": signature.Line("a@example.org", signer.PublicKey(), signature.Receipts) + "\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := keygen(t, dir, message, "-Y", "verify", "-f", "allowed", "-I", "a@example.org", "-n", signature.Receipts, "-s", "sig"); err != nil {
			t.Errorf("%s: ssh-keygen refuses what was signed here: %s", kind[0], out)
		}
		for name, c := range map[string]struct{ message, namespace, armored, want string }{
			"another content":   {"another\n", signature.Receipts, ours, "it is not of this content"},
			"another namespace": {message, signature.Commits, ours, `it is of the namespace "lm-receipt", not "git"`},
			"cut short":         {message, signature.Receipts, ours[:80], "it is no armored SSH signature"},
			"not base64":        {message, signature.Receipts, "-----BEGIN SSH SIGNATURE-----\n!!\n-----END SSH SIGNATURE-----", "it is no SSH signature"},
		} {
			if _, err := signature.Verify([]byte(c.message), c.armored, c.namespace); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s: %v, want %q", kind[0], name, err, c.want)
			}
		}
	}
}

// Permit says yes exactly where ssh-keygen does.
func TestPermitsAsSSHKeygen(t *testing.T) {
	needKeygen(t)
	dir := t.TempDir()
	signer := newKey(t, dir, "key", "ed25519")
	key := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	armored, err := signature.Sign([]byte("x"), signature.Receipts, signer)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sig"), []byte(armored), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for line, want := range map[string]bool{
		"a@example.org " + key:                                           true,
		"b@example.org " + key:                                           false,
		"*@example.org " + key:                                           true,
		"*@example.org,!a@example.org " + key:                            false,
		"!b@example.org,a@example.??? " + key:                            true,
		"b@example.org,a@example.org " + key + " a comment":              true,
		`a@example.org namespaces="lm-receipt" ` + key:                   true,
		`a@example.org namespaces="git,lm-*" ` + key:                     true,
		`a@example.org namespaces="git" ` + key:                          false,
		`a@example.org valid-after="20261201" ` + key:                    true,
		`a@example.org valid-after="20261202" ` + key:                    false,
		`a@example.org valid-after="20261201120000Z" ` + key:             true,
		`a@example.org valid-before="20261201120000Z" ` + key:            true,
		`a@example.org valid-before="202612011159Z" ` + key:              false,
		`a@example.org valid-before="20261203",namespaces="lm-*" ` + key: true,
		"# a@example.org " + key:                                         false,
		"b@example.org " + key + "\na@example.org " + key:                true,
		`a@example.org valid-before="20260101" ` + key + "\n*@* " + key:  true,
		"a@example.org cert-authority " + key:                            false,
		"a@example.org ssh-ed25519 AAAA":                                 false,
	} {
		if err := os.WriteFile(filepath.Join(dir, "allowed"), []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, theirs := keygen(t, dir, "x", "-Y", "verify", "-f", "allowed", "-I", "a@example.org", "-n", signature.Receipts, "-s", "sig", "-O", "verify-time=20261201120000Z")
		signers, _ := signature.Parse([]byte(line))
		ours := signers.Permit([]string{"a@example.org"}, signer.PublicKey(), signature.Receipts, at)
		if (ours == nil) != want || (theirs == nil) != want {
			t.Errorf("%.70q: here %v, ssh-keygen %v, want %t", line, ours, theirs, want)
		}
	}
}

// A line that cannot be read is named and counts for nothing; the others do.
func TestFaultsOfSigners(t *testing.T) {
	signer, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	key := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	lines := []string{
		"# who signs", "a " + key, "a", "a nothing", "a cert-authority " + key, "a unknown " + key, `a valid-before="tomorrow" ` + key,
		`a namespaces="" ` + key, `a valid-after="20270101",valid-before="20260101" ` + key, ", " + key, "a " + key + "\r",
	}
	signers, faults := signature.Parse([]byte(strings.Join(lines, "\n")))
	var got []int
	for _, f := range faults {
		got = append(got, f.Line)
	}
	want := []int{3, 4, 5, 6, 7, 8, 9, 10}
	if len(got) != len(want) {
		t.Fatalf("faults in lines %v, want %v: %v", got, want, faults)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("faults in lines %v, want %v", got, want)
		}
	}
	if err := signers.Permit([]string{"a"}, signer.PublicKey(), signature.Receipts, time.Time{}); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`a@example.org namespaces="git" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop`))
	f.Fuzz(func(t *testing.T, data []byte) {
		signers, faults := signature.Parse(data)
		lines := strings.Count(string(data), "\n") + 1
		for _, fault := range faults {
			if fault.Line < 1 || fault.Line > lines || fault.Message == "" {
				t.Fatalf("%+v", fault)
			}
		}
		key, err := signature.Verify(data, string(data), signature.Receipts)
		if err == nil {
			_ = signers.Permit([]string{"a"}, key, signature.Receipts, time.Time{})
		}
	})
}
