package factory

import (
	"context"

	"github.com/kinform/kinform/informer"
)

// runOrFollow runs inf until ctx is done. If another runner has started inf, such as a
// controller.Controller, runOrFollow waits until that run has ended and then runs inf, because
// holders of a handle rely on it.
func runOrFollow[K comparable, T any](ctx context.Context, inf *informer.Informer[K, T]) error {
	for {
		// Not errors.Is: a handler may have panicked with an error from another Run.
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
