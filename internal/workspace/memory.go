package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"longmemory.dev/lm/agentprotocol"
	"longmemory.dev/lm/governance"
	"longmemory.dev/lm/governance/memory"
	"longmemory.dev/lm/vault"
	"longmemory.dev/lm/vault/gitstore"
	"longmemory.dev/lm/vault/memoryfile"
)

// remembering is one call about memory: who acts, by which rules, and where
// things lie.
type remembering struct {
	v         *Vault
	at        loaded   // what is read
	reads     Snapshot // what agents read, which may be another commit; zero if that is not to be had
	config    *vault.Config
	tree      *memory.Tree
	who       governance.Who // for assets that sources name
	principal memory.Principal
	now       time.Time
	homes     map[string]agentprotocol.Scope // of authors, as they are asked for
	ref       string                         // the memory branch
	tip       gitstore.Hash                  // its commit; "" if there is none
}

// remember begins a call about memory at what agents read, or at HEAD for writes
// to it.
func (v *Vault) remember(head bool, stated agentprotocol.Principal) (*remembering, error) {
	if v.Repo == nil {
		return nil, fmt.Errorf("%w: %s is no Git repository, and memories are kept in commits; run: git init && git add -A && git commit", gitstore.ErrNoRepository, v.Dir)
	}
	at, err := v.trusted(Revision{})
	reads := at.Snapshot
	if head {
		at, err = v.commit("HEAD")
	}
	if err != nil {
		return nil, err
	}
	m, err := v.rememberAt(at, stated)
	if err == nil {
		m.reads = reads
	}
	return m, err
}

// rememberAt begins a call about memory as it is at a commit.
func (v *Vault) rememberAt(at loaded, stated agentprotocol.Principal) (*remembering, error) {
	if at.Commit == "" {
		return nil, fmt.Errorf("%w: memories are read from commits; leave --worktree out", ErrUsage)
	}
	fact, err := v.memoryFact(at.Commit)
	if err != nil {
		return nil, err
	}
	m := &remembering{v: v, at: at, now: v.clock(), config: fact.Config, homes: map[string]agentprotocol.Scope{}}
	m.tree = memory.NewTree(m.config)
	who, owner, err := v.acting(m.config)
	if err != nil {
		return nil, err
	}
	if m.principal, err = memory.PrincipalOf(m.config, who, owner); err != nil {
		return nil, err
	}
	if m.principal.Runtime == "" && who == v.hostAgent() { // vault.yaml gives it none, and its host is known
		m.principal.Runtime = who.ID()
	}
	if m.principal, err = m.principal.Narrow(stated); err != nil {
		return nil, err
	}
	subject := Subject{}
	if who.Kind() == vault.KindAgent {
		subject.Agent = who.ID()
	}
	if m.who, err = v.who(m.config, subject); err != nil {
		return nil, err
	}
	m.ref = memoryRef(m.config)
	m.tip, err = v.memoryTip(m.config)
	return m, err
}

// acting is who acts and, for an agent, the person for whom: as the surroundings
// bind it, else the person of Git's email. An agent may read without one.
func (v *Vault) acting(config *vault.Config) (who, owner vault.Subject, err error) {
	w, err := v.actor(config)
	if err == nil {
		return w.Subject, w.person, nil
	}
	bound, boundErr := v.bound()
	if boundErr != nil {
		return "", "", boundErr
	}
	if agent := agentOf(bound); agent != "" {
		return agent, "", nil
	}
	if host := v.hostAgent(); bound == "" && host != "" {
		return host, "", nil
	}
	return "", "", err
}

// scope reads the scope of a call: the principal's own if it names none.
func (m *remembering) scope(name string) (agentprotocol.Scope, error) {
	if name == "" {
		return m.principal.Home, nil
	}
	s, err := memoryfile.ParseScope(name)
	if err != nil {
		return s, fmt.Errorf("--scope %q: %w; write kind:id, such as project:%s", name, err, m.config.Project)
	}
	return m.tree.Named(s), nil
}

// mayRead says why the principal may read nothing, or nil.
func (m *remembering) mayRead() error {
	return m.principal.Needs(m.tree, agentprotocol.CapabilityRead, m.principal.Home)
}

// newID makes an id of the time of the call, to the millisecond, so that ids sort
// as they were made.
func (m *remembering) newID(kind memoryfile.Kind) (string, error) {
	var random [10]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	return kind.NewID(m.v.env.Now(), random), nil
}

// read reads documents of one kind at a commit; what is none is left out, as lm
// validate tells of it.
func read[T memoryfile.DTO](v *Vault, commit gitstore.Hash, kind memoryfile.Kind) ([]*memoryfile.Document[T], error) {
	if commit == "" {
		return nil, nil
	}
	files, err := v.Repo.Files(commit, v.Prefix, maxConfig, only(kind.In()))
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil, nil
	}
	var out []*memoryfile.Document[T]
	for _, f := range files {
		if d, err := memoryfile.Read[T](f); err == nil {
			out = append(out, d)
		}
	}
	return out, err
}

// find reads one document of a kind at a commit by its id; nil if there is none.
func find[T memoryfile.DTO](v *Vault, commit gitstore.Hash, kind memoryfile.Kind, id string) (*memoryfile.Document[T], error) {
	docs, err := findAll[T](v, commit, kind, id)
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	return docs[0], nil
}

// findAll reads the valid documents of an id at a commit: more than one only where
// somebody put a copy into another month. A file of the name that is none does not
// stand in the way of one that is; alone it is an error.
func findAll[T memoryfile.DTO](v *Vault, commit gitstore.Hash, kind memoryfile.Kind, id string) ([]*memoryfile.Document[T], error) {
	if err := kind.Check(id); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	if commit == "" {
		return nil, nil
	}
	files, err := v.Repo.List(commit, v.Prefix, func(p string, folder bool) bool {
		return folder && (strings.HasPrefix(kind.In()+"/", p+"/") || strings.HasPrefix(p, kind.In()+"/")) || path.Base(p) == id+".yaml" && strings.HasPrefix(p, kind.In()+"/")
	})
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil, nil
	}
	var out []*memoryfile.Document[T]
	var bad error
	for _, f := range files {
		file, err := v.Repo.File(commit, v.inRepo(f.Path), maxConfig)
		if err != nil {
			return nil, err
		}
		file.Path = f.Path
		d, err := memoryfile.Read[T](file)
		if err != nil {
			bad = err
			continue
		}
		out = append(out, d)
	}
	if err == nil && len(out) == 0 {
		err = bad
	}
	return out, err
}

// chainOf reads the chain of receipts of a subject at a commit.
func (v *Vault) chainOf(commit gitstore.Hash, config *vault.Config, subject string) (vault.Chain, error) {
	if commit == "" {
		return nil, nil
	}
	files, err := v.Repo.Files(commit, v.Prefix, maxConfig, only("receipts/"+subject))
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var chain vault.Chain
	for _, f := range files {
		r, err := vault.ParseReceipt(f)
		if err != nil {
			return nil, err
		}
		chain = append(chain, r)
	}
	return chain, chain.Check(config.Project, subject)
}

// remembered is one commit about memory in the making.
type remembered struct {
	*remembering
	files    map[string][]byte
	reads    []string
	receipts []*vault.Receipt
	title    string
	signed   bool // a person's act
	branch   bool // it goes to the memory branch
}

func (m *remembering) write(title string, branch bool) *remembered {
	return &remembered{remembering: m, files: map[string][]byte{}, title: title, branch: branch, signed: !m.principal.Agent()}
}

// base is the commit that is built on.
func (w *remembered) base() gitstore.Hash {
	if w.branch {
		return w.tip
	}
	return w.at.Commit
}

// act is a receipt in the making: what hangs on its document alone.
type memoryAct struct {
	kind     string
	subject  string
	from, to string
	digest   vault.Digest
	file     vault.File
	scope    agentprotocol.Scope
	memory   string
	proposal string
	sources  agentprotocol.SourceRefList
	reason   string
	authors  []string
}

// add adds a document's file and the receipt of the act on it.
func (w *remembered) add(a memoryAct, last *vault.Receipt) (*vault.Receipt, error) {
	r := &vault.Receipt{
		Project: w.config.Project, Subject: a.subject, Kind: a.kind, Seq: 1, From: vault.Status(a.from), To: vault.Status(a.to), Digest: a.digest,
		Object: string(gitstore.BlobID(a.file.Data)), Actor: vault.Subject(w.principal.PrincipalID), Authors: a.authors, Reason: strings.TrimSpace(a.reason), At: w.now,
		Scope: memoryfile.ScopeName(a.scope), Memory: a.memory, Proposal: a.proposal, SourceRefs: memoryfile.SourceNames(a.sources),
	}
	if writer, err := w.v.actor(w.config); err == nil {
		r.Identity = writer.identity
	}
	if last != nil {
		r.Seq, r.Prev = last.Seq+1, last.Hash()
	}
	if w.signed {
		if err := w.v.sign(w.config, w.at, r); err != nil {
			return nil, err
		}
	}
	file := r.File()
	back, err := vault.ParseReceipt(file)
	if err == nil && back.Hash() != r.Hash() {
		err = errors.New("it reads back as another one")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: no receipt can be written, perhaps for its reason: %w", ErrUsage, err)
	}
	w.files[a.file.Path], w.files[file.Path] = a.file.Data, file.Data
	w.reads = append(w.reads, a.file.Path, path.Dir(file.Path))
	w.receipts = append(w.receipts, r)
	return r, nil
}

// commit makes the commit. The memory branch is made where it is missing, from
// what the remotes brought.
func (w *remembered) commit(ctx context.Context) (gitstore.Hash, error) {
	writer, err := w.v.actor(w.config)
	if err != nil {
		return "", err
	}
	c := gitstore.Change{Files: map[string][]byte{}, Name: writer.name, Email: writer.email, When: w.now, Expect: w.base(), Message: w.message()}
	for p, data := range w.files {
		c.Files[w.v.inRepo(p)] = data
	}
	for _, p := range w.reads {
		c.Reads = append(c.Reads, w.v.inRepo(p))
	}
	slices.Sort(c.Reads)
	c.Reads = slices.Compact(c.Reads)
	if w.branch {
		if err := w.aside(); err != nil {
			return "", err
		}
		c.Branch = w.ref
		if err := w.v.begin(ctx, c); err != nil {
			return "", err
		}
	}
	return w.v.Repo.Commit(ctx, c)
}

// aside refuses a memory branch that is not of its own: one that is checked out here
// or that a remote has as its default.
func (m *remembering) aside() error {
	name := strings.TrimPrefix(m.ref, "refs/heads/")
	refuse := func(what, mend string) error {
		return agentprotocol.NewStableError(agentprotocol.ErrCodeValidationFailed, fmt.Sprintf("policy.memory.branch is %s, %s, and memories that wait are not written there; %s", name, what, mend))
	}
	for _, remote := range m.v.Repo.Remotes() {
		if m.v.defaultOf(remote) == "refs/remotes/"+remote+"/"+name {
			return refuse("the default branch of "+remote, "name another in vault.yaml, such as lm/inbox")
		}
	}
	head, _, err := m.v.Repo.Head()
	if err == nil && head == m.ref {
		return refuse("which is checked out here", "name another in vault.yaml, such as lm/inbox, or run: git checkout --detach")
	}
	return err
}

// begin makes the memory branch of what a remote has, if there is none here.
func (v *Vault) begin(ctx context.Context, c gitstore.Change) error {
	if c.Expect == "" {
		return nil
	}
	if _, err := v.Repo.Resolve(c.Branch); !errors.Is(err, gitstore.ErrNotFound) {
		return err
	}
	start := c
	start.Expect, start.Files, start.Reads, start.Message = "", nil, nil, "Begin with what a remote has"
	err := v.Repo.Advance(ctx, start, c.Expect)
	if errors.Is(err, gitstore.ErrConflict) {
		return nil // somebody else just did
	}
	return err
}

func (w *remembered) message() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", w.title)
	if reason := w.receipts[0].Reason; reason != "" {
		fmt.Fprintf(&b, "Reason: %s\n\n", strings.Join(strings.Fields(reason), " "))
	}
	for _, r := range w.receipts {
		if r.Memory != "" {
			fmt.Fprintf(&b, "Lm-Memory: %s\n", r.Memory)
		}
		fmt.Fprintf(&b, "Lm-Transition: %s -> %s\nLm-Receipt: %s\n", r.From, r.To, r.Hash())
	}
	fmt.Fprintf(&b, "Lm-Actor: %s\n", w.principal.PrincipalID)
	return b.String()
}

// receiptsOf are the contract's receipts of a commit.
func receiptsOf(receipts []*vault.Receipt) []agentprotocol.Receipt {
	out := []agentprotocol.Receipt{}
	for _, r := range receipts {
		out = append(out, memoryfile.AsProtocol(r))
	}
	return out
}
