//go:build e2e

package envtest

import (
	"os"
	"path/filepath"
	"testing"
)

// A suite whose specs were all left out has not passed.
func TestSpecs(t *testing.T) {
	for report, want := range map[string]int{
		`[]`: 0,
		`[{"SpecReports":[{"LeafNodeType":"It","State":"skipped"},{"LeafNodeType":"BeforeSuite","State":"passed"}]}]`: 0,
		`[{"SpecReports":[{"LeafNodeType":"It","State":"passed"},{"LeafNodeType":"It","State":"pending"}]}]`:          1,
	} {
		path := filepath.Join(t.TempDir(), "report.json")
		if err := os.WriteFile(path, []byte(report), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := specs(path)
		if got.specs != want || (err == nil) != (want > 0) || len(got.bad) > 0 {
			t.Errorf("%s: %d specs, %q, %v; want %d", report, got.specs, got.bad, err, want)
		}
	}
}
