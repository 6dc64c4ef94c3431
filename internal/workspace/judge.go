package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// BaseAuto stands for the base that the surroundings name.
const BaseAuto = "auto"

// side is the vault at one end of a change, read by the base's vault.yaml.
type side struct {
	commit  gitstore.Hash
	files   []vault.File // sorted by path
	s       *vault.Snapshot
	signers []byte
	own     *vault.Config // what its vault.yaml says itself; nil: it cannot be read
}

// judge is one change before the base's rules (format.md §5, "Judging a change").
type judge struct {
	v                *Vault
	config           *vault.Config // the base's
	base, fork, head side
	commit           gitstore.Hash // head's, also where the files are read as they lie
	worktree         bool          // they are
	walk, ahead      *receiptWalk  // through the fork's and the head's history, on first need
	problems         []vault.Problem
}

// ValidateChange is Validate for a change: the files as they lie or at a
// revision, held against the tip of base and the commit at which the two
// parted. What cannot be found of the base is ErrUsage, with what to fetch.
func (v *Vault) ValidateChange(r Revision, base string, paths []string) (*Validation, error) {
	out, err := v.Validate(r, nil)
	if err != nil {
		return nil, err
	}
	j := &judge{v: v}
	if err := j.find(r, base); err != nil {
		return nil, err
	}
	judge := j.all
	if j.config == nil {
		judge = j.unruled
	}
	if err := judge(); err != nil {
		return nil, err
	}
	wanted, err := v.wanted(paths)
	if err != nil {
		return nil, err
	}
	for i, p := range out.Problems {
		if own, ok := strings.CutPrefix(p.Path, v.Prefix+"/"); ok || v.Prefix == "" {
			out.Problems[i].Path = cmp.Or(own, p.Path)
		}
	}
	out.Problems = append(out.Problems, j.problems...)
	vault.SortProblems(out.Problems)
	out.Problems = slices.DeleteFunc(slices.Compact(out.Problems), func(p vault.Problem) bool {
		worse := p
		worse.Severity = vault.Error
		return !under(p.Path, wanted) || p.Severity == vault.Warning && slices.Contains(j.problems, worse)
	})
	v.placed(out.Problems)
	return out, nil
}

// find reads the three ends of the change.
func (j *judge) find(r Revision, base string) error {
	v := j.v
	if v.Repo == nil {
		return fmt.Errorf("%w: %s is no Git repository, so it has no base", ErrUsage, v.Dir)
	}
	rev := base
	if base == BaseAuto {
		rev = v.baseOf()
	}
	if rev == "" {
		return fmt.Errorf("%w: nothing here names a base; name one: --base origin/main", ErrUsage)
	}
	var err error
	if j.base.commit, err = v.Repo.Resolve(rev); err != nil {
		return fmt.Errorf("%w: the base %s is not here; %s", ErrUsage, rev, v.bringing(rev))
	}
	head, err := v.resolve(cmp.Or(r.Rev, "HEAD"))
	if err != nil {
		return err
	}
	j.commit, j.worktree = head, r.Worktree || r.Rev == "" && v.Dir != ""
	if j.fork.commit, err = v.parted(head, j.base.commit); err != nil {
		return err
	}
	j.base.files, err = v.filesAt(j.base.commit, vault.Relevant)
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	at := slices.IndexFunc(j.base.files, func(f vault.File) bool { return f.Path == vault.ConfigFile })
	if at < 0 {
		return nil
	}
	config := j.base.files[at]
	if j.config, err = vault.ReadConfig(config); err != nil {
		return fmt.Errorf("the base's vault.yaml cannot be read, and nothing else may judge: %w", err)
	}
	if j.fork.files, err = v.filesAt(j.fork.commit, vault.Relevant); err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return err
	}
	if j.worktree {
		lying, err := v.lying(RefWorktree)
		if err != nil {
			return err
		}
		j.head.files = lying.files
	} else {
		j.head.commit = head
		if j.head.files, err = v.filesAt(head, vault.Relevant); err != nil {
			return err
		}
	}
	for _, s := range []*side{&j.base, &j.fork, &j.head} {
		if err := j.readSide(s, config); err != nil {
			return err
		}
	}
	return nil
}

// parted is where the line of a commit left that of a base.
func (v *Vault) parted(head, base gitstore.Hash) (gitstore.Hash, error) {
	fork, err := v.Repo.MergeBase(head, base)
	if errors.Is(err, gitstore.ErrNotFound) {
		mend := "name the base that this change goes to"
		if shallow, _ := v.Repo.Shallow(); shallow {
			mend = "run: git fetch --unshallow"
		}
		return "", fmt.Errorf("%w: %w; %s", ErrUsage, err, mend)
	}
	return fork, err
}

// readSide reads a side by the base's vault.yaml and allowed signers.
func (j *judge) readSide(s *side, config vault.File) error {
	name := j.config.Policy.AllowedSigners
	files := slices.DeleteFunc(slices.Clone(s.files), func(f vault.File) bool { return f.Path == vault.ConfigFile || f.Path == name })
	for _, f := range s.files {
		if f.Path == vault.ConfigFile {
			s.own, _ = vault.ReadConfig(f)
		}
	}
	for _, f := range j.base.files {
		if f.Path == name {
			files = append(files, f) // whose keys count is the base's to say, too
		}
	}
	var err error
	if s.s, err = vault.Read(append(files, config), j.v.governed(loadLimit(config.Data))); err != nil {
		return err
	}
	if s.own != nil {
		name = s.own.Policy.AllowedSigners // what its policy is about
	}
	if s.commit != "" {
		file, err := j.v.Repo.File(s.commit, j.v.inRepo(name), maxConfig)
		if s.signers = file.Data; err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return err
		}
		return nil
	}
	found, _, err := j.v.workFiles(func(string) int64 { return maxConfig }, only(name))
	if len(found) == 1 {
		s.signers = found[0].Data
	}
	return err
}

// baseOf is the base that a forge's job names, else the remote's default branch.
func (v *Vault) baseOf() string {
	for _, key := range []string{"GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME"} {
		if branch := v.env.Getenv(key); branch != "" {
			return "origin/" + branch
		}
	}
	if commit := v.env.Getenv("CI_MERGE_REQUEST_DIFF_BASE_SHA"); commit != "" {
		return commit
	}
	for _, remote := range v.Repo.Remotes() {
		return strings.TrimPrefix(v.defaultOf(remote), "refs/remotes/")
	}
	return ""
}

// bringing says how a base that is not here may be had.
func (v *Vault) bringing(rev string) string {
	mend := "name a commit that is here; git branch -a lists the branches"
	if shallow, _ := v.Repo.Shallow(); shallow {
		mend = "run: git fetch --unshallow"
	}
	name, remotes := rev, v.Repo.Remotes()
	if i := strings.IndexAny(rev, "~^@"); i >= 0 {
		name = rev[:i]
	}
	if _, err := v.Repo.Resolve(name); err == nil || name == "" || name == "HEAD" || len(remotes) == 0 {
		return mend // it is there, and what was to come before it is not
	}
	tracked := strings.TrimPrefix(name, "refs/remotes/")
	for _, remote := range remotes {
		if branch, ok := strings.CutPrefix(tracked, remote+"/"); ok {
			return "run: " + fetching(remote, branch)
		}
	}
	remote := remotes[0]
	if slices.Contains(remotes, "origin") {
		remote = "origin"
	}
	switch {
	case wholeHash.MatchString(name):
		return fmt.Sprintf("run: git fetch %s %s", vault.Quote(remote), name)
	case someHash.MatchString(name) || tracked != name:
		return mend
	}
	branch := strings.TrimPrefix(name, "refs/heads/")
	return fmt.Sprintf("run: %s, and name it --base %s", fetching(remote, branch), vault.Quote(remote+"/"+branch))
}

var (
	wholeHash = regexp.MustCompile(`^[0-9a-f]{40}$`)
	someHash  = regexp.MustCompile(`^[0-9a-f]{4,39}$`)
)

// fetching is the command that brings a branch of a remote.
func fetching(remote, branch string) string {
	return fmt.Sprintf("git fetch %s %s", vault.Quote(remote), vault.Quote(fmt.Sprintf("+refs/heads/%s:refs/remotes/%s/%[1]s", branch, remote)))
}

func (j *judge) add(severity vault.Severity, p, field, message, mend string) {
	j.problems = append(j.problems, vault.Problem{Severity: severity, Path: p, Line: 1, Column: 1, Field: field, Message: message, Mend: mend})
}

// all looks at the change from every side. What is wrong with head's files by
// the base's limits and people is part of it.
func (j *judge) all() error {
	for _, p := range j.head.s.Problems {
		if p.Severity == vault.Error {
			j.problems = append(j.problems, p)
		}
	}
	if err := j.receipts(); err != nil {
		return err
	}
	if err := j.acts(); err != nil {
		return err
	}
	j.deleted()
	j.assets()
	if err := j.memories(); err != nil {
		return err
	}
	return j.policy()
}

// acts holds the receipts that the change adds against the base's rules. The
// asset as the base has it says who may approve it, not as the change has it.
func (j *judge) acts() error {
	for subject, chain := range j.head.s.Receipts {
		id, isAsset := strings.CutPrefix(subject, "asset/")
		if !isAsset || chain.Check(j.config.Project, subject) != nil {
			continue
		}
		faults := governance.Acts(chain)
		var known []*vault.Facts
		for _, s := range []side{j.base, j.head} {
			if a, ok := s.s.Asset(vault.ID(id)); ok && len(known) == 0 {
				known = append(known, &a.Facts)
			}
		}
		for i, r := range chain {
			p := vault.ReceiptPath(subject, r.Seq)
			if j.fork.object(p) != "" || j.base.object(p) == j.head.object(p) {
				continue
			}
			for _, f := range faults {
				if f.Seq == r.Seq {
					j.add(vault.Error, p, f.Field, f.Message, forgedMend)
				}
			}
			if err := governance.Entitled(j.config, r, known); err != nil {
				j.add(vault.Error, p, "actor", fmt.Sprintf("by the base's vault.yaml, %v", err), othersMend)
			} else if err := j.distinct(vault.ID(id), chain[:i+1]); err != nil {
				return err
			}
		}
	}
	return nil
}

const othersMend = "let somebody govern the asset who may by what the base says"

// distinct holds the approver of a chain's last receipt, which the change adds,
// against those who wrote the version by the history.
func (j *judge) distinct(id vault.ID, chain vault.Chain) error {
	r := chain.Last()
	if !j.config.Policy.DistinctApprover || r.To != vault.StatusApproved {
		return nil
	}
	if j.ahead == nil {
		var err error
		if j.ahead, err = j.v.receiptsUpTo(j.commit); err != nil {
			return err
		}
	}
	p, upTo := vault.ReceiptPath(r.Subject, r.Seq), j.commit // for one that is not committed yet
	added := gitstore.Changed{Path: strings.TrimPrefix(p, "receipts/"), After: gitstore.Hash(j.head.object(p))}
	if from, ok := j.ahead.first[added]; ok {
		upTo = from.before
	}
	if upTo == "" {
		return nil // it came with the first commit
	}
	wrote, complete, err := j.v.wrote(id, chain, j.config, upTo)
	switch {
	case err != nil:
		return err
	case wrote:
		j.add(vault.Error, p, "authors", fmt.Sprintf("by the history, %s wrote this version, and the base asks for an approver who is no author", r.Actor), othersMend)
	case !complete:
		j.add(vault.Error, p, "authors", "this clone is shallow and does not show who wrote this version", "run: git fetch --unshallow")
	}
	return nil
}
