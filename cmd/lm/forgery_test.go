package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// forger is somebody who may write every file of a vault and commits what they
// like, under whatever name.
type forger struct {
	t   *testing.T
	dir string
}

const (
	pageFile = "assets/wikis/page.md"
	page1    = "receipts/asset/page/0001.yaml"
	page2    = "receipts/asset/page/0002.yaml"
	page3    = "receipts/asset/page/0003.yaml"
	other2   = "receipts/asset/other/0002.yaml"
)

// newForger makes a vault in which alice wrote page and other, and bob approved
// them; carol is no approver.
func newForger(t *testing.T) *forger {
	t.Helper()
	home := t.TempDir()
	for key, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home, "GIT_CONFIG_NOSYSTEM": "1",
		"LM_VAULT": "", "LM_IDENTITY": "", "LM_AGENT": "", "CLAUDECODE": ""} {
		t.Setenv(key, value)
	}
	f := &forger{t, filepath.Join(home, "vault")}
	if err := os.Mkdir(f.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	f.sh(`git init -q -b main && git config user.name alice`)
	f.as("alice")
	f.write("vault.yaml", `schema: lm.vault/v1
project: lm
people:
  alice: {emails: [alice@example.org]}
  bob: {emails: [bob@example.org]}
  carol: {emails: [carol@example.org]}
teams: {core: [alice, bob]}
policy: {approvers: ["team:core"], distinct_approver: true, require_reason: true}
`)
	f.commit("start")
	f.write(".git/text", "text\n")
	for _, id := range []string{"page", "other"} {
		f.lm(0, "asset", "register", "--type", "llm_wiki", "--id", id, "--name", id, "--description", "d", "--owner", "team:core", "--content-file", filepath.Join(f.dir, ".git", "text"))
		f.as("bob")
		f.lm(0, "asset", "govern", id, "--status", "approved", "--reason", "read it")
		f.as("alice")
	}
	return f
}

func (f *forger) sh(script string) {
	f.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = f.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func (f *forger) as(who string) { f.sh("git config user.email " + who + "@example.org") }

func (f *forger) commit(message string) { f.sh("git add -A && git commit -qm '" + message + "'") }

func (f *forger) write(file, text string) {
	f.t.Helper()
	name := filepath.Join(f.dir, file)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		f.t.Fatal(err)
	}
}

func (f *forger) read(file string) []byte {
	f.t.Helper()
	data, err := os.ReadFile(filepath.Join(f.dir, file))
	if err != nil {
		f.t.Fatal(err)
	}
	return data
}

// lm runs the command in the vault, and gives its standard output.
func (f *forger) lm(code int, args ...string) string {
	f.t.Helper()
	var out, notes bytes.Buffer
	if got := run(context.Background(), append(args, "-C", f.dir), strings.NewReader(""), &out, &notes); got != code {
		f.t.Fatalf("lm %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, code, out.String(), notes.String())
	}
	return out.String()
}

func (f *forger) replace(file, old, new string) {
	f.t.Helper()
	data := string(f.read(file))
	if !strings.Contains(data, old) {
		f.t.Fatalf("%s has no %q:\n%s", file, old, data)
	}
	f.write(file, strings.ReplaceAll(data, old, new))
}

func (f *forger) receipt(file string) *vault.Receipt {
	f.t.Helper()
	r, err := vault.ParseReceipt(vault.File{Path: file, Data: f.read(file)})
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// rewrite changes page's first receipt and makes all hashes after it right.
func (f *forger) rewrite(change func(*vault.Receipt)) {
	first, second := f.receipt(page1), f.receipt(page2)
	change(first)
	f.write(page1, string(first.File().Data))
	second.Prev, second.Project = first.Hash(), first.Project
	f.write(page2, string(second.File().Data))
}

// forge writes a third receipt for page as if bob had approved a new text of
// alice's, but for what change makes of it, and commits all of it at once.
func (f *forger) forge(change func(*vault.Receipt)) {
	f.t.Helper()
	f.replace(pageFile, "text\n", "another text\n")
	f.replace(pageFile, "version: 1", "version: 2")
	f.replace(pageFile, "status: approved", "status: candidate")
	f.commit("edit")
	f.replace(pageFile, "status: candidate", "status: approved")
	f.next(change)
}

// next writes the third receipt for page as it lies and commits.
func (f *forger) next(change func(*vault.Receipt)) {
	f.t.Helper()
	data := f.read(pageFile)
	a, err := vault.ParseAsset(pageFile, []vault.File{{Path: pageFile, Data: data, Size: int64(len(data))}}, vault.DefaultConfig())
	if err != nil {
		f.t.Fatal(err)
	}
	last := f.receipt(page2)
	r := *last
	r.Seq, r.Prev, r.From, r.To, r.Version = 3, last.Hash(), vault.StatusCandidate, a.Status, a.Version
	r.Digest, r.Object = a.Digest, string(gitstore.BlobID(data))
	change(&r)
	f.write(page3, string(r.File().Data))
	f.as("bob")
	f.commit("govern")
}

// contest makes two branches on which bob approved another text of alice's, and
// merges both into main, where the text of one stays.
func (f *forger) contest() {
	f.t.Helper()
	for _, branch := range []string{"one", "two"} {
		f.sh("git checkout -q main && git checkout -qb " + branch)
		f.as("alice")
		f.replace(pageFile, "text\n", "text of "+branch+"\n")
		f.commit("edit")
		f.as("bob")
		f.lm(0, "asset", "govern", "page", "--status", "approved", "--reason", branch)
	}
	f.sh("git checkout -q main && git merge -q --ff-only one && ! git merge -q two >/dev/null 2>&1 && git checkout -q --ours . && git add -A && git commit -qm 'Keep one'")
}

// TestWhatGaveWayIsRejected: a change that takes the side that a merge on the
// base left is an edit of a receipt, however it is made; one that puts back what
// somebody took that way is none.
func TestWhatGaveWayIsRejected(t *testing.T) {
	f := newForger(t)
	f.contest()
	f.lm(0, "verify")
	f.lm(0, "validate", "--base", "main")
	for _, evil := range []string{
		`git reset -q --hard $(git commit-tree -p main -p two -m "Merge two" "two^{tree}")`,
		`git reset -q --hard $(git commit-tree -p two -p main -m "Merge main" "two^{tree}")`,
		"git checkout two -- assets receipts 2>/dev/null && git commit -qm x",
	} {
		f.sh("git checkout -q main && git checkout -qB evil && " + evil)
		if out := f.lm(exitInvalid, "validate", "--base", "main"); !strings.Contains(out, page3+":1:1: error: this change edits this receipt") {
			t.Errorf("%s\n%s", evil, out)
		}
		f.sh("git checkout -q evil && git checkout -qB good && git checkout main -- assets receipts 2>/dev/null && git commit -qm back")
		f.lm(0, "validate", "--base", "evil")
		if out := f.lm(0, "verify"); !strings.Contains(out, "and is back as it was") {
			t.Errorf("%s\n%s", evil, out)
		}
	}
}

// forgeries are manipulations, each with the file that must be named and a word
// of the reason.
var forgeries = map[string]struct {
	file, reason string
	forge        func(f *forger)
}{
	"a reason is edited":              {page2, "was changed in commit", func(f *forger) { f.replace(page2, "read it", "I never read it"); f.commit("x") }},
	"the first is edited":             {page2, "prev is not the hash", func(f *forger) { f.replace(page1, "alice", "carol"); f.commit("x") }},
	"all hashes are made right again": {page1, "was changed in commit", func(f *forger) { f.rewrite(func(r *vault.Receipt) { r.Reason = "new" }); f.commit("x") }},
	"the last is removed":             {page2, "was removed in commit", func(f *forger) { f.sh("git rm -q " + page2); f.commit("x") }},
	"the first is removed":            {page2, "receipt 0001 is missing", func(f *forger) { f.sh("git rm -q " + page1); f.commit("x") }},
	"the chain is removed":            {page1, "was removed in commit", func(f *forger) { f.sh("git rm -q " + page1 + " " + page2); f.commit("x") }},
	"one is renumbered":               {page3, "says 2 and its file", func(f *forger) { f.sh("git mv " + page2 + " " + page3); f.commit("x") }},
	"two change places": {page1, "and its file 0001", func(f *forger) {
		f.sh("mv " + page1 + " x && mv " + page2 + " " + page1 + " && mv x " + page2)
		f.commit("x")
	}},
	"one of another asset":    {page3, "seq", func(f *forger) { f.sh("cp " + other2 + " " + page3); f.commit("x") }},
	"one of another subject":  {page3, "it is a receipt of asset/other", func(f *forger) { f.forgeAt(func(r *vault.Receipt) { r.Subject = "asset/other" }) }},
	"another project":         {page1, "it is a receipt of project evil", func(f *forger) { f.rewrite(func(r *vault.Receipt) { r.Project = "evil" }); f.commit("x") }},
	"one that cannot be read": {page2, "cannot be read", func(f *forger) { f.write(page2, "{\n"); f.commit("x") }},
	"a symbolic link":         {page2, "no plain file", func(f *forger) { f.sh("rm " + page2 + " && ln -s ../other/0002.yaml " + page2); f.commit("x") }},
	"removed and made anew": {page2, "was removed in commit", func(f *forger) {
		r := f.receipt(page2)
		f.sh("git rm -q " + page2)
		f.commit("x")
		r.Reason = "new"
		f.write(page2, string(r.File().Data))
		f.commit("y")
	}},
	"a merge drops one": {other2, "was removed in commit", func(f *forger) {
		f.sh("git checkout -qb side HEAD~1 && git commit -q --allow-empty -m x && git merge -q -s ours main -m merge 2>/dev/null")
	}},
	"a merge changes one": {page2, "was changed in commit", func(f *forger) {
		f.sh("git checkout -qb side HEAD~1 && git commit -q --allow-empty -m x && git merge -q --no-commit main 2>/dev/null")
		f.replace(page2, "read it", "new")
		f.commit("merge")
	}},
	"a merge brings back what gave way": {page3, "was changed in commit", func(f *forger) {
		f.contest()
		f.sh(`git reset -q --hard $(git commit-tree -p main -p two -m "Merge two" "two^{tree}")`)
	}},
	"a commit brings back what gave way": {page3, "was changed in commit", func(f *forger) {
		f.contest()
		f.sh("git checkout two -- assets receipts 2>/dev/null && git commit -qm x")
	}},
	"a merge of one's own brings it back": {page3, "gave way to one that gave way to it in the merge", func(f *forger) {
		f.contest()
		f.sh(`own=$(git commit-tree -p two -p one -m "Merge one" "two^{tree}") && git reset -q --hard $(git commit-tree -p $own -p main -m "Merge main" "two^{tree}")`)
	}},
	"a merge of one's own brings it back, from the other side": {page3, "gave way to one that gave way to it in the merge", func(f *forger) {
		f.contest()
		f.sh(`own=$(git commit-tree -p two -p one -m "Merge one" "two^{tree}") && git reset -q --hard $(git commit-tree -p main -p $own -m "Merge own" "two^{tree}")`)
	}},
	"what gave way had been touched before": {page3, "was changed in commit", func(f *forger) {
		f.contest()
		f.sh("git branch kept && git checkout -q two && cp " + page3 + " .git/keep && echo '# x' >>" + page3 + " && git commit -qam x && cp .git/keep " + page3 + " && git commit -qam y")
		f.sh("git reset -q --hard $(git commit-tree -p one -p two -m merge 'one^{tree}') && git reset -q --hard $(git commit-tree -p HEAD -p two -m again 'two^{tree}')")
	}},
	"a version is jumped": {page3, "version", func(f *forger) { f.forge(func(r *vault.Receipt) { r.Version = 7 }) }},
	"a state that none becomes": {page3, "cannot become", func(f *forger) {
		f.replace(pageFile, "status: approved", "status: draft")
		f.next(func(r *vault.Receipt) { r.From = vault.StatusApproved })
	}},
	"a state from nowhere": {page3, "leads on from", func(f *forger) { f.forge(func(r *vault.Receipt) { r.From = vault.StatusFailed }) }},
	"nobody of the people": {page3, "none of the people", func(f *forger) { f.forge(func(r *vault.Receipt) { r.Actor = "user:mallory" }) }},
	"an agent approves":    {page3, "cannot approve", func(f *forger) { f.forge(func(r *vault.Receipt) { r.Actor = "agent:reviewer" }) }},
	"no approver":          {page3, "is no approver", func(f *forger) { f.forge(func(r *vault.Receipt) { r.Actor = "user:carol" }) }},
	"the author approves":  {page3, "wrote this version", func(f *forger) { f.forge(func(r *vault.Receipt) { r.Actor = "user:alice" }) }},
	"the author leaves their name out": {page3, "by the history, user:alice wrote this version", func(f *forger) {
		f.forge(func(r *vault.Receipt) { r.Actor, r.Authors = "user:alice", []string{"user:bob"} })
	}},
	"dated back": {page3, "and the receipt before it", func(f *forger) {
		f.forge(func(r *vault.Receipt) { r.At = r.At.AddDate(-1, 0, 0) })
	}},
	"no reason is given":              {page3, "asks for a reason", func(f *forger) { f.forge(func(r *vault.Receipt) { r.Reason = "" }) }},
	"registered twice":                {page3, "registered once", func(f *forger) { f.forge(func(r *vault.Receipt) { r.Kind = vault.ReceiptRegistered }) }},
	"the digest of something else":    {page3, "no asset with its digest", func(f *forger) { f.forge(func(r *vault.Receipt) { r.Object = f.receipt(other2).Object }) }},
	"another state than was governed": {page3, "the file that it governed approved", func(f *forger) { f.forge(func(r *vault.Receipt) { r.To = vault.StatusCandidate }) }},
	"born approved": {page1, "born approved", func(f *forger) {
		f.rewrite(func(r *vault.Receipt) { r.To = vault.StatusApproved })
		f.sh("rm " + page2)
		f.sh("git checkout -q --orphan new")
		f.commit("x")
	}},
	"people are added by the change itself": {page3, "none of the people", func(f *forger) {
		f.replace("vault.yaml", "  carol:", "  mallory: {emails: [m@example.org]}\n  carol:")
		f.replace("vault.yaml", "[alice, bob]", "[alice, bob, mallory]")
		f.forgeAt(func(r *vault.Receipt) { r.Actor = "user:mallory" })
	}},
	"the policy is loosened by the change itself": {page3, "wrote this version", func(f *forger) {
		f.replace("vault.yaml", "distinct_approver: true", "distinct_approver: false")
		f.forgeAt(func(r *vault.Receipt) { r.Actor = "user:alice" })
	}},
	"deleted and not archived": {page2, "the asset is gone", func(f *forger) { f.sh("git rm -q " + pageFile); f.commit("x") }},
	"approved by hand":         {pageFile, "unreceipted", func(f *forger) { f.replace(pageFile, "text\n", "evil\n"); f.commit("x") }},
}

// forgeAt is forge in one commit with whatever else was changed.
func (f *forger) forgeAt(change func(*vault.Receipt)) {
	f.t.Helper()
	f.replace(pageFile, "text\n", "another text\n")
	f.replace(pageFile, "version: 1", "version: 2")
	f.next(change)
}

// TestForgeries: each is found by lm verify, which names the file; only what is
// merely unreceipted, and so counts for nothing, is a warning.
func TestForgeries(t *testing.T) {
	honest := newForger(t)
	honest.lm(0, "verify")
	for name, c := range forgeries {
		t.Run(name, func(t *testing.T) {
			f := &forger{t, filepath.Join(t.TempDir(), "vault")}
			if out, err := exec.Command("cp", "-R", honest.dir, f.dir).CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			c.forge(f)
			code := exitInvalid
			if c.reason == "unreceipted" {
				code = exitOK
			}
			out := f.lm(code, "verify")
			for _, line := range strings.Split(out, "\n") {
				if strings.HasPrefix(line, c.file+":") && strings.Contains(line, c.reason) {
					return
				}
			}
			t.Errorf("no line says %q of %s:\n%s", c.reason, c.file, out)
		})
	}
}

// TestForgeryThatNothingShows: who may write the branch and takes an approver's
// name forges a receipt that only a signature would tell from a true one.
func TestForgeryThatNothingShows(t *testing.T) {
	f := newForger(t)
	f.forge(func(*vault.Receipt) {})
	f.lm(0, "verify")
}
