package gitstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Config looks a key up as `git config --get` does: system, global, local and
// the work tree's own configuration, the last value wins. Section and variable
// are compared without case, a subsection with it ("remote.Origin.url").
// GIT_CONFIG_NOSYSTEM, GIT_CONFIG_SYSTEM and GIT_CONFIG_GLOBAL are honoured.
//
// Where a file has an include section, the environment carries configuration
// (git -c, GIT_CONFIG_COUNT), or a system or global file is written in a way
// that go-git's parser refuses, the git program is asked; without it includes
// and the environment are left out.
// The zero Repo, which is nowhere, answers from system and global configuration.
func (r *Repo) Config(key string) (value string, ok bool, err error) {
	r.configOnce.Do(func() { r.configured, r.configErr = r.readConfig() })
	if r.configErr != nil {
		return "", false, r.configErr
	}
	value, ok = r.configured.get(key)
	return value, ok, nil
}

// Person is who Git says works here: user.name and user.email, else
// GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL, else EMAIL. What nothing says is "".
func (r *Repo) Person() (name, email string, err error) {
	if name, _, err = r.Config("user.name"); err != nil {
		return "", "", err
	}
	if email, _, err = r.Config("user.email"); err != nil {
		return "", "", err
	}
	first := func(values ...string) string {
		for _, v := range values {
			if v = strings.TrimSpace(v); v != "" {
				return v
			}
		}
		return ""
	}
	return first(name, os.Getenv("GIT_AUTHOR_NAME")), first(email, os.Getenv("GIT_AUTHOR_EMAIL"), os.Getenv("EMAIL")), nil
}

// configBool is Config for a key that is true or false.
func (r *Repo) configBool(key string, otherwise bool) (bool, error) {
	value, ok, err := r.Config(key)
	if err != nil || !ok {
		return otherwise, err
	}
	return parseBool(value, otherwise), nil
}

// configStack is every configuration file that counts, the weakest first, or
// git's own answer.
type configStack struct {
	files []*configFile
	asked map[string]string // normalised key → value, where git was asked
}

func (s *configStack) get(key string) (string, bool) {
	if s.asked != nil {
		value, ok := s.asked[normalKey(key)]
		return value, ok
	}
	for i := len(s.files) - 1; i >= 0; i-- {
		if value, ok := s.files[i].get(key); ok {
			return value, true
		}
	}
	return "", false
}

func (r *Repo) readConfig() (*configStack, error) {
	stack := new(configStack)
	ask := r.local.includes() || os.Getenv("GIT_CONFIG_COUNT") != "" || os.Getenv("GIT_CONFIG_PARAMETERS") != ""
	var failed error
	for _, path := range sharedConfigFiles() {
		f, err := readConfigFile(path)
		if errors.Is(err, fs.ErrPermission) {
			continue // as git does for a configuration of somebody else
		}
		if err != nil {
			failed = err
			continue
		}
		ask = ask || f.includes()
		stack.files = append(stack.files, f)
	}
	stack.files = append(stack.files, r.local)
	if !ask && failed == nil {
		return stack, nil
	}
	out, err := r.git(context.Background(), nil, nil, "config", "--list", "-z")
	switch {
	case errors.Is(err, exec.ErrNotFound) && failed == nil:
		return stack, nil
	case err != nil && failed != nil:
		return nil, failed
	case err != nil:
		return nil, err
	}
	stack.asked = make(map[string]string)
	for item := range strings.SplitSeq(string(out), "\x00") {
		if key, value, _ := strings.Cut(item, "\n"); value != r.noHooks() { // what this call itself was given
			stack.asked[key] = value
		}
	}
	return stack, nil
}

// sharedConfigFiles is where system and global configuration lies, the weakest
// first.
func sharedConfigFiles() []string {
	var files []string
	if no := os.Getenv("GIT_CONFIG_NOSYSTEM"); no == "" || !parseBool(no, false) {
		system := os.Getenv("GIT_CONFIG_SYSTEM")
		if system == "" && runtime.GOOS == "windows" {
			system = filepath.Join(os.Getenv("ProgramFiles"), "Git", "etc", "gitconfig")
		} else if system == "" {
			system = "/etc/gitconfig"
		}
		files = append(files, system)
	}
	if global, ok := os.LookupEnv("GIT_CONFIG_GLOBAL"); ok {
		return append(files, global)
	}
	if dir := userConfigDir(); dir != "" {
		files = append(files, filepath.Join(dir, "config"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		files = append(files, filepath.Join(home, ".gitconfig"))
	}
	return files
}

// userConfigDir is Git's folder for a person's configuration, ignore and
// attributes files; "" if the environment names none.
func userConfigDir() string {
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "git")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".config", "git")
	}
	return ""
}

// expandHome resolves the leading ~/ that Git allows in paths.
func expandHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return filepath.Join(home, filepath.FromSlash(rest))
}
