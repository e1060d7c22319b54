package bench

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestParity finds every exported name of client-go's packages on the parity pages, and
// every test of ours that they name in our packages.
func TestParity(t *testing.T) {
	for pkg, pages := range map[string][]string{
		"util/workqueue":        {"parity.md"},
		"tools/cache":           {"parity-cache.md", "parity-fifo.md"},
		"tools/cache/synctrack": {"parity-cache.md"},
		"tools/cache/testing":   {"parity-cache.md"},
	} {
		named := map[string]bool{}
		for _, page := range pages {
			for _, word := range regexp.MustCompile("[A-Za-z][A-Za-z0-9_]*").FindAllString(readPage(t, page), -1) {
				named[word] = true
			}
		}
		names := exported(t, filepath.Join(clientGoDir(t), pkg))
		if len(names) == 0 {
			t.Errorf("%s has no exported names: it has moved", pkg)
		}
		for _, name := range names {
			if !named[name] {
				t.Errorf("%v: %s.%s is missing", pages, pkg, name)
			}
		}
	}
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func clientGoDir(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/client-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// exported returns the names that a package declares at its top level.
func exported(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					add(decl.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						add(spec.Name)
					case *ast.ValueSpec:
						for _, id := range spec.Names {
							add(id)
						}
					}
				}
			}
		}
	}
	return names
}

// TestParityTests finds the tests that the pages name: a renamed one would be a claim that
// nobody can check.
func TestParityTests(t *testing.T) {
	exists := testNames(t, "..")
	for _, pkg := range []string{"util/workqueue", "tools/cache"} {
		maps.Copy(exists, testNames(t, filepath.Join(clientGoDir(t), pkg)))
	}
	for _, page := range []string{"parity.md", "parity-fifo.md", "parity-cache.md"} {
		for _, test := range regexp.MustCompile("`((?:Test|Example|Fuzz|Benchmark)[A-Z_][A-Za-z0-9_]*)").FindAllStringSubmatch(readPage(t, page), -1) {
			if !exists[test[1]] {
				t.Errorf("%s names %s, which exists neither here nor in client-go", page, test[1])
			}
		}
	}
}

// testNames returns the names of all tests below a folder.
func testNames(t *testing.T, root string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	find := regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz|Benchmark)\w*)\(`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, m := range find.FindAllStringSubmatch(string(data), -1) {
			names[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
