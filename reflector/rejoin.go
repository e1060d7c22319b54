package reflector

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
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
// So after a connection was lost, or a watch was idle, the server has to show that its history
// is still the one that was seen, in one of two ways:
//
//   - The watch begins before the newest event. The server must send this event first, with
//     the same object, and after it nothing that is not newer than what was seen.
//   - Without such an event, or if the server no longer has it, or sends nothing, it is asked
//     for a list of one object that is not older than what was seen.

const (
	// rejoinPatience is how long a server may take to repeat an event before it is asked
	// whether it has come that far.
	rejoinPatience = 2 * time.Second
	// askTimeout bounds the question.
	askTimeout = 30 * time.Second
)

// seam is the newest event that the sink took since the last list. The zero value is none.
type seam[T any] struct {
	before string // a watch from this version begins with the event
	rv     string
	gone   bool      // it was a deletion
	object T         // zero if it is gone: nobody else may hold on to it
	uid    types.UID // if it is gone and T says it
}

// set makes ev the newest event; what was seen before it is of version before.
func (s *seam[T]) set(before string, ev Event[T]) {
	*s = seam[T]{before: before, rv: ev.ResourceVersion, gone: ev.Type == Deleted}
	if !s.gone {
		s.object = ev.Object
	} else {
		s.uid = uidOf(ev.Object)
	}
}

// from returns the version that a watch must begin with so that the event comes first; empty
// if there is none.
func (s *seam[T]) from() string {
	if s.before == "0" || !older(s.before, s.rv) {
		return ""
	}
	return s.before
}

// isAgain reports whether ev is the event, and not another one of its version.
func (s *seam[T]) isAgain(ev Event[T]) bool {
	switch {
	case ev.Type == Bookmark || ev.ResourceVersion != s.rv || s.gone != (ev.Type == Deleted):
		return false
	case s.gone:
		return s.uid == uidOf(ev.Object)
	}
	return reflect.DeepEqual(s.object, ev.Object)
}

// uidOf returns an object's uid, empty where it has no metadata.
func uidOf(object any) types.UID {
	if m, ok := object.(metav1.Object); ok {
		return m.GetUID()
	}
	return ""
}

// joint is how far a watch has shown the history that was seen.
type joint uint8

const (
	joined   joint = iota // it has, or need not
	awaited               // the newest event has to come first
	repeated              // it came; what follows must be newer than what was seen
)

// join judges an event by the history that was seen. It reports whether the event is news,
// and returns ErrRestored if it cannot be of that history.
func (s *seam[T]) join(at joint, ev Event[T], seen string) (next joint, news bool, err error) {
	c, err := resourceversion.CompareResourceVersion(ev.ResourceVersion, s.rv)
	switch {
	case err != nil:
		return at, false, ErrRestored
	case at == awaited && c < 0 && ev.Type == Bookmark:
		return at, false, nil
	case s.isAgain(ev):
		return repeated, false, nil
	case at == awaited:
		return at, false, ErrRestored
	case older(seen, ev.ResourceVersion):
		return joined, true, nil
	case ev.Type == Bookmark:
		return at, false, nil // of a server that lags
	}
	return at, false, ErrRestored
}

// doubts reports whether the server, or its storage, may be another one after a watch that
// ended so.
func doubts(end watchEnd) bool {
	return end.idle || end.err != nil && (!isStatus(end.err) || statusOf(end.err).Code >= http.StatusInternalServerError)
}

// rejoin is the state after a watch that ended, if it goes on and may not be trusted: with
// the watch from version from, where there is an event to come again, else with the question.
func (s state) rejoin(from string) state {
	if s.phase != watching || !comparable(s.rv) {
		return s
	}
	if s.before, s.asked = from, false; from == "" {
		s.phase = asking
	}
	return s
}

// unrepeated follows a watch from s.before that the server refused, because it no longer
// has that version, or was silent to.
func (s state) unrepeated(err error) state {
	s.phase = asking
	if isExpired(err) {
		s.before = ""
	}
	return s
}

// restored follows a watch with another history than the one that was seen. Only a list
// at "" does not build on it.
func (s state) restored(err error) (state, step) {
	s.rewound = true
	return s.relist(""), step{relist: becauseRestored, err: err}
}

// answered follows the question for a list of one object that is not older than what was
// seen.
func (s state) answered(page metav1.ListMeta, err error) (state, step) {
	next := s
	next.phase, next.asked = watching, true
	switch {
	case err == nil && !older(page.ResourceVersion, s.rv):
		return next, step{}
	case err == nil || isTooLarge(err):
		// A server that lags says so, too. The list will tell.
		return s.relist(""), step{relist: becauseTooLarge, err: err}
	}
	st := failed(err)
	if st.pause.lost() || apierrors.IsTooManyRequests(err) {
		return s, st // it is not there to be asked
	}
	return next, step{} // it does not answer that
}

// comparable reports whether a version can be compared with others.
func comparable(rv string) bool {
	_, err := resourceversion.CompareResourceVersion(rv, rv)
	return err == nil
}

// ask asks whether the server has come as far as what was seen.
func (r *Reflector[T]) ask(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	r.log.Debug("asks whether the server was restored", slog.String("resourceVersion", r.state.rv))
	objects := 0
	page, err := r.source.List(limited, metav1.ListOptions{
		Limit: 1, ResourceVersion: r.state.rv, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}, func(Event[T], error) bool {
		objects++
		return objects < 2 // of a server that does not know limits
	})
	if ctx.Err() != nil {
		return
	}
	if errors.Is(err, ErrStopped) {
		page.ResourceVersion, err = r.state.rv, nil
	}
	asked := r.state.rv
	var st step
	r.state, st = r.state.answered(page, err)
	r.follow(ctx, st, RequestError{Verb: "list", ResourceVersion: asked})
}

// rejoined handles an event of a watch that has yet to show the history that was seen. It
// reports whether the event is news.
func (r *Reflector[T]) rejoined(w *watch, ev Event[T]) (news bool, err error) {
	at := w.joint
	if w.joint, news, err = r.seam.join(at, ev, w.end.rv); at == awaited && w.joint != awaited {
		w.dog.stop()
		w.dog = r.guardWatch(w)
	}
	return news, err
}

// guardJoint returns a watchdog for a watch that has to begin with a known event.
func (r *Reflector[T]) guardJoint(w *watch) *watchdog {
	if r.state.asked {
		return r.guardWatch(w)
	}
	patience := rejoinPatience
	if r.opts.IdleTimeout > 0 {
		patience = min(patience, r.opts.IdleTimeout)
	}
	return newWatchdog(patience/4, r.leftOut(), func(quiet time.Duration) {
		if quiet >= patience {
			w.bite()
		}
	})
}

// rewind tells the sink if the list that is whole now is that of a restored server.
func (r *Reflector[T]) rewind() {
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
