//go:build !unix

package gitstore

import (
	"runtime"

	"github.com/go-git/go-git/v5/plumbing/format/index"
)

const (
	openFlags  = 0
	nativeCRLF = runtime.GOOS == "windows"
	fileModes  = false
)

func fillStat(*index.Entry, string) {}
