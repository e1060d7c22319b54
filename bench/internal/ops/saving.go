package ops

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kinform/kinform/bench/internal/measure"
)

// Savings are what an author waits for after a save: the same operator of four kinds with Kinform and with
// controller-runtime, whose package has changed. The measure is processor time of the compiler and the linker.
// [All] leaves them out, because they take minutes. They need the go command, and run in the workspace.
func Savings() []measure.Op {
	const kinform, peer = "github.com/kinform/kinform/examples/backup", "github.com/kinform/kinform/bench/twins/backup"
	var all []measure.Op
	for _, c := range []struct{ name, title, program, test string }{
		{"save/build", "after a save, beside controller-runtime: processor time to the binary of an operator", "/program", ""},
		{"save/test", "after a save, beside controller-runtime: processor time to the binary of its test", "", "-c"},
	} {
		all = append(all, measure.Op{
			Name: c.name, Whole: true, Rounds: 6,
			Lines: line(c.title, "cpu-seconds/op", 1/1.5),
			Setup: func() (measure.Sides, error) {
				ours, err := saved(kinform, kinform+c.program, c.test)
				if err != nil {
					return measure.Sides{}, err
				}
				theirs, err := saved(peer, peer+c.program, c.test)
				return measure.Sides{Kinform: ours, ClientGo: theirs}, err
			},
		})
	}
	return all
}

// saved compiles a package after a change of the file operator.go in another one. With the flag -c it makes the binary
// of its test, and a program without a flag.
func saved(changed, made, flag string) (measure.Side, error) {
	folder, err := exec.Command("go", "list", "-f", "{{.Dir}}", changed).Output()
	if err != nil {
		return measure.Side{}, fmt.Errorf("finding %s: %w", changed, err)
	}
	file := filepath.Join(strings.TrimSpace(string(folder)), "operator.go")
	return measure.Side{Run: func(m measure.Meter, n int) error {
		used, err := compileSaved(file, made, flag, n)
		m.ReportMetric(used.Seconds()/float64(n), "cpu-seconds/op")
		return err
	}}, nil
}

// compileSaved compiles n times, each time after another change. In the first call of all, the build cache may not have
// what the package imports.
func compileSaved(file, made, flag string, n int) (used time.Duration, err error) {
	dir, err := os.MkdirTemp("", "saved")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	copied, overlay := filepath.Join(dir, "saved.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: copied}})
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return 0, err
	}
	args := []string{"build"}
	if flag != "" {
		args = []string{"test", flag}
	}
	args = append(args, "-overlay", overlay, "-o", filepath.Join(dir, "made"), made)
	for i := range n {
		change := fmt.Sprintf("\nconst saved = %d\n", time.Now().UnixNano()+int64(i))
		if err := os.WriteFile(copied, append(text, change...), 0o600); err != nil {
			return 0, err
		}
		cmd := exec.Command("go", args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("%v: %w: %.2000s", cmd.Args, err, out)
		}
		used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return used, nil
}
