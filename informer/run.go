package informer

import (
	"context"
	"log/slog"
	"time"

	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/reflector"
)

// Run lists, watches, and calls the handlers until ctx is done, and then returns nil. It returns a
// [*PanicError] if a handler, the source or OnError panicked, and [ErrRunning] while another call
// of Run is in progress. Run commits batches in the goroutine of its caller, and single events in
// the one that reads the watch.
//
// A stopped informer can run again. It keeps the handlers that were not removed, with their
// undelivered events. It also keeps the store and updates it: handlers get the difference.
func (i *Informer[K, T]) Run(ctx context.Context) (err error) {
	s, err := i.begin(ctx)
	if err != nil {
		return err
	}
	defer func() { err = i.finish(s) }() // also if OnError ends this goroutine
	i.logger.Debug("runs")
	if i.union != nil {
		i.union.check()
	} else {
		s.Go(func() { i.reflect(s, s.Ctx, s.reflector) })
	}
	if i.detector != nil {
		s.Go(func() { i.contain(s, "OnError", noKey, func() { i.detect(s.Ctx) }) })
	}
	i.contain(s, "commit", noKey, func() {
		if err := i.process(s); err != nil {
			s.Fail(err)
		}
	})
	return nil
}

// reflect runs a reflector until ctx is done, which ends with the session.
func (i *Informer[K, T]) reflect(s *session[K, T], ctx context.Context, r *reflector.Reflector[T]) {
	place := func(err *PanicError) {
		if s.commits {
			err.Where = "commit"
		}
	}
	i.contain(s, "source", place, func() {
		if err := r.Run(ctx); err != nil {
			s.Fail(err)
		}
	})
}

// Started reports whether Run was ever called. It is safe from any goroutine. O(1).
func (i *Informer[K, T]) Started() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.phase != notStarted
}

// Done is closed when Run has ended: no handler is being called, and Run can be called again.
// Before the first Run it is open, and is closed when that one ends. If the informer runs
// again, Done returns a new channel for the new run; the old one stays closed. So a goroutine
// that got [ErrRunning] from Run can wait for Done and then call Run, unless another goroutine
// is faster.
func (i *Informer[K, T]) Done() <-chan struct{} { return i.session.Load().done }

// begin starts the handlers that were added so far.
func (i *Informer[K, T]) begin(ctx context.Context) (*session[K, T], error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch i.phase {
	case running, stopping:
		return nil, ErrRunning
	case stopped:
		if err := i.renew(); err != nil {
			return nil, err
		}
	}
	i.phase = running
	s := i.session.Load()
	s.Run = usercode.NewRun(ctx)
	for l := range i.listeners {
		i.start(s, l)
	}
	if i.union != nil {
		i.union.begin(s)
	}
	return s, nil
}

// renew replaces a session that has ended. Called with mu held.
func (i *Informer[K, T]) renew() error {
	next, err := i.newSession()
	if err != nil {
		return err
	}
	i.past = sum(i.past, i.fetched(i.session.Load()))
	i.session.Store(next)
	i.refusal.set(nil)
	return nil
}

// finish waits for all goroutines and returns why they ended: nil if Run's context ended.
func (i *Informer[K, T]) finish(s *session[K, T]) error {
	i.mu.Lock()
	i.phase = stopping // no handler can be started any more
	i.mu.Unlock()
	i.forgetWritten()
	s.fifo.Close()
	s.die(ErrStopped) // a handler that waits for the store goes on
	i.log.Wake()      // so does one that waits for events: s.Ctx is done
	s.Wait()
	if i.detector != nil {
		i.reportMutations(i.detector.check(time.Now()))
	}
	s.Cancel()
	i.logger.Debug("has stopped", slog.String("resourceVersion", i.store.ResourceVersion()))
	i.mu.Lock()
	i.phase = stopped
	close(s.done)
	i.mu.Unlock()
	return s.Err()
}
