package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/internal/hook"
	"longmemory.dev/lm/internal/sshkeys"
	"longmemory.dev/lm/internal/workspace"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// The exit codes (design.md §4).
const (
	exitOK         = 0
	exitFailure    = 1
	exitUsage      = 2
	exitInvalid    = 3
	exitDenied     = 4
	exitIncomplete = 4
	exitConflict   = 5
	exitNotFound   = 6
)

// exitError ends a command with a code of its own; the message is out already.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// exitCodes maps errors to exit codes; the first that matches counts.
var exitCodes = []struct {
	is   error
	code int
}{
	{workspace.ErrUsage, exitUsage},
	{governance.ErrReason, exitUsage},
	{sshkeys.ErrNoKey, exitUsage},
	{governance.ErrDenied, exitDenied},
	{governance.ErrTransition, exitInvalid},
	{workspace.ErrConflict, exitConflict},
	{gitstore.ErrConflict, exitConflict},
	{vault.ErrNoVault, exitNotFound},
	{workspace.ErrNotFound, exitNotFound},
	{gitstore.ErrNotFound, exitNotFound},
}

// stableCodes maps the codes of the agent protocol to exit codes.
var stableCodes = map[string]int{
	agentprotocol.ErrCodeInvalidScope: exitInvalid, agentprotocol.ErrCodeValidationFailed: exitInvalid, agentprotocol.ErrCodeInsufficientScope: exitDenied,
	agentprotocol.ErrCodePermissionUnknown: exitDenied, agentprotocol.ErrCodeApprovalRequired: exitDenied, agentprotocol.ErrCodeConflictRequired: exitConflict,
	agentprotocol.ErrCodeRejected: exitConflict, agentprotocol.ErrCodeAdapterUnavailable: exitNotFound, agentprotocol.ErrCodeBudgetExceeded: exitOK,
}

func exitCode(err error) int {
	var own exitError
	var stable *agentprotocol.StableError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &own):
		return int(own)
	case errors.As(err, &stable):
		return stableCodes[stable.Code]
	}
	for _, row := range exitCodes {
		if errors.Is(err, row.is) {
			return row.code
		}
	}
	if len(vault.Problems(err)) > 0 || errors.Is(err, hook.ErrSettings) {
		return exitInvalid
	}
	return exitFailure
}

// command is what the commands of one process share.
type command struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

// run is lm: arguments in, one call, rendering out.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &output{Writer: stdout}
	c := &command{stdin: stdin, stdout: out, stderr: stderr}
	app := c.app()
	arranged, err := arrange(app, args)
	if err == nil {
		err = app.RunContext(ctx, append([]string{"lm"}, arranged...))
	}
	if err == nil && out.err != nil {
		err = fmt.Errorf("the answer could not be written: %w", out.err)
	}
	if own := exitError(0); err != nil && !errors.As(err, &own) {
		for i, line := range strings.Split(strings.TrimPrefix(err.Error(), "usage: "), "\n") {
			if i == 0 {
				line = "lm: " + line
			}
			c.note("%s", plain(line))
		}
	}
	return exitCode(err)
}

// output remembers that something could not be written.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

func (c *command) app() *cli.App {
	app := &cli.App{
		Name:  "lm",
		Usage: "the knowledge that a team gives its agents, reviewed in Git",
		Description: "Flags stand before or after arguments. Every command takes --json, -C DIR and --vault DIR.\n" +
			"Exit codes: 0 ok, 1 failure, 2 usage, 3 invalid, 4 denied or incomplete, 5 conflict, 6 not found.",
		Writer:    c.stdout,
		ErrWriter: c.stderr,
		Commands: []*cli.Command{
			c.initCommand(), c.statusCommand(), c.doctorCommand(), c.assetCommand(), c.loadoutCommand(), c.searchCommand(), c.validateCommand(), c.verifyCommand(), c.policyCommand(), c.testCommand(), c.schemaCommand(), c.formatCommand(), c.agentCommand(),
			c.memoryCommand(), c.contextCommand(), c.handoffCommand(), c.feedbackCommand(), c.inboxCommand(), c.adapterCommand(),
			c.indexCommand(), c.hookCommand(), c.versionCommand(), c.completionCommand(),
		},
		HideVersion:          true,
		EnableBashCompletion: true,
		ExitErrHandler:       func(*cli.Context, error) {},
		OnUsageError:         onUsageError,
		Action:               c.group,
	}
	c.everywhere(app.Commands)
	return app
}

// everywhere gives every command that does something the flags that all have,
// and every command that only groups others its help.
func (c *command) everywhere(commands []*cli.Command) {
	for _, cmd := range commands {
		cmd.OnUsageError = onUsageError
		if len(cmd.Subcommands) > 0 {
			cmd.Action = c.group
			c.everywhere(cmd.Subcommands)
			continue
		}
		cmd.HideHelpCommand = true // "help" is a query or an id there
		cmd.Flags = append(cmd.Flags,
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
			&cli.StringFlag{Name: "C", Usage: "act as if lm was started in `DIR`"},
			&cli.StringFlag{Name: "vault", Usage: "the vault in `DIR`; else LM_VAULT, git config lm.vault, or the nearest"},
		)
	}
}

func onUsageError(_ *cli.Context, err error, _ bool) error {
	return fmt.Errorf("%w: %w", workspace.ErrUsage, err)
}

// group answers a command that does nothing by itself.
func (c *command) group(ctx *cli.Context) error {
	if name := ctx.Args().First(); name != "" && name != "help" {
		return fmt.Errorf("%w: there is no command %q; lm help lists them", workspace.ErrUsage, strings.TrimSpace(ctx.Command.Name+" "+name))
	}
	return cli.ShowSubcommandHelp(ctx)
}

// arrange puts the flags of a call before its arguments, wherever they stood,
// because urfave/cli stops parsing flags at the first argument. Flags before
// the command's name go to the command too.
func arrange(app *cli.App, args []string) ([]string, error) {
	for _, arg := range args {
		if !utf8.ValidString(arg) {
			return nil, fmt.Errorf("%w: an argument is not UTF-8: %q", workspace.ErrUsage, arg)
		}
	}
	if n := len(args); n > 0 && args[n-1] == "--generate-bash-completion" {
		return args, nil
	}
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-v") {
		return []string{"version"}, nil
	}
	commands, flags := app.Commands, []cli.Flag(nil)
	var path, options, rest []string
	known := func(name string) cli.Flag {
		for _, f := range flags {
			for _, n := range f.Names() {
				if n == name {
					return f
				}
			}
		}
		return nil
	}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			rest = append(rest, args[i+1:]...)
			i = len(args)
		case len(arg) > 1 && arg[0] == '-':
			name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			options = append(options, arg)
			_, isBool := known(name).(*cli.BoolFlag)
			takesValue := known(name) != nil && !isBool || flags == nil && (name == "C" || name == "vault")
			if takesValue && !hasValue {
				if i+1 == len(args) {
					return nil, fmt.Errorf("%w: %s needs a value", workspace.ErrUsage, arg)
				}
				i++
				options = append(options, args[i])
				value = args[i]
			}
			if name == "rev" && value == "" && (hasValue || takesValue) {
				return nil, fmt.Errorf("%w: --rev is empty; leave it out to read what is read by itself", workspace.ErrUsage)
			}
		case find(commands, arg) != nil && len(rest) == 0:
			cmd := find(commands, arg)
			path, commands, flags = append(path, arg), cmd.Subcommands, cmd.Flags
		default:
			rest = append(rest, arg)
		}
	}
	out := append(path, options...)
	if len(rest) > 0 && flags != nil {
		out = append(out, "--")
	}
	return append(out, rest...), nil
}

func find(commands []*cli.Command, name string) *cli.Command {
	for _, cmd := range commands {
		if cmd.HasName(name) {
			return cmd
		}
	}
	return nil
}

// arguments checks how many arguments a command was given. names are for the
// message; a name in brackets may be left out, one with … may stand often.
func arguments(ctx *cli.Context, names ...string) error {
	least, most := 0, len(names)
	for _, name := range names {
		if !strings.HasPrefix(name, "[") {
			least++
		}
		if strings.Contains(name, "…") {
			most = 1 << 20
		}
	}
	switch n := ctx.Args().Len(); {
	case n < least:
		return fmt.Errorf("%w: %s needs %s", workspace.ErrUsage, ctx.Command.HelpName, names[n])
	case n > most:
		return fmt.Errorf("%w: %q is one argument too many; put text with blanks in quotes", workspace.ErrUsage, ctx.Args().Get(most))
	}
	return nil
}

// env is what the call knows of its surroundings.
func (c *command) env(ctx *cli.Context) workspace.Env {
	e := workspace.Env{Dir: ctx.String("C"), Vault: ctx.String("vault"), Key: ctx.String("key"), Getenv: os.Getenv, Environ: os.Environ, Now: time.Now}
	if e.Dir == "" {
		e.Dir = "."
	}
	if f, ok := c.stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		e.Progress = func(done, total int) {
			fmt.Fprintf(c.stderr, "\rindexing %d of %d", done, total)
			if done == total {
				fmt.Fprint(c.stderr, "\r\x1b[K")
			}
		}
	}
	return e
}

// keyFlag names the key of a write.
func keyFlag() cli.Flag {
	return &cli.StringFlag{Name: "key", Usage: "sign the receipt with the SSH key in `FILE` (.pub: the ssh-agent's); else, where signatures are required, with Git's user.signingkey"}
}

// inVault makes a call to the vault that the command line names.
func (c *command) inVault(ctx *cli.Context, call func(*workspace.Vault) error) error {
	v, err := workspace.Open(c.env(ctx))
	if err != nil {
		return err
	}
	defer v.Close()
	return call(v)
}

// answered asks the vault, and prints the answer as JSON or by text.
func answered[T any](c *command, ctx *cli.Context, call func(*workspace.Vault) (T, error), text func(T)) error {
	return c.inVault(ctx, func(v *workspace.Vault) error {
		answer, err := call(v)
		switch {
		case err != nil:
			return err
		case ctx.Bool("json"):
			return c.json(answer)
		}
		text(answer)
		return nil
	})
}
