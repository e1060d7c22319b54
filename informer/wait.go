package informer

import (
	"context"
	"fmt"
)

// WaitForRV returns nil once the store holds the server's changes up to resourceVersion
// rv, see store.Reader.WaitForRV. Unlike that, it ends with [ErrStopped] when the informer
// has stopped or stops, so that a handler can use it and not hold up the stop. Otherwise
// it returns store.ErrResourceVersion, store.ErrRewound, [ErrHandlerBehind], or the cause of
// ctx's end.
//
// A handler may call it. While anybody waits for the store, here, in [Informer.WaitFor] or in the
// methods of Informer.Store(), the informer lets a handler fall 4 × [HandlerLag] events behind
// instead of HandlerLag. At that point all waits end with an error that wraps ErrHandlerBehind and
// names the handler, those of other goroutines too, and new ones end at once, until the handler is
// closer. Two things are no waits and hold the informer up for good once the handler is HandlerLag
// events behind: a handler that polls the store, and a handler that waits for another handler.
//
// After a write to an object that is not in the informer's selection no event comes. The wait then
// ends with a later event or with the next bookmark, which servers send about once a minute.
func (i *Informer[K, T]) WaitForRV(ctx context.Context, rv string) error {
	return i.whileAlive(ctx, func(ctx context.Context) error { return i.store.WaitForRV(ctx, rv) })
}

// WaitFor returns nil once until holds for what the store has under key, see
// store.Reader.WaitFor. Like WaitForRV it ends with [ErrStopped] or [ErrHandlerBehind].
func (i *Informer[K, T]) WaitFor(ctx context.Context, key K, until func(obj T, exists bool) bool) error {
	return i.whileAlive(ctx, func(ctx context.Context) error { return i.store.WaitFor(ctx, key, until) })
}

// whileAlive calls wait with a context that also ends with the informer.
func (i *Informer[K, T]) whileAlive(ctx context.Context, wait func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(i.session.Load().life, func() { cancel(ErrStopped) })
	defer stop()
	return wait(ctx)
}

// awaitedLag times HandlerLag is how far a handler may be behind while somebody waits for the
// store.
const awaitedLag = 4

// waitForHandlers waits until no handler is too far behind. It does not wait for a handler
// that may be waiting for the next commit.
func (i *Informer[K, T]) waitForHandlers(ctx context.Context) error {
	for {
		moved := i.log.Lagging(i.lag)
		if moved == nil {
			return nil
		}
		select {
		case <-moved:
		case <-i.store.Awaited():
			return i.waitForNobody(ctx)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// waitForNobody is waitForHandlers while somebody waits for the store. Where a handler is
// too far behind even for that, it ends the waits, so that the handler goes on if it was one
// of them.
func (i *Informer[K, T]) waitForNobody(ctx context.Context) error {
	most := awaitedLag * i.lag
	if i.log.Lagging(most) == nil {
		return nil
	}
	i.store.EndWaits(i.behind(most))
	defer i.store.EndWaits(nil)
	return i.log.WaitLag(ctx, most)
}

// behind is the error for a handler that is more than most events behind.
func (i *Informer[K, T]) behind(most uint64) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for l := range i.listeners {
		if lag := l.cursor.Lag(); lag > most && l.opts.Lag == LagWait {
			return fmt.Errorf("%w: %s: %q has not been given %d events", ErrHandlerBehind, i.Resource(), l.opts.Name, lag)
		}
	}
	return ErrHandlerBehind
}
