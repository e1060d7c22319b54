package reflector

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// A server whose storage was restored from a backup gives out resourceVersions a second time,
// for other changes. It accepts a watch from a version that it has not reached yet, is silent
// until it has, and then sends the changes after it: changes of a state that nobody has seen.
// So after a watch that ended before its time, or was idle, the server has to show that its
// history is still the one seen, in one of two ways:
//
//   - The next watch starts before the newest events (recent.go). The server must repeat these
//     first, and send only newer events after them.
//   - A list of one object asks for a version that is not older than the newest one seen, and
//     for an object that is known (witness.go). This is for a collection without such events,
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

// replayFrom returns the version from which a watch begins with known events, and the number
// of the first of them. The version is empty if there is none.
func (s *recentEvents) replayFrom() (from string, first int) {
	for n := max(s.lost, s.oldest()); n < s.n; n++ {
		if e := s.recentAt(n); older(e.before, e.known.rv) {
			return e.before, n
		}
	}
	return "", s.n
}

// newestAfter keeps only the newest event if it comes after that with number n, which the server
// no longer has. A restored server may still repeat an event that the restore took back.
func (s *recentEvents) newestAfter(n int) { s.lost = max(n+1, s.n-1) }

// replay is the progress of a watch that repeats known events. The zero value has nothing to
// repeat.
type replay struct {
	active  bool // no event newer than the known ones has come yet
	strict  bool // the server was restored if it does not repeat the known events
	next    int  // number of the next event to come; known if all have come
	known   int  // number of known events
	differs bool // an event came again with other contents of its object
}

// pending reports whether a known event is still to come.
func (j replay) pending() bool { return j.next < j.known }

// verifyEvent compares an event of a watch with the known events. seen is the newest version so far. It
// reports whether the event is new, and returns ErrRestored for an event of another history.
func (s *recentEvents) verifyEvent(j replay, e *notice, seen string) (next replay, isNew bool, err error) {
	if j.pending() {
		return s.verifyPending(j, e)
	}
	switch {
	case older(seen, e.rv):
		j.active = false
		return j, true, nil
	case e.typ == Bookmark:
		return j, !e.omitted && e.rv == seen, nil // otherwise the server lags
	case s.isRecent(e):
		return j, false, nil // the server repeats itself
	case s.open.rv == seen && e.rv == seen:
		return j, true, nil // the watch before ended amid the events of a version
	}
	return j, false, otherHistory("the watch brings %s, which was not there before", e.describe())
}

// verifyPending is verifyEvent while a known event is still to come.
func (s *recentEvents) verifyPending(j replay, e *notice) (next replay, isNew bool, err error) {
	k := s.recentAt(j.next)
	again, differs := k.isAgain(e)
	atOnce := e.rv == k.known.rv
	switch {
	case !k.isCertainlyAgain(e) && e.typ != Bookmark && atOnce && (e.rv == s.pushed || s.isRecent(e)):
		return j, false, nil // an earlier event of the same version
	case again:
		j.next++
		j.differs = j.differs || differs
		return j, false, nil
	case e.typ == Bookmark && (older(e.rv, k.known.rv) || e.omitted && atOnce):
		return j, false, nil
	}
	return j, false, otherHistory("the watch brings %s in place of %s", e.describe(), k.known.nameOf())
}

// otherHistory returns an ErrRestored that says why.
func otherHistory(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrRestored}, args...)...)
}

// errDiffers ends a watch that repeated the known events with other contents of an object.
var errDiffers = errors.New("the server repeats an object with other contents")

// endedUnexpectedly reports whether a watch ended in any other way than at the time that its
// request named. Then the server, or its storage, may have been replaced: a server also closes
// watches in order when it shuts down.
func endedUnexpectedly(end watchEnd) bool { return end.idle || end.early || end.err != nil }

// verifyFrom is the state after a watch that ended unexpectedly and is to be resumed. If from
// is a version, the next watch starts there and has to repeat events. Otherwise a list checks
// the server first.
func (s state) verifyFrom(from string) state {
	if s.phase != watching || !comparable(s.rv) {
		return s
	}
	if s.replayRV, s.confirmed = from, false; from == "" {
		return s.check()
	}
	return s
}

// check asks the server for known objects.
func (s state) check() state {
	s.phase, s.asked, s.tried = checking, 0, 0
	if s.unverified > 0 {
		s.tried = maxHung - 1 // the watch should not wait for long each time
	}
	return s
}

// believed goes on with the watch after a check.
func (s state) believed() state {
	s.phase, s.confirmed, s.unverified = watching, true, 0
	return s
}

// restored follows a watch that showed another history. Only a list at "" does not depend on
// the history seen.
func (s state) restored(err error) (state, step) {
	st := step{relist: becauseRestored, err: err}
	if s.relisted {
		st.pause = pauseBusy // the last list was no repair
	}
	s.rewound, s.relisted = rewound, true
	return s.relist(""), st
}

// doubted lists again because the server may have been restored, which nothing proves. The
// sink compares the contents of the objects then, too.
func (s state) doubted(why relistReason) (state, step) {
	st := step{relist: why}
	if s.relisted {
		st.pause = pauseBusy // the last list was no repair
	}
	s.rewound, s.relisted = max(s.rewound, perhapsRewound), true
	return s.relist(""), st
}

// listsLater reports whether a list that a doubt requires waits until a watch has lasted: see
// answered.
func (s state) listsLater() bool { return s.phase == watching && s.rewound != notRewound }

// comparable reports whether a version can be compared with others.
func comparable(rv string) bool {
	_, err := resourceversion.CompareResourceVersion(rv, rv)
	return err == nil
}

// replayed handles an event of a watch that has not yet repeated all known events. It reports
// whether the event is new.
func (p *protocol) replayed(w *watch, e *notice) (isNew bool, err error) {
	awaited := w.replay.pending()
	strict := w.replay.strict
	w.replay, isNew, err = p.recent.verifyEvent(w.replay, e, w.end.rv)
	switch {
	case err != nil && !strict:
		w.replay = replay{}
		return true, nil // the usual order decides
	case err == nil:
		p.succeeded()
	}
	if strict && awaited && !w.replay.pending() {
		w.dog.stop()
		w.dog = p.guardWatch(w)
		p.state.unverified = 0
		if w.replay.differs && !p.state.relisted {
			return false, errDiffers
		}
	}
	return isNew, err
}

// newReplay returns the replay that a watch from version asked begins with.
func (p *protocol) newReplay(asked string) replay {
	switch {
	case p.state.replayRV != "":
		_, first := p.recent.replayFrom()
		return replay{active: true, strict: true, next: first, known: p.recent.n}
	case asked != p.state.rv:
		return replay{active: true, next: p.recent.firstOpen(), known: p.recent.n}
	}
	return replay{}
}

// repeatLess follows a watch that had to repeat known events from a version that the server no
// longer has, as after its restart. The next one begins with the newest event alone, or a list of
// one object checks the server. If the newest version may lack events, the collection is listed,
// because nothing else shows what they changed.
func (p *protocol) repeatLess(w *watch) (st step) {
	p.recent.newestAfter(w.replay.next)
	if p.state.replayRV, _ = p.recent.replayFrom(); p.state.replayRV != "" {
		return step{}
	}
	if p.recent.mayLack(p.state.rv) {
		p.state, st = p.state.doubted(becauseRestored)
		return st
	}
	p.recent.open.whole = true
	p.state = p.state.check()
	return step{}
}

// guardReplay returns a watchdog for a watch that begins with w.replay.
func (p *protocol) guardReplay(w *watch) *watchdog {
	if !w.replay.strict || p.state.confirmed {
		return p.guardWatch(w)
	}
	patience := replayPatience
	if p.opts.IdleTimeout > 0 {
		patience = min(patience, p.opts.IdleTimeout)
	}
	return p.guardFor(w, patience)
}

// rewind says whether the sink may compare the next list with its contents by versions.
type rewind uint8

const (
	notRewound     rewind = iota
	perhapsRewound        // the server could not show that it was not restored
	rewound               // the server was restored
)

// noteRewind tells the sink if the list that is now complete comes from a restored server, or
// may come from one.
func (p *protocol) noteRewind() {
	seen := p.stats.seen()
	if first := p.opts.FirstVersion; seen == "" && first != nil {
		seen = *first // of an earlier run
	}
	if older(p.state.rv, seen) && p.state.rewound != rewound {
		p.state.rewound = perhapsRewound
		if p.state.versioned { // else the version is that of the newest object, which may be gone
			p.state.rewound = rewound
			err := otherHistory("the list is at resourceVersion %s, and %s was seen before", p.state.rv, seen)
			p.opts.OnError(&RequestError{Resource: p.resource, Verb: "list", ResourceVersion: seen, Err: err})
		}
	}
	how := p.state.rewound
	p.state.rewound = notRewound
	if how == rewound {
		p.stats.restores.Add(1)
	}
	if s, ok := p.sink.(Rewinder); ok && how != notRewound {
		s.Rewound(how == rewound)
	}
}
