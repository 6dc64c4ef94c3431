package index

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// manifestName is the file that lists all others of an index.
const manifestName = "manifest"

// maxManifest is more bytes than any manifest has.
const maxManifest = 1 << 20

// castagnoli is the polynomial that processors have an instruction for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// listed is one file as a manifest lists it.
type listed struct {
	name     string
	size     int64
	checksum uint32
}

// errFormat says that an index is whole, but of another Format.
var errFormat = errors.New("another format")

// encodeManifest writes a manifest: a line with the format, a line for each
// file, a line with the checksum of those before.
func encodeManifest(files []listed) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "lm index %d\n", Format)
	for _, f := range files {
		fmt.Fprintf(&b, "file %s %d %08x\n", f.name, f.size, f.checksum)
	}
	fmt.Fprintf(&b, "sum %08x\n", crc32.Checksum(b.Bytes(), castagnoli))
	return b.Bytes()
}

// decodeManifest reads what encodeManifest wrote. It gives errFormat for one
// of another format, which has the same first and last line.
func decodeManifest(data []byte) ([]listed, error) {
	body, sum := data, ""
	if at := bytes.LastIndex(data, []byte("\nsum ")); at >= 0 {
		body, sum = data[:at+1], string(data[at+1:])
	}
	if sum != fmt.Sprintf("sum %08x\n", crc32.Checksum(body, castagnoli)) {
		return nil, errors.New("the manifest's checksum does not match")
	}
	lines := strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")
	if lines[0] != "lm index "+strconv.Itoa(Format) {
		return nil, errFormat
	}
	files := make([]listed, len(lines)-1)
	for i, line := range lines[1:] {
		f := &files[i]
		if _, err := fmt.Sscanf(line, "file %s %d %x", &f.name, &f.size, &f.checksum); err != nil || f.name != filepath.Base(f.name) {
			return nil, fmt.Errorf("the manifest's line %q is none", line)
		}
	}
	return files, nil
}

// readManifest reads the manifest of the index in dir.
func readManifest(dir string) ([]listed, error) {
	f, err := os.Open(filepath.Join(dir, manifestName))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxManifest))
	if err != nil {
		return nil, err
	}
	return decodeManifest(data)
}

// mismatch says that a file is not what its manifest says.
func (l listed) mismatch() error { return fmt.Errorf("%s is not what was written", l.name) }

// read reads the whole file and verifies it.
func (l listed) read(dir string) ([]byte, error) {
	f, err := l.open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, l.size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	if crc32.Checksum(data, castagnoli) != l.checksum {
		return nil, l.mismatch()
	}
	return data, nil
}

// verify reads the whole file to see that it is what was written.
func (l listed) verify(dir string) error {
	f, err := l.open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := crc32.New(castagnoli)
	if _, err := io.CopyBuffer(struct{ io.Writer }{sum}, struct{ io.Reader }{f}, make([]byte, min(l.size+1, 1<<18))); err != nil {
		return err
	}
	if sum.Sum32() != l.checksum {
		return l.mismatch()
	}
	return nil
}

// open opens the file and verifies its size.
func (l listed) open(dir string) (*os.File, error) {
	f, err := os.Open(filepath.Join(dir, l.name))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && (info.Size() != l.size || !info.Mode().IsRegular()) {
		err = l.mismatch()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// output is a file in the making, with its checksum.
type output struct {
	file   *os.File
	buffer *bufio.Writer
	listed
}

// create starts a new file.
func create(dir, name string) (*output, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	o := &output{file: f, listed: listed{name: name}}
	o.buffer = bufio.NewWriterSize(f, 1<<16)
	return o, nil
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.buffer.Write(p)
	o.add(p[:n])
	return n, err
}

// add counts bytes that were added to the end of the file.
func (l *listed) add(p []byte) {
	l.size += int64(len(p))
	l.checksum = crc32.Update(l.checksum, castagnoli, p)
}

// finish ends and closes the file. err, which it returns, says that it failed
// before.
func (o *output) finish(err error) (listed, error) {
	if err == nil {
		err = o.buffer.Flush()
	}
	if closeErr := o.file.Close(); err == nil {
		err = closeErr
	}
	return o.listed, err
}
