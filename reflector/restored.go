package reflector

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// A server whose storage was restored from a backup gives out resourceVersions for the second
// time, for other changes. It accepts a watch from a version that it has not come to yet, is
// silent until then, and then sends what lies behind: changes of a state that nobody has seen.
// So after a watch that ended before its time, or was idle, the server has to show that its history
// is still the one that was seen, in one of two ways:
//
//   - The watch begins before the newest events. The server must send these first, and after
//     them nothing that is not newer than what was seen.
//   - Without such events, or if the server no longer has them, or sends nothing, it is asked
//     for a list of one object that is not older than what was seen.

const (
	// replayPatience is how long a server may take to repeat events before it is asked
	// whether it has come that far.
	replayPatience = 2 * time.Second
	// checkTimeout bounds the question.
	checkTimeout = 30 * time.Second
)

// maxRecent is how many events have to come again. A restored server that wrote to the same
// object at the same version shows the same event if all that T has of it is metadata.
const maxRecent = 4

// seam is the newest events that the sink took since the last list. The zero value is none.
type recentEvents[T any] struct {
	events [maxRecent]knownEvent[T] // a ring
	n      int                      // number of events so far: the newest is at n-1
}

// knownEvent is what has to come again.
type knownEvent[T any] struct {
	before string // a watch from this version begins with the event
	rv     string
	gone   bool // it was a deletion
	// object is kept of the newest event, which a cache has as well, and where T has no
	// metadata, since then it is small. Else uid stands for it.
	object T
	uid    types.UID
	whole  bool // object is kept
}

// add makes ev the newest event; what was seen before it is of version before.
func (s *recentEvents[T]) add(before string, ev Event[T]) {
	if s.n > 0 {
		if last := s.at(s.n - 1); last.uid != "" {
			last.object, last.whole = *new(T), false
		}
	}
	e := s.at(s.n)
	*e = knownEvent[T]{before: before, rv: ev.ResourceVersion, gone: ev.Type == Deleted, uid: uidOf(ev.Object)}
	if e.whole = !e.gone || e.uid == ""; e.whole {
		e.object = ev.Object
	}
	s.n++
}

func (s *recentEvents[T]) at(n int) *knownEvent[T] { return &s.events[n%maxRecent] }

// replayFrom returns the version that a watch must begin with so that known events come first,
// and the number of the first of them; empty if there are none.
func (s *recentEvents[T]) replayFrom() (from string, first int) {
	for n := max(0, s.n-maxRecent); n < s.n; n++ {
		if e := s.at(n); e.before != "0" && older(e.before, e.rv) {
			return e.before, n
		}
	}
	return "", s.n
}

// isAgain reports whether ev is e, and not another event of its version.
func (e *knownEvent[T]) isAgain(ev Event[T]) bool {
	return ev.Type != Bookmark && ev.ResourceVersion == e.rv && e.gone == (ev.Type == Deleted) &&
		e.uid == uidOf(ev.Object) && (!e.whole || reflect.DeepEqual(e.object, ev.Object))
}

// uidOf returns an object's uid, empty where it has no metadata, or none to be read.
func uidOf(object any) (uid types.UID) {
	defer func() { _ = recover() }() // the methods may be those of a nil pointer
	if m, ok := object.(metav1.Object); ok {
		return m.GetUID()
	}
	return ""
}

// replay is how far a watch has shown the history that was seen. The zero value is that it
// need not.
type replay struct {
	active bool // it has not shown all
	next   int  // number of the event that has to come; that of none if all have come
	known  int  // number of the events that are known
}

// pending reports whether a known event has to come.
func (j replay) pending() bool { return j.active && j.next < j.known }

// verify judges an event by the history that was seen, of which seen is the newest version. It
// reports whether the event is news, and returns ErrRestored if it cannot be of that history.
func (s *recentEvents[T]) verify(j replay, ev Event[T], seen string) (next replay, news bool, err error) {
	if j.pending() {
		switch e := s.at(j.next); {
		case e.isAgain(ev):
			j.next++
			return j, false, nil
		case ev.Type == Bookmark && older(ev.ResourceVersion, e.rv):
			return j, false, nil
		}
		return j, false, ErrRestored
	}
	switch {
	case older(seen, ev.ResourceVersion):
		j.active = false
		return j, true, nil
	case ev.Type == Bookmark, s.at(s.n - 1).isAgain(ev):
		return j, false, nil // of a server that lags, or stutters
	}
	return j, false, ErrRestored
}

// endedUnexpectedly reports whether the server, or its storage, may be another one after a watch that
// ended so: in any way but at the time that was asked for. A server that shuts down ends
// watches in order.
func endedUnexpectedly(end watchEnd) bool { return end.idle || end.early || end.err != nil }

// verifyFrom is the state after a watch that ended, if it goes on and may not be trusted: with
// the watch from version from, where there is events to come again, else with the question.
func (s state) verifyFrom(from string) state {
	if s.phase != watching || !comparable(s.rv) {
		return s
	}
	if s.replayRV, s.confirmed = from, false; from == "" {
		s.phase = checking
	}
	return s
}

// notReplayed follows a watch from s.before that the server refused, because it no longer
// has that version, or was silent to.
func (s state) notReplayed(err error) state {
	s.phase = checking
	if isExpired(err) {
		s.replayRV = ""
	}
	return s
}

// restored follows a watch with another history than the one that was seen. Only a list
// at "" does not build on it.
func (s state) restored(err error) (state, step) {
	st := step{relist: becauseRestored, err: err}
	if s.relisted {
		st.pause = pauseBusy // the last list has not mended it
	}
	s.rewound, s.relisted = true, true
	return s.relist(""), st
}

// checked follows the question for a list of one object that is not older than what was
// seen.
func (s state) checked(page metav1.ListMeta, err error) (state, step) {
	next := s
	next.phase, next.confirmed = watching, true
	switch {
	case err == nil && !older(page.ResourceVersion, s.rv):
		return next, step{}
	case err == nil || isTooLarge(err):
		// A server that lags says so, too. The list will tell.
		return s.relist(""), step{relist: becauseTooLarge, err: err}
	}
	st := failed(err)
	if st.pause.connectionLost() || apierrors.IsTooManyRequests(err) {
		return s, st // it is not there to be asked
	}
	return next, step{} // it does not answer that
}

// comparable reports whether a version can be compared with others.
func comparable(rv string) bool {
	_, err := resourceversion.CompareResourceVersion(rv, rv)
	return err == nil
}

// check asks whether the server has come as far as what was seen.
func (r *Reflector[T]) check(ctx context.Context) {
	asked, began := r.state.rv, time.Now()
	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	request, attempt := r.begin(limited, false) // as soon answered as a watch
	r.log.Debug("asks whether the server was restored", slog.String("resourceVersion", asked))
	objects := 0
	page, err := r.source.List(request, metav1.ListOptions{
		Limit: 1, ResourceVersion: asked, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}, func(Event[T], error) bool {
		objects++
		return objects < 2 // of a server that does not know limits
	})
	err = causeOf(request, err)
	attempt.end()
	if ctx.Err() != nil {
		return
	}
	if errors.Is(err, ErrStopped) {
		page.ResourceVersion, err = asked, nil
	}
	var st step
	if r.state, st = r.state.checked(page, err); err == nil {
		r.breaker.answered()
	}
	r.carryOut(ctx, st, RequestError{Verb: "list", ResourceVersion: asked}, began)
}

// replayed handles an event of a watch that has yet to show the history that was seen. It
// reports whether the event is news.
func (r *Reflector[T]) replayed(w *watch, ev Event[T]) (news bool, err error) {
	awaited := w.replay.pending()
	if w.replay, news, err = r.recent.verify(w.replay, ev, w.end.rv); awaited && !w.replay.pending() {
		w.dog.stop()
		w.dog = r.guardWatch(w)
	}
	return news, err
}

// replay returns what a watch has to show.
func (r *Reflector[T]) newReplay() replay {
	_, first := r.recent.replayFrom()
	return replay{active: true, next: first, known: r.recent.n}
}

// guardReplay returns a watchdog for a watch that has to begin with a known event.
func (r *Reflector[T]) guardReplay(w *watch) *watchdog {
	if r.state.confirmed {
		return r.guardWatch(w)
	}
	patience := replayPatience
	if r.opts.IdleTimeout > 0 {
		patience = min(patience, r.opts.IdleTimeout)
	}
	return newWatchdog(patience/4, r.omitted(), func(quiet time.Duration) {
		if quiet >= patience {
			w.abort()
		}
	})
}

// noteRewind tells the sink if the list that is whole now is that of a restored server.
func (r *Reflector[T]) noteRewind() {
	seen := r.stats.seen()
	if older(r.state.rv, seen) && !r.state.rewound {
		r.state.rewound = true
		r.opts.OnError(&RequestError{Resource: r.source.Resource(), Verb: "list", ResourceVersion: seen, Err: ErrRestored})
	}
	if !r.state.rewound {
		return
	}
	r.state.rewound = false
	r.stats.restores.Add(1)
	if s, ok := r.sink.(Rewinder); ok {
		s.Rewound()
	}
}
