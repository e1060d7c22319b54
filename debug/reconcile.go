package debug

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kinform/kinform/queue"
)

// maxErrors bounds the failing keys whose last error is kept.
const maxErrors = 1000

// recorder records the reconciles of a controller.
type recorder[Q comparable] struct {
	recent *ring[call[Q]]

	mu      sync.Mutex
	running map[Q]time.Time
	errors  map[Q]error // of keys whose last reconcile failed
}

// call is a reconcile that has ended.
type call[Q comparable] struct {
	key    Q
	began  time.Time
	took   time.Duration
	result string
	err    error
}

func newRecorder[Q comparable](n int) *recorder[Q] {
	return &recorder[Q]{recent: newRing[call[Q]](n), running: map[Q]time.Time{}, errors: map[Q]error{}}
}

// record returns a function that calls reconcile and records the call, also if it panics.
func (r *recorder[Q]) record(reconcile func(context.Context, Q) error) func(context.Context, Q) error {
	return func(ctx context.Context, key Q) (err error) {
		began, returned := time.Now(), false
		r.mu.Lock()
		r.running[key] = began
		r.mu.Unlock()
		defer func() { r.ended(ctx, call[Q]{key: key, began: began, took: time.Since(began), err: err}, returned) }()
		err = reconcile(ctx, key)
		returned = true
		return err
	}
}

// errNoReturn stands for a panic, whose value goes to the queue's OnError, or runtime.Goexit.
var errNoReturn = errors.New("reconcile panicked")

func (r *recorder[Q]) ended(ctx context.Context, c call[Q], returned bool) {
	outcome := queue.Failed
	if returned {
		outcome = queue.Judge(ctx, c.err)
		c.result = outcome.String()
	} else {
		c.err, c.result = errNoReturn, "panicked"
	}
	r.mu.Lock()
	delete(r.running, c.key)
	_, known := r.errors[c.key]
	switch outcome {
	case queue.Succeeded, queue.AskedAgain:
		delete(r.errors, c.key)
	case queue.GaveUp, queue.Failed:
		if known || len(r.errors) < maxErrors {
			r.errors[c.key] = c.err
		}
	}
	r.mu.Unlock()
	r.recent.add(c)
}

// began returns when the running reconcile of key began, and whether one runs.
func (r *recorder[Q]) began(key Q) (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.running[key]
	return at, ok
}

// lastError returns the error of the last reconcile of key, nil if it did not fail.
func (r *recorder[Q]) lastError(key Q) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.errors[key]
}
