package vault

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What is read without the parser is what the parser reads, whatever a receipt
// says and however its lines were changed.
func TestPlainReceiptsAreWhatTheParserReads(t *testing.T) {
	fast := 0
	text := rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9 :#'"~!?,.\-\[\]{}&*|>%@/()=+]{1,20}`), rapid.SampledFrom([]string{"true", "null", "~", "0x1f", "1e3", "2026-01-01", "yes", "a: b", "a #b", "- x", "é", "it's", "'", "a:"}))
	rapid.Check(t, func(t *rapid.T) {
		some := func(name string) string {
			if rapid.Bool().Draw(t, "no "+name) {
				return ""
			}
			return text.Draw(t, name)
		}
		r := &Receipt{
			Project: "lm", Subject: rapid.SampledFrom([]string{"asset/a", "memory/m"}).Draw(t, "subject"), Kind: "asset_governed", Seq: rapid.IntRange(1, 20).Draw(t, "seq"), Version: rapid.IntRange(0, 12).Draw(t, "version"),
			From: Status(rapid.SampledFrom([]string{"", "candidate", "odd"}).Draw(t, "from")), To: "approved", Digest: Digest("sha256:" + strings.Repeat("a1", 32)), Actor: "user:alice",
			Reason: some("reason"), At: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), 0).UTC(), Scope: some("scope"), Identity: some("identity"), Memory: some("memory"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "authors") {
			r.Authors = append(r.Authors, text.Draw(t, "author"))
		}
		f := r.File()
		if rapid.Bool().Draw(t, "changed") {
			lines := strings.Split(string(f.Data), "\n")
			i := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
			switch rapid.IntRange(0, 4).Draw(t, "how") {
			case 0:
				lines = append(lines[:i], lines[i+1:]...)
			case 1:
				lines[i] = " " + lines[i]
			case 2:
				lines[i] += text.Draw(t, "more")
			case 3:
				lines[i] = lines[i] + "\n" + text.Draw(t, "line")
			case 4:
				j := rapid.IntRange(0, len(lines)-1).Draw(t, "other")
				lines[i], lines[j] = lines[j], lines[i]
			}
			f.Data = []byte(strings.Join(lines, "\n"))
		}
		plain := plainReceipt(f)
		if plain == nil {
			return
		}
		fast++
		want, err := parseReceipt(f)
		if err != nil {
			t.Fatalf("the parser refuses what was read: %v\n%s", err, f.Data)
		}
		if !reflect.DeepEqual(plain, want) {
			t.Fatalf("%+v\n%+v\n%s", plain, want, f.Data)
		}
	})
	if fast == 0 {
		t.Error("nothing was read without the parser")
	}
}

func FuzzPlainReceipt(f *testing.F) {
	r := &Receipt{Project: "lm", Subject: "asset/a", Kind: "asset_governed", Seq: 1, Version: 1, To: "approved", Digest: Digest("sha256:" + strings.Repeat("a1", 32)), Actor: "user:a", Authors: []string{"user:a"}, Reason: "it's so: #1", At: time.Unix(1e9, 0).UTC()}
	f.Add(r.File().Data)
	f.Fuzz(func(t *testing.T, data []byte) {
		file := File{Path: "receipts/asset/a/0001.yaml", Data: data}
		if plain := plainReceipt(file); plain != nil {
			if want, err := parseReceipt(file); err != nil || !reflect.DeepEqual(plain, want) {
				t.Fatalf("%v\n%+v\n%+v\n%q", err, plain, want, data)
			}
		}
	})
}
