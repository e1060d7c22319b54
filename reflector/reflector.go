package reflector

import (
	"context"

	"github.com/kinform/kinform/internal/picking"
)

// Reflector keeps a sink equal to a source. See the package documentation.
type Reflector[T any] struct {
	core     core
	transfer transfer[T]
}

// New returns a reflector that is not running. It returns [ErrInvalid] for a
// nil argument, and for the source of a shard.Part and a sink that cannot follow it.
func New[T any](source Source[T], sink Sink[T], opts Options) (*Reflector[T], error) {
	r := &Reflector[T]{transfer: transfer[T]{source: source, sink: sink}}
	changing, changes := source.(picking.Changing[T])
	if err := r.core.init(source, sink, changes, opts); err != nil {
		return nil, err
	}
	if changes {
		r.core.follows.by = changing.Selection()
	}
	beginReading(&r.transfer, opts.ReadOnly)
	r.core.requests, r.transfer.core = &r.transfer, &r.core
	return r, nil
}

// Run lists and watches until ctx is done, and then returns nil. It returns the sink's error if the
// sink failed, that of a second cache with the source of one shard.Part, and [ErrInvalid] if Run was called before. Run
// works in its caller's goroutine, which owns the protocol state. A timer watches over each watch.
func (r *Reflector[T]) Run(ctx context.Context) error { return r.core.run(ctx) }

// Stats returns the counters. It is safe from any goroutine. The counters are read one by one,
// and need not show the same moment.
func (r *Reflector[T]) Stats() Stats { return r.core.stats.now(r.core.meter, r.core.made) }
