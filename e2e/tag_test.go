//go:build !e2e

package e2e_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/kinform/kinform/e2e/cluster"
)

// TestMain fails a run that asks for the real servers, since all tests of this package need the
// build tag. It comes before the flags are parsed, so that one of such a test gets the same answer.
func TestMain(m *testing.M) {
	if os.Getenv(cluster.Variable) == "1" {
		fmt.Fprintf(os.Stderr, "%s=1 needs the build tag e2e: go test -tags e2e\n", cluster.Variable)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
