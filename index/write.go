package index

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// builder writes the files of one index.
type builder struct {
	catalog
	dir      string
	base     *Index // nil: none
	next     int    // the number of the next file
	postings []listed
	rendered []listed
	segments []segment // of the base, as long as they are part of this index
}

// write writes an index of sorted contents into dir, and opens it. What it wrote it
// does not read again: whoever opens an index verifies it.
func write(ctx context.Context, dir string, base *Index, c Contents, progress func(done, total int)) (*Index, error) {
	b := builder{catalog: newCatalog(c), dir: dir, base: base}
	if base != nil {
		if err := b.reuse(c.Documents); err != nil {
			return nil, err
		}
		if err := b.compact(); err != nil {
			return nil, err
		}
	}
	if err := b.writeForms(ctx, c.Documents); err != nil {
		return nil, err
	}
	if err := b.writePostings(ctx, c.Documents, progress); err != nil {
		return nil, err
	}
	catalog, err := b.write(catalogName, func(o *output) error {
		head, rows := b.encode()
		_, err := o.Write(head)
		if err == nil {
			_, err = o.Write(rows)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	all := slices.Concat([]listed{catalog}, b.postings, b.rendered)
	if _, err := b.write(manifestName, func(o *output) error {
		_, err := o.Write(encodeManifest(all))
		return err
	}); err != nil {
		return nil, err
	}
	return assemble(dir, all, &b.catalog)
}

// write writes one file.
func (b *builder) write(name string, fill func(*output) error) (listed, error) {
	o, err := create(b.dir, name)
	if err != nil {
		return listed{}, err
	}
	return o.finish(fill(o))
}

// name is a name for a new file.
func (b *builder) name(suffix string) string {
	name := strconv.Itoa(b.next) + suffix
	b.next++
	return name
}

// writeForms writes the forms of the documents that share none with the base.
func (b *builder) writeForms(ctx context.Context, documents []Document) error {
	file, err := b.write(b.name(formsSuffix), func(o *output) error {
		for i := range documents {
			if documents[i].Base > 0 {
				continue
			}
			b.same.set(i, documents[i].identify())
			place, any := &b.forms[i], false
			place.measure(documents[i].Forms)
			for m, form := range documents[i].Forms {
				if len(form.Text) > math.MaxInt32-checksumSize || form.Tokens < 0 || form.Tokens > math.MaxInt32 {
					return fmt.Errorf("a form of %s is out of bounds", documents[i].Facts.ID)
				}
				if place.sizes[m] < 0 {
					continue
				}
				if !any {
					place.file, place.offset, any = int32(b.files), o.size, true
				}
				text := bytesOf(form.Text)
				if _, err := o.Write(text); err != nil {
					return err
				}
				if _, err := o.Write(checksum(text)); err != nil {
					return err
				}
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if file.size == 0 {
		return os.Remove(filepath.Join(b.dir, file.name))
	}
	b.rendered = append(b.rendered, file)
	b.files++
	return nil
}

// writePostings analyses and writes the texts that share none with the base.
func (b *builder) writePostings(ctx context.Context, documents []Document, progress func(done, total int)) error {
	total, done := 0, 0
	for i := range documents {
		if b.facts[i].Standing() != nil && b.texts[i].segment < 0 {
			total++
		}
	}
	report := func(more int) {
		done += more
		if progress != nil {
			progress(done, total)
		}
	}
	return b.index(ctx, documents, report, func(made unwritten) error {
		file, err := b.write(b.name(postingsSuffix), func(o *output) error {
			_, err := made.WriteTo(o)
			return err
		})
		b.postings = append(b.postings, file)
		return err
	})
}
