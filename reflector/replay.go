package reflector

import (
	"errors"
	"fmt"
)

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

// replayFrom returns the version from which a watch begins with as many known events as possible, or "".
func (s *recentEvents) replayFrom() string {
	for n := max(s.lost, s.oldest()); n < s.n; n++ {
		if e := s.recentAt(n); isOlder(e.before, e.known.rv) {
			return e.before
		}
	}
	return ""
}

// firstAfter is the number of the first event that a watch from such a version brings. A deletion at the version of a list
// came after that version, and no watch from there repeats it.
func (s *recentEvents) firstAfter(from string) int {
	n := max(s.lost, s.oldest())
	for n < s.n && (s.recentAt(n).before != from || !isOlder(from, s.recentAt(n).known.rv)) {
		n++
	}
	return n
}

// newestAfter keeps only the newest event if it comes after that with number n, which the server
// no longer has. A restored server may still repeat an event that the restore took back.
func (s *recentEvents) newestAfter(n int) { s.lost = max(n+1, s.n-1) }

// verifyEvent compares an event of a watch with the known events. seen is the newest version so far. It
// reports whether the event is new, and returns ErrRestored for an event of another history.
func (s *recentEvents) verifyEvent(j replay, e *notice, seen string) (next replay, isNew bool, err error) {
	if j.pending() {
		return s.verifyPending(j, e)
	}
	switch {
	case isOlder(seen, e.rv):
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
	again, differs := s.isAgain(j.next, e)
	atOnce := e.rv == k.known.rv
	switch {
	case !s.isCertainlyAgain(j.next, e) && e.typ != Bookmark && atOnce && (e.rv == s.pushed || s.isRecent(e)):
		return j, false, nil // an earlier event of the same version
	case again:
		j.next++
		j.differs = j.differs || differs
		return j, false, nil
	case e.typ == Bookmark && (isOlder(e.rv, k.known.rv) || e.omitted && atOnce):
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
