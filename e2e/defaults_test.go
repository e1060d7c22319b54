//go:build e2e

package e2e_test

import (
	"context"
	"testing"
	"time"

	"github.com/kinform/kinform/e2e/cluster"
)

// TestDefaultsReachCaches gives a definition a default. The objects show it without a write, at the
// versions that they have. Each cache gets it, too, in whatever way it lists and decodes.
func TestDefaultsReachCaches(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	s := newTickets(ctx, t, c, ticketDefinition(""), "v1", "", "own", "own", "")
	defer s.run()()
	for next, written := range map[string]string{"first": "", "second": "", "third": "t0", "fourth": "t1"} {
		s.update(ticketDefinition(next)["spec"])
		if written != "" {
			t.Logf("default %q while %s is written", next, written)
			s.write(written)
		}
		s.shows(next, "own", "own", next)
		s.same()
	}
}
