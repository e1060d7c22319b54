package reflector

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A server whose storage was restored from a backup gives out resourceVersions a second time,
// for other changes. It accepts a watch from a version that it has not reached yet, is silent
// until it has, and then sends the changes after it: changes of a state that nobody has seen.
// So after a watch that did not end at its time, or was idle, the server has to show that its
// history is still the one seen, in one of two ways:
//
//   - The next watch starts before the newest events (recent.go). The server must repeat these
//     first, and send only newer events after them (replay.go).
//   - A list of one object asks for a version that is not older than the newest one seen, and for a
//     known object by name (question.go). This is for a collection without such events, and for a server
//     that no longer has them or sends nothing. A server that was restored has overtaken that version,
//     or cannot answer. So if it has the object as it was, its history is the one seen, up to that
//     object's version: a newer backup is not noticed. If it has another state that is not newer than the
//     newest version seen, it was restored. If the object changed or is gone since, the objects of the
//     events before are asked for, and if none of them is as it was, the collection is listed again.
//
// Where every watch breaks off and the known object changes all the time, there would be lists without end.
// So a second list in a row waits until a watch has lasted for briefTimeout, or until the time that silent
// watches get (silence.go).

const (
	// replayPatience is how long a server may take to repeat events. After that, a list checks
	// whether the server has come that far.
	replayPatience = 2 * time.Second
	// checkTimeout bounds that list. One that follows a watch without an answer has
	// recheckTimeout, because there is no watch meanwhile.
	checkTimeout   = 30 * time.Second
	recheckTimeout = 5 * time.Second
	// maxTries is how often in a row a server may refuse that list, or not end it, before the
	// watch goes on without it. The list is then asked for again after each watch, and such a
	// watch lasts unverifiedTimeout.
	maxTries          = 3
	unverifiedTimeout = time.Minute
	// maxHung is maxTries for a list without an answer that a watch might get. It is higher,
	// because after an outage the list should come first. The first watch after it lasts
	// briefTimeout, because a server that has come back meanwhile answers the list, too. A watch
	// that a second list in a row waits for is as short.
	maxHung      = 8
	briefTimeout = 5 * time.Second
)

// errSlowCheck is the failure of a list of one object that took too long. It says nothing about
// the connection, which other requests may use.
var errSlowCheck = errors.New("the list of one object did not end in time")

// verifyFrom is the state after a watch that ended unexpectedly and is to be resumed. If from
// is a version, the next watch starts there and has to repeat events. Otherwise a list checks
// the server first.
func (s state) verifyFrom(from string) state {
	if s.phase != phaseWatching || !comparable(s.rv) {
		return s
	}
	if s.replayRV, s.confirmed = from, false; from == "" {
		return s.check()
	}
	return s
}

// check asks the server for known objects.
func (s state) check() state {
	s.phase, s.asked, s.tried = phaseChecking, 0, 0
	if s.unverified > 0 {
		s.tried = maxHung - 1 // the watch should not wait for long each time
	}
	return s
}

// believed goes on with the watch after a check.
func (s state) believed() state {
	s.phase, s.confirmed, s.unverified = phaseWatching, true, 0
	return s
}

// doubted lists again because the server was restored, if err says so, or may have been. Only a list at
// "" does not depend on the history seen. If nothing proves a restore, the sink also compares contents.
func (s state) doubted(why relistReason, err error) (state, step) {
	st, how := step{relist: why, err: err}, perhapsRewound
	if s.relisted {
		st.pause = pauseBusy // the last list was no repair
	}
	if errors.Is(err, ErrRestored) {
		how = rewound
	}
	s.rewound, s.relisted = max(s.rewound, how), true
	return s.relist(""), st
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

// listsLater reports whether a list that a doubt requires waits until a watch has lasted: see
// answeredQuestion.
func (s state) listsLater() bool { return s.phase == phaseWatching && s.rewound != notRewound }
