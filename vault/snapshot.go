package vault

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"longmemory.dev/lm/vault/signature"
)

// ErrNoVault says that a folder has no vault.yaml.
var ErrNoVault = errors.New("there is no vault.yaml")

// Snapshot is everything that a vault says at one revision. Nothing in it is
// changed after Read.
type Snapshot struct {
	Config *Config
	// Assets are the valid assets, sorted by id.
	Assets []*Asset
	// Invalid are the assets that could not be read or share an id; only ID
	// and Path are known. Sorted by id, then path.
	Invalid []Facts
	// Receipts are the chains by subject ("asset/<id>"), in order, whether or
	// not they hold.
	Receipts map[string]Chain
	// Problems are all that is wrong or odd, sorted.
	Problems []Problem
	// Loadouts are the valid saved loadouts, sorted by name, and LoadoutProblems
	// what is wrong with the others. They are no assets: no index holds them.
	Loadouts        []*LoadoutTest
	LoadoutProblems []Problem
	signers         *signature.Signers
	// Lost are the Git objects of approved versions that would be served and were
	// not to be had, by asset. With them the snapshot would say more.
	Lost map[ID]string
}

// RulesVersion names the rules by which Read decides what is valid and what is
// receipted. It counts up with each change of them, so that no index outlives
// the rules that it was built by.
const RulesVersion = "6"

// Relevant says whether a path below a vault's folder can matter to a
// Snapshot, so that a reader of a repository whose root is the vault leaves
// the rest alone. For a folder it says whether to look into it.
func Relevant(p string, folder bool) bool {
	top, _, below := strings.Cut(p, "/")
	switch top {
	case "assets", "receipts", LoadoutFolder:
		return true // also what lies in the place of such a folder, to be told of
	case ConfigFile:
		return !below && !folder
	}
	return false
}

// Asset finds a valid asset.
func (s *Snapshot) Asset(id ID) (*Asset, bool) {
	i, found := slices.BinarySearchFunc(s.Assets, id, func(a *Asset, id ID) int { return cmp.Compare(a.ID, id) })
	if !found {
		return nil, false
	}
	return s.Assets[i], true
}

// Chain is the chain of an asset's receipts, in order.
func (s *Snapshot) Chain(id ID) Chain { return s.Receipts["asset/"+string(id)] }

// Facts are the governed facts of every asset, invalid ones too, sorted by id,
// then path.
func (s *Snapshot) Facts() []Facts {
	out := make([]Facts, 0, len(s.Assets)+len(s.Invalid))
	for _, a := range s.Assets {
		out = append(out, a.Facts)
	}
	out = append(out, s.Invalid...)
	slices.SortStableFunc(out, func(a, b Facts) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Path, b.Path))
	})
	return out
}

// Read makes a snapshot of a vault's files, whose paths are relative to the
// vault's folder. A bad file becomes a problem and hides no other. Read fails
// only if vault.yaml is missing (ErrNoVault) or invalid, as nothing can be
// judged then; with the problems of an invalid one comes a snapshot whose
// Problems are those of all files, as far as they can be told without it.
//
// past gives the bytes of versions that were approved, for assets that were
// edited since; nil: there are none, and such assets are withheld.
func Read(files []File, past Past) (*Snapshot, error) {
	i := slices.IndexFunc(files, func(f File) bool { return f.Path == ConfigFile })
	if i < 0 {
		return nil, ErrNoVault
	}
	config, configErr := ReadConfig(files[i])
	if configErr != nil {
		config = DefaultConfig()
	}
	s := &Snapshot{Config: config, Receipts: map[string]Chain{}, Lost: map[ID]string{}}
	var found findings
	for _, p := range Problems(configErr) {
		found.add(p)
	}
	noFolders(files, &found, "assets", "receipts")
	groups := discover(files, &found)
	for _, g := range groups {
		s.readAsset(g, &found)
	}
	s.excludeTwins(&found)
	s.readReceipts(files, &found)
	if configErr == nil {
		s.readSigners(files, &found)
		s.standing(&found, past)
	}
	s.Problems = found.list()
	s.Loadouts, s.LoadoutProblems = ReadLoadouts(files)
	return s, configErr
}

// noFolders tells of what lies where one of the vault's own folders is due.
func noFolders(files []File, found *findings, names ...string) {
	for _, f := range files {
		if !slices.Contains(names, f.Path) {
			continue
		}
		p := Problem{Severity: Error, Path: f.Path, Message: "a symbolic link; lm follows none, so nothing behind it is read", Mend: "put the folder itself here"}
		if f.Kind != FileSymlink {
			p.Message, p.Mend = "this is no folder, and the vault's "+f.Path+" lie in one of this name", "give it another name"
		}
		found.add(p)
	}
}

// group is the files of one asset.
type group struct {
	path  string // the asset's file or folder
	files []File
}

func (g group) id() ID {
	name := path.Base(g.path)
	if len(g.files) == 1 && g.files[0].Path == g.path {
		name = strings.TrimSuffix(name, path.Ext(name))
	}
	return ID(name)
}

// discover finds the assets among a vault's files: the topmost folder with
// asset.yaml or SKILL.md takes everything below it.
func discover(files []File, found *findings) []group {
	folders := map[string]bool{}
	for _, f := range files {
		name := path.Base(f.Path)
		if dir := path.Dir(f.Path); (name == "asset.yaml" || name == "SKILL.md") && strings.HasPrefix(dir, "assets/") {
			folders[dir] = true
		}
	}
	groups := map[string]*group{}
	for _, f := range files {
		if !strings.HasPrefix(f.Path, "assets/") {
			continue
		}
		at, isAsset := placeOf(f.Path, folders)
		if !isAsset {
			stray(f, found)
			continue
		}
		if groups[at] == nil {
			groups[at] = &group{path: at}
		}
		groups[at].files = append(groups[at].files, f)
	}
	out := make([]group, 0, len(groups))
	for _, at := range sortedKeys(groups) {
		out = append(out, *groups[at])
	}
	return out
}

// Places finds the files or folders that an id names among a vault's files,
// sorted; only their paths are looked at. More than one means that the id is
// taken twice.
func Places(files []File, id ID) []string {
	var out []string
	for _, g := range discover(files, &findings{}) {
		if g.id() == id {
			out = append(out, g.path)
		}
	}
	return out
}

// placeOf is the file or folder of the asset to which a path belongs.
func placeOf(p string, folders map[string]bool) (string, bool) {
	parts := strings.Split(p, "/")
	dir := parts[0]
	for _, part := range parts[1:] {
		if skipped(part) {
			return "", false
		}
		dir += "/" + part
		if folders[dir] {
			return dir, true
		}
	}
	name := parts[len(parts)-1]
	ok := name != "README.md" && (strings.HasSuffix(name, ".md") || strings.HasSuffix(name, ".yaml")) &&
		name != "asset.yaml" && name != "SKILL.md"
	return p, ok
}

func skipped(name string) bool { return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") }

// stray tells of a file below assets/ that is no asset, unless its name says
// that it is not meant to be one.
func stray(f File, found *findings) {
	for _, part := range strings.Split(f.Path, "/") {
		if skipped(part) || part == "README.md" {
			return
		}
	}
	if name := path.Base(f.Path); name == "asset.yaml" || name == "SKILL.md" {
		found.add(Problem{Severity: Error, Path: f.Path, Message: "an asset needs a folder of its own", Mend: "move it to assets/<any folders>/<id>/" + name})
		return
	}
	if f.Kind == FileSymlink {
		found.add(Problem{Severity: Warning, Path: f.Path, Message: "a symbolic link; lm follows none, so nothing behind it is an asset",
			Mend: "put the file or folder itself here, or begin its name with _"})
		return
	}
	found.add(Problem{Severity: Warning, Path: f.Path, Message: "this is no asset: its name ends neither in .md nor in .yaml",
		Mend: "rename it, move it into an asset's folder, or begin its name with _"})
}

func (s *Snapshot) readAsset(g group, found *findings) {
	asset, err := ParseAsset(g.path, g.files, s.Config)
	if err != nil {
		for _, p := range Problems(err) {
			found.add(p)
		}
		s.Invalid = append(s.Invalid, Facts{ID: g.id(), Path: g.path, Invalid: true})
		return
	}
	for _, p := range asset.Warnings {
		found.add(p)
	}
	s.Assets = append(s.Assets, asset)
}

// excludeTwins makes assets invalid that share an id: nobody can tell which of
// them was meant.
func (s *Snapshot) excludeTwins(found *findings) {
	slices.SortStableFunc(s.Assets, func(a, b *Asset) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Path, b.Path))
	})
	holders := map[ID][]string{}
	for _, a := range s.Assets {
		holders[a.ID] = append(holders[a.ID], a.Path)
	}
	for _, bad := range s.Invalid {
		holders[bad.ID] = append(holders[bad.ID], bad.Path)
	}
	kept := s.Assets[:0]
	for _, a := range s.Assets {
		if len(holders[a.ID]) == 1 {
			kept = append(kept, a)
			continue
		}
		s.Invalid = append(s.Invalid, Facts{ID: a.ID, Path: a.Path, Invalid: true})
		for _, other := range holders[a.ID] {
			if other != a.Path {
				line, column := a.Place("id")
				found.add(Problem{Severity: Error, Path: a.KeyFile(), Line: line, Column: column, Field: "id",
					Message: fmt.Sprintf("%s has the id %s as well, so both are left out", other, a.ID), Mend: "give one of them another id, or remove it"})
			}
		}
	}
	s.Assets = kept
	slices.SortStableFunc(s.Invalid, func(a, b Facts) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Path, b.Path))
	})
}

func (s *Snapshot) readReceipts(files []File, found *findings) {
	for _, f := range files {
		if !strings.HasPrefix(f.Path, "receipts/") || skipped(path.Base(f.Path)) || path.Base(f.Path) == "README.md" {
			continue
		}
		subject, seq, ok := receiptPlace(f.Path)
		switch {
		case !ok:
			found.add(Problem{Severity: Error, Path: f.Path, Message: "this is no place of a receipt", Mend: "receipts lie at receipts/<kind>/<id>/<seq>.yaml; move it away"})
		case f.Kind != FileRegular && f.Kind != FileExecutable || f.Data == nil:
			found.add(Problem{Severity: Error, Path: f.Path, Message: "this is no plain file of a receipt's size", Mend: receiptMend})
			s.Receipts[subject] = append(s.Receipts[subject], &Receipt{Seq: seq, Subject: subject, invalid: true})
		default:
			r, err := ParseReceipt(f)
			if err != nil {
				for _, p := range Problems(err) {
					found.add(p)
				}
				r = &Receipt{Seq: seq, Subject: subject, invalid: true}
			}
			s.Receipts[subject] = append(s.Receipts[subject], r)
		}
	}
	for _, chain := range s.Receipts {
		slices.SortFunc(chain, func(a, b *Receipt) int { return cmp.Compare(a.Seq, b.Seq) })
	}
}

// standing holds each asset against its chain (format.md §4).
func (s *Snapshot) standing(found *findings, past Past) {
	for _, a := range s.Assets {
		chain := s.Chain(a.ID)
		last := chain.Last()
		broken := chain.Check(s.Config.Project, "asset/"+string(a.ID))
		for _, p := range Problems(broken) {
			found.add(p)
		}
		if last != nil {
			a.Modified = last.At
		}
		var unsigned error
		if broken == nil && last != nil && last.To == StatusApproved {
			unsigned = s.Unsigned(last)
		}
		a.Broken = broken != nil
		a.Receipted = broken == nil && unsigned == nil && last != nil && last.To == a.Status && last.Digest == a.Digest
		if broken == nil && last != nil && last.Digest == a.Digest && last.Version != a.Version {
			line, column := a.Place("version")
			found.add(Problem{Severity: Warning, Path: a.KeyFile(), Line: max(line, 1), Column: max(column, 1), Field: "version",
				Message: fmt.Sprintf("it says %d, and receipt %04d says version %d of this very content, which counts", a.Version, last.Seq, last.Version),
				Mend:    fmt.Sprintf("write version: %d", last.Version)})
			a.Version = last.Version
		}
		if unsigned == nil && s.edited(a, last, broken) {
			s.serve(a, last, past)
		}
		waits := a.Status == StatusDraft || a.Status == StatusCandidate
		switch {
		case a.Receipted || broken != nil && a.Status != StatusApproved:
		case a.Status == StatusApproved:
			found.add(s.unreceipted(a, last, broken, unsigned))
		case !waits:
			found.add(s.byHand(a, last))
		case last != nil && last.Digest == a.Digest:
			found.add(stateProblem(a, said(a, last), "run: "+s.Config.GovernCommand(a.ID, last.To)))
		}
	}
}

// stateProblem is a warning about what an asset says of its state.
func stateProblem(a *Asset, message, mend string) Problem {
	line, column := a.Place("status")
	return Problem{Severity: Warning, Path: a.KeyFile(), Line: line, Column: column, Field: "status", Message: message, Mend: mend}
}

// said is what an asset and its last receipt, if there is one, say of its state.
func said(a *Asset, last *Receipt) string {
	switch {
	case last == nil:
		return fmt.Sprintf("it says %s, and no receipt says so", a.Status)
	case last.Digest != a.Digest:
		return fmt.Sprintf("it says %s, and was changed after receipt %04d, which says %s", a.Status, last.Seq, last.To)
	}
	return fmt.Sprintf("it says %s, and receipt %04d says %s of this very content", a.Status, last.Seq, last.To)
}

// byHand is the problem of an asset that nobody governed into the state, other
// than approved, that it says: by hand one becomes draft or candidate only.
func (s *Snapshot) byHand(a *Asset, last *Receipt) Problem {
	from, fresh := StatusCandidate, true
	if last != nil {
		from, fresh = last.To, last.Digest != a.Digest
	}
	mend := "run: " + s.Config.GovernCommand(a.ID, a.Status)
	switch {
	case from == StatusArchived && fresh:
		mend = "put the file back as it was archived: nothing follows that"
	case from == StatusArchived, a.Status == StatusDeprecated && from != StatusApproved && from != StatusDeprecated, a.Status == StatusFailed && from == StatusDeprecated:
		mend = fmt.Sprintf("write status: %s, which may not become %s", from, a.Status)
	}
	return stateProblem(a, "unreceipted: "+said(a, last), mend)
}

func (s *Snapshot) unreceipted(a *Asset, last *Receipt, broken, unsigned error) Problem {
	why := "it is approved by hand: no receipt says so"
	mend := "review it and run: " + s.Config.GovernCommand(a.ID, StatusApproved)
	switch {
	case broken != nil:
		why, mend = "it says approved, and its chain of receipts is broken", "restore its receipts from Git; lm doctor says how"
	case unsigned != nil:
		p := unsigned.(Problem)
		why = fmt.Sprintf("of receipt %04d, %s", last.Seq, p.Message)
	case last != nil && last.Digest != a.Digest:
		why = fmt.Sprintf("it was changed after receipt %04d", last.Seq)
	case last != nil:
		why = fmt.Sprintf("it says approved, and receipt %04d says %s", last.Seq, last.To)
	}
	gets := "no agent gets it"
	switch {
	case a.Served != nil:
		gets = fmt.Sprintf("agents get version %d, as it was approved", last.Version)
	case unsigned == nil && s.edited(a, last, broken):
		gets = fmt.Sprintf("no agent gets it (version %d was approved, and this clone does not have its bytes)", last.Version)
	}
	return stateProblem(a, "unreceipted, so "+gets+": "+why, mend)
}
