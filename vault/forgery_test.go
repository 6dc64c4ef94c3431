package vault_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"longmemory.dev/lm/vault"
)

const folderKeys = "schema: lm.asset/v1\nid: x\ntype: llm_wiki\nname: X\ndescription: d\nowner: a\n"

// TestOneTextOneAsset: no two different sets of files have one canonical text,
// because names that could make it ambiguous are refused.
func TestOneTextOneAsset(t *testing.T) {
	evil := sha256.Sum256([]byte("evil\n"))
	for name, files := range map[string][]vault.File{
		"a line feed in a name": {file("assets/x/asset.yaml", folderKeys), file("assets/x/a\n"+hex.EncodeToString(evil[:])+"  content.md", "good\n")},
		"a file named body":     {file("assets/x/asset.yaml", folderKeys), file("assets/x/body", "evil\n")},
		"a control character":   {file("assets/x/asset.yaml", folderKeys), file("assets/x/a\x1b[31m", "good\n")},
		"a pointer":             {file("assets/x/asset.yaml", folderKeys), file("assets/x/data.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n")},
	} {
		if _, err := vault.ParseAsset("assets/x", files, vault.DefaultConfig()); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestChainsThatCountForNothing(t *testing.T) {
	approved := note("note", "status: approved\n")
	digest := parse(t, approved.Path, approved).Digest
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	chain := func(change func(*vault.Receipt)) []vault.File {
		first := vault.Receipt{Project: "lm", Subject: "asset/note", Kind: vault.ReceiptRegistered, Seq: 1, Version: 1, To: vault.StatusCandidate, Digest: digest, Actor: "user:alice", At: at}
		files := []vault.File{approved, first.File()}
		second := vault.Receipt{Project: "lm", Subject: "asset/note", Kind: vault.ReceiptGoverned, Seq: 2, Version: 1, From: vault.StatusCandidate, To: vault.StatusApproved,
			Digest: digest, Prev: first.Hash(), Actor: "user:alice", At: at}
		change(&second)
		return append(files, second.File())
	}
	if a, _ := read(t, chain(func(*vault.Receipt) {})...).Asset("note"); !a.Approved() {
		t.Fatal("the chain that is right does not count")
	}
	for name, change := range map[string]func(*vault.Receipt){
		"another kind of act": func(r *vault.Receipt) { r.Kind = "handoff_noted" },
		"another from":        func(r *vault.Receipt) { r.From = vault.StatusArchived },
		"an agent approves":   func(r *vault.Receipt) { r.Actor = "agent:evil" },
		"another subject":     func(r *vault.Receipt) { r.Subject = "asset/other" },
		"no such state":       func(r *vault.Receipt) { r.From = "famous" },
	} {
		t.Run(name, func(t *testing.T) {
			files := chain(change)
			files[2].Path = vault.ReceiptPath("asset/note", 2)
			s := read(t, files...)
			if a, _ := s.Asset("note"); a.Approved() {
				t.Error("it counts as approved")
			}
			if len(s.Problems) < 2 {
				t.Errorf("problems: %v", s.Problems)
			}
		})
	}
}

// TestAnUnreadableReceiptRevokesNothing: what the last receipt took away does
// not come back because nobody can read it.
func TestAnUnreadableReceiptRevokesNothing(t *testing.T) {
	approved := note("note", "status: approved\n")
	digest := parse(t, approved.Path, approved).Digest
	files := receipts(digest, vault.StatusCandidate, vault.StatusApproved, vault.StatusArchived)
	for name, last := range map[string]vault.File{
		"junk":          {Path: files[2].Path, Data: append(files[2].Data[:len(files[2].Data):len(files[2].Data)], "{\n"...)},
		"empty":         {Path: files[2].Path},
		"a symlink":     {Path: files[2].Path, Kind: vault.FileSymlink},
		"of a newer lm": file(files[2].Path, strings.Replace(string(files[2].Data), "lm.receipt/v1", "lm.receipt/v2", 1)),
		"huge number":   file(files[2].Path, string(files[2].Data)+"x-a: 1e999\n"),
	} {
		t.Run(name, func(t *testing.T) {
			s := read(t, approved, files[0], files[1], last)
			if a, _ := s.Asset("note"); a.Approved() {
				t.Errorf("the archived asset counts as approved: %v", s.Problems)
			}
		})
	}
}

func TestManyFaultsOfOneKindAreReadInNoTime(t *testing.T) {
	data := "---\n" + strings.Repeat("a: b: c\n", 20000) + "---\n"
	_, err := vault.ParseAsset("assets/x.md", []vault.File{file("assets/x.md", data)}, vault.DefaultConfig())
	if n := len(vault.Problems(err)); n == 0 || n > 100 {
		t.Errorf("%d problems", n)
	}
}

func TestKeysThatAreOneInNFC(t *testing.T) {
	data := strings.Replace(valid, "owner: alice\n", "owner: alice\nmetadata: {\"\u00e9\": 1, \"e\u0301\": 2}\n", 1)
	if _, err := vault.ParseAsset("assets/note.md", []vault.File{file("assets/note.md", data)}, vault.DefaultConfig()); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("got %v", err)
	}
}

func TestReceiptsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := vault.Receipt{
			Project: "lm", Subject: "asset/x", Kind: vault.ReceiptGoverned, Seq: 1, Version: rapid.IntRange(1, 1<<40).Draw(t, "version"), To: vault.StatusApproved,
			Digest: vault.Digest("sha256:" + strings.Repeat("0", 64)), Actor: "user:alice", At: time.Unix(1700000000, 0),
			Reason: strings.TrimSpace(rapid.String().Draw(t, "reason")), Authors: rapid.SliceOfN(rapid.StringMatching(`[a-z@.:+ é]*[a-z]`), 0, 3).Draw(t, "authors"),
		}
		file := r.File()
		back, err := vault.ParseReceipt(file)
		if err != nil || back.Hash() != r.Hash() || back.Reason != r.Reason {
			t.Fatalf("%v\n%s", err, file.Data)
		}
	})
}

func FuzzParseAsset(f *testing.F) {
	for _, seed := range []string{valid, commented, "---\n---\n", "{a: b}", "a: &x [*x]\n", "\xef\xbb\xbf---\r\nid: x\r\n---\r\n", "x: !!binary aGk=\n", "? [a]\n: b\n", "a: |\n  x\n b", "- a\n", "a: b: c\nd: e: f\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		for _, path := range []string{"assets/note.md", "assets/note.yaml"} {
			a, err := vault.ParseAsset(path, []vault.File{file(path, data)}, vault.DefaultConfig())
			if err != nil {
				for _, p := range vault.Problems(err) {
					if p.Line < 1 || p.Column < 1 || p.Mend == "" {
						t.Errorf("a problem without place or mend: %+v", p)
					}
				}
				continue
			}
			// What was read can be changed and says the same afterwards.
			out, err := vault.Edit([]byte(data), path == "assets/note.md", map[string]any{"version": 7, "x-fuzz": "y"})
			if err != nil {
				continue
			}
			b, err := vault.ParseAsset(path, []vault.File{file(path, string(out))}, vault.DefaultConfig())
			if err != nil || b.Digest != a.Digest || b.Version != 7 {
				t.Errorf("edited: %v\n%s\n%s", err, data, out)
			}
		}
	})
}

func FuzzParseReceipt(f *testing.F) {
	for _, r := range receipts("sha256:"+vault.Digest(strings.Repeat("0", 64)), vault.StatusCandidate, vault.StatusApproved) {
		f.Add(string(r.Data))
	}
	for _, seed := range []string{"x-a: 1e999\n", "seq: 1e999\n", "from: \"\"\nfrom: x\n", "{}", "authors: [*a]\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		if r, err := vault.ParseReceipt(file("receipts/asset/x/0001.yaml", data)); err == nil && r.Hash() == "" {
			t.Error("a receipt without a hash")
		}
	})
}
