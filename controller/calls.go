package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kinform/kinform/internal/note"
	"github.com/kinform/kinform/internal/verdict"
)

// maxErrors bounds the failing keys whose last error is kept.
const maxErrors = 1000

// Traced is a reconcile that has ended: see [Controller.Trace].
type Traced struct {
	Began time.Time
	Took  time.Duration
	// Result is "succeeded", "again", "gave up", "cut short", "failed" or "panicked".
	Result string
	// Err is the error that reconcile returned.
	Err error
	// Causes are those of [CausesOf].
	Causes Causes
}

// trace keeps the reconciles of a controller.
type trace[Q comparable] struct {
	recent *ring[endedCall[Q]]

	mu      sync.Mutex
	running map[Q]Traced
	errors  map[Q]Traced // the last reconciles of keys whose last one failed
}

// endedCall is a reconcile that has ended.
type endedCall[Q comparable] struct {
	key Q
	Traced
}

func (t *trace[Q]) call(ctx context.Context, c *Controller[Q], key Q, reconcile func(context.Context, Q) error) (err error) {
	notes := note.Of(ctx)
	call, returned := Traced{Began: time.Now()}, false
	call.Causes = causesOf(c, key, &notes)
	t.mu.Lock()
	t.running[key] = call
	t.mu.Unlock()
	defer func() {
		call.Took, call.Err = time.Since(call.Began), err
		noteEnded(ctx, t, endedCall[Q]{key, call}, returned)
	}()
	err = reconcile(ctx, key)
	returned = true
	return err
}

// errNoReturn stands for a panic, whose value goes to the queue's OnError, or runtime.Goexit.
var errNoReturn = errors.New("reconcile panicked")

func noteEnded[Q comparable](ctx context.Context, t *trace[Q], c endedCall[Q], returned bool) {
	outcome := verdict.Failed
	if returned {
		outcome = verdict.Judge(ctx, c.Err)
		c.Result = outcome.String()
	} else {
		c.Err, c.Result = errNoReturn, "panicked"
	}
	t.mu.Lock()
	delete(t.running, c.key)
	_, known := t.errors[c.key]
	switch outcome {
	case verdict.Succeeded, verdict.AskedAgain:
		delete(t.errors, c.key)
	case verdict.GaveUp, verdict.Failed:
		if known || len(t.errors) < maxErrors {
			t.errors[c.key] = c.Traced
		}
	}
	t.mu.Unlock()
	t.recent.add(c)
}
