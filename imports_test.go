package kinform_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/kinform/kinform"

// allowed lists the siblings that each package may import outside its tests. A package below
// a folder internal/ is in it only if it imports others than such packages; the compiler
// says who may import them.
var allowed = map[string][]string{
	".":                  {"client", "controller", "index", "informer", "kind", "reflector", "store"},
	"client":             {"kind", "reflector"},
	"controller":         {"client", "index", "informer", "kind", "queue", "reflector", "store"},
	"controller/events":  {"client", "kind"},
	"controller/manager": {"client", "controller", "index", "informer", "queue", "reflector"},
	"debug":              {"controller", "controller/manager", "informer", "informer/factory", "queue", "reflector", "shard"},
	"debug/kinform-top":  {"debug"},
	"deltafifo":          {"reflector"},
	"fake":               {"fake/faults", "kind", "reflector"},
	"fake/faketest":      {"fake", "reflector"},
	"fake/faults":        {},
	"fake/sim":           {"client", "fake", "fake/faults"},
	"index":              {},
	"informer":           {"deltafifo", "index", "reflector", "store"},
	"informer/factory":   {"client", "index", "informer", "kind", "reflector", "store"},
	"informer/pipeline":  {"deltafifo", "reflector"},
	"informer/synctrack": {},
	"kind":               {},
	"queue":              {},
	"queue/fifo":         {},
	"reflector":          {},
	"shard":              {"client", "reflector", "shard/leader"},
	"shard/leader":       {"client", "kind"},
	"store":              {"index"},
	"store/expire":       {},
	"store/undelta":      {"store"},

	"controller/internal/follow": {"informer"},
	"fake/sim/internal/planted":  {"client", "controller", "controller/manager", "fake", "fake/sim", "kind", "shard/leader"},
	"shard/internal/gate":        {"client"},
}

// otherModules are folders with their own go.mod.
var otherModules = []string{"bench", "e2e", "examples", "tools", "with"}

// TestImportDirections holds the packages to the layout in docs/design.md.
func TestImportDirections(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || slices.Contains(otherModules, path)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		folder := filepath.ToSlash(filepath.Dir(path))
		seen[folder] = true
		checkImports(t, path, folder)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder := range allowed {
		if !seen[folder] {
			t.Errorf("no package in folder %q: remove it from the table", folder)
		}
	}
}

func checkImports(t *testing.T, path, folder string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	internal := isInternal(folder)
	may, known := allowed[folder]
	if !internal && !known {
		t.Errorf("%s: folder %q is not in the table of import directions", path, folder)
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		sibling, ours := strings.CutPrefix(imported, module+"/")
		if strings.HasPrefix(imported, "k8s.io/client-go") || strings.HasPrefix(imported, "k8s.io/api/") {
			t.Errorf("%s imports %s: only nested modules may", path, imported)
		}
		if strings.HasPrefix(imported, "sigs.k8s.io/structured-merge-diff/") {
			t.Errorf("%s imports %s: its path depends on the version of apimachinery", path, imported)
		}
		if strings.HasPrefix(imported, "github.com/google/go-cmp") && folder != "fake/faketest" && folder != "fake/sim" {
			t.Errorf("%s imports %s: only tests, fake/faketest and fake/sim may", path, imported)
		}
		if !ours || isInternal(sibling) {
			continue
		}
		if !slices.Contains(may, sibling) {
			t.Errorf("%s imports %s: %q may import only %q", path, imported, folder, may)
		}
	}
}

// isInternal reports whether folder lies below a folder internal.
func isInternal(folder string) bool { return strings.Contains("/"+folder, "/internal/") }
