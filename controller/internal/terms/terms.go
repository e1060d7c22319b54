// Package terms tells controllers when they may work. A manager begins a term whenever its process leads, and its
// controllers live on between the terms.
package terms

import (
	"context"
	"sync"

	"github.com/kinform/kinform/internal/broadcast"
	"github.com/kinform/kinform/internal/verdict"
)

// Terms are the terms of one manager. The zero value is ready to use.
type Terms struct {
	mu    sync.Mutex
	now   *term // nil between two terms
	began broadcast.Signal
}

// term is a time in which the process leads.
type term struct {
	ctx  context.Context // ends with it
	busy sync.WaitGroup  // calls of work
}

type key struct{}

// With returns a context with which Each works in the terms only.
func (t *Terms) With(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, t) }

// Run is a term. It returns when ctx is done, and all work in it has returned. There is one call at a time.
func (t *Terms) Run(ctx context.Context) {
	now := &term{ctx: ctx}
	t.mu.Lock()
	t.now = now
	t.began.Send()
	t.mu.Unlock()
	<-ctx.Done()
	t.mu.Lock()
	t.now = nil
	t.mu.Unlock()
	now.busy.Wait()
}

// Each calls work in each term, one call at a time, with a context that is done when the term or ctx is. The
// context has the values of the term's context, and not those of ctx. Each returns nil when ctx is done, and the result of
// work if work returns an error, or before its term is over. If ctx has no terms, it calls work once, with ctx.
func Each(ctx context.Context, work func(context.Context) error) error {
	t, ok := ctx.Value(key{}).(*Terms)
	if !ok {
		return work(ctx)
	}
	for {
		now := t.next(ctx)
		if now == nil {
			return nil
		}
		if err := now.do(ctx, work); err != nil || now.ctx.Err() == nil {
			return err
		}
	}
}

// next waits for a term, and counts the caller's work in it. It returns nil if ctx is done.
func (t *Terms) next(ctx context.Context) *term {
	for ctx.Err() == nil {
		t.mu.Lock()
		now, began := t.now, t.began.Wait()
		found := now != nil && now.ctx.Err() == nil
		if found {
			now.busy.Add(1)
		}
		t.mu.Unlock()
		if found {
			return now
		}
		select {
		case <-began:
		case <-ctx.Done():
		}
	}
	return nil
}

// do calls work. Its context has the values of the term's, and the cause of its end is a *verdict.AtOnceError if the term
// is lost: another process may lead, so calls have no time to finish.
func (t *term) do(ctx context.Context, work func(context.Context) error) error {
	defer t.busy.Done()
	both, end := context.WithCancelCause(context.WithoutCancel(t.ctx))
	defer end(nil)
	defer context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })()
	defer context.AfterFunc(t.ctx, func() {
		if ctx.Err() == nil { // otherwise ctx ends it
			end(&verdict.AtOnceError{Err: context.Cause(t.ctx)})
		}
	})()
	return work(both)
}
