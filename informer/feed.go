package informer

import (
	"context"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/internal/eventlog"
	"github.com/kinform/kinform/internal/objid"
	"github.com/kinform/kinform/reflector"
)

// newFeed gives a part what it needs for the next run, but no reflector. Called with mu held, or before the
// informer is given out.
func newFeed[K comparable, T any](p *part[K, T], s *session) *feed[K, T] {
	i := p.inf
	f := &feed[K, T]{part: p, session: s}
	known := deltafifo.KnownObjects[K, T](&knownObjects[K, T]{i.store.Reader(), p})
	key := func(obj T) (K, error) { return keyIn(p, obj) }
	f.to = deltafifo.NewSink(known, deltafifo.Options{Limit: i.opts.Pending}, key, func(bad *reflector.ObjectError) { badObject(&i.base, bad) })
	f.to.Keep(p.keeps)
	f.commit = func(batch deltafifo.Batch[K, T]) error {
		f.commits, f.committed = true, true
		err := commitBatch(f, batch)
		f.commits = false // not after a panic
		return err
	}
	f.committer.commit = func() error {
		err := context.Canceled // if commitPending does not return
		contain(&i.base, s, "commit", noKey, func() {
			if err = commitPending(f); err != nil {
				s.run.Fail(err)
			}
		})
		return err
	}
	p.renew()
	p.feed = f
	return f
}

// newReflector gives a feed a reflector, or another one. Called with mu held, or before the
// informer is given out.
func newReflector[K comparable, T any](f *feed[K, T]) (err error) {
	p, i := f.part, f.part.inf
	fetch := reflector.Options{
		ReadOnly: !i.opts.Packed, // packed objects have no part in common
		Tuning:   i.opts.Reflector, Logger: i.opts.Logger,
		OnError: func(err error) { requestFailed(p, err) },
	}
	rv, newest := i.store.ResourceVersion(), false
	if !isOnly(p) {
		rv, newest, f.restores = versionText(p.at), p.newest && p.at == 0 || p.again, i.places.restores
	}
	if newest {
		rv, f.floor = "", i.places.lowest
	}
	if rv != "" || newest {
		fetch.FirstVersion = &rv // otherwise a lagging server cache would take the store back in time
	}
	f.reflector, err = reflector.New(p.source, f, fetch)
	if err == nil {
		p.counts = f.reflector.Stats
	}
	return err
}

// closeFeed ends a feed whose reflector has ended, so nobody calls its committer any more.
func closeFeed[K comparable, T any](f *feed[K, T]) {
	f.committer.running.Wait()
	f.to.Close()
}

// Apply implements reflector.Sink. After the last event at hand it commits in the reflector's
// goroutine, because it takes longer to wake another one than to commit. If more events are at
// hand, they are decoded while the committer commits, so a busy watch uses two processors. While a handler
// lags, the committer gets the event, because it waits for handlers. No clock decides.
func (f *feed[K, T]) Apply(ctx context.Context, ev reflector.Event[T]) error {
	answered(f.part)
	if !isLast(f, ev.Idle) || eventlog.Lagging(&f.part.inf.log, f.part.inf.lag) != nil {
		return handOver(f, f.to.Apply(ctx, ev))
	}
	f.committed = false // commit gets nothing while the committer commits, or if too much is pending
	if err := f.to.ApplyNow(ctx, ev, f.commit); err != nil || f.committed && !f.pruned.Swap(false) {
		return err
	}
	return handOver(f, nil)
}

// isLast reports whether to take an event for the last one at hand. If the source has never said so
// of any event, one for which a handler waits counts as the last: the handler gets it sooner. While
// all handlers are busy with earlier events, or about to wake up for them, the source is likely to
// be busy too.
func isLast[K comparable, T any](f *feed[K, T], idle bool) bool {
	f.marks = f.marks || idle
	return idle || !f.marks && eventlog.Awaited(&f.part.inf.log)
}

// handOver leaves what was put into the queue to the committer.
func handOver[K comparable, T any](f *feed[K, T], err error) error {
	if err == nil {
		f.committer.call()
	}
	return err
}

// Listed implements reflector.Sink.
func (f *feed[K, T]) Listed(ctx context.Context, ev reflector.Event[T]) error {
	if !f.listing {
		f.listing = true
		answered(f.part)
	}
	if !f.part.brought.Load() {
		f.part.brought.Store(true)
	}
	return f.to.Listed(ctx, ev)
}

// Replace implements reflector.Sink.
func (f *feed[K, T]) Replace(ctx context.Context, resourceVersion string) error {
	f.listing = false
	answered(f.part)
	if !ofKnownHistory(f, resourceVersion) {
		f.to.Discard()
		return ctx.Err()
	}
	return handOver(f, f.to.Replace(ctx, resourceVersion))
}

// ofKnownHistory reports whether a list that a feed has, at a version, is of a known history. If another
// namespace has shown that the server was restored, it is if its reflector began later: then it is marked as
// the first list of the restored server. So is a list that must be the newest, and is older than what others
// had before.
func ofKnownHistory[K comparable, T any](f *feed[K, T], rv string) (known bool) {
	p, s := f.part, &f.part.inf.places
	if isOnly(p) {
		return true
	}
	p.inf.mu.Lock()
	defer p.inf.mu.Unlock()
	since := f.restores == s.restores
	if at := parseVersion(rv); since && (p.again || at != 0 && at < f.floor) {
		f.to.Rewound(true)
	}
	return since || !p.again
}

// Skipped implements reflector.Sink.
//
//go:noinline
func (f *feed[K, T]) Skipped(bad *reflector.ObjectError) { f.to.Skipped(bad) }

// Rewound serves reflectors.
func (f *feed[K, T]) Rewound(certain bool) { f.to.Rewound(certain) }

// Lookup serves reflectors.
func (f *feed[K, T]) Lookup() func(objid.Identity) (T, bool) { return f.to.Lookup() }

// Prune serves reflectors. The committer gets nothing while commit runs, so Apply calls it again.
func (f *feed[K, T]) Prune(ctx context.Context) error {
	if err := f.to.Prune(ctx); err != nil {
		return err
	}
	f.pruned.Store(true)
	i := f.part.inf
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.phase != phaseRunning || f.part.feed != f {
		return ErrStopped
	}
	dropUnselected(f.part) // what is in the queue says nothing about own writes
	eventlog.Publish(&i.log)
	f.committer.call()
	return nil
}

// Flush serves reflectors.
func (f *feed[K, T]) Flush(ctx context.Context) error { return f.to.Flush(ctx) }

// Discard implements reflector.Sink.
func (f *feed[K, T]) Discard() {
	f.listing = false
	f.to.Discard()
}
