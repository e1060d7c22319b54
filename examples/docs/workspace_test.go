package docs_test

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	goCommand = regexp.MustCompile(`(?m)^    go ((?:mod|work) init .*)$`)
	// A file of the page: a block of code after a line that names it. The next block of the same name continues it.
	fileBlock = regexp.MustCompile("(?s)\n[^\n]*`([\\w./]+\\.go)`[^\n]*:\n\n```go\n(.*?)```\n")
)

// inPage and inRepository are the paths of the website's package.
const inPage, inRepository = `"example.com/website"`, `"github.com/kinform/kinform/examples/website"`

// TestStart makes the program of docs/getting-started.md in an empty folder, from the page alone but for what
// controller-gen writes, and tests it.
func TestStart(t *testing.T) {
	root, err := filepath.Abs("../..")
	check(t, err)
	text, err := os.ReadFile(filepath.Join(root, "docs", "getting-started.md"))
	check(t, err)
	page, dir := string(text), t.TempDir()

	files := map[string]string{}
	for _, block := range fileBlock.FindAllStringSubmatch(page, -1) {
		if files[block[1]] != "" {
			files[block[1]] += "\n"
		}
		files[block[1]] += block[2]
	}
	if len(files) != 4 {
		t.Fatalf("the page has %d files, want 4", len(files))
	}
	for name, code := range files {
		there, err := os.ReadFile(filepath.Join(root, "examples", "website", name))
		check(t, err)
		if strings.ReplaceAll(code, inPage, inRepository) != string(there) {
			t.Errorf("%s differs from examples/website/%[1]s", name)
		}
		if formatted, err := format.Source([]byte(code)); err != nil || string(formatted) != code {
			t.Errorf("%s is not formatted: %v", name, err)
		}
		check(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(code), 0o600))
	}
	for _, mark := range []string{"// +groupName=example.com\n", "// +versionName=v1\npackage website\n"} {
		if !strings.Contains(files["types.go"], mark) {
			t.Errorf("controller-gen runs in step 1, where types.go lacks %q", mark)
		}
	}
	const generated = "zz_generated.deepcopy.go"
	code, err := os.ReadFile(filepath.Join(root, "examples", "website", generated))
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, generated), code, 0o600))

	run := func(args ...string) {
		t.Helper()
		for n := range args {
			args[n] = strings.Replace(args[n], "../kinform", root, 1)
		}
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=", "GOFLAGS=", "PWD="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v: %.2000s", strings.Join(args, " "), err, out)
		}
	}
	commands := goCommand.FindAllStringSubmatch(page, -1)
	if len(commands) != 2 {
		t.Fatalf("the page has %d commands for a workspace, want 2", len(commands))
	}
	for _, command := range commands {
		run(strings.Fields(command[1])...)
	}
	run("vet", "./...")
	run("test", "./...")
}

var replaceCommand = regexp.MustCompile(`(?m)^    go mod edit -replace (\S+)=\.\./kinform(\S*)$`)

// TestReplace checks that docs/getting-started.md replaces the modules of the workspace, each by its folder, and gets
// the same.
func TestReplace(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "getting-started.md"))
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, command := range replaceCommand.FindAllStringSubmatch(string(page), -1) {
		mod, err := os.ReadFile(filepath.Join(root, command[2], "go.mod"))
		if err != nil || !strings.HasPrefix(string(mod), "module "+command[1]+"\n") {
			t.Errorf("%s is not the module %s: %v", command[2], command[1], err)
		}
		if get := "    go get " + command[1] + "\n"; !strings.Contains(string(page), get) {
			t.Errorf("the page does not say %q", get)
		}
		folders = append(folders, "../kinform"+command[2])
	}
	if want := "go work init . " + strings.Join(folders, " ") + "\n"; !strings.Contains(string(page), want) {
		t.Errorf("%d modules are replaced: %q; the workspace has others", len(folders), folders)
	}
}
