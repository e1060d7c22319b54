//go:build e2e

package envtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/others"
	"github.com/kinform/kinform/internal/longtest"
)

const library = "sigs.k8s.io/controller-runtime"

// suite is one of the library's packages with specs.
type suite struct {
	folder string
	long   bool
}

var suites = []suite{
	{folder: "pkg/client"},
	{folder: "pkg/envtest"},
	{folder: "pkg/webhook"},
	{folder: "pkg/builder", long: true},
	{folder: "pkg/cache", long: true},
	{folder: "pkg/cluster", long: true},
	{folder: "pkg/controller", long: true},
	{folder: "pkg/controller/controllerutil", long: true},
	{folder: "pkg/handler", long: true},
	{folder: "pkg/internal/controller", long: true},
	{folder: "pkg/internal/recorder", long: true},
	{folder: "pkg/manager", long: true},
	{folder: "pkg/source", long: true},
}

func TestControllerRuntime(t *testing.T) {
	if os.Getenv(cluster.Variable) != "1" {
		t.Skipf("set %s=1 to compile the suites of %s", cluster.Variable, library)
	}
	assets := t.TempDir()
	run(t, "env", "GOWORK=off", "go", "build", "-C", "../../with/strategies", "-tags", "grpcnotrace", "-o", assets+string(filepath.Separator),
		"./cmd/...", "github.com/kinform/kinform/with/envtest/cmd/etcd")
	module := modfile(t)
	for _, s := range suites {
		t.Run(s.folder, func(t *testing.T) {
			if s.long && !longtest.On() {
				t.Skipf("set %s=1", longtest.Variable)
			}
			s.check(t, module, assets)
		})
	}
}

// modfile copies the library's go.mod to a place where the go command can change it, and returns
// its path.
func modfile(t *testing.T) string {
	t.Helper()
	folder := strings.TrimSpace(run(t, "go", "list", "-m", "-f", "{{.Dir}}", library))
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "go.mod")
}

// check runs a suite. Some specs wait for one second of the real clock, so a suite that fails runs
// once more: a fault of ours fails twice.
func (s suite) check(t *testing.T, module, assets string) {
	passed, bad := s.try(t, module, assets)
	if len(bad) > 0 {
		t.Logf("the first run:\n%s", strings.Join(bad, "\n"))
		passed, bad = s.try(t, module, assets)
	}
	if len(bad) > 0 {
		t.Error(strings.Join(bad, "\n"))
	}
	t.Logf("%d specs passed", passed)
}

// try runs the suite once. It returns how many specs passed and what is wrong.
func (s suite) try(t *testing.T, module, assets string) (passed int, bad []string) {
	folder := strings.TrimSpace(run(t, "go", "list", "-m", "-f", "{{.Dir}}", library))
	report := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-mod=mod", "-modfile="+module, "-count=1", "./"+s.folder,
		"-args", "--ginkgo.no-color", "--ginkgo.json-report="+report)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOWORK=off", "KUBEBUILDER_ASSETS="+assets)
	out, runErr := cmd.CombinedOutput() // fails if a spec does; the report says which
	nodes, err := others.ReadReport(report)
	if err != nil {
		return 0, []string{fmt.Sprintf("%v: %v\n%s", err, runErr, tail(out))}
	}
	for _, one := range nodes {
		switch {
		case one.State == "passed" && one.LeafNodeType == "It":
			passed++
		case one.State != "passed" && one.State != "pending" && one.State != "skipped":
			bad = append(bad, fmt.Sprintf("%s: %s: %s", one.State, one.Name(), one.Failure.Message))
		}
	}
	slices.Sort(bad)
	if passed == 0 {
		bad = append(bad, fmt.Sprintf("no spec passed\n%s", tail(out)))
	}
	return passed, bad
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(out)
}

func tail(out []byte) []byte { return out[max(0, len(out)-4000):] }
