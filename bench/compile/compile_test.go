package compile

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// compiled is what the compiler made of one package.
type compiled struct{ bytes, functions int }

// kilobytes of 1,000 bytes.
func (c compiled) kilobytes() int { return (c.bytes + 500) / 1000 }

// compile compiles the package in a directory for amd64, where the limits were measured.
func compile(t *testing.T, dir string) (c compiled) {
	t.Helper()
	archive := run(t, "go", "list", "-export", "-f", "{{.Export}}", dir)
	for line := range strings.Lines(run(t, "go", "tool", "nm", "-size", "-sort", "none", strings.TrimSpace(archive))) {
		// An address, the bytes, the type and the name. An undefined symbol has no address.
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[2] != "T" && fields[2] != "t" {
			continue
		}
		bytes, err := strconv.Atoi(fields[1])
		if err != nil {
			t.Fatalf("%s: %q", dir, line)
		}
		c.bytes += bytes
		c.functions++
	}
	if c.functions == 0 {
		t.Fatalf("%s: no function in %s", dir, archive)
	}
	return c
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(cmd.Environ(), "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%.2000s", name, strings.Join(args, " "), err, problem.String())
	}
	return string(out)
}

// TestText compares what is compiled of Kinform in a user's package with the most that it may be.
// A change that brings a number down brings its limit down, until it is at the goal.
func TestText(t *testing.T) {
	open, five := compile(t, "./testdata/open"), compile(t, "./testdata/five")
	for _, probe := range []struct {
		name       string
		got        compiled
		most, goal int // KB of text
	}{
		{"a package that holds a handle", compile(t, "./testdata/hold"), 85, 100},
		{"a package that makes an informer", compile(t, "./testdata/informer"), 300, 300},
		{"a package that opens one kind", open, 453, 500},
		{"each further kind", compiled{(five.bytes - open.bytes) / 4, (five.functions - open.functions) / 4}, 60, 70},
	} {
		t.Logf("%s: %d KB of text in %d functions (goal %d KB)", probe.name, probe.got.kilobytes(), probe.got.functions, probe.goal)
		if probe.got.kilobytes() > probe.most {
			t.Errorf("%s: %d KB of text, at most %d before", probe.name, probe.got.kilobytes(), probe.most)
		}
	}
}
