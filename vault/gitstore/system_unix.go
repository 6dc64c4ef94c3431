//go:build unix

package gitstore

import (
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/index"
	"golang.org/x/sys/unix"
)

// openFlags open a file without following a symlink and without waiting for
// the other end of a pipe.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

// nativeCRLF: text files end their lines in CRLF on this system.
const nativeCRLF = false

// fileModes: the file system keeps an executable bit.
const fileModes = true

// fillStat copies what Git's index keeps of a file beside size and mtime.
func fillStat(e *index.Entry, file string) {
	var s unix.Stat_t
	if unix.Lstat(file, &s) == nil {
		e.CreatedAt = time.Unix(s.Ctim.Unix())
		e.Dev, e.Inode, e.UID, e.GID = uint32(s.Dev), uint32(s.Ino), s.Uid, s.Gid
	}
}
