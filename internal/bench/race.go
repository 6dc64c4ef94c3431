package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// side is one process of a comparison.
type side struct {
	program string
	args    []string
	dir     string
	input   func() (string, error) // a file for standard input; nil: none
	prepare func() error           // before each run, not measured; nil: nothing
}

// usage is what one process took, its children included.
type usage struct {
	cpu  time.Duration // user and system
	wall time.Duration
	peak int64 // bytes of memory
}

// result is the medians of one side.
type result struct {
	usage
	runs []usage
}

// race runs each side once to warm up and then the given number of times, one
// after the other in turn, so that what else the machine does hits all alike.
func (l *lab) race(runs int, sides ...*side) ([]result, error) {
	results := make([]result, len(sides))
	for round := range runs + 1 {
		for i, s := range sides {
			u, err := l.take(s)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				results[i].runs = append(results[i].runs, u)
			}
		}
	}
	for i := range results {
		r := &results[i]
		r.cpu = median(r.runs, func(u usage) time.Duration { return u.cpu })
		r.wall = median(r.runs, func(u usage) time.Duration { return u.wall })
		r.peak = median(r.runs, func(u usage) int64 { return u.peak })
	}
	return results, nil
}

// take runs a side once.
func (l *lab) take(s *side) (usage, error) {
	if s.prepare != nil {
		if err := s.prepare(); err != nil {
			return usage{}, err
		}
	}
	cmd := exec.CommandContext(l.ctx, s.program, s.args...)
	cmd.Dir, cmd.Env = s.dir, l.env
	// Files and no pipes: a pipe would have this process work beside the other.
	messages, err := os.Create(filepath.Join(l.dir, "stderr"))
	if err != nil {
		return usage{}, err
	}
	defer messages.Close()
	cmd.Stderr = messages
	if s.input != nil {
		name, err := s.input()
		if err != nil {
			return usage{}, err
		}
		in, err := os.Open(name)
		if err != nil {
			return usage{}, err
		}
		defer in.Close()
		cmd.Stdin = in
	}
	start := time.Now()
	err = cmd.Run()
	wall := time.Since(start)
	if err != nil {
		said, _ := os.ReadFile(messages.Name())
		return usage{}, fmt.Errorf("%s %s: %w: %s", filepath.Base(s.program), strings.Join(s.args, " "), err, bytes.TrimSpace(said))
	}
	state := cmd.ProcessState
	return usage{cpu: state.UserTime() + state.SystemTime(), wall: wall, peak: peak(state)}, nil
}

func median[T cmp.Ordered](runs []usage, of func(usage) T) T {
	values := make([]T, len(runs))
	for i, u := range runs {
		values[i] = of(u)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
