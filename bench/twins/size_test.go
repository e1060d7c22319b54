package twins

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/kinform/kinform/internal/longtest"
)

// kept matches what the linker says of a function that may call any method by its number. Because
// of one such function, a program keeps all exported methods of all its types.
var kept = regexp.MustCompile(`(?m)^(\S+) <ReflectMethod>`)

// build links a program without symbols. It returns its size in MB, and the functions that call any
// method.
func build(t *testing.T, dir string) (megabytes float64, callers []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w -dumpdep", "-o", path, ".")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %.2000s", dir, err, out)
	}
	for _, found := range kept.FindAllSubmatch(out, -1) {
		if name := string(found[1]); !slices.Contains(callers, name) {
			callers = append(callers, name)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return float64(info.Size()) / 1e6, callers
}

// TestSize compares programs that do the same and read a kubeconfig. README.md has the sizes.
func TestSize(t *testing.T) {
	if !longtest.On() {
		t.Skip("links three programs: set " + longtest.Variable + "=1")
	}
	ours, callers := build(t, filepath.Join("..", "..", "examples", "readme"))
	clientGo, _ := build(t, filepath.Join("clientgo", "program"))
	runtime, _ := build(t, "readme")
	t.Logf("%.1f MB, with client-go %.1f MB, with controller-runtime %.1f MB", ours, clientGo, runtime)
	if ours > 20 || len(callers) > 0 {
		t.Errorf("the program has %.1f MB, want at most 20; these functions make it keep all exported methods: %v", ours, callers)
	}
	if ours > 0.7*min(clientGo, runtime) {
		t.Errorf("the program has %.1f MB, more than 70%% of %.1f and %.1f", ours, clientGo, runtime)
	}
}
