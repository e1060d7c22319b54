package others

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/internal/longtest"
)

var update = flag.Bool("update", false, "write docs/others-tests.md")

// TestOthers runs the suite of tools/cache, or with KINFORM_LONG=1 all suites, and compares the
// page with the results of their tests. Each of the other suites compiles most of client-go once
// more, and the suites of controller-runtime's cache start servers.
func TestOthers(t *testing.T) {
	if os.Getenv(cluster.Variable) != "1" {
		t.Skipf("%s is not 1", cluster.Variable)
	}
	suites := append(ClientGo(), ControllerRuntime()...)
	if !longtest.On() {
		suites = suites[:1]
	}
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
	if *update && longtest.On() {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	old := string(text)
	if !longtest.On() {
		old = old[:min(len(old), len(page))] // the other suites come after it
	}
	if diff := cmp.Diff(old, page); diff != "" {
		t.Errorf("the page is not true any more (-page +now):\n%s", diff)
	}
}
