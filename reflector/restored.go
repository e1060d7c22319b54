package reflector

import (
	"errors"
	"time"
)

// A server whose storage was restored from a backup gives out resourceVersions a second time,
// for other changes. It accepts a watch from a version that it has not reached yet, is silent
// until it has, and then sends the changes after it: changes of a state that nobody has seen.
// So after a watch that did not end at its time, or was idle, the server has to show that its
// history is still the one seen, in one of two ways:
//
//   - The next watch starts before the newest events (recent.go). The server must repeat these
//     first, and send only newer events after them.
//   - A list of one object asks for a version that is not older than the newest one seen, and
//     for an object that is known (witness.go, question.go). This is for a collection without such events,
//     and for a server that no longer has them or sends nothing.

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
	// that a second list in a row waits for is as short: see witness.go.
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

// listsLater reports whether a list that a doubt requires waits until a watch has lasted: see
// answeredQuestion.
func (s state) listsLater() bool { return s.phase == phaseWatching && s.rewound != notRewound }
