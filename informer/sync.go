package informer

import (
	"errors"

	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/reflector"
)

// Synced is closed once the initial list is in the store.
func (i *Informer[K, T]) Synced() <-chan struct{} { return i.engine.Synced() }

func (i *base) Synced() <-chan struct{} { return i.synced }

// hasSyncedAll reports whether the initial list is in the store. With mu held the answer stays
// the same.
//
//go:noinline
func hasSyncedAll(i *base) bool {
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
		noteRefusal(&i.base)
		goOnWithout(i)
		i.mu.Unlock()
	}
	if bad := (*reflector.ObjectError)(nil); errors.As(err, &bad) {
		unusable(p, bad)
	}
	report(&i.base, err)
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
	noteRefusal(&p.inf.base)
}

// noteRefusal tells WaitForSync whether all parts are refused. Called with mu held.
func noteRefusal(i *base) {
	if err := i.places.refusal(); err != nil {
		i.refusal.set(&NotSyncingError{Resource: i.name, Err: err})
	} else {
		i.refusal.set(nil)
	}
}

// endInitialList says that the initial list is in the store. Called with mu held.
func endInitialList[K comparable, T any](i *core[K, T]) {
	eventlog.Append(&i.log, Event[K, T]{Type: syncedMark})
	close(i.synced)
}

// goOnWithout follows when nobody waits for a namespace any more. Called with mu held.
func goOnWithout[K comparable, T any](i *core[K, T]) {
	synced := hasSyncedAll(&i.base)
	if i.over == nil || i.phase != phaseRunning || !synced && !i.places.haveListed() {
		return
	}
	_ = i.store.Commit(versionText(i.places.recount()), nil) // the store is open
	if !synced {
		endInitialList(i)
		eventlog.Publish(&i.log)
	}
}
