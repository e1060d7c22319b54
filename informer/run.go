package informer

import (
	"context"
	"log/slog"
	"time"

	"github.com/kinform/kinform/internal/usercode"
)

// Run lists, watches, and calls the handlers until ctx is done, and then returns nil. It returns a
// [*PanicError] if a handler, the source or OnError panicked, and [ErrRunning] while another call
// of Run is in progress. If the setup has a mistake, it returns [Informer.Err] at once.
//
// Run reads the source in its caller's goroutine. It commits there after the last available event.
// While more are available, another goroutine commits. In an informer over namespaces, each
// namespace has such a pair of goroutines, and the caller's goroutine waits. If the source or
// OnError calls runtime.Goexit in the caller's goroutine, that goroutine ends, and Run does not
// return. Before that, everything that Run has started ends, and Done is closed as usual.
//
// A stopped informer can run again. It keeps the handlers that were not removed, with their
// undelivered events. It also keeps the store and updates it: handlers get the difference.
func (i *Informer[K, T]) Run(ctx context.Context) error { return i.engine.Run(ctx) }

//go:noinline
func (i *core[K, T]) Run(ctx context.Context) (err error) {
	s, err := begin(ctx, i)
	if err != nil {
		return err
	}
	returned := false
	defer func() { err = concludeRun(i, s, returned, recover()) }() // contain would take twice as much of the stack
	setOff(&i.base, s)
	if i.only == nil {
		<-s.run.Ctx.Done()
	} else if err := i.only.feed.reflector.Run(s.run.Ctx); err != nil {
		s.run.Fail(err)
	}
	returned = true
	return nil
}

// concludeRun ends a run, also if OnError ends this goroutine. value is what recover returned after what Run does itself.
func concludeRun[K comparable, T any](i *core[K, T], s *session, returned bool, value any) (err error) {
	defer func() { err = finishRun(i, s) }()
	where := "source"
	if i.only != nil && i.only.feed.commits {
		where = "commit"
	}
	if left := usercode.Left(where, returned, value); left != nil {
		runFailed(&i.base, s, left)
	}
	return nil
}

// setOff starts what runs beside the goroutine of Run.
func setOff(i *base, s *session) {
	i.logger.Debug("runs")
	s.run.Add(1)
	context.AfterFunc(s.run.Ctx, func() {
		defer s.run.Done()
		stopRun(i, s)
	})
	if i.detector != nil {
		s.run.Go(func() { contain(i, s, "OnError", noKey, func() { detect(s.run.Ctx, i) }) })
	}
}

// detect checks the objects periodically until ctx is done.
func detect(ctx context.Context, i *base) {
	period := checkPeriod
	if i.detector.Sampling {
		period = samplePeriod
	}
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			reportMutations(i, i.detector.Check(now))
			if i.detector.Sampling {
				i.resample()
			}
		}
	}
}

// Started reports whether Run was ever called. It is safe from any goroutine. O(1).
func (i *Informer[K, T]) Started() bool { return i.unread.started.Load() }

// Done is closed when Run has ended: no handler is being called, and Run can be called again.
// Before the first Run it is open, and that Run closes it. If the informer runs again, Done returns
// a new channel for the new run, and the old one stays closed. So a goroutine that got [ErrRunning]
// from Run can wait for Done and then call Run, unless another goroutine is faster.
func (i *Informer[K, T]) Done() <-chan struct{} { return i.engine.Done() }

func (i *base) Done() <-chan struct{} { return present(i).done }

// begin starts the handlers that were added so far.
func begin[K comparable, T any](ctx context.Context, i *core[K, T]) (*session, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s, err := enterRun(ctx, &i.base, func() error { return renewSession(i) })
	if err != nil {
		return nil, err
	}
	for l := range i.listeners {
		startListener(i, s, l)
	}
	for _, p := range allParts(i) {
		resumeOwn(p)
	}
	if i.over != nil {
		i.over.start(s)
	}
	return s, nil
}

// enterRun is the begin of begin.
func enterRun(ctx context.Context, i *base, renew func() error) (*session, error) {
	if i.phase == phaseRunning || i.phase == phaseStopping {
		return nil, ErrRunning
	}
	if err := i.Err(); err != nil {
		return nil, err
	}
	if i.phase == phaseStopped {
		if err := renew(); err != nil {
			return nil, err
		}
	}
	i.phase = phaseRunning
	i.unread.started.Store(true)
	s := present(i)
	s.run = usercode.NewRun(ctx)
	return s, nil
}

// newSession returns a session that continues from the store's state. Called with mu held, or before the
// informer is given out.
func newSession[K comparable, T any](i *core[K, T]) (*session, error) {
	s := emptySession()
	if i.only == nil {
		return s, nil
	}
	return s, newReflector(newFeed(i.only, s))
}

func emptySession() *session {
	s := &session{done: make(chan struct{})}
	s.life, s.die = context.WithCancelCause(context.Background())
	return s
}

func firstSession[K comparable, T any](i *core[K, T]) error {
	next, err := newSession(i)
	if err != nil {
		return err
	}
	keepSession(&i.base, next)
	return nil
}

// renewSession replaces a session that has ended. Called with mu held.
func renewSession[K comparable, T any](i *core[K, T]) error {
	present, _ := i.places.stats(nil)
	keepStats(&i.past, present)
	next, err := newSession(i)
	if err != nil {
		return err
	}
	keepSession(&i.base, next)
	i.refusal.set(nil)
	return nil
}

// stopRun ends the calls of handlers and the waits of others, even while the source goes on although
// its context is done.
func stopRun(i *base, s *session) {
	i.mu.Lock()
	i.phase = phaseStopping // no handler can be started any more
	i.mu.Unlock()
	s.die(ErrStopped) // a handler that waits for the store goes on
	i.wakeAll()       // so does one that waits for events: s.run.Ctx is done
}

// finishRun waits for all goroutines and returns why they ended: nil if Run's context ended.
func finishRun[K comparable, T any](i *core[K, T], s *session) error {
	s.run.Cancel()      // no goroutine goes on for long after that
	stopRun(&i.base, s) // nobody calls a committer after that, but the namespaces' reflectors
	s.feeding.Wait()
	for _, p := range fedParts(i) {
		closeFeed(p.feed)
	}
	return leaveRun(&i.base, s, i.store.ResourceVersion())
}

// leaveRun is the end of finishRun, after which nothing is committed.
func leaveRun(i *base, s *session, version string) error {
	s.run.Wait()
	i.care.rest()
	defer allowRun(i, s) // even if OnError or the logger ends this goroutine
	contain(i, s, "OnError", noKey, func() {
		if i.detector != nil {
			reportMutations(i, i.detector.Check(time.Now()))
		}
		i.logger.Debug("has stopped", slog.String("resourceVersion", version))
	})
	return s.run.Err()
}

// fedParts returns the parts that have a feed, whose waits for own writes are over.
func fedParts[K comparable, T any](i *core[K, T]) (all []*part[K, T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, p := range allParts(i) {
		if restOwn(p); p.feed != nil {
			all = append(all, p)
		}
	}
	return all
}

// allowRun lets Run be called again.
func allowRun(i *base, s *session) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.phase = phaseStopped
	close(s.done)
}
