// Package follow runs the caches of a controller or a manager, unless somebody else does.
package follow

import (
	"context"

	"github.com/kinform/kinform/informer"
)

// Cache is the part of an informer that Run uses.
type Cache interface {
	Run(context.Context) error
	Done() <-chan struct{}
}

// Run runs c until run is done. If c has another runner, Run only waits for the end of c, and then
// returns informer.ErrStopped, because nobody must continue with a dead cache. It is no error if c
// ends once ctx is done: whoever stops the program may stop c, too, and need not wait for run.
func Run(ctx, run context.Context, c Cache) error {
	// Not errors.Is: a handler may have panicked with an error from another Run.
	if err := c.Run(run); err != informer.ErrRunning {
		return err
	}
	select {
	case <-run.Done():
	case <-c.Done():
		// If ctx ends both, the cache may be done first.
		if run.Err() == nil && ctx.Err() == nil {
			return informer.ErrStopped
		}
	}
	return nil
}
