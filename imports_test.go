package lm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "longmemory.dev/lm"

type room struct {
	may    []string
	reason string
}

// rooms says what each package of the module may import of the others. Imports
// run one way; an edge that is not here fails the test.
var rooms = map[string]room{
	"agentprotocol":      {nil, "other programs compile against the contract; it hangs on nothing"},
	"vault":              {[]string{"vault/signature"}, "the format is bytes in, values out; everything else stands on it"},
	"vault/signature":    {nil, "whose signature it is, is the vault's to say"},
	"internal/sshkeys":   {nil, "it finds keys, and knows not what they sign"},
	"vault/gitstore":     {[]string{"vault"}, "it gives files and takes commits, and knows no rule"},
	"vault/memoryfile":   {[]string{"vault", "agentprotocol"}, "it is how the contract's documents lie in a vault"},
	"governance/memory":  {[]string{"vault", "agentprotocol", "governance"}, "the rules of memory must not hang on how it is stored or searched"},
	"governance":         {[]string{"vault"}, "the rules must not hang on how assets are stored or searched"},
	"index":              {[]string{"vault"}, "relevance must not know who is asking"},
	"internal/render":    {[]string{"vault"}, "what an agent reads hangs on the asset alone"},
	"internal/testvault": {[]string{"vault", "vault/memoryfile", "agentprotocol"}, "tests of every room may use it"},
	"internal/bench":     {[]string{"vault", "internal/testvault"}, "it drives the command from outside, as whoever uses it does"},
	"internal/workspace": {[]string{"vault", "vault/gitstore", "governance", "index", "internal/render", "internal/sshkeys", "vault/signature", "agentprotocol", "vault/memoryfile", "governance/memory"}, "this is where the rooms are joined"},
	"internal/hook":      {[]string{"vault", "internal/workspace"}, "a hook asks for a loadout like everybody else"},
	"cmd/lm":             {[]string{"vault", "vault/gitstore", "governance", "index", "internal/hook", "internal/sshkeys", "internal/workspace", "agentprotocol", "vault/memoryfile", "governance/memory"}, "the command is on top"},
}

// keepers says which packages may import what of others, tests aside.
var keepers = []struct {
	imports *regexp.Regexp
	only    []string
	reason  string
}{
	{regexp.MustCompile(`^github\.com/go-git/`), []string{"vault/gitstore"}, "one place knows how Git is read and written"},
	{regexp.MustCompile(`^github\.com/(blevesearch|RoaringBitmap)/`), []string{"index"}, "one place knows how text is searched"},
	{regexp.MustCompile(`^gopkg\.in/yaml`), []string{"vault"}, "one place knows how files are written"},
	{regexp.MustCompile(`^github\.com/urfave/cli|^github\.com/jedib0t/`), []string{"cmd/lm"}, "flags and tables are the command's"},
	{regexp.MustCompile(`^github\.com/aymanbagabas/`), []string{"internal/workspace"}, "one place compares versions"},
	{regexp.MustCompile(`^golang\.org/x/crypto/|sshsig`), []string{"vault/signature", "internal/sshkeys", "internal/workspace"}, "keys and signatures have few doors"},
	{regexp.MustCompile(`tokenizer`), []string{"internal/render"}, "tokens are counted where text is made"},
}

// pure packages do no IO and read no clock and no environment.
var pure = []string{"vault", "vault/signature", "governance", "agentprotocol", "vault/memoryfile", "governance/memory"}

var impure = regexp.MustCompile(`^(os|net|syscall|io/ioutil|math/rand|crypto/rand|log)(/|$)`)

func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		pkg, imports, _ := strings.Cut(line, " ")
		pkg = strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/")
		if pkg == "" {
			continue
		}
		rule, ok := rooms[pkg]
		if !ok {
			t.Errorf("%s has no rule; add one to rooms, with its reason", pkg)
			continue
		}
		for _, imported := range strings.Fields(imports) {
			inside, own := strings.CutPrefix(imported, module+"/")
			if own && !slices.Contains(rule.may, inside) {
				t.Errorf("%s imports %s: %s", pkg, inside, rule.reason)
			}
			for _, k := range keepers {
				if k.imports.MatchString(imported) && !slices.Contains(k.only, pkg) {
					t.Errorf("%s imports %s: %s", pkg, imported, k.reason)
				}
			}
			if slices.Contains(pure, pkg) && impure.MatchString(imported) {
				t.Errorf("%s imports %s: it does no IO", pkg, imported)
			}
			if pkg == "agentprotocol" && strings.Contains(strings.Split(imported, "/")[0], ".") {
				t.Errorf("agentprotocol imports %s: it is standard library only", imported)
			}
		}
	}
}

func TestPurePackagesReadNoClock(t *testing.T) {
	for _, dir := range pure {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if at := regexp.MustCompile(`time\.(Now|Since|Until|After|Tick)\b`).FindString(string(data)); at != "" {
				t.Errorf("%s calls %s: time comes in as an argument", file, at)
			}
		}
	}
}
