package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// asLM makes the test binary be lm, for tests that kill it or run many at once.
const asLM = "LM_TEST_AS_LM"

// times is how often a test repeats what it does: a few in make check, as many
// as LM_STRESS says in make stress.
func times(few int) int {
	if n, err := strconv.Atoi(os.Getenv("LM_STRESS")); err == nil {
		return n
	}
	return few
}

// person is a home of one's own with a Git identity.
func person(t *testing.T) []string {
	t.Helper()
	home := t.TempDir()
	config := "[user]\n\tname = Alice\n\temail = alice@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	env := []string{asLM + "=1", "HOME=" + home, "XDG_CACHE_HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "PATH=" + os.Getenv("PATH")}
	return env
}

func lmCommand(env []string, dir string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env, cmd.Dir = env, dir
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

func mustLM(t *testing.T, env []string, dir string, args ...string) string {
	t.Helper()
	cmd, out := lmCommand(env, dir, args...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("lm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out.String()
}

func mustGit(t *testing.T, env []string, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env, cmd.Dir = env, dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// sound says that nothing is lost or left lying about.
func sound(t *testing.T, env []string, dir string) {
	t.Helper()
	mustGit(t, env, dir, "fsck", "--strict", "--no-dangling")
	if out := mustGit(t, env, dir, "status", "--porcelain"); out != "" {
		t.Errorf("git status says:\n%s", out)
	}
	for _, pattern := range []string{".git/*.lock", ".git/refs/heads/*.lock", ".git/lm/journal"} {
		if left, _ := filepath.Glob(filepath.Join(dir, pattern)); len(left) > 0 {
			t.Errorf("left: %s", left)
		}
	}
	mustLM(t, env, dir, "validate")
}

// TestKilledAtAnyMoment: whatever a kill interrupts, the next call works
// without help, and the commit is there whole or not at all.
func TestKilledAtAnyMoment(t *testing.T) {
	env, dir := person(t), t.TempDir()
	mustLM(t, env, dir, "init")
	for _, id := range []string{"killed", "next"} {
		mustLM(t, env, dir, "asset", "register", "--type", "llm_wiki", "--name", id, "--description", "d")
	}
	random := rand.New(rand.NewPCG(1, 2))
	landed := 0
	for i := range times(20) {
		cmd, _ := lmCommand(env, dir, "asset", "govern", "killed", "--labels", fmt.Sprint("k", i))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.IntN(60_000)) * time.Microsecond)
		_ = cmd.Process.Kill()
		if cmd.Wait() == nil {
			landed++
		}
		mustLM(t, env, dir, "asset", "govern", "next", "--labels", fmt.Sprint("n", i))
		if i%10 == 9 {
			sound(t, env, dir)
		}
	}
	sound(t, env, dir)
	acts := mustGit(t, env, dir, "rev-list", "--count", "--grep=^Govern killed", "HEAD")
	receipts, _ := filepath.Glob(filepath.Join(dir, "receipts/asset/killed/*.yaml"))
	if n, _ := strconv.Atoi(acts); n != len(receipts)-1 || n < landed {
		t.Errorf("%s commits, %d receipts after the first, %d calls that ended by themselves", acts, len(receipts)-1, landed)
	}
}

// TestManyAtOnce: processes that govern at the same time, some the same asset,
// beside plain commits: nothing is lost, and who is too late is told so.
func TestManyAtOnce(t *testing.T) {
	env, dir := person(t), t.TempDir()
	mustLM(t, env, dir, "init")
	const writers = 8
	for n := range writers / 2 {
		mustLM(t, env, dir, "asset", "register", "--type", "llm_wiki", "--name", fmt.Sprint("page", n), "--description", "d")
	}
	var done sync.WaitGroup
	var mu sync.Mutex
	landed := map[string]int{}
	for n := range writers {
		done.Add(1)
		go func() {
			defer done.Done()
			id := fmt.Sprint("page", n/2) // two writers for each
			for i := range times(4) {
				cmd, out := lmCommand(env, dir, "asset", "govern", id, "--labels", fmt.Sprintf("w%d-%d", n, i))
				err := cmd.Run()
				mu.Lock()
				switch {
				case err == nil:
					landed[id]++
				case cmd.ProcessState.ExitCode() != exitConflict || !strings.Contains(out.String(), "conflict"):
					t.Errorf("%s: %v\n%s", id, err, out)
				}
				mu.Unlock()
			}
		}()
	}
	stop, raced := make(chan bool), false
	var user sync.WaitGroup
	user.Add(1)
	go func() {
		defer user.Done()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.WriteFile(filepath.Join(dir, "mine"), []byte(fmt.Sprintln(i)), 0o666)
			cmd := exec.Command("sh", "-c", "git add mine && git commit -qm 'by the user' mine")
			cmd.Env, cmd.Dir = env, dir
			out, _ := cmd.CombinedOutput()
			raced = raced || strings.Contains(string(out), "cannot lock ref") // Git's own race, see package gitstore
		}
	}()
	done.Wait()
	close(stop)
	user.Wait()
	if raced {
		mustGit(t, env, dir, "reset", "-q")
	}
	mustGit(t, env, dir, "add", "mine")
	mustGit(t, env, dir, "commit", "-q", "--allow-empty", "-m", "last")
	sound(t, env, dir)
	for id, n := range landed {
		receipts, _ := filepath.Glob(filepath.Join(dir, "receipts/asset", id, "*.yaml"))
		if len(receipts) != n+1 {
			t.Errorf("%s: %d calls landed, %d receipts after the first", id, n, len(receipts)-1)
		}
	}
}
