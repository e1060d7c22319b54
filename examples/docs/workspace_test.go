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

// TestWorkspace makes a program in a folder of its own, as the README says. It finds all that it imports.
func TestWorkspace(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
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
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=", "PWD="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v: %.2000s", strings.Join(args, " "), err, out)
		}
	}
	commands := goCommand.FindAllStringSubmatch(string(readme), -1)
	if len(commands) != 2 {
		t.Fatalf("the README has %d commands for a workspace, want 2", len(commands))
	}
	for _, command := range commands {
		run(strings.Fields(command[1])...)
	}
	run("list", "-deps", ".")
}

var replaceCommand = regexp.MustCompile(`(?m)^    go mod edit -replace (\S+)=\.\./kinform(\S*)$`)

// TestReplace checks that the README replaces the modules of the workspace, each by its folder.
func TestReplace(t *testing.T) {
	root := filepath.Join("..", "..")
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, command := range replaceCommand.FindAllStringSubmatch(string(readme), -1) {
		mod, err := os.ReadFile(filepath.Join(root, command[2], "go.mod"))
		if err != nil || !strings.HasPrefix(string(mod), "module "+command[1]+"\n") {
			t.Errorf("%s is not the module %s: %v", command[2], command[1], err)
		}
		folders = append(folders, "../kinform"+command[2])
	}
	if want := "go work init . " + strings.Join(folders, " ") + "\n"; !strings.Contains(string(readme), want) {
		t.Errorf("%d modules are replaced: %q; the workspace has others", len(folders), folders)
	}
}
