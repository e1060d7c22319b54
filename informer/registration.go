package informer

import (
	"context"
	"sync"
	"sync/atomic"
)

// Registration is a handler's registration with an informer. All methods may be called from
// any goroutine, including the handler's own.
type Registration struct {
	// Set when it is made and never changed.
	name   string
	synced chan struct{}
	remove func(drain bool)

	removed atomic.Bool // the handler must not be called any more
	calls   calls

	mu     sync.Mutex
	done   chan struct{}
	ceased bool // done is closed
}

// Name returns the handler's name: HandlerOptions.Name, or the generated one.
func (r *Registration) Name() string { return r.name }

// Synced is closed once the handler has been called for every object that was there when it
// began: the informer's initial list or, for a handler added later, the store.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// Done is closed once the handler is not being called: after its removal, for good, or when
// the informer has stopped. If the informer runs again, Done returns a new channel from then
// on.
func (r *Registration) Done() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

// Remove removes the handler and drops the events that it has not got. Remove does not wait.
// An event whose filter or handler is running, or is about to run, is still handled, and no
// other. Calling Remove again does nothing. If the end of the callback matters, call Remove
// and then [Registration.Wait].
func (r *Registration) Remove() {
	if r.removed.CompareAndSwap(false, true) {
		r.remove(false)
	}
}

// Drain removes the handler once it has got all changes that the store had before the call.
// Drain does not wait. If the informer is not running, or stops before the handler is done,
// the remaining events are dropped. Remove after Drain ends the handler at once.
func (r *Registration) Drain() { r.remove(true) }

// Wait returns nil once the handler is not being called, see [Registration.Done], or ctx's
// error. Inside the handler's own callback it can only return the latter.
func (r *Registration) Wait(ctx context.Context) error {
	select {
	case <-r.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin records that the handler is being called from now on.
func (r *Registration) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ceased {
		r.done, r.ceased = make(chan struct{}), false
	}
}

// cease records that the handler is not being called.
func (r *Registration) cease() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ceased {
		close(r.done)
		r.ceased = true
	}
}
