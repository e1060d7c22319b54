//go:build e2e

package envtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	run(t, "env", "CGO_ENABLED=0", "GOWORK=off", "go", "build", "-C", "../../with/strategies", "-tags", "grpcnotrace", "-o", assets+string(filepath.Separator),
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
	var got struct{ Dir, Version string }
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
	s := source{got.Dir, filepath.Join(dir, "go.mod")}
	s.publish(t, got.Version)
	return s
}

// publish replaces modules in folders of the source by their published versions: a nested module is not in the
// module cache with the one around it.
func (s source) publish(t *testing.T, version string) {
	t.Helper()
	type module struct{ Path, Version string }
	var file struct{ Replace []struct{ Old, New module } }
	if err := json.Unmarshal([]byte(run(t, "go", "mod", "edit", "-json", s.modfile)), &file); err != nil {
		t.Fatal(err)
	}
	for _, r := range file.Replace {
		if r.New.Version == "" {
			run(t, "go", "mod", "edit", "-replace", r.Old.Path+"="+r.Old.Path+"@"+version, s.modfile)
		}
	}
}

// outcome is what a run of a suite came to.
type outcome struct {
	tests, specs int      // that passed
	bad          []string // what is wrong
}

// check runs a suite. Some specs wait for one second of the real clock, and some race the controller that they test:
// its caches of two kinds have no common order. So a suite that fails runs once more: a fault of ours fails twice.
func (s suite) check(t *testing.T, module source, assets string) {
	got := s.try(t, module, assets)
	if len(got.bad) > 0 {
		t.Logf("the first run:\n%s", strings.Join(got.bad, "\n"))
		got = s.try(t, module, assets)
	}
	if len(got.bad) > 0 {
		t.Error(strings.Join(got.bad, "\n"))
	}
	t.Logf("%d tests and %d specs passed", got.tests, got.specs)
}

// try runs the suite once.
func (s suite) try(t *testing.T, module source, assets string) outcome {
	report := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-json", "-vet=off", "-mod=mod", "-modfile="+module.modfile, "-count=1", "-timeout=30m", "./"+s.folder,
		"-args", "--ginkgo.no-color", "--ginkgo.json-report="+report)
	cmd.Dir = module.folder
	cmd.Env = append(os.Environ(), "GOWORK=off", "KUBEBUILDER_ASSETS="+assets)
	out, runErr := cmd.CombinedOutput()
	tests, said := events(out)
	shown, err := specs(report)
	got := outcome{tests.tests, shown.specs, slices.Concat(tests.bad, shown.bad)}
	slices.Sort(got.bad)
	if err != nil {
		got.bad = append(got.bad, err.Error())
	}
	if runErr != nil && len(got.bad) == 0 || got.tests == 0 {
		got.bad = append(got.bad, fmt.Sprintf("%v\n%s", runErr, tail(said)))
	}
	return got
}

// events reads the output of go test -json. Tests within tests are not counted. said is what the tests printed, and
// the lines that are no events.
func events(out []byte) (got outcome, said string) {
	var all strings.Builder
	printed := map[string]string{} // by each test
	for line := range bytes.Lines(out) {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal(line, &event) != nil {
			all.Write(line)
			continue
		}
		all.WriteString(event.Output)
		printed[event.Test] += event.Output
		switch {
		case event.Test == "":
		case event.Action == "fail":
			got.bad = append(got.bad, event.Test+": "+tail(printed[event.Test]))
		case event.Action == "pass" && !strings.Contains(event.Test, "/"):
			got.tests++
		}
	}
	return got, all.String()
}

// specs reads the report of Ginkgo, if the tests have specs.
func specs(report string) (outcome, error) {
	nodes, err := others.ReadReport(report)
	if errors.Is(err, fs.ErrNotExist) {
		return outcome{}, nil
	}
	var got outcome
	for _, one := range nodes {
		switch {
		case one.State == "passed" && one.LeafNodeType == "It":
			got.specs++
		case one.State != "passed" && one.State != "pending" && one.State != "skipped":
			got.bad = append(got.bad, fmt.Sprintf("%s: %s: %s", one.State, one.Name(), one.Failure.Message))
		}
	}
	if err == nil && got.specs == 0 && len(got.bad) == 0 {
		err = errors.New("the report has no spec that passed")
	}
	return got, err
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

func tail(out string) string { return out[max(0, len(out)-4000):] }
