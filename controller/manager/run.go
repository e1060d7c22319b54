package manager

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/internal/follow"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/pause"
	"github.com/kinform/kinform/internal/usercode"
)

// Run runs controllers, their caches and nothing else, see [Manager.Run].
func Run(ctx context.Context, controllers ...Controller) error {
	m := New(Options{})
	m.AddControllers(controllers...)
	return m.Run(ctx)
}

// Run runs everything that was added, in the order that the package documentation describes, until ctx is done. It goes
// on if the leadership is lost. It returns nil after an orderly stop, even if the caches were not yet filled. Otherwise
// it returns the joined errors of
//
//   - parts that failed or panicked (a *informer.PanicError), each with its name
//   - caches, with the name of their resource: informer.ErrStopped if one with another runner
//     stopped, an error that says so if the source or OnError of one ended the goroutine that ran it
//   - the Elector, if it returned before this process led, or [ErrLeadership]
//   - a *controller.SyncError, see Options.SyncTimeout
//   - a [*GraceError], see Options.Grace
//
// or, without running anything, [Manager.Err], [ErrNothing] or [ErrStarted].
//
// Unless it returns a GraceError, everything that it started has ended.
func (m *Manager) Run(ctx context.Context) error {
	caches, parts, err := m.begin()
	if err != nil {
		return err
	}
	m.logger.Debug("runs")
	defer m.logger.Debug("has stopped")
	work, stop := context.WithCancel(ctx)
	defer stop()
	warm, chill := context.WithCancel(context.WithoutCancel(ctx))
	defer chill()

	serving, endServing := context.WithCancel(context.WithoutCancel(ctx))
	defer endServing()
	var filled, busy, support sync.WaitGroup
	for _, c := range caches {
		filled.Go(func() {
			defer stop()
			defer m.roster(&m.running.caches, c.Resource())()
			usercode.Outcome(func() error { return follow.Run(ctx, warm, c) }, func(err error) {
				if err != nil {
					m.fail(c.Resource(), err)
				}
			})
		})
	}
	var led []part
	for _, p := range parts {
		if p.all {
			support.Go(func() { m.work(serving, stop, p) })
		} else {
			led = append(led, p)
		}
	}
	if m.sync(work, caches) {
		m.enter(ready)
		m.logger.Debug("caches are filled")
		m.start(work, stop, &busy, led)
		<-work.Done()
	}
	stop()
	m.enter(stopped)
	late := m.rest(endServing, func() {
		busy.Wait()
		endServing() // not before: the others may need it to their ends
		support.Wait()
	}, func() {
		chill()
		filled.Wait()
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	return errors.Join(append(slices.Clone(m.failed), late)...)
}

// start starts parts, with an Elector once this process leads.
func (m *Manager) start(ctx context.Context, stop context.CancelFunc, busy *sync.WaitGroup, parts []part) {
	if m.opts.Elector == nil {
		for _, p := range parts {
			busy.Go(func() { m.work(ctx, stop, p) })
		}
		return
	}
	c := &campaign{Manager: m, stop: stop, busy: busy, led: parts}
	busy.Go(func() { m.work(ctx, stop, part{name: election, of: Func(c.run)}) })
}

// work runs a part to its end.
func (m *Manager) work(ctx context.Context, stop context.CancelFunc, p part) {
	leave := m.roster(&m.running.parts, p.name)
	m.logger.Debug("starts", slog.String("name", p.name))
	defer func() {
		leave()
		m.logger.Debug("has ended", slog.String("name", p.name))
	}()
	failed := func(err error) {
		m.fail(p.name, err)
		stop()
	}
	usercode.Contain("Run", func() {
		err := p.of.Run(ctx)
		// The part was asked to end with its context, so this is no failure.
		if err != nil && !(ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))) {
			failed(err)
		}
	}, func(err *usercode.PanicError) { failed(err) })
}

// roster adds a name to a list of what runs, and returns a function that takes it out.
func (m *Manager) roster(list *[]string, name string) (leave func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*list = append(*list, name)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		n := slices.Index(*list, name)
		*list = slices.Delete(*list, n, n+1)
	}
}

// rest waits until parts and then caches, which end both, have returned. It gives the parts Options.Grace, and the caches
// what is left, but a second at least: a cache waits for its handlers. If that is not enough, rest returns a *GraceError.
// It calls hurry before the parts' time is over, so that what serves the others has a quarter of it for its own end.
func (m *Manager) rest(hurry, parts, caches func()) error {
	grace := cmp.Or(m.opts.Grace, DefaultGrace)
	if grace < 0 {
		parts()
		caches()
		return nil
	}
	began := time.Now()
	last := time.AfterFunc(grace*3/4, hurry)
	defer last.Stop()
	pause.Within(grace, parts) // what it waits for may outlive Run
	m.mu.Lock()
	late := slices.Clone(m.running.parts)
	m.mu.Unlock()
	pause.Within(max(grace-time.Since(began), min(grace/4, time.Second)), caches)
	m.mu.Lock()
	late = append(late, m.running.caches...)
	m.mu.Unlock()
	if len(late) == 0 {
		return nil
	}
	return &GraceError{After: grace, Running: late}
}

// sync waits until the caches are filled. It returns false if ctx ends before that, and after
// Options.SyncTimeout.
func (m *Manager) sync(ctx context.Context, caches []controller.Cache) bool {
	limit, cancel := ctx, context.CancelFunc(func() {})
	if m.opts.SyncTimeout > 0 {
		limit, cancel = context.WithTimeout(ctx, m.opts.SyncTimeout)
	}
	defer cancel()
	missing := &controller.SyncError{After: m.opts.SyncTimeout}
	for _, c := range caches {
		if err := fill(limit, c); err != nil {
			missing.Errs = append(missing.Errs, err)
		}
	}
	if len(missing.Errs) == 0 {
		return ctx.Err() == nil
	}
	if ctx.Err() == nil {
		m.fail("caches", missing)
	}
	return false
}

// fill waits until a cache is filled. A cache that is refused goes on trying, and may succeed
// once a permission is granted or a CustomResourceDefinition installed.
func fill(ctx context.Context, c controller.Cache) error {
	for {
		err := c.WaitForSync(ctx)
		var refused *informer.NotSyncingError
		if err == nil || ctx.Err() != nil || !errors.As(err, &refused) {
			return err
		}
		retry := time.NewTimer(time.Second)
		select {
		case <-retry.C:
		case <-ctx.Done():
			retry.Stop()
			return err
		}
	}
}
