package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kinform/kinform/fake/faults"
)

// flat leaves out the indentation and the ends of lines.
func flat(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for n, line := range lines {
		lines[n] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

// sources returns the Go files of some folders, flat.
func sources(t *testing.T, test func(path string) bool, roots ...string) (files []string) {
	t.Helper()
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || !test(path) {
				return err
			}
			text, err := os.ReadFile(path)
			files = append(files, flat(string(text)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// pages returns the pages in docs/ and its folders, by their paths in it.
func pages(t *testing.T) map[string]string {
	t.Helper()
	texts, docs := map[string]string{}, os.DirFS("../../docs")
	for _, pattern := range []string{"*.md", "*/*.md"} {
		paths, err := fs.Glob(docs, pattern)
		if err != nil || len(paths) < 5 {
			t.Fatalf("%d pages %s, %v", len(paths), pattern, err)
		}
		for _, path := range paths {
			text, err := fs.ReadFile(docs, path)
			if err != nil {
				t.Fatal(err)
			}
			texts[path] = string(text)
		}
	}
	return texts
}

func contains(files []string, text string) bool {
	for _, file := range files {
		if strings.Contains(file, text) {
			return true
		}
	}
	return false
}

var goBlock = regexp.MustCompile("(?s)\n```go\n(.*?)```\n")

// TestCode holds each block of Go in docs/ to be in a Go file, which the compiler sees.
func TestCode(t *testing.T) {
	files := sources(t, func(string) bool { return true }, "..", "../../bench/twins", "../../with")
	blocks := 0
	for name, text := range pages(t) {
		for _, block := range goBlock.FindAllStringSubmatch(text, -1) {
			if blocks++; !contains(files, flat(strings.ReplaceAll(block[1], inPage, inRepository))) {
				t.Errorf("%s has code that is in no Go file of examples/, bench/twins and with/:\n%s", name, block[1])
			}
		}
	}
	if blocks < 25 {
		t.Errorf("only %d blocks of code were found", blocks)
	}
}

var quoted = regexp.MustCompile("(?m)^## `(.*)`$")

// TestErrors holds docs/troubleshooting.md to texts that the packages have. Dots stand for what differs.
func TestErrors(t *testing.T) {
	notTests := func(path string) bool { return !strings.HasSuffix(path, "_test.go") }
	files := sources(t, notTests, "../../client", "../../controller", "../../informer", "../../store", "../../index", "../../queue",
		"../../kind", "../../reflector", "../../with", "../../fake", "../../internal", "../../deltafifo", "../../shard")
	errors := quoted.FindAllStringSubmatch(pages(t)["troubleshooting.md"], -1)
	for _, found := range errors {
		for part := range strings.SplitSeq(found[1], "…") {
			if part = strings.TrimSpace(part); !contains(files, part) {
				t.Errorf("no package has the text %q", part)
			}
		}
	}
	if len(errors) < 15 {
		t.Errorf("only %d errors were found", len(errors))
	}
}

var (
	link    = regexp.MustCompile(`\]\(((?:[\w./-]+\.(?:md|go|svg))?)(?:#([^)]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	unnamed = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks checks the links of docs/ and of the README to files of the repository, and to headings
// of pages.
func TestLinks(t *testing.T) {
	texts := pages(t)
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	texts["../README.md"] = string(readme)
	headings := 0
	for name, text := range texts {
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			to := name
			if found[1] != "" {
				to = strings.TrimPrefix(filepath.Join(filepath.Dir(name), found[1]), "../docs/")
			}
			if _, err := os.Stat(filepath.Join("../../docs", to)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if page, ok := texts[to]; ok && found[2] != "" {
				headings++
				if !slices.Contains(anchors(page), found[2]) {
					t.Errorf("%s: %s has no heading %q", name, to, found[2])
				}
			}
		}
	}
	if headings < 10 {
		t.Errorf("only %d links to headings were found", headings)
	}
}

// anchors returns the names of a page's headings in links.
func anchors(page string) (all []string) {
	for _, found := range heading.FindAllStringSubmatch(page, -1) {
		all = append(all, strings.ReplaceAll(strings.ToLower(unnamed.ReplaceAllString(found[1], "")), " ", "-"))
	}
	return all
}

var file = regexp.MustCompile("`([\\w./-]+/\\w+\\.go)`")

// TestFiles checks that the files exist that docs/ names, by their paths from the root. getting-started.md
// names files of the folder that it makes: see TestStart.
func TestFiles(t *testing.T) {
	names := 0
	for name, text := range pages(t) {
		root := "../.."
		if name == "getting-started.md" {
			root = "../website"
		}
		for _, found := range file.FindAllStringSubmatch(text, -1) {
			names++
			if _, err := os.Stat(filepath.Join(root, found[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if names < 30 {
		t.Errorf("only %d names of files were found", names)
	}
}

var faultLine = regexp.MustCompile("(?m)^\\| `(.*)` \\|")

// TestFaults parses the faults in docs/testing.md.
func TestFaults(t *testing.T) {
	lines := faultLine.FindAllStringSubmatch(pages(t)["testing.md"], -1)
	for _, line := range lines {
		if _, err := faults.Parse(line[1]); err != nil {
			t.Error(err)
		}
	}
	if len(lines) < 5 {
		t.Errorf("only %d faults were found", len(lines))
	}
}
