//go:build unix

package main

import "syscall"

// detached lets a process outlive the session of its parent.
var detached = &syscall.SysProcAttr{Setsid: true}
