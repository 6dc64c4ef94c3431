package workspace

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // the sample skill and the two vault.yaml
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
)

// Initialized is a vault that Init made.
type Initialized struct {
	Project string        `json:"project"`
	Dir     string        `json:"vault"` // relative to the repository's root; "" is the root
	Commit  gitstore.Hash `json:"commit"`
	Created []string      `json:"created"` // relative to the vault
	Sample  vault.ID      `json:"sample"`
	Status  vault.Status  `json:"sample_status"`
	NewRepo bool          `json:"new_repository"`
	Team    bool          `json:"team"`
	Hooks   []string      `json:"hooks_not_run"`

	Path string `json:"-"` // of the vault on disk
}

var (
	//go:embed init/vault.yaml
	soloConfig string
	//go:embed init/team.yaml
	teamConfig string
	//go:embed init/SKILL.md
	sampleSkill []byte
	//go:embed init/asset.yaml
	sampleKeys string
)

const (
	sampleID = "keep-the-vault"
	// attributes keep line ends the same on every system, and two branches that
	// govern one asset from being joined.
	attributes = "assets/** text=auto eol=lf\nreceipts/** -merge\n"
)

// Init starts a vault in a folder (made if need be), in the repository that
// the folder lies in or a new one: vault.yaml, .gitattributes and a sample
// skill with its receipt, in one commit. It wraps ErrConflict if there is a
// vault already.
func Init(ctx context.Context, env Env, dir string, team bool) (*Initialized, error) {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(env.Dir, dir)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	dir, err := realDir(dir)
	if err != nil {
		return nil, err
	}
	if hasConfig(dir) {
		return nil, fmt.Errorf("%w: %s has a vault.yaml already; lm status says where it stands", ErrConflict, dir)
	}
	v := &Vault{env: env, Dir: dir}
	out := &Initialized{Sample: sampleID, Team: team, Path: dir}
	if err = v.openRepo(dir); errors.Is(err, gitstore.ErrNoRepository) {
		// Git must know the person before a repository is left behind.
		if _, err = v.actor(vault.DefaultConfig()); err != nil {
			return nil, err
		}
		v.Repo, err = gitstore.Init(dir)
		out.NewRepo = true
	}
	if err != nil {
		return nil, err
	}
	v.Repo.Sign = v.signCommit
	defer v.Close()
	if v.Repo.Bare() {
		return nil, fmt.Errorf("%w: %s is a bare repository; make the vault in a clone of it", ErrUsage, dir)
	}
	v.in(dir)
	out.Dir = v.Prefix
	if err := v.start(ctx, out); err != nil {
		if out.NewRepo {
			_ = os.RemoveAll(filepath.Join(dir, ".git")) // it was made a moment ago and holds nothing
		}
		return nil, err
	}
	return out, nil
}

func (v *Vault) start(ctx context.Context, out *Initialized) error {
	_, head, err := v.Repo.Head()
	if err != nil {
		return err
	}
	who, err := v.actor(vault.DefaultConfig())
	if err != nil {
		return err
	}
	name := filepath.Base(v.Dir)
	out.Project = cmp.Or(string(idOf(name)), "project")
	if vault.CheckID(out.Project) != nil {
		out.Project = "project"
	}
	files := map[string][]byte{}
	source := soloConfig
	if out.Team {
		source = teamConfig
	}
	if files[vault.ConfigFile], err = fill(source, map[string]string{
		"Project": out.Project, "Name": yamlString(name), "Person": who.User, "Email": yamlString(who.email),
	}); err != nil {
		return err
	}
	config, err := vault.ParseConfig(files[vault.ConfigFile])
	if err != nil {
		return err
	}
	if who, err = v.actor(config); err != nil {
		return err
	}
	if err := v.attributes(head, files); err != nil {
		return err
	}
	r, err := v.sample(config, who, files)
	if err != nil {
		return err
	}
	out.Status, out.Hooks = r.To, notNil(v.Repo.Hooks())
	change := gitstore.Change{Expect: head, Files: map[string][]byte{}, Name: who.name, Email: who.email, When: r.At, Message: initMessage(out.Project, r)}
	for p, data := range files {
		out.Created = append(out.Created, p)
		change.Files[v.inRepo(p)] = data
	}
	slices.Sort(out.Created)
	out.Commit, err = v.Repo.Commit(ctx, change)
	return err
}

func fill(text string, values map[string]string) ([]byte, error) {
	t, err := template.New("").Parse(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, values)
	return b.Bytes(), err
}

// yamlString writes a value as YAML text that reads back as that string.
func yamlString(s string) string {
	return strings.TrimSpace(strings.TrimPrefix(string(vault.NewAssetFile(map[string]any{"v": s}, nil)), "v:"))
}

// attributes adds lm's lines to the folder's .gitattributes, behind what is
// committed there.
func (v *Vault) attributes(head gitstore.Hash, files map[string][]byte) error {
	var old []byte
	if head != "" {
		file, err := v.Repo.File(head, v.inRepo(".gitattributes"), maxConfig)
		if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return err
		}
		old = file.Data
	}
	if bytes.Contains(old, []byte(attributes)) {
		return nil
	}
	if len(old) > 0 && !bytes.HasSuffix(old, []byte("\n")) {
		old = append(old, '\n')
	}
	files[".gitattributes"] = append(bytes.Clone(old), attributes...)
	return nil
}

// sample adds a skill that tells an agent how to keep this vault: approved
// where whoever starts the vault may approve it, else a candidate.
func (v *Vault) sample(config *vault.Config, who writer, files map[string][]byte) (*vault.Receipt, error) {
	at := "assets/skills/" + sampleID
	status := vault.StatusApproved
	for {
		keys, err := fill(sampleKeys, map[string]string{"Owner": string(cmp.Or(config.Defaults.Owner, vault.Subject("user:"+who.User))), "Status": string(status)})
		if err != nil {
			return nil, err
		}
		inside := []vault.File{file(at+"/SKILL.md", sampleSkill), file(at+"/asset.yaml", keys)}
		asset, err := vault.ParseAsset(at, inside, config)
		if err != nil {
			return nil, err
		}
		if governance.MayRegister(config, &asset.Facts, who.Actor, true, "sample of lm init") != nil && status == vault.StatusApproved {
			status = vault.StatusCandidate
			continue
		}
		object, err := gitstore.TreeID([]vault.File{file("SKILL.md", sampleSkill), file("asset.yaml", keys)})
		if err != nil {
			return nil, err
		}
		r := &vault.Receipt{
			Project: config.Project, Subject: "asset/" + sampleID, Kind: vault.ReceiptRegistered, Seq: 1, Version: 1, To: status,
			Digest: asset.Digest, Object: string(object), Actor: who.Subject, Authors: who.authors(),
			Reason: "sample of lm init", At: v.env.Now().UTC().Truncate(time.Second), Identity: who.identity,
		}
		receipt := r.File()
		files[path.Join(at, "SKILL.md")], files[path.Join(at, "asset.yaml")], files[receipt.Path] = sampleSkill, keys, receipt.Data
		return r, nil
	}
}

func file(p string, data []byte) vault.File {
	return vault.File{Path: p, Data: data, Size: int64(len(data))}
}

func initMessage(project string, r *vault.Receipt) string {
	return fmt.Sprintf("Start the vault %s\n\nLm-Asset: %s@1\nLm-Transition:  -> %s\nLm-Receipt: %s\nLm-Actor: %s\n", project, sampleID, r.To, r.Hash(), r.Actor)
}
