package informer

import (
	"context"
	"errors"

	"github.com/kinform/kinform/reflector"
)

// Synced is closed once the initial list is in the store.
func (i *Informer[K, T]) Synced() <-chan struct{} { return i.engine.Synced() }

func (i *core[K, T]) Synced() <-chan struct{} { return i.synced }

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
func (i *Informer[K, T]) WaitForSync(ctx context.Context) error { return i.engine.WaitForSync(ctx) }

//go:noinline
func (i *core[K, T]) WaitForSync(ctx context.Context) error {
	for !hasSyncedAll(i) {
		if err := i.Err(); err != nil && !i.unread.started.Load() {
			return err
		}
		refused, changed := i.refusal.last()
		if refused != nil {
			return refused
		}
		select {
		case <-i.synced:
		case <-changed:
		case <-i.session.Load().life.Done():
			return i.about(ErrStopped)
		case <-ctx.Done():
			return &UnsyncedError{Resource: i.Resource(), NeverRan: !i.unread.started.Load(), Failing: i.Stats().Failing, Err: ctx.Err()}
		}
	}
	return nil
}

// hasSyncedAll reports whether the initial list is in the store. With mu held the answer stays
// the same.
func hasSyncedAll[K comparable, T any](i *core[K, T]) bool {
	select {
	case <-i.synced:
		return true
	default:
		return false
	}
}

// requestFailed gets every error that a part's reflector reports. If a retry cannot mend a failure, or if a
// part that has listed brings nothing because its requests have failed for long, nobody waits for the part until
// the server answers: a handle that has written to unknown objects waits for a version, and would hold
// up the keys of all namespaces.
func requestFailed[K comparable, T any](p *part[K, T], err error) {
	i := p.inf
	var failed *reflector.RequestError
	if errors.As(err, &failed) {
		i.mu.Lock()
		i.places.fail(&p.place, failed)
		noteRefusal(i)
		goOn(i)
		i.mu.Unlock()
	}
	if bad := (*reflector.ObjectError)(nil); errors.As(err, &bad) {
		unusable(p, bad)
	}
	i.report(err)
}

// answered ends the refusal of a part.
func answered[K comparable, T any](p *part[K, T]) {
	if !p.ill.Load() {
		return
	}
	p.inf.mu.Lock()
	defer p.inf.mu.Unlock()
	p.ill.Store(false)
	p.refused, p.unwatched = nil, nil
	noteRefusal(p.inf)
}

// noteRefusal tells WaitForSync whether all parts are refused. Called with mu held.
func noteRefusal[K comparable, T any](i *core[K, T]) {
	if err := i.places.refusal(); err != nil {
		i.refusal.set(&NotSyncingError{Resource: i.Resource(), Err: err})
	} else {
		i.refusal.set(nil)
	}
}
