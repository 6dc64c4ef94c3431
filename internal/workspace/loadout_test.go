package workspace_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"longmemory.dev/lm/internal/render"
	"longmemory.dev/lm/internal/testvault"
	"longmemory.dev/lm/internal/workspace"
	"longmemory.dev/lm/vault"
)

// folder writes files below a new folder, in the order given.
func folder(t *testing.T, files []vault.File) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		writeFile(t, dir, f.Path, string(f.Data))
	}
	return dir
}

func writeFile(t interface {
	Helper()
	Fatal(...any)
}, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// isolate keeps the test away from the user's configuration.
func isolate(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, "gitconfig"))
	writeFile(t, home, "gitconfig", "[user]\n\tname = A\n\temail = a@example.org\n")
}

func commit(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-qm", "all"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

func open(t interface {
	Helper()
	Fatal(...any)
}, dir string) *workspace.Vault {
	t.Helper()
	v, err := workspace.Open(workspace.Env{
		Dir: dir, Getenv: func(string) string { return "" }, Environ: func() []string { return nil },
		Now: func() time.Time { return time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// files is a generated vault with some assets whose bodies are Chinese.
func files() []vault.File {
	out := testvault.Files(3, 24)
	chinese := strings.Repeat("发布之前先检查每一项，然后再打标签。记忆与知识。", 30)
	for i := range 6 {
		id := fmt.Sprintf("zh-%d", i)
		keys := map[string]any{
			"schema": vault.AssetSchema, "id": id, "type": "llm_wiki", "name": "发布 " + id, "description": "如何检查发布", "owner": "user:alice", "version": 1, "status": "approved",
			"bindings": []any{map[string]any{"target": "agent:reviewer", "mode": string(vault.Modes[i%4]), "required": i%2 == 0}},
		}
		path := "assets/zh/" + id + ".md"
		data := vault.NewAssetFile(keys, []byte(chinese[:len(chinese)/(i+1)/3*3]+"\n"))
		asset, err := vault.ParseAsset(path, []vault.File{{Path: path, Data: data, Size: int64(len(data))}}, vault.DefaultConfig())
		if err != nil {
			panic(err)
		}
		r := vault.Receipt{Project: testvault.Project, Subject: "asset/" + id, Kind: vault.ReceiptGoverned, Seq: 1, Version: 1, From: vault.StatusCandidate,
			To: vault.StatusApproved, Digest: asset.Digest, Actor: "user:alice", At: time.Unix(1700000000, 0).UTC()}
		out = append(out, vault.File{Path: path, Data: data}, r.File())
	}
	return out
}

func drawAsk(t *rapid.T) workspace.Ask {
	words := rapid.SampledFrom(strings.Fields("kalo mormor renshi tasvu 发布 检查 标签 naknak pelgol dorshi vu unknownword"))
	return workspace.Ask{
		Subject:     workspace.Subject{Agent: rapid.SampledFrom([]string{"", "reviewer", "other"}).Draw(t, "agent")},
		Query:       strings.Join(rapid.SliceOfN(words, 0, 6).Draw(t, "query"), " "),
		TokenBudget: rapid.IntRange(vault.LeastTokenBudget, 3000).Draw(t, "budget"),
		BoundOnly:   rapid.Bool().Draw(t, "bound"),
	}
}

// TestLoadoutHoldsItsBudget: counted again over the whole text, whatever the
// language; required assets first; the same answer from a built index, from
// memory, and with the files written in another order.
func TestLoadoutHoldsItsBudget(t *testing.T) {
	isolate(t)
	all := files()
	built := open(t, func() string { dir := folder(t, all); commit(t, dir); return dir }())
	defer built.Close()
	reversed := make([]vault.File, len(all))
	for i, f := range all {
		reversed[len(all)-1-i] = f
	}
	memory := open(t, folder(t, reversed))
	counter, err := render.NewCounter("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		ask := drawAsk(t)
		l, err := built.Loadout(context.Background(), ask)
		if err != nil {
			t.Fatal(err)
		}
		if n := counter.Count(l.Context); n > l.TokensUsed || l.TokensUsed > ask.TokenBudget {
			t.Fatalf("%d tokens in the text, %d counted, %d allowed", n, l.TokensUsed, ask.TokenBudget)
		}
		optional := false
		for _, s := range l.Selected {
			required := s.Binding != nil && s.Binding.Required
			if required && optional {
				t.Fatal("a required asset behind an optional one")
			}
			optional = !required
		}
		other, err := memory.Loadout(context.Background(), ask)
		if err != nil {
			t.Fatal(err)
		}
		if other.Snapshot.Tree != l.Snapshot.Tree || other.Digest != l.Digest || other.Context != l.Context || !reflect.DeepEqual(other.Selected, l.Selected) {
			t.Fatalf("from memory another answer: trees %s and %s, digests %s and %s", l.Snapshot.Tree, other.Snapshot.Tree, l.Digest, other.Digest)
		}
	})
}

// TestUnapprovedAssetsChangeNothing: adding, editing and deleting what nobody
// approved changes neither what is selected nor a score.
func TestUnapprovedAssetsChangeNothing(t *testing.T) {
	isolate(t)
	all := files()
	dir := folder(t, all)
	v := open(t, dir)
	before := map[string]*workspace.Loadout{}
	asks := []workspace.Ask{
		{Query: "kalo mormor 发布 renshi", TokenBudget: 3000}, {Subject: workspace.Subject{Agent: "reviewer"}, Query: "检查 tasvu", TokenBudget: 900}, {Query: "unknownword", TokenBudget: 64},
	}
	for _, a := range asks {
		l, err := v.Loadout(context.Background(), a)
		if err != nil {
			t.Fatal(err)
		}
		before[a.Query] = l
	}
	rapid.Check(t, func(t *rapid.T) {
		for i := range rapid.IntRange(1, 4).Draw(t, "changes") {
			id := fmt.Sprintf("draft-%d", i)
			body := strings.Repeat(rapid.SampledFrom([]string{"kalo ", "发布 ", "unknownword ", "x "}).Draw(t, "word"), rapid.IntRange(0, 300).Draw(t, "times"))
			switch rapid.SampledFrom([]string{"candidate", "by hand", "gone"}).Draw(t, "kind") {
			case "candidate":
				writeFile(t, dir, "assets/d/"+id+".md", fmt.Sprintf("---\nschema: lm.asset/v1\nid: %s\ntype: skill\nname: kalo 发布\ndescription: d\nowner: a\n---\n%s\n", id, body))
			case "by hand":
				writeFile(t, dir, "assets/d/"+id+".md", fmt.Sprintf("---\nschema: lm.asset/v1\nid: %s\ntype: skill\nname: kalo 发布\ndescription: d\nowner: a\nstatus: approved\nbindings: [{target: 'agent:reviewer', mode: direct}]\n---\n%s\n", id, body))
			case "gone":
				_ = os.Remove(filepath.Join(dir, "assets/d/"+id+".md"))
			}
		}
		for _, a := range asks {
			l, err := v.Loadout(context.Background(), a)
			if err != nil {
				t.Fatal(err)
			}
			if want := before[a.Query]; l.Context != want.Context || !reflect.DeepEqual(l.Selected, want.Selected) {
				t.Fatalf("%q: another loadout than before", a.Query)
			}
		}
	})
}
