//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peak is the most memory in bytes that a process or one of its children held.
func peak(state *os.ProcessState) int64 {
	r, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(r.Maxrss)
	}
	return int64(r.Maxrss) << 10 // kilobytes elsewhere
}
