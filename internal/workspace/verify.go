package workspace

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// Verification is what is wrong with a vault's receipts, all of them, and what
// could not be looked at. Paths are relative to the repository's root.
type Verification struct {
	Snapshot Snapshot        `json:"snapshot"`
	Problems []vault.Problem `json:"problems"`
	Receipts int             `json:"receipts"`
	Chains   int             `json:"chains"`
	Signed   int             `json:"signed"` // receipts with a signature that counts
	// Complete is false if something that receipts claim could not be held
	// against anything; Unseen says what.
	Complete bool     `json:"complete"`
	Unseen   []string `json:"unseen"`
	// Blind is set if what could not be seen is history, which may hide what no
	// file shows. Bytes that a squash left behind were superseded and hide nothing.
	Blind bool `json:"-"`
}

// Errors counts the problems that are errors.
func (r *Verification) Errors() int { return (&Validation{Problems: r.Problems}).Errors() }

// verifier is one verification.
type verifier struct {
	v       *Vault
	at      loaded
	s       *vault.Snapshot
	wide    *vault.Config // with limits that no version ever met
	files   map[string]vault.File
	origins map[string]origin // of receipts, by path
	configs map[gitstore.Hash]*vault.Config
	out     *Verification
	lost    []string // receipts whose bytes are not here
	unknown []string // receipts of whose time no vault.yaml is here
}

// Verify checks every receipt at a revision ("": HEAD; without Git the files as
// they lie): that each chain holds, that its acts were possible and its actors
// entitled to them, that the bytes it names have its digest, and that no commit
// has changed or removed a receipt; at HEAD also what lies on the memory branch.
func (v *Vault) Verify(r Revision) (*Verification, error) {
	at, err := v.revision(r)
	if err != nil {
		return nil, err
	}
	s, err := v.read(&at)
	if err != nil {
		return nil, err
	}
	wide := *s.Config
	wide.Policy.Limits = vault.Limits{AssetBytes: widest, FolderBytes: widest, FolderFiles: 1 << 20}
	c := &verifier{v: v, at: at, s: s, wide: &wide, files: map[string]vault.File{}, origins: map[string]origin{}, configs: map[gitstore.Hash]*vault.Config{},
		out: &Verification{Snapshot: at.Snapshot, Problems: []vault.Problem{}, Unseen: []string{}, Chains: len(s.Receipts)}}
	for _, f := range at.files {
		if strings.HasPrefix(f.Path, "receipts/") {
			c.files[f.Path] = f
		}
	}
	if at.Commit == "" {
		c.unseen("the history: these are files without a commit, so no receipt can be held against what it was, what it names, or who was listed then; run lm verify in a clone of the vault's repository")
		c.out.Blind = true
	} else if err := c.history(); err != nil {
		return nil, err
	}
	for _, p := range s.Problems {
		if strings.HasPrefix(p.Path, "receipts/") || strings.HasPrefix(p.Message, "unreceipted") {
			c.out.Problems = append(c.out.Problems, p)
		}
	}
	for subject, chain := range s.Receipts {
		c.out.Receipts += len(chain)
		if err := c.chain(subject, chain); err != nil {
			return nil, err
		}
	}
	if err := c.memories(); err != nil {
		return nil, err
	}
	if r == (Revision{}) && at.Commit != "" {
		if err := c.branch(); err != nil {
			return nil, err
		}
	}
	c.missing(c.lost, "name bytes that are not in this clone, so their digests say nothing ("+cmp.Or(v.lacks(), "a squash leaves such behind")+")")
	c.missing(c.unknown, "were written when nobody here knows whom vault.yaml listed ("+cmp.Or(v.lacks(), "it could not be read then")+")")
	c.out.Blind = c.out.Blind || len(c.unknown) > 0
	vault.SortProblems(c.out.Problems)
	c.out.Problems = v.placed(slices.Compact(c.out.Problems))
	c.out.Complete = len(c.out.Unseen) == 0
	return c.out, nil
}

// widest is the size in bytes above which a governed version is not read.
const widest = 256 << 20

func (c *verifier) unseen(format string, args ...any) {
	c.out.Unseen = append(c.out.Unseen, fmt.Sprintf(format, args...))
}

// lacks says why this clone lacks what there is elsewhere, and what brings it; ""
// if it lacks nothing of that kind.
func (v *Vault) lacks() string {
	if v.Repo == nil {
		return ""
	}
	if shallow, _ := v.Repo.Shallow(); shallow {
		return "this clone is shallow; run: git fetch --unshallow"
	}
	if fetch := v.Repo.FetchAll(); fetch != "" {
		return "it is a partial clone, and lm does not fetch; run: " + fetch
	}
	return ""
}

// missing tells of receipts of which something could not be seen.
func (c *verifier) missing(receipts []string, what string) {
	if len(receipts) == 0 {
		return
	}
	slices.Sort(receipts)
	named, more := receipts, ""
	if len(named) > 5 {
		named, more = named[:5], " …"
	}
	c.unseen("%d of the receipts %s: %s%s", len(receipts), what, strings.Join(named, " "), more)
}

// fault records a problem of a receipt at one of its keys.
func (c *verifier) fault(p, field, message, mend string) {
	line := 1
	if field != "" {
		if before, _, ok := bytes.Cut(append([]byte("\n"), c.files[p].Data...), []byte("\n"+field+":")); ok {
			line = bytes.Count(before, []byte("\n")) + 1
		}
	}
	c.out.Problems = append(c.out.Problems, vault.Problem{Severity: vault.Error, Path: p, Line: line, Column: 1, Field: field, Message: message, Mend: mend})
}

const forgedMend = "lm writes no such receipt: look at who committed it (git log -- :/<file>), restore what was there before, and govern the asset again"

// chain checks the receipts of one subject.
func (c *verifier) chain(subject string, chain vault.Chain) error {
	if err := chain.Check(c.s.Config.Project, subject); err != nil {
		c.out.Problems = append(c.out.Problems, vault.Problems(err)...)
		return nil
	}
	c.signatures(chain)
	id, isAsset := strings.CutPrefix(subject, "asset/")
	if !isAsset {
		return nil
	}
	for _, f := range governance.Acts(chain) {
		c.fault(vault.ReceiptPath(subject, f.Seq), f.Field, f.Message, forgedMend)
	}
	if last := chain.Last(); last.To != vault.StatusArchived && len(vault.Places(c.at.files, vault.ID(id))) == 0 {
		c.fault(vault.ReceiptPath(subject, last.Seq), "to", fmt.Sprintf("the asset is gone, and its last receipt says %s", last.To),
			"bring the asset back from Git, and archive it before it is deleted (lm doctor says how): "+c.s.Config.GovernCommand(vault.ID(id), vault.StatusArchived))
	}
	var before *vault.Facts
	for i, r := range chain {
		after, err := c.governed(vault.ID(id), r)
		if err != nil {
			return err
		}
		known := slices.DeleteFunc([]*vault.Facts{before, after}, func(f *vault.Facts) bool { return f == nil })
		if c.at.Commit != "" {
			if err := c.entitled(vault.ID(id), chain[:i+1], known); err != nil {
				return err
			}
		}
		before = after
	}
	return nil
}

// signatures checks those that there are, and where they are required that of
// each last approval: it vouches for the chain before it.
func (c *verifier) signatures(chain vault.Chain) {
	last := chain.Last()
	for _, r := range chain {
		err := error(nil)
		switch {
		case r.Signature != "":
			if err = c.s.CheckSignature(r); err == nil {
				c.out.Signed++
			}
		case r == last && r.To == vault.StatusApproved:
			err = c.s.Unsigned(r)
		}
		c.out.Problems = append(c.out.Problems, vault.Problems(err)...)
	}
}

// governed finds the bytes that a receipt names and holds them against it; nil
// if they are not here or are other ones.
func (c *verifier) governed(id vault.ID, r *vault.Receipt) (*vault.Facts, error) {
	p := vault.ReceiptPath(r.Subject, r.Seq)
	if c.at.Commit == "" {
		return nil, nil
	}
	files, err := c.v.Repo.Object(gitstore.Hash(r.Object), widest)
	if errors.Is(err, gitstore.ErrNotFound) || errors.Is(err, gitstore.ErrUnsupported) {
		c.lost = append(c.lost, c.v.inRepo(p))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// The object has no name; the id and the digest tell which it had.
	for _, name := range []string{"", ".md", ".yaml"} {
		at := "assets/" + string(id) + name
		named := slices.Clone(files)
		for i := range named {
			named[i].Path = path.Join(at, named[i].Path)
		}
		a, err := vault.ParseAsset(at, named, c.wide)
		if err != nil || a.Digest != r.Digest {
			continue
		}
		if a.Version != r.Version {
			c.fault(p, "version", fmt.Sprintf("it says version %d, and the file that it governed %d", r.Version, a.Version), forgedMend)
		}
		if a.Status != r.To {
			c.fault(p, "to", fmt.Sprintf("it says %s, and the file that it governed %s", r.To, a.Status), forgedMend)
		}
		return &a.Facts, nil
	}
	c.fault(p, "object", "the object that it names is no asset with its digest", forgedMend)
	return nil, nil
}

// entitled holds the last act of a chain against the vault.yaml that the commit
// with its receipt found. known is the asset as the receipts know it.
func (c *verifier) entitled(id vault.ID, chain vault.Chain, known []*vault.Facts) error {
	r := chain.Last()
	p := vault.ReceiptPath(r.Subject, r.Seq)
	from, ok := c.origins[p]
	config := c.configOf(from)
	if !ok || config == nil {
		c.unknown = append(c.unknown, c.v.inRepo(p))
		return nil
	}
	if governance.Entitled(config, r, known) != nil {
		if one, err := c.v.one(loaded{Snapshot: Snapshot{Commit: from.before}}, id); from.before != "" && err == nil && one.asset != nil {
			known = append(known, &one.asset.Facts)
		}
	}
	if err := governance.Entitled(config, r, known); err != nil {
		c.fault(p, "actor", fmt.Sprintf("by the vault.yaml of then, %v", err), forgedMend)
		return nil
	}
	if !config.Policy.DistinctApprover || r.To != vault.StatusApproved || from.before == "" {
		return nil
	}
	wrote, _, err := c.v.wrote(id, chain, config, from.before)
	if err == nil && wrote {
		c.fault(p, "authors", fmt.Sprintf("by the history, %s wrote this version, and the vault asked for an approver who is no author", r.Actor), forgedMend)
	}
	return err
}

// wrote says whether the actor of a chain's last receipt is among those who
// changed the asset since the receipt before, up to a commit; complete, whether a
// shallow clone shows all of them.
func (v *Vault) wrote(id vault.ID, chain vault.Chain, config *vault.Config, upTo gitstore.Hash) (wrote, complete bool, err error) {
	r, stop := chain.Last(), ""
	if len(chain) > 1 {
		if last := chain[len(chain)-2]; last.To != vault.StatusApproved && slices.Contains(last.Authors, string(r.Actor)) {
			return true, true, nil
		}
	}
	for _, before := range slices.Backward(chain[:len(chain)-1]) { // a squash may have joined some with the last
		file := v.inRepo(vault.ReceiptPath(before.Subject, before.Seq))
		there, err := v.Repo.Exists(upTo, file)
		if err != nil {
			return false, false, err
		}
		if there {
			stop = file
			break
		}
	}
	places, err := v.places(&loaded{Snapshot: Snapshot{Commit: upTo}}, id)
	complete = true
	for _, place := range places {
		found, err := v.Repo.Authors(upTo, v.inRepo(place), stop)
		if err != nil {
			return false, false, err
		}
		complete = complete && found.Complete
		wrote = wrote || slices.ContainsFunc(found.Emails, func(email string) bool { return config.PersonWithEmail(email) == r.Actor.ID() })
	}
	return wrote, complete, err
}
