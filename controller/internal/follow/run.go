// Package follow runs the caches of a controller or a manager, unless somebody else does.
package follow

import (
	"context"
	"fmt"

	"github.com/kinform/kinform/informer"
)

// Cache is the part of an informer that Run uses.
type Cache interface {
	Run(context.Context) error
	Done() <-chan struct{}
}

// ErrOrphan says that a cache with another runner has stopped. It matches informer.ErrStopped.
var ErrOrphan = fmt.Errorf("the cache has stopped, because the controller or the code that ran it has ended: run all that share it with one manager.Run: %w", informer.ErrStopped)

// Run runs c until run is done. If c has another runner, Run only waits for the end of c, and then
// returns ErrOrphan, because nobody must continue with a dead cache. It is no error if c
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
			return ErrOrphan
		}
	}
	return nil
}
