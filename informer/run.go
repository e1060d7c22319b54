package informer

import (
	"context"
	"errors"
	"runtime/debug"
)

// Run lists, watches, and calls the handlers until ctx is done, and then returns nil. It
// returns a [*PanicError] if a handler or the source panicked, and [ErrRunning] when
// called twice. It owns the goroutine that it is called in, which commits batches.
func (i *Informer[K, T]) Run(ctx context.Context) error {
	if err := i.begin(ctx); err != nil {
		return err
	}
	i.wg.Go(func() {
		defer i.contain("source", func() string { return "" })
		if err := i.reflector.Run(i.ctx); err != nil {
			i.cancel(err)
		}
	})
	if err := i.process(); err != nil {
		i.cancel(err)
	}
	return i.finish(ctx)
}

// begin starts the handlers that were added before.
func (i *Informer[K, T]) begin(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.phase != notStarted {
		return ErrRunning
	}
	i.phase = running
	i.ctx, i.cancel = context.WithCancelCause(ctx)
	for l := range i.listeners {
		i.start(l)
	}
	return nil
}

// finish waits for all goroutines and returns why they ended, nil for ctx.
func (i *Informer[K, T]) finish(ctx context.Context) error {
	i.mu.Lock()
	i.phase = stopped // no handler can be started any more
	i.mu.Unlock()
	i.fifo.Close()
	i.wg.Wait()
	i.store.Close()
	close(i.ended)
	err := context.Cause(i.ctx)
	i.cancel(nil)
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return nil
	}
	return err
}

// contain is deferred where user code runs. A panic there ends Run.
func (i *Informer[K, T]) contain(where string, key func() string) {
	if value := recover(); value != nil {
		i.cancel(&PanicError{
			Where:    where,
			Resource: i.Resource(),
			Key:      key(),
			Value:    value,
			Stack:    debug.Stack(),
		})
	}
}
