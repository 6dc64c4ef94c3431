package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"longmemory.dev/lm/internal/workspace"
	"longmemory.dev/lm/vault"
)

func (c *command) editCommand() *cli.Command {
	return &cli.Command{
		Name: "edit", Usage: "edit an asset in $VISUAL or $EDITOR, and commit it with a receipt", ArgsUsage: "ID",
		Flags: append(writeFlags(),
			&cli.StringFlag{Name: "file", Usage: "another `FILE` of the asset's folder, such as SKILL.md; else the one with the keys"},
			&cli.StringFlag{Name: "from", Usage: "the new text from `FILE`, - for standard input, instead of an editor"},
		),
		Action: func(ctx *cli.Context) error {
			if err := arguments(ctx, "ID"); err != nil {
				return err
			}
			change, err := writeChange(ctx)
			if err != nil {
				return err
			}
			return c.inVault(ctx, func(v *workspace.Vault) error {
				draft, err := v.Draft(vault.ID(ctx.Args().First()), ctx.String("file"), change)
				if err != nil {
					return err
				}
				e := editing{command: c, draft: draft, change: change, asJSON: ctx.Bool("json"), flags: sameFlags(ctx)}
				if from := ctx.String("from"); from != "" {
					text, err := c.readFile(from, "--from")
					if err != nil {
						return err
					}
					return e.write(ctx.Context, text)
				}
				return e.run(ctx.Context)
			})
		},
	}
}

// editing is one call of an editor.
type editing struct {
	*command
	draft  *workspace.Draft
	change workspace.Change
	asJSON bool
	flags  string // of the call, but for those that name files and a dry run
	dir    string // of the copy
	copy   string
}

// sameFlags are the flags of a call of edit that another one of the same text needs.
func sameFlags(ctx *cli.Context) string {
	out := ""
	for _, flag := range []string{"--status", "--reason", "--expect-version", "--key", "--vault", "-C"} {
		if name := strings.TrimLeft(flag, "-"); ctx.IsSet(name) {
			out += " " + flag + " " + vault.Quote(fmt.Sprint(ctx.Value(name)))
		}
	}
	return out
}

// run opens the editor on a copy until its text can be written. A text that
// cannot is never thrown away: its file stays, and the error names it.
func (e *editing) run(ctx context.Context) error {
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"))
	if editor == "" {
		return fmt.Errorf("%w: there is no editor; set EDITOR, or give the new text with --from FILE", workspace.ErrUsage)
	}
	var err error
	if e.dir, err = os.MkdirTemp("", "lm-edit-"); err != nil {
		return err
	}
	e.copy = filepath.Join(e.dir, path.Base(e.draft.Path))
	if err := os.WriteFile(e.copy, e.draft.Data, 0o600); err != nil {
		return err
	}
	answers := bufio.NewReader(e.stdin)
	for {
		if err := e.open(ctx, editor); err != nil {
			return e.kept(err)
		}
		text, err := os.ReadFile(e.copy)
		if err != nil {
			return e.kept(fmt.Errorf("the editor %q left no text, and nothing was written: %w", editor, err))
		}
		// Who ended the editor meant the text, whatever was interrupted in it.
		err = e.write(context.WithoutCancel(ctx), text)
		if err == nil && !e.change.DryRun {
			return os.RemoveAll(e.dir)
		}
		if len(vault.Problems(err)) == 0 || !e.again(answers, err) {
			return e.kept(err)
		}
	}
}

// open runs the editor as git does, by the shell, so that it may have
// arguments. What it prints is not the answer of lm.
func (e *editing) open(ctx context.Context, editor string) error {
	held := make(chan os.Signal, 1)
	signal.Notify(held, os.Interrupt) // it is the editor's
	defer signal.Stop(held)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "sh", "-c", editor+` "$@"`, editor, e.copy)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.stdin, e.stderr, e.stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the editor %q failed, and nothing was written: %w", editor, err)
	}
	return nil
}

// again shows what is wrong and asks a person whether to go on. Nobody but a
// person at a terminal is asked.
func (e *editing) again(answers *bufio.Reader, err error) bool {
	in, ok := e.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return false
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		e.note("%s", plain(line))
	}
	fmt.Fprint(e.stderr, "Enter opens the editor again, q ends: ")
	answer, err := answers.ReadString('\n')
	return err == nil && strings.TrimSpace(answer) == ""
}

// kept says where the text is that was not written. A copy that nobody changed
// goes, and so does the folder of one that is gone.
func (e *editing) kept(err error) error {
	text, readErr := os.ReadFile(e.copy)
	if readErr == nil && bytes.Equal(text, e.draft.Data) || errors.Is(readErr, fs.ErrNotExist) {
		return errors.Join(err, os.RemoveAll(e.dir))
	}
	again := fmt.Sprintf("lm asset edit %s --from %s", e.draft.ID, vault.Quote(e.copy))
	if e.draft.Name != "" {
		again += " --file " + vault.Quote(e.draft.Name)
	}
	again += e.flags
	if err == nil { // a dry run
		e.note("your text is kept; to write it, run: %s", again)
		return nil
	}
	return fmt.Errorf("%w\nyour text is kept; when it is mended, run: %s", err, again)
}

// write commits the new text and tells what that did.
func (e *editing) write(ctx context.Context, text []byte) error {
	written, err := e.draft.Edit(ctx, text, e.change)
	switch {
	case err != nil:
		return err
	case written == nil:
		e.note("%s: nothing changed, so nothing was written", e.draft.ID)
		if e.asJSON {
			return e.json(struct {
				ID      vault.ID `json:"id"`
				Changed []string `json:"changed"`
				Commit  string   `json:"commit"`
			}{ID: e.draft.ID, Changed: []string{}})
		}
	case e.asJSON:
		return e.json(written)
	default:
		e.printWritten(written)
	}
	return nil
}
