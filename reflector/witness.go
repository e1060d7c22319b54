package reflector

import (
	"context"
	"errors"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// checkServer asks the server for one object.
func (r *core) checkServer(ctx context.Context) {
	q, began := newQuestion(&r.state, &r.recent), time.Now()
	limit := checkTimeout
	if r.state.unverified > 0 {
		limit = recheckTimeout
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := r.beginCall(limited, false, q.seen)
	defer c.stop()
	r.log.Debug("asks whether the server was restored", slog.String("resourceVersion", q.seen), slog.String("name", q.object.key.Name))
	r.requests.ask(c, q)
	r.endCall(c)
	page, err := q.endQuestion(c.page, c.err)
	if ctx.Err() != nil {
		return
	}
	if err != nil && !errors.Is(err, errUnanswered) && limited.Err() != nil {
		err = errSlowCheck // a watch may take its time
	} else if isUnanswered(err) && wasUnreached(c.attempt, err) { // other errors may be about the question alone
		q.unreached = true
		r.spareList() // it could not come either
	}
	var st step
	if r.state, st = checked(r.state, page, err, q.verdict); err == nil {
		r.breaker.answered()
	}
	r.carryOut(ctx, st, c.asked, began)
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
	case err == nil && !isOlder(page.ResourceVersion, s.rv):
		return answeredQuestion(s, v)
	case err == nil || isTooLarge(err):
		// A server that lags gives the same answer. The list tells the two apart, unless a
		// restored server has overtaken the version by then.
		if err == nil && s.relisted {
			err = errListTooOld
		}
		return s.doubted(becauseTooLarge, err)
	case v.named && (apierrors.IsBadRequest(err) || apierrors.IsInvalid(err)):
		s.nameless = true
		return s, step{}
	}
	st := failedStep(err)
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

// answeredQuestion follows an answer of a server that has come far enough.
func answeredQuestion(s state, v verdict) (state, step) {
	switch {
	case v.answer == refuted:
		return s.doubted(becauseRestored, v.refutes)
	case v.answer == unproven && !v.last:
		s.asked++
		return s, step{}
	case v.answer == doubtful && !s.relisted, v.answer == unproven && s.replayRV == "" && !s.relisted:
		return s.doubted(becauseRestored, nil)
	case v.answer == unproven && s.replayRV == "":
		s.rewound = perhapsRewound // the list waits, see listsLater
	}
	return s.believed(), step{}
}
