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
