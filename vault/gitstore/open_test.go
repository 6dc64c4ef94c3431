package gitstore

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenFindsWhatGitFinds(t *testing.T) {
	main := newRepo(t, map[string]string{"a/b/f.md": "text\n", "vault.yaml": "x\n"})
	base := realDir(t)
	at := func(name string) string { return filepath.Join(base, name) }
	runGit(t, main, "worktree", "add", "-q", "-b", "side", at("linked"))
	runGit(t, base, "clone", "-q", "--bare", main, at("bare.git"))
	runGit(t, base, "clone", "-q", "--depth=1", "file://"+main, at("shallow"))
	runGit(t, base, "clone", "-q", "--reference", main, main, at("alternate"))
	runGit(t, base, "clone", "-q", main, at("sparse"))
	runGit(t, at("sparse"), "sparse-checkout", "set", "a")
	runGit(t, base, "clone", "-q", "-s", main, at("relative"))
	rel, err := filepath.Rel(filepath.Join(at("relative"), ".git", "objects"), filepath.Join(main, ".git", "objects"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, at("relative"), ".git/objects/info/alternates", rel+"\n")
	runGit(t, base, "init", "-q", "super")
	runGit(t, at("super"), "submodule", "add", "-q", main, "sub")
	if err := os.Symlink(main, at("link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, dir, root string }{
		{"plain", main, main},
		{"subfolder", filepath.Join(main, "a", "b"), main},
		{"Git directory", filepath.Join(main, ".git", "refs"), main},
		{"through a symlink", at("link"), main},
		{"linked work tree", at("linked"), at("linked")},
		{"linked work tree's subfolder", filepath.Join(at("linked"), "a"), at("linked")},
		{"bare", at("bare.git"), ""},
		{"shallow", at("shallow"), at("shallow")},
		{"absolute alternates", at("alternate"), at("alternate")},
		{"relative alternates", at("relative"), at("relative")},
		{"sparse checkout with worktreeConfig", at("sparse"), at("sparse")},
		{"submodule", filepath.Join(at("super"), "sub", "a"), filepath.Join(at("super"), "sub")},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := open(t, c.dir)
			if r.Root() != c.root || r.Bare() != (c.root == "") {
				t.Errorf("root %q, bare %t; want %q", r.Root(), r.Bare(), c.root)
			}
			if want := runGit(t, r.where(), "rev-parse", "--path-format=absolute", "--git-common-dir"); r.CommonDir() != want {
				t.Errorf("common directory %s, git says %s", r.CommonDir(), want)
			}
			if want := runGit(t, r.where(), "rev-parse", "--absolute-git-dir"); r.GitDir() != want {
				t.Errorf("Git directory %s, git says %s", r.GitDir(), want)
			}
			f, err := r.File(head(t, r), "a/b/f.md", 100)
			if err != nil || string(f.Data) != "text\n" {
				t.Errorf("reading: %q, %v", f.Data, err)
			}
			shallow, err := r.Shallow()
			if err != nil || shallow != (c.name == "shallow") {
				t.Errorf("shallow: %t, %v", shallow, err)
			}
		})
	}
}

func TestOpenRefusesByName(t *testing.T) {
	isolate(t)
	for _, c := range []struct {
		name  string
		setup func(dir string)
		want  error
		words []string
	}{
		{"no repository", func(string) {}, ErrNoRepository, []string{"git init"}},
		{"sha256", func(dir string) { runGit(t, dir, "init", "-q", "--object-format=sha256") }, ErrUnsupported, []string{"sha256"}},
		{"reftable", func(dir string) {
			runGit(t, dir, "init", "-q")
			runGit(t, dir, "config", "core.repositoryFormatVersion", "1")
			runGit(t, dir, "config", "extensions.refStorage", "reftable")
		}, ErrUnsupported, []string{"reftable", "git refs migrate"}},
		{"unknown extension", func(dir string) {
			runGit(t, dir, "init", "-q")
			runGit(t, dir, "config", "core.repositoryFormatVersion", "1")
			runGit(t, dir, "config", "extensions.futureThing", "true")
		}, ErrUnsupported, []string{"futurething"}},
		{"newer format", func(dir string) {
			runGit(t, dir, "init", "-q")
			runGit(t, dir, "config", "core.repositoryFormatVersion", "2")
		}, ErrUnsupported, []string{"version"}},
		{"work tree whose repository is gone", func(dir string) { write(t, dir, ".git", "gitdir: /nowhere/at/all\n") }, ErrNoRepository, []string{"/nowhere/at/all"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := realDir(t)
			c.setup(dir)
			_, err := Open(dir)
			wantErr(t, err, c.want)
			for _, w := range c.words {
				if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(w)) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

func TestOpenTakesKnownExtensions(t *testing.T) {
	dir := newRepo(t, map[string]string{"f": "x\n"})
	runGit(t, dir, "config", "core.repositoryFormatVersion", "1")
	for key, value := range map[string]string{"noop": "x", "preciousObjects": "true", "partialClone": "origin", "worktreeConfig": "true", "relativeWorktrees": "true", "objectFormat": "sha1", "refStorage": "files"} {
		write(t, dir, ".git/config", read(t, dir, ".git/config")+"[extensions]\n\t"+key+" = "+value+"\n")
	}
	if _, err := open(t, dir).File(head(t, open(t, dir)), "f", 10); err != nil {
		t.Error(err)
	}
}

func TestConfigIsWhatGitConfigGets(t *testing.T) {
	dir := newRepo(t, nil)
	linked := filepath.Join(realDir(t), "linked")
	runGit(t, dir, "worktree", "add", "-q", linked)
	system := filepath.Join(realDir(t), "system")
	write(t, filepath.Dir(system), "system", "[lm]\n\tone = system\n\ttwo = system\n[core]\n\tautocrlf = input\n")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "0")
	t.Setenv("GIT_CONFIG_SYSTEM", system)
	home := os.Getenv("HOME")
	write(t, home, "xdg/git/config", "[LM]\n\tTwo = xdg\n\tquoted = \"a # b\" ; comment\n\tlong = one \\\n two\n")
	write(t, home, ".gitconfig", read(t, home, ".gitconfig")+"[lm \"Sub.Section\"]\n\tkey = v\n[lm]\n\tthree = home\n")
	runGit(t, dir, "config", "lm.three", "local")
	runGit(t, dir, "config", "--add", "lm.three", "later")
	runGit(t, dir, "config", "remote.origin.url", "x")
	runGit(t, dir, "config", "extensions.worktreeConfig", "true")
	runGit(t, linked, "config", "--worktree", "lm.three", "worktree")
	for _, d := range []string{dir, linked} {
		r := open(t, d)
		for _, key := range []string{"lm.one", "lm.two", "lm.three", "LM.Three", "lm.quoted", "lm.long", "lm.Sub.Section.key", "lm.sub.section.key", "remote.origin.url", "user.email", "core.autocrlf", "lm.none"} {
			out, err := exec.Command("git", "-C", d, "config", "--get", key).Output()
			value, ok, gotErr := r.Config(key)
			if gotErr != nil || ok != (err == nil) || value != strings.TrimSuffix(string(out), "\n") {
				t.Errorf("%s in %s: %q %t %v, git says %q", key, d, value, ok, gotErr, out)
			}
		}
	}
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, "other"))
	write(t, home, "other", "[lm]\n\ttwo = other\n[include]\n\tpath = more\n")
	write(t, home, "more", "[lm]\n\tincluded = yes\n")
	for key, want := range map[string]string{"lm.two": "other", "LM.included": "yes", "user.email": ""} {
		if got, _, err := open(t, dir).Config(key); err != nil || got != want {
			t.Errorf("with GIT_CONFIG_GLOBAL %s is %q, %v; want %q", key, got, err, want)
		}
	}
}

func TestPerson(t *testing.T) {
	dir := newRepo(t, nil)
	if name, email, err := open(t, dir).Person(); name != "Ada" || email != "ada@example.org" || err != nil {
		t.Errorf("%q %q %v", name, email, err)
	}
	if _, email, err := new(Repo).Person(); email != "ada@example.org" || err != nil {
		t.Errorf("outside of a repository: %q %v", email, err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	if name, email, err := open(t, dir).Person(); name != "" || email != "" || err != nil {
		t.Errorf("nobody: %q %q %v", name, email, err)
	}
	t.Setenv("EMAIL", "e@example.org")
	if _, email, _ := open(t, dir).Person(); email != "e@example.org" {
		t.Errorf("EMAIL: %q", email)
	}
	t.Setenv("GIT_AUTHOR_EMAIL", "author@example.org")
	if _, email, _ := open(t, dir).Person(); email != "author@example.org" {
		t.Errorf("GIT_AUTHOR_EMAIL: %q", email)
	}
}

func TestHooks(t *testing.T) {
	dir := newRepo(t, nil)
	write(t, dir, ".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n")
	write(t, dir, ".git/hooks/commit-msg", "#!/bin/sh\nexit 1\n")
	if err := os.Chmod(filepath.Join(dir, ".git/hooks/pre-commit"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := open(t, dir).Hooks(); strings.Join(got, " ") != "pre-commit" {
		t.Errorf("hooks %q, want the executable one", got)
	}
	commitFiles(t, open(t, dir), map[string]string{"f": "no hook refuses this\n"})
	runGit(t, dir, "config", "core.hooksPath", "elsewhere")
	if got := open(t, dir).Hooks(); len(got) != 0 {
		t.Errorf("hooks %q, want those of core.hooksPath", got)
	}
}

func TestResolveIsRevParse(t *testing.T) {
	dir := newRepo(t, map[string]string{"f": "1\n"})
	runGit(t, dir, "checkout", "-q", "-b", "topic/one")
	runGit(t, dir, "commit", "-q", "--allow-empty", "-m", "second")
	runGit(t, dir, "checkout", "-q", "main")
	runGit(t, dir, "commit", "-q", "--allow-empty", "-m", "third")
	runGit(t, dir, "merge", "-q", "--no-edit", "topic/one")
	runGit(t, dir, "tag", "-m", "a tag", "v1")
	runGit(t, dir, "tag", "light", "HEAD~1")
	runGit(t, dir, "update-ref", "refs/remotes/origin/main", "HEAD^2")
	runGit(t, dir, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
	runGit(t, dir, "pack-refs", "--all")
	runGit(t, dir, "branch", "loose", "v1~1")
	short := runGit(t, dir, "rev-parse", "--short=7", "HEAD")
	r := open(t, dir)
	for _, rev := range []string{"HEAD", "@", "main", "refs/heads/main", "heads/main", "topic/one", "v1", "v1^{}", "v1^{commit}", "light", "loose", "origin", "origin/main", "refs/remotes/origin/main",
		"HEAD~1", "HEAD^", "HEAD^2", "HEAD^2~1", "v1^0", "@~", "main~2", short, strings.ToUpper(short), runGit(t, dir, "rev-parse", "HEAD"), "main@{0}", ":/second", "v1-0-g" + short} {
		want := runGit(t, dir, "rev-list", "-1", rev)
		if got, err := r.Resolve(rev); err != nil || string(got) != want {
			t.Errorf("%s is %s, %v; git says %s", rev, got, err, want)
		}
	}
	for _, rev := range []string{"", "nothing", "HEAD~9", "HEAD^3", "main^{tree}", "--all", "../config", "refs/heads/../../config", strings.Repeat("1", 40), "HEAD:f"} {
		got, err := r.Resolve(rev)
		if wantErr(t, err, ErrNotFound); got != "" {
			t.Errorf("%q is %s", rev, got)
		}
	}
	if ref, ok := r.RemoteDefault("origin"); !ok || ref != "refs/remotes/origin/main" {
		t.Errorf("origin's default: %q %t", ref, ok)
	}
	runGit(t, dir, "config", "remote.origin.url", "x")
	_, err := open(t, dir).Resolve("origin/gone")
	wantErr(t, err, ErrNotFound, "git fetch origin gone")
}

func TestResolveInAShallowClone(t *testing.T) {
	dir := newRepo(t, nil)
	runGit(t, dir, "commit", "-q", "--allow-empty", "-m", "second")
	clone := filepath.Join(realDir(t), "clone")
	runGit(t, dir, "clone", "-q", "--depth=1", "file://"+dir, clone)
	_, err := open(t, clone).Resolve("HEAD~1")
	wantErr(t, err, ErrNotFound, "shallow", "git fetch --unshallow")
}

func TestHeadOnAnUnbornBranch(t *testing.T) {
	isolate(t)
	dir := realDir(t)
	runGit(t, dir, "init", "-q")
	r := open(t, dir)
	if ref, h, err := r.Head(); ref != "refs/heads/main" || h != "" || err != nil {
		t.Errorf("%q %q %v", ref, h, err)
	}
	_, err := r.Resolve("HEAD")
	wantErr(t, err, ErrNotFound, "no commit yet")
}

// What git -c hands to the programs that git starts counts as well, and the
// hooks are still those of the repository.
func TestConfigOfTheEnvironment(t *testing.T) {
	dir := newRepo(t, map[string]string{"a": "1"})
	write(t, dir, ".git/hooks/pre-commit", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(dir, ".git/hooks/pre-commit"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "commit.gpgsign")
	t.Setenv("GIT_CONFIG_VALUE_0", "true")
	r := open(t, dir)
	if _, err := r.Commit(context.Background(), change(t, r, map[string]string{"a": "2"})); !errors.Is(err, ErrUnsupported) {
		t.Errorf("%v, want that it cannot be signed", err)
	}
	if hooks := r.Hooks(); len(hooks) != 1 || hooks[0] != "pre-commit" {
		t.Errorf("hooks %v", hooks)
	}
}
