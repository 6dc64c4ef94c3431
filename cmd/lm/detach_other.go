//go:build !unix

package main

import "syscall"

// detached lets a process outlive its parent, as this system does by itself.
var detached = &syscall.SysProcAttr{}
