package gitstore

import (
	"bufio"
	"cmp"
	"compress/zlib"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// loosePath is the file of an object that is in no pack.
func loosePath(dir string, h Hash) string { return filepath.Join(dir, string(h[:2]), string(h[2:])) }

// mostDeflated times as large as its file is no object: deflate does not get there.
const mostDeflated = 1100

// readLoose is read for an object in a file of its own, which is where all lie that
// were just made; there says whether it is one. It looks into no pack's index first,
// as go-git does, and holds the bytes against the id.
func readLoose(dir string, h Hash, limit int64) (kind plumbing.ObjectType, size int64, data []byte, there bool, err error) {
	if !isHash(string(h)) {
		return 0, 0, nil, false, nil
	}
	f, err := os.Open(loosePath(dir, h))
	if err != nil {
		return 0, 0, nil, false, nil // none, or go-git says why not
	}
	defer f.Close()
	if kind, size, data, err = inflate(f, h, limit); err != nil {
		err = fmt.Errorf("object %s is damaged: %w; git fsck says more", h, err)
	}
	return kind, size, data, true, err
}

var errLoose = errors.New("its file is not what Git wrote")

// inflate reads an object's file: "tree", a blank, a size, a zero and the bytes,
// deflated.
func inflate(f *os.File, h Hash, limit int64) (kind plumbing.ObjectType, size int64, data []byte, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, nil, err
	}
	inflated, err := zlib.NewReader(bufio.NewReaderSize(f, 1<<16))
	if err != nil {
		return 0, 0, nil, err
	}
	defer inflated.Close()
	in := bufio.NewReader(inflated)
	header, err := in.ReadSlice(0)
	if err != nil {
		return 0, 0, nil, err
	}
	sum := sha1.New()
	sum.Write(header)
	name, digits, _ := strings.Cut(string(header[:len(header)-1]), " ")
	if kind, err = plumbing.ParseObjectType(name); err != nil {
		return 0, 0, nil, err
	}
	size, err = strconv.ParseInt(digits, 10, 64)
	if err != nil || size < 0 || size/mostDeflated > info.Size() {
		return 0, 0, nil, errLoose
	}
	if limit >= 0 && size > limit {
		return kind, size, nil, nil
	}
	data = make([]byte, size)
	if _, err := io.ReadFull(in, data); err != nil {
		return 0, 0, nil, err
	}
	if _, err := in.ReadByte(); err != io.EOF { // which is where zlib's checksum is looked at
		return 0, 0, nil, cmp.Or(err, errLoose)
	}
	sum.Write(data)
	if plumbing.Hash(sum.Sum(nil)).String() != string(h) {
		return 0, 0, nil, errLoose
	}
	return kind, size, data, nil
}
