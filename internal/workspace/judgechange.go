package workspace

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// object is the blob of a file; "" if there is none.
func (s *side) object(p string) string {
	i, found := slices.BinarySearchFunc(s.files, p, func(f vault.File, p string) int { return strings.Compare(f.Path, p) })
	if !found {
		return ""
	}
	return s.files[i].Object
}

// below are the files of an asset, with their blobs, by path below it.
func (s *side) below(at string) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.object(at))
	i, _ := slices.BinarySearchFunc(s.files, at+"/", func(f vault.File, p string) int { return strings.Compare(f.Path, p) })
	for ; i < len(s.files) && strings.HasPrefix(s.files[i].Path, at+"/"); i++ {
		fmt.Fprintln(&b, strings.TrimPrefix(s.files[i].Path, at), s.files[i].Object, s.files[i].Kind)
	}
	return b.String()
}

// all are the files of an asset and its receipts, with their blobs, wherever it
// lies.
func (s *side) all(id vault.ID) string {
	out := s.below("receipts/asset/" + string(id))
	for _, place := range vault.Places(s.files, id) {
		out += s.below(place)
	}
	return out
}

// receipts: none that was there may be another or gone, and none may take the
// place of one that the base has got since. One that was another, or had given
// way in a merge, and is back as it was first is mended, not edited.
func (j *judge) receipts() error {
	for _, f := range j.fork.files {
		now := j.head.object(f.Path)
		if !strings.HasPrefix(f.Path, "receipts/") || now == f.Object {
			continue
		}
		if j.walk == nil {
			var err error
			if j.walk, err = j.v.receiptsUpTo(j.fork.commit); err != nil {
				return err
			}
		}
		if file := strings.TrimPrefix(f.Path, "receipts/"); j.walk.stands(file, gitstore.Hash(now)) && !j.walk.stands(file, gitstore.Hash(f.Object)) {
			continue
		}
		what := "edits"
		if now == "" {
			what = "removes"
		}
		j.add(vault.Error, f.Path, "", "this change "+what+" this receipt", fmt.Sprintf("receipts are never edited: git checkout %.12s -- %s", j.fork.commit, j.v.inGit(f.Path)))
	}
	for _, f := range j.base.files {
		now := j.head.object(f.Path)
		if strings.HasPrefix(f.Path, "receipts/") && j.fork.object(f.Path) == "" && now != "" && now != f.Object {
			j.add(vault.Error, f.Path, "", "the base has another receipt in this place by now", "merge the base, take its receipt, and govern the asset again")
		}
	}
	return nil
}

// anyDepth is deeper than any vault lies.
const anyDepth = 1 << 10

// unruled: the base has no vault here. Where it has none at all, this one is the
// first. One that was moved, or that lies in the way of another, would be judged
// by its own rules alone; only one that the call names may lie beside another.
func (j *judge) unruled() error {
	places, err := j.v.Repo.TrackedVaults(j.base.commit, anyDepth)
	if err != nil {
		return err
	}
	for _, place := range places {
		file := path.Join(place, vault.ConfigFile)
		config, err := j.v.Repo.File(j.base.commit, file, maxConfig)
		if err != nil {
			return err
		}
		if config.Data != nil && !bytes.Contains(config.Data, []byte("lm.vault/")) {
			continue // of something else
		}
		stays, err := j.keeps(file)
		switch {
		case err != nil:
			return err
		case !stays:
			j.add(vault.Error, vault.ConfigFile, "", fmt.Sprintf("the base has a vault in %s and none here, and this change takes that one away, so only its own rules would judge it", folderName(place)),
				"leave the vault where it is, or move it in a change of its own that somebody who may approve reads and merges over this error")
		case !j.v.named:
			j.add(vault.Error, vault.ConfigFile, "", fmt.Sprintf("the base has a vault in %s and none here, so this one would be read in its place, and only its own rules would judge it", folderName(place)),
				"take this vault.yaml away; or if both are meant to be there, say with --vault which of them is to be judged")
		}
	}
	if len(j.problems) == 0 {
		j.add(vault.Warning, vault.ConfigFile, "", "the base has no vault here, so no rule says who may approve; this change is judged by its own files alone", "let somebody whom you trust read all of it")
	}
	return nil
}

// keeps says whether head has a file, relative to the repository's root.
func (j *judge) keeps(file string) (bool, error) {
	if j.worktree {
		_, err := os.Lstat(filepath.Join(j.v.Repo.Root(), filepath.FromSlash(file)))
		return err == nil, nil
	}
	return j.v.Repo.Exists(j.commit, file)
}

// deleted: an asset that has receipts is archived before it goes.
func (j *judge) deleted() {
	for _, f := range j.fork.s.Facts() {
		if len(vault.Places(j.head.files, f.ID)) > 0 {
			continue
		}
		chain := j.head.s.Chain(f.ID)
		if last := chain.Last(); last == nil && len(j.fork.s.Chain(f.ID)) == 0 || last != nil && last.To == vault.StatusArchived {
			continue
		}
		j.add(vault.Error, f.Path, "", "this change deletes the asset, and its receipts do not say that it was archived",
			fmt.Sprintf("bring it back (git checkout %.12s -- %s), commit that, and archive it before you delete it: %s", j.fork.commit, j.v.inGit(f.Path), j.config.GovernCommand(f.ID, vault.StatusArchived)))
	}
}

// assets: one that the change touches has a receipt for its state, unless it is
// draft or candidate, and versions go on from the base's.
func (j *judge) assets() {
	for _, a := range j.head.s.Assets {
		before, was := j.fork.s.Asset(a.ID)
		subject := "asset/" + string(a.ID)
		receipts := "receipts/" + subject
		if was && j.fork.below(before.Path) == j.head.below(a.Path) && j.fork.below(receipts) == j.head.below(receipts) {
			continue
		}
		if !a.Receipted && a.Status != vault.StatusDraft && a.Status != vault.StatusCandidate {
			for _, p := range j.head.s.Problems {
				if p.Path == a.KeyFile() && p.Field == "status" && p.Severity == vault.Warning {
					p.Severity = vault.Error
					j.problems = append(j.problems, p)
				}
			}
		}
		j.version(a)
	}
}

// version: what a receipt governed has its version, and what waits may keep the
// last one's, or the base's where there is none, or be one more. That of a new asset
// is what its file says, as the first receipt takes that over; what a broken chain
// says counts for nothing.
func (j *judge) version(a *vault.Asset) {
	chain := j.head.s.Chain(a.ID)
	if len(chain) == 0 {
		chain = j.base.s.Chain(a.ID) // governed there since
	}
	last, source := chain.Last(), "what its receipts say"
	if chain.Check(j.config.Project, "asset/"+string(a.ID)) != nil {
		return
	}
	var digest vault.Digest
	var least int
	if base, known := j.base.s.Asset(a.ID); last != nil {
		digest, least = last.Digest, last.Version
	} else if known {
		digest, least, source = base.Digest, base.StatedVersion, "what the base says"
	} else {
		return
	}
	most := least
	if digest != a.Digest {
		most++
	}
	line, column := a.Place("version")
	if a.StatedVersion < least || a.StatedVersion > most {
		want := fmt.Sprint(least)
		if most > least {
			want = fmt.Sprintf("%d or %d", least, most)
		}
		j.problems = append(j.problems, vault.Problem{Severity: vault.Error, Path: a.KeyFile(), Line: max(line, 1), Column: max(column, 1), Field: "version",
			Message: fmt.Sprintf("it says version %d, and %s makes it %s", a.StatedVersion, source, want), Mend: "write that, or leave it to lm asset govern"})
	}
}

// policy: whoever changes who may do what needs a receipt of somebody who may
// by what the base says.
func (j *judge) policy() error {
	now, before := digestOf(j.head.own, j.head.signers), digestOf(j.fork.own, j.fork.signers)
	if now == before || now == digestOf(j.base.own, j.base.signers) {
		return nil
	}
	mend := "let an approver of the base run: lm policy approve --reason \"…\""
	chain := j.head.s.Receipts[PolicySubject]
	last := chain.Last()
	if last == nil || last.Digest != now {
		j.add(vault.Error, vault.ConfigFile, "", "this change is one of project, policy, people, teams or allowed signers, and no receipt of "+PolicySubject+" says that it was approved", mend)
		return nil
	}
	p := vault.ReceiptPath(PolicySubject, last.Seq)
	if err := chain.Check(j.config.Project, PolicySubject); err != nil {
		j.problems = append(j.problems, vault.Problems(err)...)
		return nil
	}
	if err := j.head.s.Unsigned(last); err != nil {
		j.problems = append(j.problems, vault.Problems(err)...)
		return nil
	}
	var emails []string
	for _, file := range []string{vault.ConfigFile, j.head.own.Policy.AllowedSigners} {
		wrote, err := j.v.Repo.AuthorsSince(j.base.commit, j.commit, j.v.inRepo(file))
		if err != nil {
			return err
		}
		emails = append(emails, wrote...)
	}
	authors := append(people(j.config, emails), last.Authors...)
	if err := governance.MaySetPolicy(j.config, last.Actor, authors, last.Reason); err != nil {
		j.add(vault.Error, p, "actor", fmt.Sprintf("by the base's vault.yaml, %v", err), mend)
	}
	return nil
}

// PolicySubject is the subject of receipts on vault.yaml and allowed_signers.
const PolicySubject = "vault/policy"

// digestOf is the digest of who may do what: what a receipt of PolicySubject
// names.
func digestOf(config *vault.Config, signers []byte) vault.Digest {
	if config == nil {
		return ""
	}
	return vault.CanonicalDigest(map[string]any{
		"project": config.Project, "people": config.People, "teams": config.Teams, "policy": config.Policy, "allowed_signers": string(signers),
	})
}
