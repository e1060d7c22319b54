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
	"slices"
	"strings"
	"testing"
)

// parityPages are the packages of client-go that the pages in docs compare with, and the pages of
// each.
var parityPages = map[string][]string{
	"util/workqueue":        {"parity.md"},
	"tools/cache":           {"parity-cache.md", "parity-fifo.md"},
	"tools/cache/synctrack": {"parity-cache.md"},
	"tools/cache/testing":   {"parity-cache.md"},
}

// TestParity finds every exported name of client-go's packages on the parity pages.
func TestParity(t *testing.T) {
	for pkg, pages := range parityPages {
		named := map[string]bool{}
		for _, page := range pages {
			for _, word := range regexp.MustCompile("[A-Za-z][A-Za-z0-9_]*").FindAllString(readPage(t, page), -1) {
				named[word] = true
			}
		}
		names, _ := declared(t, pkg)
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

// TestParityNamesExist looks up every name that a page says client-go has.
func TestParityNamesExist(t *testing.T) {
	exists := map[string]map[string]bool{} // by page
	for pkg, pages := range parityPages {
		names, members := declared(t, pkg)
		for _, page := range pages {
			if exists[page] == nil {
				exists[page] = map[string]bool{"informers": true, "SharedInformerFactory": true} // of package informers
			}
			for _, name := range append(names, members...) {
				exists[page][name] = true
			}
		}
	}
	quoted, word := regexp.MustCompile("`([^`]+)`"), regexp.MustCompile("[A-Za-z][A-Za-z0-9_]*")
	for page, known := range exists {
		rows := rowsOf(readPage(t, page))
		if len(rows) == 0 {
			t.Errorf("%s has no tables", page)
		}
		for _, row := range rows {
			if strings.HasPrefix(row[0], "controller-runtime ") {
				continue
			}
			for _, code := range quoted.FindAllStringSubmatch(row[0], -1) {
				if strings.HasPrefix(code[1], "…") { // the end of a name
					checkSuffix(t, page, code[1], known)
					continue
				}
				for _, name := range word.FindAllString(code[1], -1) {
					if ast.IsExported(name) && !known[name] {
						t.Errorf("%s: client-go has no %s", page, name)
					}
				}
			}
		}
	}
}

// checkSuffix looks for a name that ends in what follows the dots, of which a member may be named
// after a point.
func checkSuffix(t *testing.T, page, code string, known map[string]bool) {
	t.Helper()
	suffix, member, _ := strings.Cut(strings.TrimPrefix(code, "…"), ".")
	for name := range known {
		if strings.HasSuffix(name, suffix) && (member == "" || known[member]) {
			return
		}
	}
	t.Errorf("%s: client-go has nothing that ends in %s", page, code)
}

// testsPage pairs each test of client-go with ours.
const testsPage = "../bench/client-go-tests.md" // from docs

// TestParityListsEveryTest compares testsPage with client-go's files, in both directions.
func TestParityListsEveryTest(t *testing.T) {
	for _, pkg := range []string{"util/workqueue", "tools/cache"} {
		listed := listedTests(t, pkg)
		for file, names := range clientGoTests(t, pkg) {
			for _, name := range names {
				if !slices.ContainsFunc(slices.Collect(maps.Keys(listed)), func(heading string) bool {
					return slices.Contains(strings.Fields(heading), file) && slices.Contains(listed[heading], name)
				}) {
					t.Errorf("%s: %s of %s/%s is missing", testsPage, name, pkg, file)
				}
			}
		}
		checkListed(t, pkg, listed)
	}
}

// listedTests returns the tests of a package on testsPage, by file. A cell with names of files is a heading for what
// follows.
func listedTests(t *testing.T, pkg string) map[string][]string {
	t.Helper()
	file, test := regexp.MustCompile(`[\w/-]+_test\.go`), regexp.MustCompile("`((?:Test|Example|Fuzz|Benchmark)[A-Za-z0-9_]*)`")
	_, section, _ := strings.Cut(readPage(t, testsPage), "\n## "+pkg+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	listed, heading := map[string][]string{}, ""
	for _, row := range rowsOf(section) {
		if files := file.FindAllString(row[0], -1); len(files) > 0 {
			heading = strings.Join(files, " ")
		}
		for _, m := range test.FindAllStringSubmatch(row[0], -1) {
			listed[heading] = append(listed[heading], m[1])
		}
	}
	return listed
}

// checkListed looks for tests that are listed under a file that does not have them.
func checkListed(t *testing.T, pkg string, listed map[string][]string) {
	t.Helper()
	all := clientGoTests(t, pkg)
	for heading, names := range listed {
		for _, name := range names {
			if !slices.ContainsFunc(strings.Fields(heading), func(file string) bool { return slices.Contains(all[file], name) }) {
				t.Errorf("%q of %s has no %s", heading, pkg, name)
			}
		}
	}
}

// clientGoTests returns the tests of a package and of those below it, by file.
func clientGoTests(t *testing.T, pkg string) map[string][]string {
	t.Helper()
	root := filepath.Join(clientGoDir(t), pkg)
	tests := map[string][]string{}
	find := regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz|Benchmark)\w*)\(`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		for _, m := range find.FindAllStringSubmatch(string(data), -1) {
			if m[1] != "TestMain" {
				tests[filepath.ToSlash(file)] = append(tests[filepath.ToSlash(file)], m[1])
			}
		}
		return err
	})
	if err != nil || len(tests) == 0 {
		t.Fatalf("%d files with tests below %s: %v", len(tests), root, err)
	}
	return tests
}

// rowsOf returns the cells of the rows in a text.
func rowsOf(text string) (rows [][]string) {
	for line := range strings.Lines(text) {
		row, isRow := strings.CutPrefix(line, "| ")
		if cells := strings.Split(row, " | "); isRow && len(cells) > 1 && !strings.HasPrefix(row, "---") {
			rows = append(rows, cells)
		}
	}
	return rows
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

// declared returns the exported names that a package of client-go declares at its top level, and
// the names of its types' methods and fields.
func declared(t *testing.T, pkg string) (names, members []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(clientGoDir(t), pkg, "*.go"))
	if err != nil {
		t.Fatal(err)
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
					names = append(names, decl.Name.Name)
				} else {
					members = append(members, decl.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					names = append(names, specNames(spec)...)
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok {
				for _, id := range field.Names {
					members = append(members, id.Name)
				}
			}
			return true
		})
	}
	unexported := func(name string) bool { return !ast.IsExported(name) }
	return slices.DeleteFunc(names, unexported), slices.DeleteFunc(members, unexported)
}

func specNames(spec ast.Spec) (names []string) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		names = append(names, spec.Name.Name)
	case *ast.ValueSpec:
		for _, id := range spec.Names {
			names = append(names, id.Name)
		}
	}
	return names
}

// TestParityTests checks that the tests named by the pages exist. A claim with a renamed
// test could not be checked.
func TestParityTests(t *testing.T) {
	exists := testNames(t, "..")
	for _, pkg := range []string{"util/workqueue", "tools/cache"} {
		maps.Copy(exists, testNames(t, filepath.Join(clientGoDir(t), pkg)))
	}
	for _, page := range []string{"parity.md", "parity-fifo.md", "parity-cache.md", testsPage} {
		for _, test := range regexp.MustCompile("`((?:Test|Example|Fuzz|Benchmark)[A-Z_][A-Za-z0-9_]*)").FindAllStringSubmatch(readPage(t, page), -1) {
			if !exists[test[1]] {
				t.Errorf("%s names %s, which exists neither here nor in client-go", page, test[1])
			}
		}
		for _, file := range regexp.MustCompile(`testdata/\w+\.txt`).FindAllString(readPage(t, page), -1) {
			if _, err := os.Stat(filepath.Join("..", "reflector", file)); err != nil {
				t.Errorf("%s: %v", page, err)
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
