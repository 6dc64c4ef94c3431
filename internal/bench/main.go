// Command bench measures lm beside git and beside an empty Go program, in one
// run on one machine: whole processes, interleaved, medians, as ratios
// (docs/bench.md says how to read them). It knows nothing of lm's inside and
// drives the command as a person or a hook would. A benchmark is no test: it
// exits 0 whatever the figures are, and 1 if something could not be run.
//
//	go run ./internal/bench -n 1000,10000 -runs 15 -json figures.json
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"longmemory.dev/lm/internal/testvault"
)

// options are the flags.
type options struct {
	sizes []int
	runs  int
	seed  uint64
	keep  bool
	json  string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	sizes := flags.String("n", "1000,10000", "measure vaults of so many assets, `SIZE,…`")
	runs := flags.Int("runs", 15, "runs of each process after one to warm up; a third of it for those that take seconds")
	seed := flags.Uint64("seed", 1, "seed of the generated vaults")
	keep := flags.Bool("keep", false, "leave the folder with the vaults and the programs")
	file := flags.String("json", "", "write the figures to `FILE` as well")
	memories := flags.String("memories", "", "only write as many memories as -n says, by -seed, to the folder `DIR`")
	write := flags.String("write", "", "only write the vault of -n and -seed to the folder `DIR`, and print what to ask of it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o := options{runs: max(*runs, 1), seed: *seed, keep: *keep, json: *file}
	for _, size := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(size))
		if err != nil || n < leastAssets {
			return fmt.Errorf("-n %s: a vault has at least %d assets", *sizes, leastAssets)
		}
		o.sizes = append(o.sizes, n)
	}
	if *memories != "" {
		return writeFiles(*memories, testvault.Memories(o.seed, o.sizes[0]))
	}
	if *write != "" {
		task, err := writeVault(*write, o.seed, o.sizes[0])
		if err != nil {
			return err
		}
		return json.NewEncoder(stdout).Encode(task)
	}
	return measure(ctx, o, stdout, stderr)
}

// measure takes all figures and prints them.
func measure(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	l, err := newLab(ctx, stderr)
	if err != nil {
		return err
	}
	if o.keep {
		fmt.Fprintln(stderr, "in", l.dir)
	} else {
		defer os.RemoveAll(l.dir)
	}
	s := &suite{lab: l, runs: o.runs}
	if err := s.start(); err != nil {
		return err
	}
	for _, n := range o.sizes {
		v, err := l.vault(o.seed, n)
		if err != nil {
			return err
		}
		if err := s.vault(v); err != nil {
			return err
		}
		if !o.keep {
			if err := os.RemoveAll(v.dir); err != nil {
				return err
			}
		}
	}
	if err := s.relevance(); err != nil {
		return err
	}
	fmt.Fprint(stdout, table(s.rows))
	if o.json == "" {
		return nil
	}
	data, err := json.MarshalIndent(map[string]any{"seed": o.seed, "runs": o.runs, "figures": s.rows}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.json, append(data, '\n'), 0o644)
}
