package index

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxFiles is how many segments, and how many files with forms, an index may
// have. Each costs a little at every opening and search.
const maxFiles = 8

// nearest is an index that most documents can be taken from, with Base set in
// these; nil if there is none.
func nearest(root string, key Key, documents []Document) *Index {
	entries := folders(root)
	for _, e := range entries[:min(len(entries), 2)] {
		if e.Key == key {
			continue
		}
		x, status, _ := Open(root, e.Key)
		if status != Current {
			continue
		}
		if x.match(documents) {
			return x
		}
		x.Close()
	}
	return nil
}

// match sets Base in the documents that are the same in x, if these are four in
// five of its own, and of documents.
func (x *Index) match(documents []Document) bool {
	if 5*len(x.facts) < 4*len(documents) || 5*len(documents) < 4*len(x.facts) {
		return false
	}
	places := make(map[identity]int, len(x.facts))
	for i := range x.facts {
		same := x.same.at(i)
		// An approved one is better, as its text is indexed.
		if _, ok := places[same]; !ok || x.texts[i].segment >= 0 {
			places[same] = i
		}
	}
	bases := make([]int, len(documents))
	taken := make([]bool, len(x.facts))
	same := 0
	for i := range documents {
		place, ok := places[documents[i].identify()]
		if ok && !taken[place] && (x.texts[place].segment >= 0 || documents[i].Facts.Standing() == nil) {
			taken[place] = true
			bases[i] = place + 1
			same++
		}
	}
	if 5*same < 4*len(documents) {
		return false
	}
	for i := range documents {
		documents[i].Base = bases[i]
	}
	return true
}

// reuse takes over what documents share with the base.
func (b *builder) reuse(documents []Document) error {
	base := b.base
	taken := make([]bool, len(base.facts))
	for i := range documents {
		d := &documents[i]
		if d.Base == 0 {
			continue
		}
		place := d.Base - 1
		if place < 0 || place >= len(base.facts) || taken[place] {
			return fmt.Errorf("the base of %s is none, or another's too", d.Facts.ID)
		}
		taken[place] = true
		b.forms[i] = base.forms[place]
		b.same.set(i, base.same.at(place))
		if d.Facts.Standing() == nil {
			continue
		}
		if b.texts[i] = base.texts[place]; b.texts[i] == unplaced {
			return fmt.Errorf("%s is approved, but its base was not", d.Facts.ID)
		}
	}
	b.documents, b.files = slices.Clone(base.documents), base.files
	for _, file := range base.listed {
		switch filepath.Ext(file.name) {
		case postingsSuffix:
			b.postings = append(b.postings, file)
		case formsSuffix:
			b.rendered = append(b.rendered, file)
		default:
			continue
		}
		number, err := strconv.Atoi(strings.TrimSuffix(file.name, filepath.Ext(file.name)))
		if err != nil {
			return fmt.Errorf("the file %s of the base is none of lm's", file.name)
		}
		b.next = max(b.next, number+1)
	}
	b.segments = make([]segment, len(base.segments))
	for i := range b.segments {
		b.segments[i].postings = base.segments[i].postings
	}
	return b.assign(b.segments)
}

// compact links the files of the base that are still of use, and writes those
// anew in one which would become too many or have become mostly waste.
func (b *builder) compact() error {
	if err := b.compactPostings(); err != nil {
		return err
	}
	return b.compactForms()
}

// weighed is a file with how much of it is of use, and how much is not.
type weighed struct {
	place       int // among its kind
	live, waste int64
}

// choose decides about files: those to keep, those to write anew in one. The
// others hold nothing of use. Of too many all but the greatest are written
// anew, so that a small change stays cheap.
func choose(files []weighed) (keep, rewrite []weighed) {
	var live, waste int64
	for _, f := range files {
		live += f.live
		waste += f.waste
		if f.live > 0 {
			keep = append(keep, f)
		}
	}
	if waste > live {
		return nil, keep
	}
	if len(keep) < maxFiles {
		return keep, nil
	}
	slices.SortStableFunc(keep, func(a, b weighed) int { return cmp.Compare(b.live, a.live) })
	return keep[:1], keep[1:]
}

func (b *builder) compactPostings() error {
	files := make([]weighed, len(b.segments))
	for i := range b.segments {
		live := int64(b.segments[i].live)
		files[i] = weighed{i, live, int64(b.documents[i]) - live}
	}
	keep, rewrite := choose(files)
	documents, postings := b.documents, b.postings
	b.documents, b.postings = nil, nil
	moved := make([]int32, len(files))
	for _, f := range keep {
		moved[f.place] = int32(len(b.postings))
		b.documents = append(b.documents, documents[f.place])
		b.postings = append(b.postings, postings[f.place])
		if err := b.link(postings[f.place]); err != nil {
			return err
		}
	}
	numbers := make([][]uint64, len(files))
	if len(rewrite) > 0 {
		var parts []segment
		live := int64(0)
		for _, f := range rewrite {
			moved[f.place] = int32(len(b.postings))
			parts = append(parts, b.segments[f.place])
			live += f.live
		}
		name := b.name(postingsSuffix)
		renumbered, err := merge(parts, filepath.Join(b.dir, name))
		if err != nil {
			return err
		}
		for i, f := range rewrite {
			numbers[f.place] = renumbered[i]
		}
		file, err := list(b.dir, name)
		if err != nil {
			return err
		}
		b.documents = append(b.documents, int(live))
		b.postings = append(b.postings, file)
	}
	for i := range b.texts {
		p := &b.texts[i]
		if p.segment < 0 {
			continue
		}
		if n := numbers[p.segment]; n != nil {
			p.document = int32(n[p.document])
		}
		p.segment = moved[p.segment]
	}
	return nil
}

func (b *builder) compactForms() error {
	files := make([]weighed, b.files)
	for i := range files {
		files[i] = weighed{place: i, waste: b.rendered[i].size}
	}
	for i := range b.forms {
		if p := &b.forms[i]; p.end() > p.offset {
			files[p.file].live += p.end() - p.offset
			files[p.file].waste -= p.end() - p.offset
		}
	}
	keep, rewrite := choose(files)
	rendered := b.rendered
	b.files, b.rendered = 0, nil
	moved := make([]int32, len(files))
	again := make([]bool, len(files))
	for _, f := range keep {
		moved[f.place] = int32(b.files)
		b.rendered = append(b.rendered, rendered[f.place])
		b.files++
		if err := b.link(rendered[f.place]); err != nil {
			return err
		}
	}
	var file listed
	var err error
	if len(rewrite) > 0 {
		for _, f := range rewrite {
			moved[f.place], again[f.place] = int32(b.files), true
		}
		file, err = b.write(b.name(formsSuffix), func(o *output) error { return b.copyForms(o, again) })
		if err != nil {
			return err
		}
		b.rendered = append(b.rendered, file)
		b.files++
	}
	for i := range b.forms {
		if p := &b.forms[i]; p.end() > p.offset {
			p.file = moved[p.file]
		} else {
			p.file, p.offset = 0, 0
		}
	}
	return nil
}

// copyForms copies the forms of the base that lie in some of its files.
func (b *builder) copyForms(o *output, files []bool) error {
	for i := range b.forms {
		p := &b.forms[i]
		size := p.end() - p.offset
		if size == 0 || !files[p.file] {
			continue
		}
		offset := o.size
		if _, err := io.Copy(o, io.NewSectionReader(b.base.cold[p.file], p.offset, size)); err != nil {
			return err
		}
		p.offset = offset
	}
	return nil
}

// link brings a file of the base into the new index, by its contents where
// that cannot be done by name.
func (b *builder) link(file listed) error {
	from := filepath.Join(b.base.dir, file.name)
	if os.Link(from, filepath.Join(b.dir, file.name)) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = b.write(file.name, func(o *output) error {
		_, err := io.Copy(o, in)
		return err
	})
	return err
}

// list reads a file that was written by others for a manifest.
func list(dir, name string) (listed, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return listed{}, err
	}
	defer f.Close()
	file := listed{name: name}
	buffer := make([]byte, 1<<16)
	for {
		n, err := f.Read(buffer)
		file.add(buffer[:n])
		if errors.Is(err, io.EOF) {
			return file, nil
		}
		if err != nil {
			return listed{}, err
		}
	}
}
