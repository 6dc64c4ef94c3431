package gitstore

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// gitVariables are those that point git at another repository (git rev-parse
// --local-env-vars); a hook that calls lm has them set.
var gitVariables = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE",
	"GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY",
	"GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
}

// git runs the git program in this repository, without hooks and without any
// other program that the repository's configuration names for these commands
// (core.fsmonitor), without fetching and without taking optional locks, and gives its standard output. The error
// wraps exec.ErrNotFound where there is no git.
func (r *Repo) git(ctx context.Context, env []string, stdin []byte, args ...string) ([]byte, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("git is not on PATH: %w", exec.ErrNotFound)
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"-c", "core.hooksPath=" + r.noHooks(), "-c", "core.fsmonitor=false"}, args...)...)
	cmd.Dir = r.where()
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !slices.Contains(gitVariables, name) {
			cmd.Env = append(cmd.Env, v)
		}
	}
	if r.gitDir != "" {
		cmd.Env = append(cmd.Env, "GIT_DIR="+r.gitDir)
	}
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C")
	if r.root != "" {
		cmd.Env = append(cmd.Env, "GIT_WORK_TREE="+r.root)
	}
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(stderr.String())
		return nil, fmt.Errorf("git %s in %s: %w: %s", args[0], r.where(), err, said)
	}
	return stdout.Bytes(), nil
}

// noHooks is a folder that is never there.
func (r *Repo) noHooks() string { return filepath.Join(r.commonDir, "lm", "no-hooks") }

// haveGit says whether the git program is on PATH.
func haveGit() bool {
	_, err := exec.LookPath("git")
	return err == nil
}
