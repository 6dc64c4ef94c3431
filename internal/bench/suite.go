package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"longmemory.dev/lm/internal/testvault"
)

// suite takes the figures of design.md §6, in its order.
type suite struct {
	*lab
	runs int
	rows []figure
	hook bool // whether this lm has the command
}

// few is how often to run what takes seconds.
func (s *suite) few() int { return max(s.runs/3, min(s.runs, 3)) }

// start measures what hangs on no vault.
func (s *suite) start() error {
	out, err := s.output(s.dir, s.lm, "help")
	if err != nil {
		return err
	}
	s.hook = regexp.MustCompile(`(?m)^\s+hook\b`).Match(out)
	r, err := s.race(2*s.runs, s.command(s.dir, "version"), &side{program: s.empty, dir: s.dir})
	if err != nil {
		return err
	}
	s.ratio("lm version", "an empty program that links the same", 0, wall, r[0], r[1], limit{must: 1.5, aim: 1.1})
	if !s.hook {
		return nil
	}
	bare := filepath.Join(s.dir, "no-vault")
	if _, err := s.output(s.dir, "git", "init", "-q", bare); err != nil {
		return err
	}
	r, err = s.race(2*s.runs, s.hookSide(bare, "what is there to know"), s.command(bare, "version"))
	if err != nil {
		return err
	}
	s.ratio("lm hook, no vault", "lm version", 0, wall, r[0], r[1], limit{must: 1.2})
	return nil
}

func (s *suite) command(dir string, args ...string) *side {
	return &side{program: s.lm, args: args, dir: dir}
}

func git(dir string, args ...string) *side { return &side{program: "git", args: args, dir: dir} }

// vault measures what hangs on the size of a vault.
func (s *suite) vault(v *repository) error {
	for _, measure := range []func(*repository) error{s.loadout, s.firstIndex, s.nextIndex, s.govern, s.validate, s.remember} {
		fmt.Fprint(s.stderr, ".")
		if err := measure(v); err != nil {
			return err
		}
	}
	fmt.Fprintln(s.stderr)
	return nil
}

func (s *suite) loadout(v *repository) error {
	ask := s.command(v.dir, "loadout", v.Query, "--agent", "reviewer")
	sides := []*side{ask, git(v.dir, "grep", "-l", v.Word, "--", "assets"), s.command(v.dir, "version")}
	if s.hook {
		sides = append(sides, s.command(v.dir, "loadout", v.Query), s.hookSide(v.dir, v.Query))
	}
	r, err := s.race(s.runs, sides...)
	if err != nil {
		return err
	}
	grep, version, memory := limit{}, limit{}, limit{}
	switch v.assets {
	case 10000:
		grep, version, memory = limit{must: 1, below: true}, limit{aim: 2}, limit{must: 60 << 20, aim: 40 << 20}
	case 100000:
		grep, version = limit{must: 0.5}, limit{aim: 4}
	}
	s.ratio("lm loadout, index current", fmt.Sprintf("git grep -l of the rarest word, in %d files", v.Hits), v.assets, wall, r[0], r[1], grep)
	s.ratio("the same", "lm version", v.assets, wall, r[0], r[2], version)
	s.memory("its peak memory", v.assets, r[0], memory)
	if s.hook {
		s.ratio("lm hook, a prompt", "lm loadout of the same", v.assets, wall, r[4], r[3], limit{must: 1.3})
	}
	return nil
}

func (s *suite) firstIndex(v *repository) error {
	build := s.command(v.dir, "index", "build")
	build.prepare = func() error { return os.RemoveAll(filepath.Join(v.dir, ".git", "lm")) }
	read := git(v.dir, "cat-file", "--batch")
	read.input = func() (string, error) { return v.blobs, nil }
	r, err := s.race(s.few(), build, read)
	if err != nil {
		return err
	}
	against, memory := limit{}, limit{}
	if v.assets == 10000 {
		against, memory = limit{must: 30, aim: 15}, limit{must: 512 << 20}
	}
	s.ratio("first index, processor time", "git cat-file --batch of the same blobs", v.assets, cpu, r[0], r[1], against)
	s.memory("its peak memory", v.assets, r[0], memory)
	return nil
}

func (s *suite) nextIndex(v *repository) error {
	next, current := s.command(v.dir, "loadout", v.Query, "--agent", "reviewer"), s.command(v.dir, "loadout", v.Query, "--agent", "reviewer")
	next.prepare = func() error {
		change := s.change(v)
		_, err := s.output(v.dir, change.program, change.args...)
		return err
	}
	r, err := s.race(s.few(), next, current)
	if err != nil {
		return err
	}
	l := limit{}
	if v.assets == 10000 {
		l = limit{must: 3, aim: 1.5}
	}
	s.ratio("next index after one change, with the loadout", "lm loadout, index current", v.assets, wall, r[0], r[1], l)
	return nil
}

// change is one asset with another priority, approved.
func (s *suite) change(v *repository) *side {
	return s.command(v.dir, "asset", "govern", v.next().ID, "--status", "approved", "--priority", fmt.Sprintf("0.%04d", v.edited))
}

func (s *suite) govern(v *repository) error {
	govern, commit := s.command(v.dir), s.oneCommit(v)
	govern.prepare = func() error {
		govern.args = s.change(v).args
		return nil
	}
	r, err := s.race(s.runs, govern, commit)
	if err != nil {
		return err
	}
	l := limit{}
	if v.assets == 10000 {
		l = limit{must: 3, aim: 1}
	}
	s.ratio("lm asset govern", "git commit of one file", v.assets, wall, r[0], r[1], l)
	return nil
}

// oneCommit is a `git commit` of one file.
func (s *suite) oneCommit(v *repository) *side {
	commit := git(v.dir)
	commit.prepare = func() error {
		path := v.next().Path
		commit.args = []string{"commit", "-q", "-m", "Edit one file", "--", path}
		f, err := os.OpenFile(filepath.Join(v.dir, filepath.FromSlash(path)), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(f, "Edit %d.\n", v.edited)
		return errors.Join(err, f.Close())
	}
	return commit
}

func (s *suite) validate(v *repository) error {
	r, err := s.race(s.few(), s.command(v.dir, "validate"))
	if err != nil {
		return err
	}
	l := limit{}
	if v.assets == 10000 {
		l = limit{must: 2, aim: 1}
	}
	s.time("lm validate, processor time", v.assets, cpu, r[0], l)
	return nil
}

// remember adds as many memories as there are assets, and measures what finds them
// and what adds one.
func (s *suite) remember(v *repository) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if _, err := s.output(v.dir, self, "-memories", v.dir, "-n", strconv.Itoa(v.assets)); err != nil {
		return err
	}
	for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "-m", "Memories"}, {"gc", "-q"}} {
		if _, err := s.output(v.dir, "git", args...); err != nil {
			return err
		}
	}
	oldest, err := s.output(v.dir, s.lm, "memory", "recall", testvault.OldestWords)
	if err != nil {
		return err
	}
	if !strings.Contains(string(oldest), testvault.OldestWords) {
		return fmt.Errorf("the oldest memory is not found by its own words:\n%s", oldest)
	}
	ask := s.command(v.dir, "loadout", v.Query, "--agent", "reviewer")
	r, err := s.race(s.runs, ask, s.command(v.dir, "memory", "recall", v.Query), s.command(v.dir, "context", "--task", v.Query), s.command(v.dir, "loadout", v.Query, "--agent", "reviewer", "--with-context"))
	if err != nil {
		return err
	}
	near, three := limit{}, limit{}
	if v.assets == 10000 {
		near, three = limit{must: 1.5}, limit{must: 3, aim: 1}
	}
	s.ratio("lm memory recall, as many memories", "lm loadout, index current", v.assets, wall, r[1], r[0], near)
	s.ratio("lm context, as many memories", "lm loadout, index current", v.assets, wall, r[2], r[0], near)
	s.ratio("lm loadout --with-context", "lm loadout, index current", v.assets, wall, r[3], r[0], limit{})
	propose, commit := s.command(v.dir), s.oneCommit(v)
	propose.prepare = func() error {
		v.edited++
		propose.args = []string{"memory", "propose", "--kind", "fact", "--subject", fmt.Sprintf("subject %d", v.edited), "--summary", "a summary", "--source", "file:x"}
		return nil
	}
	if r, err = s.race(s.runs, propose, commit); err != nil {
		return err
	}
	s.ratio("lm memory propose, as many memories", "git commit of one file", v.assets, wall, r[0], r[1], three)
	return nil
}

// hookSide is a prompt as Claude Code hands it to its hook, each in a session
// of its own: what a session was given is not said again.
func (s *suite) hookSide(dir, prompt string) *side {
	hook, session := s.command(dir, "hook", "claude-code"), time.Now().UnixNano()
	hook.input = func() (string, error) {
		session++
		file := filepath.Join(s.dir, "event.json")
		event := fmt.Sprintf(`{"session_id":"bench-%d","transcript_path":"","cwd":%q,"permission_mode":"default","hook_event_name":"UserPromptSubmit","prompt":%q}`, session, dir, prompt)
		return file, os.WriteFile(file, []byte(event), 0o644)
	}
	return hook
}

var measuresOf = regexp.MustCompile(`hit@1 ([\d.]+), recall@10 ([\d.]+), nDCG@10 ([\d.]+)`)

// relevance has the index package measure itself on the skill corpus, where
// that is at hand; whether it is good enough is its test's to say.
func (s *suite) relevance() error {
	cmd := exec.CommandContext(s.ctx, "go", "test", "./index", "-count=1", "-v", "-run", "^TestRelevanceOnSkills$")
	cmd.Dir = s.module
	out, err := cmd.CombinedOutput()
	found := measuresOf.FindSubmatch(out)
	var failed *exec.ExitError
	switch {
	case found == nil && strings.Contains(string(out), "SKIP"):
		return nil
	case found == nil || err != nil && !errors.As(err, &failed):
		return fmt.Errorf("go test ./index: %w\n%s", err, out)
	}
	f := figure{What: "relevance on the skill corpus", Against: "plain BM25: 0.644, 0.748, 0.674", Must: "better", Aim: "nDCG 0.80",
		Shown: string(found[0]), Verdict: verdictOf(err == nil)}
	for i, to := range []*float64{&f.Hit, &f.Recall, &f.NDCG} {
		if *to, err = strconv.ParseFloat(string(found[i+1]), 64); err != nil {
			return err
		}
	}
	s.rows = append(s.rows, f)
	return nil
}
