//go:build !e2e

package e2e_test

import (
	"os"
	"testing"

	"github.com/kinform/kinform/e2e/cluster"
)

// TestTag fails a run that asks for the real servers and lacks most tests that need them.
func TestTag(t *testing.T) {
	if os.Getenv(cluster.Variable) == "1" {
		t.Fatalf("%s=1 needs the build tag e2e: go test -tags e2e", cluster.Variable)
	}
}
