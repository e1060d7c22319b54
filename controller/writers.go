package controller

import (
	"context"
	"sync"

	"github.com/kinform/kinform/controller/internal/loops"
)

// writer is a handle whose reads may be behind its writes.
type writer interface {
	behind() bool
	// awaits reports whether the first list of a namespace is under way, or reads of it lack writes
	// because it fails. Without a namespace it is about the writes in all.
	awaits(namespace string) bool
	CatchUp(context.Context) error
	// reads returns the informer of the reads, a *informer.Informer.
	reads() any
}

// writers are the handles that the reconciles of a controller have written through. So a handle
// that the controller does not watch also catches up before a reconcile. The handles are not kept
// alive: one may serve a member cluster only for a while.
type writers struct {
	mu  sync.Mutex
	all map[any]func() (w writer, live bool) // by weak pointer; nil once the handle is not in use
}

// each calls f for the handles that have a cache. One without, which only sends requests, has no
// reads.
func (w *writers) each(f func(writer)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for pointer, get := range w.all {
		switch r, live := get(); {
		case r == nil:
			delete(w.all, pointer)
		case live:
			f(r)
		}
	}
}

type callKey struct{}

// anyCall is a callContext of any type of keys.
type anyCall interface {
	origin() any
	writers() *writers
	causes() Causes
	name() string // the key in words
	// made returns the writes of the call so far, and the detector of loops with the hash of the key.
	made() (writes *madeByCall, to *loops.Detector, key uint64)
}

// callOf returns the call of reconcile to which a context belongs, nil if there is none.
func callOf(ctx context.Context) anyCall {
	call, _ := ctx.Value(callKey{}).(anyCall)
	return call
}

// originOf returns the origin of the writes with a context, nil if it is of no reconcile.
func originOf(ctx context.Context) any {
	if call := callOf(ctx); call != nil {
		return call.origin()
	}
	return nil
}
