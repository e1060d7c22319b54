package factory

import (
	"context"

	"github.com/kinform/kinform/informer"
)

// runOrFollow runs inf until ctx is done. If somebody else runs it, as a controller.Controller
// does that was started before the factory, it waits for the end of that and goes on then:
// whoever holds a handle counts on it.
func runOrFollow[K comparable, T any](ctx context.Context, inf *informer.Informer[K, T]) error {
	for {
		// Not errors.Is: a handler may have panicked with what another Run returned.
		if err := inf.Run(ctx); err != informer.ErrRunning {
			return err
		}
		select {
		case <-inf.Done():
		case <-ctx.Done():
			return nil
		}
	}
}
