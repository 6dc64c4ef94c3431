package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/internal/hook"
	"longmemory.dev/lm/internal/workspace"
	"longmemory.dev/lm/vault/gitstore"
)

func (c *command) hookCommand() *cli.Command {
	cmd := &cli.Command{Name: "hook", Usage: "answer an agent host's hooks, and install them"}
	for _, host := range hook.Hosts {
		cmd.Subcommands = append(cmd.Subcommands, &cli.Command{
			Name: host, Usage: "read an event of " + host + " from standard input and print what the agent should know",
			Flags: append(subjectFlags(),
				&cli.IntFlag{Name: "token-budget", Aliases: []string{"budget"}, Usage: "at most `N` tokens; else the vault's default"},
				&cli.IntFlag{Name: "max-chars", Value: hook.DefaultMaxChars, Usage: "at most `N` characters, as hosts cut longer context"},
				&cli.DurationFlag{Name: "timeout", Value: hook.DefaultTimeout, Usage: "give up after `TIME`; the session goes on"},
			),
			Action: func(ctx *cli.Context) error { return c.answerHook(ctx, host) },
		})
	}
	where := []cli.Flag{
		&cli.StringFlag{Name: "client", Usage: "`HOST` " + strings.Join(hook.Hosts, " or ")},
		&cli.StringFlag{Name: "scope", Value: "project", Usage: "`SCOPE` project, for all who work here, or user"},
	}
	cmd.Subcommands = append(cmd.Subcommands,
		&cli.Command{Name: "install", Usage: "make a host ask lm at each session and prompt",
			Flags:  append(slices.Clone(where), &cli.StringFlag{Name: "agent", Usage: "the agent `ID` that the host works as"}),
			Action: func(ctx *cli.Context) error { return c.installHook(ctx, true) }},
		&cli.Command{Name: "remove", Usage: "undo install", Flags: where,
			Action: func(ctx *cli.Context) error { return c.installHook(ctx, false) }},
	)
	return cmd
}

// answerHook never fails: whatever happens, the session goes on.
func (c *command) answerHook(ctx *cli.Context, host string) error {
	if err := arguments(ctx); err != nil {
		return err
	}
	h := hook.Hook{
		Host: host, Subject: subject(ctx), TokenBudget: ctx.Int("token-budget"), MaxChars: ctx.Int("max-chars"),
		Timeout: ctx.Duration("timeout"), Env: c.env(ctx),
		Detach: func(dir string) error { return detach(dir, ctx.String("vault")) },
	}
	h.Env.Progress = nil
	out, err := h.Run(ctx.Context, c.stdin)
	if err != nil {
		c.note("lm: %s", plain(strings.ReplaceAll(err.Error(), "\n", "; ")))
	}
	if len(out) > 0 {
		_, err = c.stdout.Write(out)
		return err
	}
	return nil
}

// detach starts the build of an index that goes on after this process. Of
// several at once all but one give up (--once).
func detach(dir, vault string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"index", "build", "--once", "-C", dir}
	if vault != "" {
		args = append(args, "--vault", vault)
	}
	cmd := exec.Command(self, args...)
	cmd.SysProcAttr = detached
	return cmd.Start()
}

func (c *command) installHook(ctx *cli.Context, install bool) error {
	if err := arguments(ctx); err != nil {
		return err
	}
	host, scope := ctx.String("client"), ctx.String("scope")
	if !slices.Contains(hook.Hosts, host) {
		return fmt.Errorf("%w: --client is %q; it is one of %s", workspace.ErrUsage, host, strings.Join(hook.Hosts, ", "))
	}
	if !slices.Contains(hook.Scopes, scope) {
		return fmt.Errorf("%w: --scope is %q; it is one of %s", workspace.ErrUsage, scope, strings.Join(hook.Scopes, ", "))
	}
	file, err := c.settingsFile(ctx, host, scope)
	if err != nil {
		return err
	}
	if !install {
		done, err := hook.Remove(file, host)
		if err != nil {
			return err
		}
		return c.hookDone(ctx, done, "removed from")
	}
	line := "lm hook " + host
	if agent := ctx.String("agent"); agent != "" {
		if strings.ContainsFunc(agent, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", r)
		}) {
			return fmt.Errorf("%w: --agent %q cannot stand in a shell command; use letters, digits, . _ and -", workspace.ErrUsage, agent)
		}
		line += " --agent " + agent
	}
	done, err := hook.Install(file, host, line)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("lm"); err != nil {
		c.note("lm: lm is not on PATH, so %s will not find it; run: go install ./cmd/lm", host)
	}
	err = c.inVault(ctx, func(v *workspace.Vault) error {
		_, err := v.BuildIndex(ctx.Context, workspace.Revision{})
		return err
	})
	if err != nil && scope == "project" {
		c.note("lm: the hook says nothing yet: %s", err)
	}
	return c.hookDone(ctx, done, "installed in")
}

func (c *command) settingsFile(ctx *cli.Context, host, scope string) (string, error) {
	home, err := os.UserHomeDir()
	if err != nil && scope == "user" {
		return "", err
	}
	root := c.env(ctx).Dir
	if repo, err := gitstore.Open(root); err == nil && !repo.Bare() {
		root = repo.Root()
	}
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	return hook.SettingsFile(host, scope, root, home, os.Getenv), nil
}

func (c *command) hookDone(ctx *cli.Context, done *hook.Installed, what string) error {
	if ctx.Bool("json") {
		return c.json(done)
	}
	if !done.Changed {
		c.say("nothing to do: %s is as it should be", done.File)
		return nil
	}
	c.say("%s %s", what, done.File)
	for _, event := range done.Events {
		c.say("  %s  %s", event, done.Command)
	}
	return nil
}
