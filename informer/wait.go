package informer

import "context"

// WaitForRV returns nil once the store holds the server's changes up to resourceVersion rv,
// see store.Reader.WaitForRV. Unlike that method, it also ends with [ErrStopped] when the
// informer has stopped or stops, so a handler that uses it does not hold up the stop. It can
// also return store.ErrResourceVersion, store.ErrRewound, [ErrHandlerBehind], or the cause of
// ctx's end.
//
// A handler may call WaitForRV. While any goroutine waits for the store, here, in
// [Informer.WaitFor] or in the methods of Informer.Store(), the informer lets a handler fall
// 16,384 events behind instead of 4,096. At that point all waits, in all goroutines, end with an error that wraps ErrHandlerBehind and names the handler. New waits
// end at once until the handler is closer.
//
// Two things do not count as waits: a handler that polls the store, and a handler that waits
// for another handler. Either holds the informer up for good once the handler is 4,096 events
// behind.
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
	return whileAlive(ctx, &i.base, func(ctx context.Context) error { return i.store.WaitForRV(ctx, rv) })
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
	return whileAlive(ctx, &i.base, func(ctx context.Context) error { return i.store.WaitFor(ctx, key, until) })
}

// WaitForSync waits until the initial list is in the store. Until then it returns a
// [*NotSyncingError] if the last list failed permanently (reflector.RequestError.Lasting), or as
// soon as one does. In an informer over namespaces, all namespaces must have failed so. The
// informer still retries, because permissions can be granted and resources installed, so a later
// call can succeed. A program that starts together with its role or its resource should report the
// error and call again instead of exiting.
//
// An account that may list but not watch syncs too: lists alone then keep the cache up to date
// (reflector.Polling).
//
// WaitForSync returns [Informer.Err] if the setup has a mistake and Run was not called. It returns
// [ErrStopped] if the informer has stopped or stops. If ctx is done it returns an [*UnsyncedError]
// with ctx's error, which says what has failed so far.
//
// An informer that has synced stays synced, even if it stops and runs again.
//
//go:noinline
func (i *Informer[K, T]) WaitForSync(ctx context.Context) error {
	return i.engine.WaitForSync(ctx)
}

func (i *core[K, T]) WaitForSync(ctx context.Context) error { return waitForSync(ctx, &i.base, i) }

//go:noinline
func waitForSync(ctx context.Context, i *base, of engine) error {
	for !hasSyncedAll(i) {
		if err := i.faults.err(); err != nil && !i.unread.started.Load() {
			return err
		}
		refused, changed := i.refusal.last()
		if refused != nil {
			return refused
		}
		select {
		case <-i.synced:
		case <-changed:
		case <-present(i).life.Done():
			return about(i.name, ErrStopped)
		case <-ctx.Done():
			return unsynced(i.name, i.unread.started.Load(), &i.mu, of.Stats, ctx.Err())
		}
	}
	return nil
}

// whileAlive calls wait with a context that also ends with the informer.
func whileAlive(ctx context.Context, i *base, wait func(context.Context) error) error {
	if err := i.faults.err(); err != nil && !i.unread.started.Load() {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(present(i).life, func() { cancel(ErrStopped) })
	defer stop()
	return wait(ctx)
}
