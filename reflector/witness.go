package reflector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
)

// A server that was restored and then overtook the newest version seen answers a list that is
// not older. So the list asks for a known object by name, of the newest event or, before the
// first event, the newest of the list. If the server has the object as it was, its history is
// the one seen, up to the version of that object. If it has another state that is not newer
// than the newest version seen, it was restored. If the object changed or is gone since, the
// objects of the events before are asked for, and if none of them is as it was, the collection
// is listed again. If that list would be the second in a row, it waits until a watch has lasted
// for briefTimeout, or until the time that silent watches get (silence.go). Otherwise there would be
// lists without end where every watch breaks off and the known object changes all the time.
//
// The proof ends at the object's version. A backup that is newer than the known object is
// not noticed if the server cannot repeat events: the sink then lacks the changes that the
// restore took back or made between that backup and the newest version seen. A T without
// metadata has no names, so the list shows only how far the server has come.

// knownObject is an object as it was at the newest version seen.
type knownObject[T any] struct {
	key types.NamespacedName
	uid types.UID
	rv  string
	// object is kept where a cache holds it as well: that of the newest event, or the newest of
	// a list. Without metadata, only its contents identify it, so it is kept while it is known.
	object T
	whole  bool // object is kept
}

// knownFrom returns the object of ev. Key and uid are empty if the object has no metadata.
func knownFrom[T any](ev Event[T]) (o knownObject[T]) {
	o = knownObject[T]{rv: ev.ResourceVersion, object: ev.Object, whole: true}
	defer func() {
		if recover() != nil { // a nil pointer
			o.key = types.NamespacedName{}
		}
	}()
	if object, ok := any(ev.Object).(metav1.Object); ok {
		o.key = types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
		o.uid = object.GetUID()
	}
	return o
}

// is reports whether found is the same object at the same version.
func is[T any](o knownObject[T], found knownObject[T]) bool {
	return o.key == found.key && o.uid == found.uid && o.rv == found.rv
}

// hasOtherContents reports whether found, which is the same object at the same version, has other
// contents. That alone is no proof: a server with other defaults sends an object differently,
// and a handler may have changed it in the cache.
func hasOtherContents[T any](o, found knownObject[T]) bool {
	return o.whole && !reflect.DeepEqual(o.object, found.object)
}

// forgetObject lets go of the object.
func forgetObject[T any](o *knownObject[T]) { o.object, o.whole = *new(T), false }

// forgetUnlessNeeded is forgetObject, unless nothing else identifies the object.
func forgetUnlessNeeded[T any](o *knownObject[T]) {
	if hasMetadata(*o) {
		forgetObject(o)
	}
}

// hasMetadata reports whether the object has a name to know it by.
func hasMetadata[T any](o knownObject[T]) bool { return o.key.Name != "" }

// nameOf names the object in errors.
func nameOf[T any](o knownObject[T]) string {
	name := o.key.Name
	switch {
	case name == "":
		return "an object at resourceVersion " + o.rv
	case o.key.Namespace != "":
		name = o.key.String()
	}
	return fmt.Sprintf("%s (uid %s) at resourceVersion %s", name, o.uid, o.rv)
}

// isNamed reports whether the object can be asked for.
func isNamed[T any](o knownObject[T]) bool { return o.key.Name != "" && o.uid != "" }

// selectorOf selects the object by its name.
func selectorOf[T any](o knownObject[T]) string {
	name := fields.OneTermEqualSelector("metadata.name", o.key.Name)
	if o.key.Namespace == "" {
		return name.String()
	}
	return fields.AndSelectors(name, fields.OneTermEqualSelector("metadata.namespace", o.key.Namespace)).String()
}

// witnesses returns the objects that the server still has at version seen, newest first. An
// object of the list counts only until the first event: later it would prove too little. Nor
// would an older one of the list prove enough.
func witnesses[T any](s *recentEvents[T], seen string) []knownObject[T] {
	if s.n == 0 {
		if isNamed(s.listed) && !older(seen, s.listed.rv) {
			return []knownObject[T]{s.listed}
		}
		return nil
	}
	var all []knownObject[T]
	passed := map[types.NamespacedName]bool{}
	for n := s.n - 1; n >= oldest(s); n-- {
		e := recentAt(s, n)
		if !e.gone && isNamed(e.known) && !passed[e.known.key] {
			all = append(all, e.known)
		}
		passed[e.known.key] = true
	}
	return all
}

// answer is a server's answer about its history.
type answer uint8

const (
	noAnswer answer = iota // the question was about the version alone, or was not understood
	proven                 // the object is as it was
	doubtful               // it has its uid and version, and other contents
	unproven               // it changed or is gone, or there is none to ask for
	refuted                // the history seen excludes what the server has
)

// question is a list of one object that has to show whether the server was restored.
type question[T any] struct {
	seen    string         // newest version seen
	open    bool           // that version may have more events
	object  knownObject[T] // to ask for; the zero value asks for any object
	empty   bool           // at version seen, the collection had no objects
	objects int
	found   knownObject[T] // the first of them
	verdict
}

// verdict is what a question and its answer mean for the protocol.
type verdict struct {
	answer    answer
	refutes   error // describes the contradiction, if the answer is refuted
	named     bool  // the question is for one object
	last      bool  // no other object can be asked for
	unreached bool  // the question had no connection to the server
}

// newQuestion is the next question of a check.
func newQuestion[T any](r *Reflector[T]) *question[T] {
	q := &question[T]{seen: r.state.rv, open: r.recent.open.rv == r.state.rv, verdict: verdict{last: true}}
	all := witnesses(&r.recent, q.seen)
	switch n := r.state.asked; {
	case r.state.nameless:
	case n < len(all):
		q.object, q.last, q.answer = all[n], n+1 == len(all), unproven
	case r.recent.n == 0:
		q.empty = r.recent.empty
	case isNamed(recentAt(&r.recent, r.recent.n-1).known):
		q.answer = unproven // all that is known are deletions
	}
	q.named = isNamed(q.object)
	return q
}

// options are the options of the request.
func options[T any](q *question[T]) metav1.ListOptions {
	opts := metav1.ListOptions{Limit: 1, ResourceVersion: q.seen, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
	if isNamed(q.object) {
		opts.FieldSelector = selectorOf(q.object)
	}
	return opts
}

// take takes an object of the answer, and reports whether the list is read on.
func take[T any](q *question[T], found knownObject[T]) bool {
	if q.objects++; q.objects > 1 { // the source ignores the limit
		return false
	}
	q.found = found
	// Unless the object is as it was, its state would have been seen.
	lost := !older(q.seen, found.rv) && !(q.open && q.seen == found.rv)
	switch {
	case q.empty && lost && comparable(found.rv):
		q.answer = refuted
	case !isNamed(q.object):
	case found.key != q.object.key: // the source ignores the selector
		q.answer = noAnswer
	case is(q.object, found) && hasOtherContents(q.object, found):
		q.answer = doubtful
	case is(q.object, found):
		q.answer = proven
	case lost:
		q.answer = refuted
	}
	return true
}

// refutation describes the server's state that contradicts an observed one.
func refutation[T any](q *question[T]) error {
	if q.empty {
		return otherHistory("it has %s, and there was no object at %s", nameOf(q.found), q.seen)
	}
	return otherHistory("it has %s in place of %s", nameOf(q.found), nameOf(q.object))
}

// endQuestion follows the end of the list.
func endQuestion[T any](q *question[T], page metav1.ListMeta, err error) (metav1.ListMeta, error) {
	if errors.Is(err, ErrListStopped) {
		q.answer = noAnswer
		return metav1.ListMeta{ResourceVersion: q.seen}, nil
	}
	switch {
	case q.objects == 0 && page.Continue != "": // the object may follow
		q.answer = noAnswer
	case q.answer == refuted:
		q.refutes = refutation(q)
	}
	return page, err
}

// checkServer asks the server for one object.
func checkServer[T any](r *Reflector[T], ctx context.Context) {
	q, began := newQuestion(r), time.Now()
	limit := checkTimeout
	if r.state.unverified > 0 {
		limit = recheckTimeout
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := beginCall(r, limited, false, q.seen)
	defer c.stop()
	r.log.Debug("asks whether the server was restored", slog.String("resourceVersion", q.seen), slog.String("name", q.object.key.Name))
	page, err := r.source.List(c.request, options(q), func(ev Event[T], err error) bool {
		return err != nil || take(q, knownFrom(ev))
	})
	page, err = endQuestion(q, page, endCall(r, c, err))
	if ctx.Err() != nil {
		return
	}
	if err != nil && !errors.Is(err, ErrUnanswered) && limited.Err() != nil {
		err = errSlowCheck // a watch may take its time
	} else if isUnanswered(err) && unreached(c.attempt, err) { // other errors may be about the question alone
		q.unreached = true
		spareList(r) // it could not come either
	}
	var st step
	if r.state, st = checked(r.state, page, err, q.verdict); err == nil {
		r.breaker.answered()
	}
	carryOut(r, ctx, st, c.asked, began)
}

// checked follows the answer to a question.
func checked(s state, page metav1.ListMeta, err error, v verdict) (state, step) {
	next, st := judged(s, page, err, v)
	if st.relist == noRelist {
		next, st.relist = next.verified()
	}
	return next, st
}

// judged is checked without the list that may be due in place of the watch.
func judged(s state, page metav1.ListMeta, err error, v verdict) (state, step) {
	switch {
	case err == nil && !older(page.ResourceVersion, s.rv):
		return answered(s, v)
	case err == nil || isTooLarge(err):
		// A server that lags gives the same answer. The list tells the two apart, unless a
		// restored server has overtaken the version by then.
		if err == nil && s.relisted {
			err = ErrListTooOld
		}
		s, st := s.doubted(becauseTooLarge)
		st.err = err
		return s, st
	case v.named && (apierrors.IsBadRequest(err) || apierrors.IsInvalid(err)):
		s.nameless = true
		return s, step{}
	}
	st := failed(err)
	switch {
	case isUnsupported(err):
		return s.believed(), step{}
	case v.unreached: // nor could a watch be asked for
		return s, st
	}
	most := maxTries
	if st.pause == pauseAway {
		most = maxHung
	}
	if s.tried++; s.tried < most {
		return s, st
	}
	again := s.unverified > 0
	switch {
	case again && st.pause == pauseDenied:
		st.pause = noPause // the watch before was allowed
	case again:
		st.resetBackoff = true // and was answered
	}
	s = s.believed()
	if s.unverified = unverifiedTimeout; most == maxHung && !again {
		s.unverified = briefTimeout
	}
	return s, st
}

// answered follows an answer of a server that has come far enough.
func answered(s state, v verdict) (state, step) {
	switch {
	case v.answer == refuted:
		return s.restored(v.refutes)
	case v.answer == unproven && !v.last:
		s.asked++
		return s, step{}
	case v.answer == doubtful && !s.relisted, v.answer == unproven && s.replayRV == "" && !s.relisted:
		return s.doubted(becauseRestored)
	case v.answer == unproven && s.replayRV == "":
		s.rewound = perhapsRewound // the list waits, see listsLater
	}
	return s.believed(), step{}
}
