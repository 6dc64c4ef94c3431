package agentprotocol

import "cmp"

// SourceRef points at a piece of evidence. It holds no content.
type SourceRef struct {
	// Kind says what Ref names, for example "asset", "receipt", "file" or
	// "url". Kinds are an open set.
	Kind string `json:"kind"`
	// Ref names the evidence within its kind.
	Ref string `json:"ref"`
	// Label is a name for people.
	Label string `json:"label,omitempty"`
	// Span is the place within the evidence, in the terms of its kind, for
	// example "L10-L20".
	Span string `json:"span,omitempty"`
}

// Validate checks kind, then ref, for being present.
func (r SourceRef) Validate() error {
	return cmp.Or(
		required("kind", r.Kind),
		required("ref", r.Ref),
	)
}

// SourceRefList is the evidence for something, the most telling first.
type SourceRefList []SourceRef

// Validate checks each source. A failure names the index: "[2]: …".
func (l SourceRefList) Validate() error {
	return each("", l, SourceRef.Validate)
}

// IsEmpty reports whether the list has no source.
func (l SourceRefList) IsEmpty() bool { return len(l) == 0 }

// Dedupe returns a new list with the first source of each kind and ref, in
// order. A nil list stays nil.
func (l SourceRefList) Dedupe() SourceRefList {
	if l == nil {
		return nil
	}
	type key struct{ kind, ref string }
	seen := make(map[key]bool, len(l))
	unique := make(SourceRefList, 0, len(l))
	for _, r := range l {
		k := key{r.Kind, r.Ref}
		if !seen[k] {
			seen[k] = true
			unique = append(unique, r)
		}
	}
	return unique
}
