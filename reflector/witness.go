package reflector

import (
	"context"
	"errors"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// witnesses returns the objects that the server still has at version seen, newest first. An
// object of the list counts only until the first event: later it would prove too little. Nor
// would an older one of the list prove enough.
func (s *recentEvents) witnesses(seen string) []knownObject {
	if s.n == 0 {
		if s.listed.isNamed() && !older(seen, s.listed.rv) {
			return []knownObject{s.listed}
		}
		return nil
	}
	var all []knownObject
	passed := map[types.NamespacedName]bool{}
	for n := s.n - 1; n >= s.oldest(); n-- {
		e := s.recentAt(n)
		if !e.gone && e.known.isNamed() && !passed[e.known.key] {
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
type question struct {
	seen    string      // newest version seen
	open    bool        // that version may have more events
	object  knownObject // to ask for; the zero value asks for any object
	empty   bool        // at version seen, the collection had no objects
	objects int
	found   knownObject // the first of them
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
func (p *protocol) newQuestion() *question {
	q := &question{seen: p.state.rv, open: p.recent.open.rv == p.state.rv, verdict: verdict{last: true}}
	all := p.recent.witnesses(q.seen)
	switch n := p.state.asked; {
	case p.state.nameless:
	case n < len(all):
		q.object, q.last, q.answer = all[n], n+1 == len(all), unproven
	case p.recent.n == 0:
		q.empty = p.recent.empty
	case p.recent.recentAt(p.recent.n - 1).known.isNamed():
		q.answer = unproven // all that is known are deletions
	}
	q.named = q.object.isNamed()
	return q
}

// options are the options of the request.
func (q *question) options() metav1.ListOptions {
	opts := metav1.ListOptions{Limit: 1, ResourceVersion: q.seen, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
	if q.object.isNamed() {
		opts.FieldSelector = q.object.selector()
	}
	return opts
}

// take takes an object of the answer, and reports whether the list is read on.
func (q *question) take(e *notice) bool {
	if q.objects++; q.objects > 1 { // the source ignores the limit
		return false
	}
	found := e.object
	q.found = found
	// Unless the object is as it was, its state would have been seen.
	lost := !older(q.seen, found.rv) && !(q.open && q.seen == found.rv)
	switch {
	case q.empty && lost && comparable(found.rv):
		q.answer = refuted
	case !q.object.isNamed():
	case found.key != q.object.key: // the source ignores the selector
		q.answer = noAnswer
	case q.object.is(found) && e.hasOtherContents(q.object):
		q.answer = doubtful
	case q.object.is(found):
		q.answer = proven
	case lost:
		q.answer = refuted
	}
	return true
}

// refutation describes the server's state that contradicts an observed one.
func (q *question) refutation() error {
	if q.empty {
		return otherHistory("it has %s, and there was no object at %s", q.found.nameOf(), q.seen)
	}
	return otherHistory("it has %s in place of %s", q.found.nameOf(), q.object.nameOf())
}

// endQuestion follows the end of the list.
func (q *question) endQuestion(page metav1.ListMeta, err error) (metav1.ListMeta, error) {
	if errors.Is(err, ErrListStopped) {
		q.answer = noAnswer
		return metav1.ListMeta{ResourceVersion: q.seen}, nil
	}
	switch {
	case q.objects == 0 && page.Continue != "": // the object may follow
		q.answer = noAnswer
	case q.answer == refuted:
		q.refutes = q.refutation()
	}
	return page, err
}

// checkServer asks the server for one object.
func (p *protocol) checkServer(ctx context.Context) {
	q, began := p.newQuestion(), time.Now()
	limit := checkTimeout
	if p.state.unverified > 0 {
		limit = recheckTimeout
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := p.beginCall(limited, false, q.seen)
	defer c.stop()
	p.log.Debug("asks whether the server was restored", slog.String("resourceVersion", q.seen), slog.String("name", q.object.key.Name))
	p.requests.ask(c, q)
	p.endCall(c)
	page, err := q.endQuestion(c.page, c.err)
	if ctx.Err() != nil {
		return
	}
	if err != nil && !errors.Is(err, ErrUnanswered) && limited.Err() != nil {
		err = errSlowCheck // a watch may take its time
	} else if isUnanswered(err) && unreached(c.attempt, err) { // other errors may be about the question alone
		q.unreached = true
		p.spareList() // it could not come either
	}
	var st step
	if p.state, st = checked(p.state, page, err, q.verdict); err == nil {
		p.breaker.answered()
	}
	p.carryOut(ctx, st, c.asked, began)
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
