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
	// The newest ticket stays as it is: it does not show that others changed.
	s := newTickets(ctx, t, c, ticketDefinition(""), "v1", "", "own", "", "own")
	defer s.run()()
	for _, change := range []struct{ to, written string }{{"first", ""}, {"second", ""}, {"third", "t1"}} {
		t.Logf("default %q, written: %q", change.to, change.written)
		s.update(ticketDefinition(change.to)["spec"])
		if change.written != "" {
			s.write(change.written)
		}
		s.shows(change.to, "own", change.to, "own")
		s.same()
	}
}
