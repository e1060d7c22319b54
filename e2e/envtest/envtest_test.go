//go:build e2e

package envtest

import (
	"bytes"
	"context"
	"encoding/json"
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

func TestControllerRuntime(t *testing.T) {
	needServers(t)
	const library = "sigs.k8s.io/controller-runtime"
	version := strings.TrimSpace(run(t, "go", "list", "-m", "-f", "{{.Version}}", library)) // the one of our go.mod
	assets, module := programs(t), download(t, library+"@"+version)
	for _, s := range controllerRuntime {
		t.Run(s.folder, func(t *testing.T) {
			if s.long && !longtest.On() {
				t.Skipf("set %s=1", longtest.Variable)
			}
			s.check(t, module, assets)
		})
	}
}

func TestOperators(t *testing.T) {
	needServers(t)
	if !longtest.On() {
		t.Skipf("set %s=1", longtest.Variable)
	}
	assets := programs(t)
	for _, o := range operators {
		module := download(t, o.module+"@"+o.version)
		for _, s := range o.suites {
			t.Run(o.module+"/"+s.folder, func(t *testing.T) { s.check(t, module, assets) })
		}
	}
}

func needServers(t *testing.T) {
	t.Helper()
	if os.Getenv(cluster.Variable) != "1" {
		t.Skipf("set %s=1 to compile the suites of others", cluster.Variable)
	}
}

// programs builds the programs and returns their folder.
func programs(t *testing.T) string {
	t.Helper()
	assets := t.TempDir()
	run(t, "env", "GOWORK=off", "go", "build", "-C", "../../with/strategies", "-tags", "grpcnotrace", "-o", assets+string(filepath.Separator),
		"./cmd/...", "github.com/kinform/kinform/with/envtest/cmd/etcd")
	return assets
}

// source is a module in the module cache.
type source struct {
	folder  string
	modfile string // a copy of its go.mod that the go command can change
}

// download brings a module, named as PATH@VERSION, into the module cache.
func download(t *testing.T, module string) source {
	t.Helper()
	var got struct{ Dir string }
	if err := json.Unmarshal([]byte(run(t, "env", "GOWORK=off", "go", "mod", "download", "-json", module)), &got); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(got.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return source{got.Dir, filepath.Join(dir, "go.mod")}
}

// check runs a suite. Some specs wait for one second of the real clock, and some race the controller that they test:
// its caches of two kinds have no common order. So a suite that fails runs once more: a fault of ours fails twice.
func (s suite) check(t *testing.T, module source, assets string) {
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
func (s suite) try(t *testing.T, module source, assets string) (passed int, bad []string) {
	report := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-mod=mod", "-modfile="+module.modfile, "-count=1", "-timeout=30m", "./"+s.folder,
		"-args", "--ginkgo.no-color", "--ginkgo.json-report="+report)
	cmd.Dir = module.folder
	cmd.Env = append(os.Environ(), "GOWORK=off", "KUBEBUILDER_ASSETS="+assets)
	out, runErr := cmd.CombinedOutput() // fails if a spec does; the report says which
	passed, bad, err := specs(report)
	slices.Sort(bad)
	if err != nil || passed == 0 {
		bad = append(bad, fmt.Sprintf("%v: %v\n%s", runErr, err, tail(out)))
	}
	return passed, bad
}

// specs reads the report of Ginkgo.
func specs(report string) (passed int, bad []string, err error) {
	nodes, err := others.ReadReport(report)
	if err != nil {
		return 0, nil, err
	}
	for _, one := range nodes {
		switch {
		case one.State == "passed" && one.LeafNodeType == "It":
			passed++
		case one.State != "passed" && one.State != "pending" && one.State != "skipped":
			bad = append(bad, fmt.Sprintf("%s: %s: %s", one.State, one.Name(), one.Failure.Message))
		}
	}
	return passed, bad, nil
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, said.Bytes())
	}
	return string(out)
}

func tail(out []byte) []byte { return out[max(0, len(out)-4000):] }
