package gitstore

import (
	"os"
	"path/filepath"
)

// Hooks lists the commit hooks that a `git commit` here would run and that
// lm's commits do not.
func (r *Repo) Hooks() []string {
	dir := filepath.Join(r.commonDir, "hooks")
	if path, ok, err := r.Config("core.hookspath"); err == nil && ok {
		dir = absolute(r.where(), expandHome(path))
	}
	var hooks []string
	for _, name := range []string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err == nil && info.Mode().IsRegular() && (!fileModes || info.Mode()&0o111 != 0) {
			hooks = append(hooks, name)
		}
	}
	return hooks
}
