package gitstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrRejected is wrapped where a remote's branch has moved on since it was
// fetched, so that a push would lose something.
var ErrRejected = errors.New("the remote has moved on")

// awayPatience bounds one conversation with a remote.
const awayPatience = 2 * time.Minute

// FetchBranch brings a remote's branch ("lm/inbox") into its tracking ref and
// gives its commit; "" if the remote has no such branch. It runs the git
// program, with the user's own credentials, without prompts on the terminal.
func (r *Repo) FetchBranch(ctx context.Context, remote, branch string) (Hash, error) {
	if err := checkRemote(remote, branch); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, awayPatience)
	defer cancel()
	env := []string{"GIT_TERMINAL_PROMPT=0"}
	listed, err := r.git(ctx, env, nil, "ls-remote", "--heads", remote, "refs/heads/"+branch)
	if err != nil {
		return "", err
	}
	if len(strings.Fields(string(listed))) == 0 {
		return "", nil
	}
	tracking := "refs/remotes/" + remote + "/" + branch
	if _, err := r.git(ctx, env, nil, "fetch", "--quiet", "--no-tags", remote, "+refs/heads/"+branch+":"+tracking); err != nil {
		return "", err
	}
	return r.Resolve(tracking)
}

// PushBranch pushes this clone's branch to a remote, never by force. It wraps
// ErrRejected where the remote's has moved on.
func (r *Repo) PushBranch(ctx context.Context, remote, branch string) error {
	if err := checkRemote(remote, branch); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, awayPatience)
	defer cancel()
	ref := "refs/heads/" + branch
	_, err := r.git(ctx, []string{"GIT_TERMINAL_PROMPT=0"}, nil, "push", "--quiet", remote, ref+":"+ref)
	if err != nil && (strings.Contains(err.Error(), "[rejected]") || strings.Contains(err.Error(), "[remote rejected]") && strings.Contains(err.Error(), "lock")) {
		return fmt.Errorf("%w: %w", ErrRejected, err)
	}
	return err
}

// checkRemote refuses names that git would take for something else.
func checkRemote(remote, branch string) error {
	if remote == "" || strings.HasPrefix(remote, "-") || !safeRef("refs/remotes/"+remote+"/"+branch) {
		return fmt.Errorf("%q and %q are no names of a remote and a branch: %w", remote, branch, ErrNotFound)
	}
	return nil
}
