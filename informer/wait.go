package informer

import (
	"context"
	"fmt"
	"time"

	"github.com/kinform/kinform/internal/eventlog"
)

// WaitForRV returns nil once the store holds the server's changes up to resourceVersion rv,
// see store.Reader.WaitForRV. Unlike that method, it also ends with [ErrStopped] when the
// informer has stopped or stops, so a handler that uses it does not hold up the stop. It can
// also return store.ErrResourceVersion, store.ErrRewound, [ErrHandlerBehind], or the cause of
// ctx's end.
//
// A handler may call WaitForRV. While any goroutine waits for the store, here, in
// [Informer.WaitFor] or in the methods of Informer.Store(), the informer lets a handler fall 4
// × [HandlerLag] events behind instead of HandlerLag. At that point all waits, in all
// goroutines, end with an error that wraps ErrHandlerBehind and names the handler. New waits
// end at once until the handler is closer.
//
// Two things do not count as waits: a handler that polls the store, and a handler that waits
// for another handler. Either holds the informer up for good once the handler is HandlerLag
// events behind.
//
// A write to an object outside the informer's selection brings no event. The wait then ends
// with a later event or with the next bookmark, which servers send about once a minute.
//
//go:noinline
func (i *Informer[K, T]) WaitForRV(ctx context.Context, rv string) error {
	return i.engine.WaitForRV(ctx, rv)
}

//go:noinline
func (i *core[K, T]) WaitForRV(ctx context.Context, rv string) error {
	return whileAlive(ctx, i, func(ctx context.Context) error { return i.store.WaitForRV(ctx, rv) })
}

// WaitFor returns nil once until returns true for the store's object under key, see
// store.Reader.WaitFor. Like WaitForRV, it can end with [ErrStopped] or [ErrHandlerBehind], or with [Informer.Err]
// before Run.
//
//go:noinline
func (i *Informer[K, T]) WaitFor(ctx context.Context, key K, until func(obj T, exists bool) bool) error {
	return i.typed.WaitFor(ctx, key, until)
}

//go:noinline
func (i *core[K, T]) WaitFor(ctx context.Context, key K, until func(obj T, exists bool) bool) error {
	return whileAlive(ctx, i, func(ctx context.Context) error { return i.store.WaitFor(ctx, key, until) })
}

// whileAlive calls wait with a context that also ends with the informer.
func whileAlive[K comparable, T any](ctx context.Context, i *core[K, T], wait func(context.Context) error) error {
	if err := i.Err(); err != nil && !i.unread.started.Load() {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(i.session.Load().life, func() { cancel(ErrStopped) })
	defer stop()
	return wait(ctx)
}

// awaitedLag is the factor by which HandlerLag grows while somebody waits for the store.
const awaitedLag = 4

// waitForHandlers waits until no handler is too far behind. It does not wait for a handler
// that may itself be waiting for the next commit.
func waitForHandlers[K comparable, T any](ctx context.Context, i *core[K, T]) error {
	if eventlog.Lagging(&i.log, i.lag) == nil {
		return nil
	}
	began := time.Now()
	if i.waits == nil {
		i.waits = &waits{}
	}
	slow := i.waits.begin(began)
	defer func() {
		ended := time.Now()
		i.waits.end(ended)
		i.counted.handlerWait.Add(int64(ended.Sub(began)))
	}()
	awaited, err := waitForLag(ctx, i, i.lag, i.store.Awaited, slow)
	if awaited {
		err = waitForNobody(ctx, i, slow)
	}
	return err
}

// waitForNobody is waitForHandlers while somebody waits for the store. If a handler is too far
// behind even for that, waitForNobody ends all waits, so the handler continues if it was among
// the waiters.
func waitForNobody[K comparable, T any](ctx context.Context, i *core[K, T], slow <-chan time.Time) error {
	most := awaitedLag * i.lag
	if eventlog.Lagging(&i.log, most) == nil {
		return nil
	}
	i.store.EndWaits(behind(i, most))
	defer i.store.EndWaits(nil)
	_, err := waitForLag(ctx, i, most, func() <-chan struct{} { return nil }, slow)
	return err
}

// waitForLag waits until no handler is more than limit events behind. It returns true if the
// channel of awaited is closed before. Whenever slow has a value, it reports the slowest handler if
// a report is due.
func waitForLag[K comparable, T any](ctx context.Context, i *core[K, T], limit uint64, awaited func() <-chan struct{}, slow <-chan time.Time) (ended bool, err error) {
	for {
		moved := eventlog.Lagging(&i.log, limit)
		if moved == nil {
			return false, nil
		}
		select {
		case <-moved:
		case <-awaited():
			return true, nil
		case <-slow:
			if i.waits.ring(time.Now()) {
				reportSlow(i)
			}
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// behind returns the error that names a handler more than most events behind.
func behind[K comparable, T any](i *core[K, T], most uint64) error {
	if name, lag := slowest(i); lag > most {
		return fmt.Errorf("%w: %s: %q has not been given %d events", ErrHandlerBehind, i.Resource(), name, lag)
	}
	return ErrHandlerBehind
}

// slowest returns the handler that is furthest behind, of those that the informer waits for, and by
// how many events.
func slowest[K comparable, T any](i *core[K, T]) (name string, lag uint64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for l := range i.listeners {
		if n := eventlog.Lag(l.cursor); n >= lag && l.opts.Lag == LagWait {
			name, lag = l.opts.Name, n
		}
	}
	return name, lag
}
