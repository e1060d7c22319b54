package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goCommand = regexp.MustCompile(`(?m)^    go ((?:mod|work) init .*)$`)

// TestWorkspace makes the program of the README in a folder of its own, as docs/getting-started.md says. It finds all
// that it imports.
func TestWorkspace(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "getting-started.md"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join(root, "examples", "readme", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), program, 0o600); err != nil {
		t.Fatal(err)
	}
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
	commands := goCommand.FindAllStringSubmatch(string(page), -1)
	if len(commands) != 2 {
		t.Fatalf("the page has %d commands for a workspace, want 2", len(commands))
	}
	for _, command := range commands {
		run(strings.Fields(command[1])...)
	}
	run("list", "-deps", ".")
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
