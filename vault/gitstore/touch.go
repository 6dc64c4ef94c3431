package gitstore

import (
	"fmt"
	"slices"
)

// touch works out what becomes of one file.
func (w *writer) touch(root Hash, file string, data []byte) (touched, error) {
	t := touched{path: file}
	old, err := w.r.entryAt(root, file)
	if err != nil {
		return t, err
	}
	switch {
	case old.mode == modeTree:
		old = entry{} // whether the folder goes away shows when the tree is built
	case old.mode != "" && !readable(old.mode.kind()):
		return t, fmt.Errorf("%w: %s is a symlink or a submodule, which lm does not touch", ErrConflict, file)
	}
	if t.old = (entry{mode: old.mode, id: old.id}); data == nil {
		if old.mode == "" {
			return t, fmt.Errorf("there is no file %s to remove in %s: %w", file, w.r.where(), ErrNotFound)
		}
		return t, nil
	}
	ends, err := w.lineEnds(file)
	if err != nil {
		return t, err
	}
	t.data = ends.stored(data, func() (committed []byte) {
		if old.mode != "" {
			committed, err = w.r.Blob(old.id)
		}
		return committed
	})
	if t.new = (entry{mode: old.mode, id: BlobID(t.data)}); old.mode == "" {
		if t.new.mode = modeFile; slices.Contains(w.c.Executable, file) {
			t.new.mode = modeExecutable
		}
	}
	return t, err
}

// lineEnds reads the attributes of a touched file as they will be, and refuses
// those that stand for a program or a conversion that lm does not have.
func (w *writer) lineEnds(file string) (lineEnds, error) {
	if !w.tracked() {
		return lineEnds{}, nil
	}
	attributes, err := w.rules.attributesFor(w.r.root, file, w.c.Files)
	if err != nil {
		return lineEnds{}, err
	}
	what := ""
	if driver := attributes["filter"]; driver != attrUnspecified && driver != attrUnset {
		for _, part := range []string{"clean", "smudge", "process"} {
			if _, ok, err := w.r.Config("filter." + driver + "." + part); err != nil || ok {
				what = "the filter " + driver
			}
		}
	}
	if v := attributes["working-tree-encoding"]; v != attrUnspecified && v != attrUnset {
		what = "working-tree-encoding"
	}
	if attributes["ident"] == attrSet {
		what = "ident"
	}
	if what != "" {
		return lineEnds{}, fmt.Errorf("%w: the Git attributes of %s ask for %s, which lm does not apply; take it off that path in .gitattributes", ErrUnsupported, file, what)
	}
	return w.rules.lines.of(attributes), nil
}
