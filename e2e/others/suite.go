package others

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/kinform/kinform/e2e/cluster"
)

// Suite is the tests of one package of another module.
type Suite struct {
	Module  string // the path of the module
	Package string // the path of the package
	With    string // what of Kinform it runs on, if the page has the package several times
	Specs   string // the test that runs the specs of Ginkgo, if there are any; they count like tests
	Servers bool   // the tests start kube-apiserver and etcd
	Edits   []Edit
	// Added are files that are put beside a package's own: by import path, a slash and the name.
	Added map[string]string
	// Private has tests that read or set a private part of theirs, with the part. They are not run.
	Private map[string]string
	// Differs has tests that do not pass, with the reason.
	Differs map[string]string
}

// Result lists the tests of a suite by their outcome.
type Result struct {
	Files []File
	// Wrong lists the contradictions of the suite's own statements.
	Wrong []string
}

// File is one file of tests. A test is in one of the lists.
type File struct {
	Name string
	// Passed have passed on Kinform. Apart are tests that call none of the constructors.
	Passed, Apart, Private, Differs []string
}

// Run runs the tests. Files for the run are in dir.
func (s Suite) Run(ctx context.Context, dir string) (Result, error) {
	w, err := newWorkspace(ctx, s.Module, dir)
	if err != nil {
		return Result{}, err
	}
	folder, err := w.folder(ctx, s.Package)
	if err != nil {
		return Result{}, err
	}
	files, err := tests(folder)
	if err != nil {
		return Result{}, err
	}
	binary, err := s.build(ctx, w, dir)
	if err != nil {
		return Result{}, err
	}
	r := runner{binary: binary, folder: folder, used: filepath.Join(dir, "used"), specs: s.Specs, report: filepath.Join(dir, "report.json")}
	if s.Servers {
		servers, err := cluster.Build(ctx, os.Stderr)
		if err != nil {
			return Result{}, err
		}
		r.env = append(r.env, "KUBEBUILDER_ASSETS="+filepath.Dir(servers.Etcd))
	}
	var wrong []string
	args := []string{"-test.skip=" + pattern(slices.Concat(keys(s.Private), keys(s.Differs)))}
	if s.Specs != "" {
		for _, name := range keys(s.Private) {
			args = append(args, "-ginkgo.skip="+pattern([]string{regexp.QuoteMeta(name)}))
		}
	}
	ends, text, err := r.run(ctx, args...)
	if err != nil && !slices.Contains(slices.Collect(maps.Values(ends)), "FAIL") {
		wrong = append(wrong, fmt.Sprintf("%s: %v\n%s", s.Package, err, tail(text))) // a panic or a leak
	}
	if s.Specs != "" {
		if files, err = r.addSpecs(files); err != nil {
			return Result{}, fmt.Errorf("%s: %w\n%s", s.Package, err, tail(text))
		}
	}
	for name := range s.Differs {
		if isSpec(name) && ends[name] == "PASS" || !isSpec(name) && r.always(ctx, name) {
			wrong = append(wrong, fmt.Sprintf("%s: %s passes", s.Package, name))
		}
	}
	used, err := r.usedBy()
	if err != nil {
		return Result{}, err
	}
	result := Result{Wrong: wrong}
	for _, file := range files {
		f := File{Name: file.name}
		for _, test := range file.tests {
			_, private := s.Private[test]
			_, differs := s.Differs[test]
			switch {
			case private:
				f.Private = append(f.Private, test)
			case differs:
				f.Differs = append(f.Differs, test)
			case test == s.Specs:
			case !used[test]:
				f.Apart = append(f.Apart, test)
			case ends[test] == "PASS" || ends[test] == "FAIL" && r.again(ctx, test):
				f.Passed = append(f.Passed, test)
			default:
				result.Wrong = append(result.Wrong, fmt.Sprintf("%s: %s ended with %q\n%s", s.Package, test, ends[test], about(text, test)))
			}
		}
		result.Files = append(result.Files, f)
	}
	return result, nil
}

// build compiles the tests with the overlay.
func (s Suite) build(ctx context.Context, w *workspace, dir string) (string, error) {
	file, err := overlay(ctx, w, dir, s.Package, s.Edits, s.Added)
	if err != nil {
		return "", err
	}
	// With -trimpath, what one suite has compiled serves the others: their workspaces are in
	// different folders.
	binary := filepath.Join(dir, "tests")
	_, err = w.command(ctx, "test", "-c", "-trimpath", "-overlay", file, "-o", binary, s.Package)
	return binary, err
}

// overlay writes an overlay for the go command to a file in dir, and returns its name.
func overlay(ctx context.Context, w *workspace, dir, pkg string, edits []Edit, added map[string]string) (string, error) {
	replaced := map[string]string{}
	put := func(path, text string) error {
		file := filepath.Join(dir, fmt.Sprintf("%d-%s", len(replaced), filepath.Base(path)))
		replaced[path] = file
		return os.WriteFile(file, []byte(text), 0o600)
	}
	folder, err := w.folder(ctx, pkg)
	if err != nil {
		return "", err
	}
	byFile := map[string][]func(*source){}
	for _, edit := range edits {
		byFile[edit.File] = append(byFile[edit.File], edit.Do)
	}
	for name, edits := range byFile {
		text, err := edited(filepath.Join(folder, name), edits)
		if err != nil {
			return "", err
		}
		if err := put(filepath.Join(folder, name), text); err != nil {
			return "", err
		}
	}
	for path, text := range added {
		folder, err := w.folder(ctx, filepath.Dir(path))
		if err != nil { // a new package
			if folder, err = w.folder(ctx, filepath.Dir(filepath.Dir(path))); err != nil {
				return "", err
			}
			folder = filepath.Join(folder, filepath.Base(filepath.Dir(path)))
		}
		if err := put(filepath.Join(folder, filepath.Base(path)), text); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, text, 0o600)
}

// runner runs compiled tests.
type runner struct {
	binary, folder string
	used           string // a file with the tests that called a constructor
	specs          string // Suite.Specs
	report         string // a file with the specs and their ends
	env            []string
}

var ended = regexp.MustCompile(`(?m)^--- (PASS|FAIL|SKIP): (\w+)`)

// run returns the ends of the tests by their names.
func (r runner) run(ctx context.Context, args ...string) (ends map[string]string, text string, err error) {
	if r.specs != "" {
		args = append(args, "-ginkgo.json-report="+r.report)
	}
	cmd := exec.CommandContext(ctx, r.binary, append([]string{"-test.v", "-test.timeout=10m"}, args...)...)
	cmd.Dir = r.folder
	cmd.Env = slices.Concat(os.Environ(), r.env, []string{"KINFORM_OTHERS=" + r.used})
	out, err := cmd.CombinedOutput()
	ends = map[string]string{}
	for _, match := range ended.FindAllStringSubmatch(string(out), -1) {
		ends[match[2]] = match[1]
	}
	if r.specs == "" || ends[r.specs] == "" {
		return ends, string(out), err
	}
	specs, failed := readSpecs(r.report)
	for _, s := range specs {
		ends[s.name] = s.end
	}
	return ends, string(out), errors.Join(err, failed)
}

// again runs a test that has failed: some of theirs have short timeouts, and a busy machine is
// slow.
func (r runner) again(ctx context.Context, test string) bool {
	for range 3 {
		if r.passes(ctx, test) {
			return true
		}
	}
	return false
}

// always reports whether a test passes each time. One that is about times may pass by chance,
// because Kinform spreads its resyncs at random.
func (r runner) always(ctx context.Context, test string) bool {
	for range 20 {
		if !r.passes(ctx, test) {
			return false
		}
	}
	return true
}

// passes runs one test.
func (r runner) passes(ctx context.Context, test string) bool {
	args := []string{"-test.run=" + pattern([]string{test})}
	if isSpec(test) {
		args = []string{"-test.run=" + pattern([]string{r.specs}), "-ginkgo.focus=" + pattern([]string{regexp.QuoteMeta(test)})}
	}
	ends, _, _ := r.run(ctx, args...)
	return ends[test] == "PASS"
}

// usedBy returns the tests that called a constructor.
func (r runner) usedBy() (map[string]bool, error) {
	file, err := os.Open(r.used)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	used := map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		used[lines.Text()] = true
	}
	return used, nil
}

type testFile struct {
	name  string
	tests []string
}

// tests returns the test functions of a folder's files.
func tests(folder string) ([]testFile, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return nil, err
	}
	var files []testFile
	for _, path := range paths {
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		file := testFile{name: filepath.Base(path)}
		for _, decl := range parsed.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") && fn.Name.Name != "TestMain" {
				file.tests = append(file.tests, fn.Name.Name)
			}
		}
		if len(file.tests) > 0 {
			files = append(files, file)
		}
	}
	return files, nil
}

// pattern matches exactly the names.
func pattern(names []string) string { return "^(" + strings.Join(names, "|") + ")$" }

func keys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// about is the part of an output that concerns a test.
func about(text, test string) string {
	if at := strings.Index(text, "=== RUN   "+test+"\n"); at >= 0 {
		text = text[at:]
		if end := strings.Index(text[1:], "\n=== RUN   "); end >= 0 {
			text = text[:end]
		}
	}
	return tail(text)
}

// tail is the end of a long output.
func tail(text string) string { return text[max(0, len(text)-8000):] }
