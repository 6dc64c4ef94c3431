// Command lm keeps the knowledge that a team gives its agents as reviewed
// files in Git, and hands an agent the approved part of it that fits a task.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
)

func main() {
	collectLater()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// firstCollection is how many bytes the process may take before any are
// collected. Most commands end below it, and those that a hook waits for do.
const firstCollection = 128 << 20

// collectLater puts the first garbage collection off until there is something to
// gain. From then on Go's own rule holds. Who has set GOGC or GOMEMLIMIT is
// obeyed.
func collectLater() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(firstCollection)
	garbage := new([64]byte) // so the first collection is what finds it
	runtime.AddCleanup(garbage, func(struct{}) {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}, struct{}{})
}
