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
//   - The next watch starts before the newest events. The server must repeat these first, and
//     send only newer events after them.
//   - A list of one object asks for a version that is not older than the newest one seen, and
//     for an object that is known (witness.go). This is for a collection without such events,
//     and for a server that no longer has them or sends nothing.

const (
	// replayPatience is how long a server may take to repeat events. After that, a list checks
	// whether the server has come that far.
	replayPatience = 2 * time.Second
	// checkTimeout bounds that list.
	checkTimeout = 30 * time.Second
	// maxTries is how often in a row a server may refuse that list, or not end it, before the
	// watch goes on without it. The list is then asked for again after each watch, and such a
	// watch lasts unverifiedTimeout.
	maxTries          = 3
	unverifiedTimeout = time.Minute
)

// errSlowCheck is the failure of a list of one object that took too long. It says nothing about
// the connection, which other requests may use.
var errSlowCheck = fmt.Errorf("the list of one object did not end within %v", checkTimeout)

// maxRecent is the number of events that the server has to repeat. One event would not be
// enough: if T holds only metadata, a restored server that wrote to the same object at the
// same version shows the same event.
const maxRecent = 4

// recentEvents are the newest events that the sink took since the last list. The zero value
// holds none.
type recentEvents[T any] struct {
	events [maxRecent]knownEvent[T] // a ring
	n      int                      // number of events so far; the newest is number n-1
	lost   int                      // the server no longer has the events before this number
	pushed string                   // version of the newest event that left the ring
	listed knownObject[T]           // the newest of the list, until the first event
	empty  bool                     // the list had no objects
}

// knownEvent is an event that the server has to repeat.
type knownEvent[T any] struct {
	before string // a watch from this version begins with the event
	gone   bool   // the event was a deletion
	known  knownObject[T]
}

// add makes ev the newest event. The newest version before it is before. A transaction of etcd
// gives all its events one version, as when the lease of many Events ends
// (https://etcd.io/docs/v3.6/learning/api_guarantees/). A watch cannot begin in their midst.
func (s *recentEvents[T]) add(before string, ev Event[T]) {
	s.listed.forgetObject()
	if s.n > 0 {
		last := s.at(s.n - 1)
		last.known.forgetObject()
		if last.known.rv == ev.ResourceVersion {
			before = last.before
		}
	}
	e := s.at(s.n)
	s.pushed = e.known.rv
	*e = knownEvent[T]{before: before, gone: ev.Type == Deleted, known: knownFrom(ev)}
	if e.gone {
		e.known.forgetObject()
	}
	s.n++
}

func (s *recentEvents[T]) at(n int) *knownEvent[T] { return &s.events[n%maxRecent] }

// oldest is the number of the oldest event in the ring.
func (s *recentEvents[T]) oldest() int { return max(0, s.n-maxRecent) }

// inOrder reports whether ev is new to the sink. The newest version seen is seen. It returns
// ErrOutOfOrder if ev is older than that. A deleted object carries the version of its deletion,
// so the rule holds for every type of event.
func (s *recentEvents[T]) inOrder(ev Event[T], seen string) (fresh bool, err error) {
	c, err := resourceversion.CompareResourceVersion(ev.ResourceVersion, seen)
	switch {
	case err != nil || c > 0:
		return true, nil // accept versions that do not compare in any order
	case c < 0:
		return false, ErrOutOfOrder
	case ev.Type == Bookmark:
		return true, nil
	case s.endsAt(seen):
		return !s.has(ev), nil
	}
	return false, nil // the list, or what came before a bookmark, has it
}

// endsAt reports whether the newest event has version rv.
func (s *recentEvents[T]) endsAt(rv string) bool { return s.n > 0 && s.at(s.n-1).known.rv == rv }

// severalAtOnce reports whether the newest version has more than one event. The server may have
// more of them.
func (s *recentEvents[T]) severalAtOnce() bool {
	return s.n > 1 && s.at(s.n-2).known.rv == s.at(s.n-1).known.rv
}

// has reports whether ev repeats an event in the ring.
func (s *recentEvents[T]) has(ev Event[T]) bool {
	for n := s.oldest(); n < s.n; n++ {
		if again, _ := s.at(n).isAgain(ev); again {
			return true
		}
	}
	return false
}

// replayFrom returns the version from which a watch begins with known events, and the number
// of the first of them. The version is empty if there is none.
func (s *recentEvents[T]) replayFrom() (from string, first int) {
	for n := max(s.lost, s.oldest()); n < s.n; n++ {
		if e := s.at(n); older(e.before, e.known.rv) {
			return e.before, n
		}
	}
	return "", s.n
}

// newestAfter keeps only the newest event if it comes after that with number n, which the server
// no longer has. A restored server may still repeat an event that the restore took back.
func (s *recentEvents[T]) newestAfter(n int) { s.lost = max(n+1, s.n-1) }

// isAgain reports whether ev repeats e, and is not another event of the same version. If it
// does, differs reports whether the object has other contents.
func (e *knownEvent[T]) isAgain(ev Event[T]) (again, differs bool) {
	if ev.Type == Bookmark || ev.ResourceVersion != e.known.rv || e.gone != (ev.Type == Deleted) {
		return false, false
	}
	found := knownFrom(ev)
	return e.known.is(found), e.known.differs(found)
}

// replay is the progress of a watch that has to repeat known events. The zero value has
// nothing to repeat.
type replay struct {
	active  bool // no event newer than the known ones has come yet
	next    int  // number of the next event to come; known if all have come
	known   int  // number of known events
	differs bool // an event came again with other contents of its object
}

// pending reports whether a known event is still to come.
func (j replay) pending() bool { return j.next < j.known }

// verify compares an event of a watch with the known events. The newest version seen is seen.
// It reports whether the event is news, and returns ErrRestored for an event of another
// history.
func (s *recentEvents[T]) verify(j replay, ev Event[T], seen string) (next replay, news bool, err error) {
	if j.pending() {
		return s.verifyPending(j, ev)
	}
	switch {
	case older(seen, ev.ResourceVersion):
		j.active = false
		return j, true, nil
	case ev.Type == Bookmark, s.has(ev):
		return j, false, nil // the server lags, or repeats itself
	case s.endsAt(seen) && ev.ResourceVersion == seen:
		return j, true, nil // the watch before broke off amid the events of a version
	}
	return j, false, otherHistory("the watch brings %s, which was not there before", describe(ev))
}

// verifyPending is verify while a known event is still to come.
func (s *recentEvents[T]) verifyPending(j replay, ev Event[T]) (next replay, news bool, err error) {
	e := s.at(j.next)
	again, differs := e.isAgain(ev)
	switch {
	case again:
		j.next++
		j.differs = differs // only the newest of them, which comes last, can differ
		return j, false, nil
	case ev.Type == Bookmark && older(ev.ResourceVersion, e.known.rv):
		return j, false, nil
	case ev.Type != Bookmark && ev.ResourceVersion == e.known.rv && (ev.ResourceVersion == s.pushed || s.has(ev)):
		return j, false, nil // an earlier event of the same version
	}
	return j, false, otherHistory("the watch brings %s in place of %s", describe(ev), e.known)
}

// otherHistory returns an ErrRestored that says why.
func otherHistory(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrRestored}, args...)...)
}

// errDiffers ends a watch that repeated the known events with other contents of an object.
var errDiffers = errors.New("the server repeats an object with other contents")

// describe names an event.
func describe[T any](ev Event[T]) string {
	if ev.Type == Bookmark {
		return "BOOKMARK at resourceVersion " + ev.ResourceVersion
	}
	return ev.Type.String() + " of " + knownFrom(ev).String()
}

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
	if s.unverified {
		s.tried = maxTries - 1 // the watch should not wait for long each time
	}
	return s
}

// believed goes on with the watch after a check.
func (s state) believed() state {
	s.phase, s.confirmed, s.unverified = watching, true, false
	return s
}

// notReplayed follows a watch from s.replayRV that did not repeat the known events: the server
// no longer has that version, or fell silent.
func (s state) notReplayed(err error) state {
	if isExpired(err) {
		s.replayRV = ""
	}
	return s.check()
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

// comparable reports whether a version can be compared with others.
func comparable(rv string) bool {
	_, err := resourceversion.CompareResourceVersion(rv, rv)
	return err == nil
}

// replayed handles an event of a watch that has not yet repeated all known events. It reports
// whether the event is news.
func (r *Reflector[T]) replayed(w *watch, ev Event[T]) (news bool, err error) {
	awaited := w.replay.pending()
	if w.replay, news, err = r.recent.verify(w.replay, ev, w.end.rv); awaited && !w.replay.pending() {
		w.dog.stop()
		w.dog = r.guardWatch(w)
		r.state.unverified = false
		if w.replay.differs && !r.state.relisted {
			return false, errDiffers
		}
	}
	return news, err
}

// newReplay returns the replay that the next watch begins with.
func (r *Reflector[T]) newReplay() replay {
	_, first := r.recent.replayFrom()
	return replay{active: true, next: first, known: r.recent.n}
}

// replayNewest makes the next watch begin with the newest known event, since the server no longer
// has that with number n. It reports whether there is one after n.
func (r *Reflector[T]) replayNewest(n int) bool {
	r.recent.newestAfter(n)
	from, _ := r.recent.replayFrom()
	if from != "" {
		r.state.replayRV = from
	}
	return from != ""
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

// rewind says whether the sink may compare the next list with its contents by versions.
type rewind uint8

const (
	notRewound     rewind = iota
	perhapsRewound        // the server could not show that it was not restored
	rewound               // the server was restored
)

// noteRewind tells the sink if the list that is now complete comes from a restored server, or
// may come from one.
func (r *Reflector[T]) noteRewind() {
	seen := r.stats.seen()
	if older(r.state.rv, seen) && r.state.rewound != rewound {
		r.state.rewound = perhapsRewound
		if r.state.versioned { // else the version is that of the newest object, which may be gone
			r.state.rewound = rewound
			err := otherHistory("the list is at resourceVersion %s, and %s was seen before", r.state.rv, seen)
			r.opts.OnError(&RequestError{Resource: r.source.Resource(), Verb: "list", ResourceVersion: seen, Err: err})
		}
	}
	how := r.state.rewound
	r.state.rewound = notRewound
	if how == rewound {
		r.stats.restores.Add(1)
	}
	if s, ok := r.sink.(Rewinder); ok && how != notRewound {
		s.Rewound(how == rewound)
	}
}
