package factory

import (
	"context"
	"time"

	"github.com/kinform/kinform/informer"
)

// stopCheck is how often to look whether an informer that stops has stopped: it does when
// its handlers have returned, which nothing else tells of.
const stopCheck = 50 * time.Millisecond

// runOrFollow runs inf until ctx is done. If somebody else runs it, as a controller.Controller
// does that was started before the factory, it waits for the end of that and goes on then:
// whoever holds a handle counts on it.
func runOrFollow[K comparable, T any](ctx context.Context, inf *informer.Informer[K, T]) error {
	for {
		// Not errors.Is: a handler may have panicked with what another Run returned.
		if err := inf.Run(ctx); err != informer.ErrRunning {
			return err
		}
		nothing := informer.HandlerOptions[T]{Name: "factory", Filter: func(T) bool { return false }, Resync: -1}
		for range inf.Events(ctx, nothing) {
		}
		select {
		case <-time.After(stopCheck):
		case <-ctx.Done():
			return nil
		}
	}
}
