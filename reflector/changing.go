package reflector

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/objid"
	"github.com/kinform/kinform/internal/picking"
)

// pruner is what a [Sink] needs for a [picking.Changing] source. Both methods may be called by any goroutine.
type pruner interface {
	// Prune removes the objects for which Selects is false now. No other such object enters after
	// that.
	Prune(ctx context.Context) error
	// Flush waits until everything that was handed over before the call can be read.
	Flush(ctx context.Context) error
}

// Select returns a source of those objects of source that by selects, which may change. The type of by is internal, so
// only this module calls Select: use shard.Part. It returns nil if source or by is nil.
func Select[T any](source Source[T], by picking.Selector[T]) Source[T] {
	if source == nil || by == nil {
		return nil
	}
	return &selecting[T]{newAdapter(adapter[T, T]{
		source:    source,
		convert:   keepAsked(by.Asked),
		request:   by.Request,
		checkList: by.CheckList,
	}), by}
}

// selecting is the source that Select makes.
type selecting[T any] struct {
	*adapter[T, T]
	by picking.Selector[T]
}

// Selection implements picking.Changing.
func (s *selecting[T]) Selection() picking.Selection { return s.by }

// Selects implements picking.Changing.
func (s *selecting[T]) Selects(obj T) bool { return s.by.Selects(obj) }

// Relist implements relister if the other source does.
func (s *selecting[T]) Relist(self Source[T], known func(objid.Identity) bool) Source[T] {
	if self != Source[T](s) {
		return nil
	}
	return s.adapter.Relist(s.adapter, known)
}

// keepAsked is the convert of a source of those objects that it asks for. No object comes or goes by a change.
func keepAsked[T any](asked func(T) (bool, error)) func(Event[T], bool) (Event[T], bool, error) {
	return func(ev Event[T], live bool) (Event[T], bool, error) {
		in, err := asked(ev.Object)
		if in || err != nil {
			return ev, in, err
		}
		skip, ok := omit(ev, live)
		return skip, ok, nil
	}
}

// errMoved is the cause for which the context of a request is done that the selection has ended.
var errMoved = errors.New("the selection has changed")

// interrupted reports whether the selection has ended a request, and Run goes on.
func interrupted(ctx context.Context) bool { return context.Cause(ctx) == errMoved }

// isCanceled reports whether an error says no more than that a context is done.
func isCanceled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, errMoved)
}

// following is the selection that a reflector follows. The goroutine of Run calls its methods, except for
// changed, and for hurry, which the timer also calls.
type following struct {
	by     picking.Selection // nil if the source has none that changes
	sink   pruner            // nil with by
	moving bool              // the list in progress replaces a watch that can go on
	before *state            // of that watch; nil before the first

	mu        sync.Mutex
	lists     bool               // the request in progress is one for a list
	interrupt context.CancelFunc // ends the request in progress, and the wait after it, with errMoved
	after     time.Time          // no list for a grown selection begins before: one failed, or the server named this time
	retry     *time.Timer        // calls hurry at after; nil if no list ever had to wait
}

// follow begins a Run.
func (f *following) follow(ctx context.Context) (stop func(), err error) {
	if f.by == nil {
		return func() {}, nil
	}
	unfollow, err := f.by.Follow(func(less bool) error { return f.changed(ctx, less) }, f.sink.Flush)
	if err != nil {
		return nil, err
	}
	return func() { unfollow(); f.end() }, nil
}

// changed follows a change, in any goroutine.
func (f *following) changed(ctx context.Context, less bool) error {
	f.mu.Lock()
	f.hurry()
	f.mu.Unlock()
	if !less {
		return nil
	}
	return f.sink.Prune(ctx)
}

// hurry has a list follow at once if one is due. Called with mu held.
func (f *following) hurry() {
	if !f.lists && f.interrupt != nil && f.isDue() {
		f.interrupt()
	}
}

// awaitsList reports whether a list of what has come is due, or has to wait after one that failed. It says all
// that a list for a doubt would say, and the watch goes on meanwhile.
func (f *following) awaitsList() bool { return f.by != nil && f.by.Due() }

// isDue reports whether it is time for a list of what no list has brought. Called with mu held.
func (f *following) isDue() bool { return f.by.Due() && !time.Now().Before(f.after) }

// begin returns the context of the next request, which ends if a list is due before, unless the request
// is one for a list.
func (f *following) begin(ctx context.Context, lists bool) context.Context {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.interrupt != nil {
		f.interrupt()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	f.interrupt = func() { cancel(errMoved) }
	if f.lists = lists; !lists {
		f.hurry()
	}
	return ctx
}

// listed follows a whole list, which the sink has.
func (f *following) listed() {
	if f.by == nil {
		return
	}
	f.by.Listed()
	f.moving = false
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists, f.after = false, time.Time{}
	if f.retry != nil {
		f.retry.Stop()
	}
	f.hurry()
}

// holdOff delays the list for a grown selection until the wait is over. It never shortens an earlier wait.
func (f *following) holdOff(wait time.Duration) {
	if f.by == nil || wait <= 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if until := time.Now().Add(wait); until.After(f.after) {
		f.after = until
	}
	if f.retry != nil {
		f.retry.Stop()
	}
	f.retry = time.AfterFunc(time.Until(f.after), func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.hurry()
	})
}

// goOn has the watch go on in place of which a list came that failed, if one can. The next list has to wait.
func (f *following) goOn(st *state, wait time.Duration) bool {
	if !f.moving || wait == 0 || f.before.rv == "" {
		return false
	}
	f.holdOff(wait)
	learned := st.learned
	learned.rewound = f.before.rewound
	*st = *f.before
	st.learned = learned
	st.relisted = true // so that a doubt leads to no list at once, which would fail, too
	return true
}

// end frees the context.
func (f *following) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.interrupt != nil {
		f.interrupt()
		f.interrupt = nil
	}
	if f.retry != nil {
		f.retry.Stop()
	}
}

// turn prepares the next request, and returns its context. It lists again if the selection has got more. If
// nothing is selected, it gives the sink an empty list, waits until something is, and ready is false. The
// error is the sink's.
func (f *following) turn(ctx context.Context, st *state, stats *counters, log logs.Log, sink listSink) (of context.Context, ready bool, err error) {
	if f.by == nil {
		return ctx, true, nil
	}
	lists := st.lists()
	if !lists && f.moves() {
		watched := *st
		f.before = &watched
		st.rewound = max(st.rewound, perhapsRewound) // the watch may have had yet to show its history
		*st, lists = st.relist(""), true
		logRelist(stats, log, becauseMoved, st.rv)
	}
	of = f.begin(ctx, lists)
	switch {
	case !lists:
		f.by.Dropped()
	case st.token == "" && !f.by.Begin():
		sink.Discard()
		if err := sink.Replace(of, ""); err != nil {
			return of, false, err
		}
		f.listed()
		<-of.Done()
		return of, false, nil
	}
	return of, true, nil
}

// moves reports whether a list is due in place of the next watch.
func (f *following) moves() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.moving = f.isDue()
	return f.moving
}
