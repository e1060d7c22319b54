package informer

import (
	"context"
	"time"

	"github.com/kinform/kinform/internal/lot"

	"github.com/kinform/kinform/internal/eventlog"
)

// resyncStride is the number of objects that a resync delivers before it looks for changes.
const resyncStride = 32

// firstResync spreads the phases of handlers over one period.
func firstResync[K comparable, T any](l *listener[K, T]) time.Duration {
	return time.Duration((0.5 + lot.Fraction(0)) * float64(l.opts.Resync))
}

func setDue[K comparable, T any](l *listener[K, T], at time.Time) {
	if l.opts.Resync > 0 {
		l.due = at
	}
}

func isDue[K comparable, T any](l *listener[K, T]) bool {
	return l.opts.Resync > 0 && !time.Now().Before(l.due)
}

// resync delivers every object that the handler knows, and changes in between. It walks a
// snapshot, so only the handler itself waits for it. If an overrun cuts a resync short, the
// resync is not continued. It returns false if the handler must stop.
func resync[K comparable, T any](ctx context.Context, l *listener[K, T]) bool {
	began := time.Now()
	l.touched = map[K]struct{}{} // objects handled from now on may be newer than the snapshot
	defer func() {
		l.touched = nil
		// If a resync takes longer than its period, the next one waits as long as this one
		// took.
		setDue(l, maxTime(began.Add(l.opts.Resync), time.Now().Add(time.Since(began))))
	}()
	i := l.inf
	i.mu.Lock()
	found, position := i.store.Snapshot(), eventlog.Published(&i.log)
	i.mu.Unlock()
	for eventlog.Position(l.cursor) < position { // the handler has not seen all of the snapshot
		if open, goOn := handlePending(ctx, l); !open {
			return goOn
		}
	}
	n := 0
	var ev Event[K, T] // one for all, since the handler gets a copy
	for key, obj := range pairsOf(&found) {
		if n++; n%resyncStride == 0 {
			if open, goOn := handlePending(ctx, l); !open {
				return goOn
			}
		}
		if _, ok := l.touched[key]; ok {
			continue
		}
		if !mayContinue(ctx, l) {
			return false
		}
		ev = Event[K, T]{Type: Updated, Sync: true, Key: key, Object: obj, Old: obj}
		deliver(l, &ev)
	}
	l.current = nil
	return true
}

// handlePending handles one run of the log, if there is one. open reports whether there can be more,
// and goOn whether the handler may go on.
func handlePending[K comparable, T any](ctx context.Context, l *listener[K, T]) (open, goOn bool) {
	events, err := eventlog.TryNext(l.cursor)
	if err != nil {
		return false, true // run finds out why
	}
	l.rest, l.logged = events, true
	goOn = handleRest(ctx, l)
	return goOn, goOn
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
