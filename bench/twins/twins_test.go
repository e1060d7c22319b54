package twins

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kinform/kinform/internal/codelines"
)

// TestLines compares what an author writes: without imports, comments and blank lines. The Go type
// of a CRD is in separate files on both sides, and does not count.
func TestLines(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, file string
		most       int // the goal
	}{
		{"website", "controller.go", 60},
		{"join", "controller.go", 45},
		{"projection", "controller.go", 25},
		{"readme", "main.go", 33},
		{"backup", "operator.go", 125},
	} {
		ours, err := codelines.InFile(filepath.Join("..", "..", "examples", c.name, c.file))
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := codelines.InFile(filepath.Join(c.name, c.file))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%-12s %d lines, with controller-runtime %d", c.name, ours, theirs)
		if ours > c.most {
			t.Errorf("%s has %d lines, want at most %d", c.name, ours, c.most)
		}
		if row := fmt.Sprintf("| %d | [%d](bench/twins/%s/%s) |", ours, theirs, c.name, c.file); !strings.Contains(string(readme), row) {
			t.Errorf("README.md does not say %q", row)
		}
		if ours > theirs {
			t.Errorf("%s has %d lines, %d more than with controller-runtime", c.name, ours, ours-theirs)
		}
	}
}

// TestWholeOperator counts a whole operator with its program.
func TestWholeOperator(t *testing.T) {
	sum := 0
	for _, file := range []string{"operator.go", "program/main.go"} {
		n, err := codelines.InFile(filepath.Join("..", "..", "examples", "backup", file))
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	t.Logf("%d lines", sum)
	if sum > 150 {
		t.Errorf("the operator and its program have %d lines, want at most 150", sum)
	}
}
