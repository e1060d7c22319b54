package informer

import (
	"context"
	"errors"
	"runtime/debug"
)

// Run lists, watches, and calls the handlers until ctx is done, and then returns nil. It
// returns a [*PanicError] if a handler, the source or OnError panicked, and [ErrRunning]
// when called twice. It owns the goroutine that it is called in, which commits batches.
func (i *Informer[K, T]) Run(ctx context.Context) error {
	if err := i.begin(ctx); err != nil {
		return err
	}
	i.wg.Go(func() {
		i.contain("source", noKey, func() {
			if err := i.reflector.Run(i.ctx); err != nil {
				i.cancel(err)
			}
		})
	})
	i.contain("commit", noKey, func() {
		if err := i.process(); err != nil {
			i.cancel(err)
		}
	})
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
	i.store.Close() // nothing writes any more; a handler that waits for the store goes on
	i.wg.Wait()
	close(i.ended)
	err := context.Cause(i.ctx)
	i.cancel(nil)
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return nil
	}
	return err
}

// contain runs code that is not the informer's. If it panics, or ends its goroutine, that
// is reported and ends Run.
func (i *Informer[K, T]) contain(where string, key func() string, run func()) {
	returned := false
	defer func() {
		value := recover()
		if returned {
			return
		}
		if value == nil {
			value = errGoexit
		}
		err := i.panicked(where, key(), value)
		i.cancel(err)
		i.report(err)
	}()
	run()
	returned = true
}

// errGoexit stands for the value of a panic where there was none.
var errGoexit = errors.New("the call ended its goroutine")

// panicked is called in the deferred function that has recovered.
func (i *Informer[K, T]) panicked(where, key string, value any) *PanicError {
	return &PanicError{Where: where, Resource: i.Resource(), Key: key, Value: value, Stack: debug.Stack()}
}

// report tells OnError. A panic of that ends Run.
func (i *Informer[K, T]) report(err error) {
	defer func() {
		if value := recover(); value != nil {
			i.cancel(i.panicked("OnError", "", value))
		}
	}()
	i.opts.OnError(err)
}

func noKey() string { return "" }
