package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"longmemory.dev/lm/internal/workspace"
)

func (c *command) initCommand() *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "start a vault: vault.yaml, a sample skill, one commit", ArgsUsage: "[DIR]",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "team", Usage: "with people, a team, approvers and a second pair of eyes"}},
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "[DIR]"); err != nil {
				return err
			}
			made, err := workspace.Init(ctx.Context, c.env(ctx), ctx.Args().First(), ctx.Bool("team"))
			if err != nil {
				return err
			}
			hooksNote(c, made.Hooks)
			if ctx.Bool("json") {
				return c.json(made)
			}
			c.say("Started the vault %s in %s, commit %.12s.", made.Project, made.Path, made.Commit)
			for _, file := range made.Created {
				c.say("  %s", file)
			}
			c.say("\nNext:")
			if made.Status != "approved" {
				c.say("  edit vault.yaml: add the others to people; approving takes somebody who is no author")
				c.say("  lm asset govern %s --status approved --reason \"…\"   as one of them", made.Sample)
			}
			c.say("  lm loadout \"add a skill\" --explain       what an agent gets, and why")
			c.say("  lm asset register --type llm_wiki --name \"…\" --description \"…\" --content-file page.md")
			c.say("  lm asset govern <id> --status approved   nothing reaches an agent before")
			return nil
		},
	}
}

func (c *command) statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "where the vault stands",
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx); err != nil {
				return err
			}
			return answered(c, ctx, func(v *workspace.Vault) (*workspace.Status, error) { return v.Status(ctx.Context) }, c.printStatus)
		},
	}
}

func (c *command) printStatus(s *workspace.Status) {
	c.say("vault     %s in %s", strings.TrimSpace(s.Project+" "+plain(named(s.Name))), s.Dir)
	c.say("read      %s", snapshotText(s.Trusted))
	if s.Head.Commit != s.Trusted.Commit {
		c.say("head      %s", snapshotText(s.Head))
	}
	c.say("assets    %d: %s", s.Assets, counts(s.ByStatus))
	c.say("types     %s", counts(s.ByType))
	c.say("index     %s", strings.TrimSpace(s.Index.Status+" "+s.Index.Detail))
	if s.Hidden > 0 {
		c.say("hidden    %d that you may not read", s.Hidden)
	}
	for i, id := range s.Unreceipted {
		if i == 10 {
			c.say("waiting   %d more; lm validate lists all", len(s.Unreceipted)-i)
			break
		}
		c.say("waiting   %s: %s", id, s.Waits(id))
	}
	if s.InvalidCount > 0 {
		c.say("invalid   %s; run: lm validate", count(s.InvalidCount, "asset"))
	}
	if s.Shallow {
		c.say("clone     shallow: history before it cannot be seen")
	}
	hooksNote(c, s.Hooks)
}

func named(name string) string {
	if name == "" {
		return ""
	}
	return "(" + name + ")"
}

func snapshotText(s workspace.Snapshot) string {
	switch s.Ref {
	case workspace.RefWorktree:
		return "the files as they lie"
	case workspace.RefFolder:
		return "the files as they lie, without Git"
	}
	return fmt.Sprintf("%s at %.12s", s.Ref, s.Commit)
}

func counts(m map[string]int) string {
	var out []string
	for key, n := range m {
		out = append(out, fmt.Sprintf("%d %s", n, key))
	}
	slices.Sort(out)
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}
