package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/verdict"
)

// RunOptions configures [Run]. The zero value is one worker without limits.
type RunOptions struct {
	// Workers is the largest number of calls that run at the same time. Zero and negative mean one.
	Workers int

	// Timeout bounds each call: its context ends after this long. Zero and negative mean no bound.
	// A call that ignores its context is not interrupted.
	Timeout time.Duration

	// Grace is how long the context of a running call outlives the context of Run, so that the call
	// can finish. Zero means not at all, negative means until the call returns. Run waits for
	// running calls in any case.
	Grace time.Duration

	// Resize changes the number of workers while Run runs: each value received is the new number;
	// zero and negative pause the queue. A value that is there when Run begins counts in place of Workers.
	// A surplus worker finishes its call first, and until then counts toward a later value. Nil means that
	// the number is fixed. Once the channel is closed, the number stays as it is.
	//
	// Run receives until its calls have returned. So does controller.Controller's Run: also while its caches fill and, in a
	// manager that may lose the leadership, between two terms. The last value holds in the next term. Before and after that
	// nobody receives: a sender should also wait for something that ends with Run.
	Resize <-chan int
}

// workers returns the number of workers to begin with.
func (o RunOptions) workers() int {
	select {
	case n, ok := <-o.Resize:
		if ok {
			return max(0, n)
		}
	default:
	}
	return max(1, o.Workers)
}

// Run passes the keys of q to fn, in RunOptions.Workers goroutines, until ctx ends, or until q is
// shut down and all its keys are done. It then returns nil, after all its goroutines have ended:
// stopping is not an error. Keys still queued when ctx ends stay in the queue. [ErrInvalid] is
// returned at once for a nil q or fn.
//
// The result of fn decides about the key: nil clears its failures; [Again] brings it back after a
// delay; [Terminal] gives it up; any other error, a panic and runtime.Goexit bring it back rate
// limited. An error whose own methods panic counts as a panic. If ctx ends during a call, and the
// call returns the context's error or cause, the key comes back at once and not as a failure.
// Errors go to [Options.OnError] after the key was given back. A key that comes back keeps its
// priority.
func Run[K comparable](ctx context.Context, q *Queue[K], opts RunOptions, fn func(ctx context.Context, key K) error) error {
	if q == nil {
		return errNoQueue
	}
	if fn == nil {
		return fmt.Errorf("queue: Run: %w", mistake.NoFunc)
	}
	calls, cancel := ctx, func() {}
	if opts.Grace != 0 {
		calls, cancel = context.WithCancel(context.WithoutCancel(ctx))
	}
	defer cancel()
	calls = verdict.WithCalls(calls)
	p := &pool[K]{q: q, ran: q.ran(), fn: fn, calls: calls, stop: ctx, timeout: opts.Timeout, exits: make(chan *worker)}
	p.resize(opts.workers())
	return supervise(p, opts, cancel)
}
