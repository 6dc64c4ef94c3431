package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"longmemory.dev/lm/vault"
)

// Status is what there is under a key.
type Status string

// The statuses. All but Current are mended by Build.
const (
	Missing   Status = "missing"    // no index of any key
	Stale     Status = "stale"      // none of this key, but one of another
	OldFormat Status = "old format" // one that another version of lm wrote
	Damaged   Status = "damaged"    // one whose files are not what was written
	Current   Status = "current"    // one that can be trusted
)

// The names of an index's files beside the manifest. Each postings file is one
// segment, in the order of the manifest; likewise the files with forms.
const (
	catalogName    = "catalog"
	postingsSuffix = ".zap"
	formsSuffix    = ".forms"
)

// Open opens the index of a key. It writes nothing and takes no lock. The index
// is nil unless the status is Current. With Damaged comes an error that says
// what is wrong and wraps ErrDamaged; with every other status none. A key that
// KeyOf cannot have made is an error with the status Missing.
func Open(root string, key Key) (*Index, Status, error) {
	if !key.valid() {
		return nil, Missing, fmt.Errorf("index: %q is no key", key)
	}
	dir := filepath.Join(root, string(key))
	for {
		before, err := os.Lstat(dir)
		if err != nil {
			return nil, absent(root), nil
		}
		x, err := load(dir)
		if err == nil {
			return x, Current, nil
		}
		if errors.Is(err, errFormat) {
			return nil, OldFormat, nil
		}
		if after, statErr := os.Lstat(dir); statErr == nil && os.SameFile(before, after) {
			return nil, Damaged, fmt.Errorf("index: %s: %w: %w", key, ErrDamaged, err)
		}
		// It was removed or replaced while it was read.
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// absent is the status of a key without an index: OldFormat if all others have
// another format.
func absent(root string) Status {
	status := Missing
	for _, e := range folders(root) {
		_, err := readManifest(filepath.Join(root, string(e.Key)))
		if !errors.Is(err, errFormat) {
			return Stale
		}
		status = OldFormat
	}
	return status
}

// load opens the index in dir and verifies every file that answers hang on.
// The rendered forms are verified as they are read; here only their size is.
func load(dir string) (*Index, error) {
	all, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	// The postings are verified beside the catalog, on another processor.
	verified := make(chan error, 1)
	go func() { verified <- verifyPostings(dir, all) }()
	c, err := loadCatalog(dir, all)
	if postingsErr := <-verified; err == nil {
		err = postingsErr
	}
	if err != nil {
		return nil, err
	}
	return assemble(dir, all, c)
}

// assemble makes an index of a catalog and the other files that it speaks of.
func assemble(dir string, all []listed, c *catalog) (x *Index, err error) {
	x = &Index{catalog: *c, dir: dir, listed: all}
	defer func() {
		if err != nil {
			x.Close()
			x = nil
		}
	}()
	for _, file := range all {
		switch filepath.Ext(file.name) {
		case postingsSuffix:
			postings, err := openSegment(filepath.Join(dir, file.name))
			if err != nil {
				return x, err
			}
			x.segments = append(x.segments, segment{postings: postings})
		case formsSuffix:
			forms, err := file.open(dir)
			if err != nil {
				return x, err
			}
			x.cold = append(x.cold, forms)
		}
	}
	if len(x.segments) != len(x.documents) || len(x.cold) != x.files {
		return x, errors.New("there are not as many files as the catalog says")
	}
	return x, x.join(x.segments)
}

func verifyPostings(dir string, all []listed) error {
	for _, file := range all {
		if strings.HasSuffix(file.name, postingsSuffix) {
			if err := file.verify(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func loadCatalog(dir string, all []listed) (*catalog, error) {
	for _, file := range all {
		if file.name != catalogName {
			continue
		}
		data, err := file.read(dir)
		if err != nil {
			return nil, err
		}
		return decodeCatalog(data)
	}
	return nil, errors.New("the manifest lists no catalog")
}

// Facts is what is known of each asset, in the order of ids, then paths. The
// caller must not change it.
func (x *Index) Facts() []vault.Facts { return x.facts }

// Vault is Contents.Vault as it was given. The caller must not change it.
func (x *Index) Vault() []byte { return x.vault }

// Problems is Contents.Problems as it was given. The caller must not change
// it.
func (x *Index) Problems() []vault.Problem { return x.problems }
