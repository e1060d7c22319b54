package main

import (
	"os"
	"strings"
	"testing"

	"github.com/kinform/kinform/examples/internal/stage"
)

// TestReadme holds the README to showing the controller and the test of this package word for word.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"main.go", "count_test.go"} {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, code, found := strings.Cut(string(source), "\n)\n\n") // the end of the imports
		if !found || !strings.Contains(string(readme), "\n```go\n"+code+"```\n") {
			t.Errorf("README.md does not show this:\n%s", code)
		}
	}
}

func TestLines(t *testing.T) { stage.AtMostLines(t, "main.go", 33) }
