package others

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinform/kinform/e2e/cluster"
)

var update = flag.Bool("update", false, "write docs/others-tests.md")

// TestOthers runs all suites, and compares the page with what became of their tests.
func TestOthers(t *testing.T) {
	if os.Getenv(cluster.Variable) != "1" {
		t.Skipf("%s is not 1", cluster.Variable)
	}
	suites := ClientGo()
	var results []Result
	for _, suite := range suites {
		result, err := suite.Run(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range result.Wrong {
			t.Error(wrong)
		}
		results = append(results, result)
	}
	const file = "../../docs/others-tests.md"
	page := Page(suites, results)
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(file)
	if diff := cmp.Diff(string(old), page); err != nil || diff != "" {
		t.Errorf("%v: the page is not true any more (-page +now):\n%s", err, diff)
	}
}
