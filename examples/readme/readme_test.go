package readme_test

import (
	"os"
	"strings"
	"testing"
)

// TestReadme holds the README to showing the controller of this package word for word.
func TestReadme(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(source), "// countPods ")
	controller, _, ends := strings.Cut(after, "\n}\n")
	if !found || !ends {
		t.Fatal("example_test.go has no controller")
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "// countPods "+controller+"\n}\n") {
		t.Errorf("README.md does not show this:\n// countPods %s\n}", controller)
	}
}
