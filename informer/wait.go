package informer

import "context"

// WaitForRV returns nil once the store holds the server's changes up to resourceVersion
// rv, see store.Reader.WaitForRV. Unlike that, it ends with [ErrStopped] when the informer
// has stopped or stops, so that a handler can use it and not hold up the stop. Otherwise
// it returns store.ErrResourceVersion, or the cause of ctx's end.
func (i *Informer[K, T]) WaitForRV(ctx context.Context, rv string) error {
	return i.whileAlive(ctx, func(ctx context.Context) error { return i.store.WaitForRV(ctx, rv) })
}

// WaitFor returns nil once until holds for what the store has under key, see
// store.Reader.WaitFor. Like WaitForRV it ends with [ErrStopped].
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
