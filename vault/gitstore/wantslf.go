package gitstore

// WantsLF answers, for files of the work tree, whether their attributes ask for
// LF line ends, whatever the configuration of this machine says: text with
// eol=lf, as lm writes it into .gitattributes for assets.
func (r *Repo) WantsLF() (func(file string) (bool, error), error) {
	rules, err := r.workRules()
	if err != nil {
		return nil, err
	}
	return func(file string) (bool, error) {
		attributes, err := rules.attributesFor(r.root, file, nil)
		if err != nil {
			return false, err
		}
		return attributes["eol"] == "lf" && attributes["text"] != attrUnset || attributes["text"] == "input", nil
	}, nil
}
