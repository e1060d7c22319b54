package informer

import (
	"context"
	"fmt"
	"time"

	"github.com/kinform/kinform/internal/eventlog"
)

// awaitedLag is the factor by which handlerLag grows while somebody waits for the store.
const awaitedLag = 4

// waitForHandlers waits until no handler is too far behind. It does not wait for a handler
// that may itself be waiting for the next commit.
func waitForHandlers[K comparable, T any](ctx context.Context, i *core[K, T]) error {
	if eventlog.Lagging(&i.log, i.lag) == nil {
		return nil
	}
	return waitForLagging(ctx, &i.base, i.store)
}

// awaitedStore is a store whose waiters may be handlers.
type awaitedStore interface {
	Awaited() <-chan struct{}
	EndWaits(err error)
}

// waitForLagging is waitForHandlers if a handler is too far behind.
func waitForLagging(ctx context.Context, i *base, in awaitedStore) error {
	began := time.Now()
	if i.waits == nil {
		i.waits = &handlerWaits{}
	}
	slow := i.waits.begin(began)
	defer func() {
		ended := time.Now()
		i.waits.end(ended)
		i.counted.handlerWait.Add(int64(ended.Sub(began)))
	}()
	awaited, err := waitForLag(ctx, i, i.lag, in.Awaited, slow)
	if awaited {
		err = waitForNobody(ctx, i, in, slow)
	}
	return err
}

// waitForNobody is waitForHandlers while somebody waits for the store. If a handler is too far
// behind even for that, waitForNobody ends all waits, so the handler continues if it was among
// the waiters.
func waitForNobody(ctx context.Context, i *base, in awaitedStore, slow <-chan time.Time) error {
	most := awaitedLag * i.lag
	if i.lagging(most) == nil {
		return nil
	}
	name, lag := slowest(i)
	in.EndWaits(behindError(i.name, name, lag, most))
	defer in.EndWaits(nil)
	_, err := waitForLag(ctx, i, most, func() <-chan struct{} { return nil }, slow)
	return err
}

// waitForLag waits until no handler is more than limit events behind. It returns true if the
// channel of awaited is closed before. Whenever slow has a value, it reports the slowest handler if
// a report is due.
func waitForLag(ctx context.Context, i *base, limit uint64, awaited func() <-chan struct{}, slow <-chan time.Time) (ended bool, err error) {
	for {
		moved := i.lagging(limit)
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

// behindError returns the error that names a handler, if it is still more than most events behind.
func behindError(resource, handler string, lag, most uint64) error {
	if lag > most {
		return fmt.Errorf("%w: %s: %q has not been given %d events", ErrHandlerBehind, resource, handler, lag)
	}
	return ErrHandlerBehind
}

// slowest returns the handler that is furthest behind, of those that the informer waits for, and by
// how many events.
func slowest(i *base) (name string, lag uint64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, h := range i.handlers() {
		if h.behind >= lag && !h.coalesce {
			name, lag = h.reg.name, h.behind
		}
	}
	return name, lag
}

// reportSlow reports the handler that is furthest behind.
func reportSlow(i *base) {
	i.counted.slowHandlers.Add(1)
	name, lag := slowest(i)
	i.onError(&SlowHandlerError{
		Resource: i.name, Handler: name, Behind: lag, Waited: i.waits.waited, Since: i.waits.since,
	})
}

// cutLagging leaves behind the coalescing handlers that are too slow. Called with mu held,
// before a commit.
func cutLagging[K comparable, T any](i *core[K, T]) {
	for _, l := range i.coalescing {
		if missed, from, cut := eventlog.Cut(&i.log, l.cursor, i.lag); cut {
			l.overrun = &overrun[K, T]{missed: missed, from: from, then: i.store.Snapshot()}
			l.overruns++
			i.counted.overruns.Add(1)
		}
	}
}
