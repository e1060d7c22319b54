package compile

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkTouch is the wait of an author who has saved a file of an operator: until there is a program, as
// processor time of the compiler and the linker. Both programs are the same operator of four kinds.
func BenchmarkTouch(b *testing.B) {
	for _, side := range []struct{ impl, program, file string }{
		{"kinform", "../../examples/backup/program", "../../examples/backup/operator.go"},
		{"controller-runtime", "../twins/backup/program", "../twins/backup/operator.go"},
	} {
		b.Run("impl="+side.impl, func(b *testing.B) {
			build(b, side.program, side.file, "") // what the program imports is compiled
			var used time.Duration
			b.ResetTimer()
			for n := range b.N {
				used += build(b, side.program, side.file, fmt.Sprintf("\nconst saved = %q\n", fmt.Sprint(time.Now().UnixNano(), n)))
			}
			b.ReportMetric(used.Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}

// build builds a program as if text had been added to a file. It returns the processor time.
func build(b *testing.B, program, file, text string) time.Duration {
	b.Helper()
	dir := b.TempDir()
	path, err := filepath.Abs(file)
	if err != nil {
		b.Fatal(err)
	}
	was, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	saved := filepath.Join(dir, "saved.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: saved}})
	if err != nil {
		b.Fatal(err)
	}
	for name, data := range map[string][]byte{saved: append(was, text...), filepath.Join(dir, "overlay.json"): overlay} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	cmd := exec.CommandContext(b.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", filepath.Join(dir, "program"), program)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %.2000s", err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
