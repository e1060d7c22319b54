package reflector

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// maxRecent is the number of events that the server has to repeat. One event would not be
// enough: if T holds only metadata, a restored server that wrote to the same object at the
// same version shows the same event.
const maxRecent = 4

// recentEvents are the newest events that the sink took since the last list. The zero value
// holds none. They decide whether the next event is in order, and where a watch resumes. The
// check for a restored server compares them with what the server repeats (restored.go).
type recentEvents[T any] struct {
	events *[maxRecent]knownEvent[T] // a ring; nil before the first event
	n      int                       // number of events so far; the newest is number n-1
	lost   int                       // the server no longer has the events before this number
	pushed string                    // version of the newest event that left the ring
	open   openVersion               // of the newest event
	listed knownObject[T]            // the newest of the list, until the first event
	empty  bool                      // the list had no objects
}

// openVersion is a version that may have more events than those seen. A transaction of etcd gives
// all its events one version, as when the lease of many Events ends
// (https://etcd.io/docs/v3.6/learning/api_guarantees/). A watch cannot begin in their midst.
type openVersion struct {
	rv     string
	before string // a watch from this version begins with the events of version rv
	alone  bool   // one event has come, and it was no deletion and not left out
	whole  bool   // a bookmark of version rv has come: the server has no more events
	// When the newest event was handled, and when the watch that brought it ended, since
	// Reflector.made. The latter is zero while that watch goes on.
	at, until time.Duration
}

// wholeAfter is how long a watch has to go on after an event to show that its version has no more:
// the server sends the events of a transaction one right after the other.
const wholeAfter = time.Second

// knownEvent is an event that the server has to repeat.
type knownEvent[T any] struct {
	before string // a watch from this version begins with the event
	gone   bool   // the event was a deletion
	known  knownObject[T]
}

// addRecent makes ev, which was handled at the given time, the newest event. The newest version before
// it is before. Of an event that the source left out, only the version counts.
func addRecent[T any](s *recentEvents[T], at time.Duration, before string, ev Event[T]) {
	if ev.Type == Bookmark && !ev.Omitted {
		s.open.whole = s.open.rv == ev.ResourceVersion
		return
	}
	s.open.whole, s.open.alone = false, false
	if s.open.rv != ev.ResourceVersion {
		s.open = openVersion{rv: ev.ResourceVersion, before: before, alone: ev.Type != Bookmark && ev.Type != Deleted}
	}
	s.open.at, s.open.until = at, 0
	if ev.Type == Bookmark {
		return
	}
	forgetObject(&s.listed)
	if s.events == nil {
		s.events = new([maxRecent]knownEvent[T])
	}
	if s.n > 0 {
		forgetUnlessNeeded(&recentAt(s, s.n-1).known)
	}
	e := recentAt(s, s.n)
	s.pushed = e.known.rv
	*e = knownEvent[T]{before: s.open.before, gone: ev.Type == Deleted, known: knownFrom(ev)}
	if e.gone {
		forgetUnlessNeeded(&e.known)
	}
	s.n++
}

// recentAt returns event n, one of the newest.
func recentAt[T any](s *recentEvents[T], n int) *knownEvent[T] { return &s.events[n%maxRecent] }

// oldest is the number of the oldest event in the ring.
func oldest[T any](s *recentEvents[T]) int { return max(0, s.n-maxRecent) }

// inOrder reports whether ev is new to the sink. seen is the newest version so far. It returns
// ErrOutOfOrder if ev is older than that. A deleted object carries the version of its deletion, so
// the rule holds for every type of event. A list has all objects of its version and no deletion: a
// deletion at the list's version is news, unless the list lacks the object, and then the sink has
// nothing to delete.
func inOrder[T any](s *recentEvents[T], ev Event[T], seen string) (fresh bool, err error) {
	c, err := resourceversion.CompareResourceVersion(ev.ResourceVersion, seen)
	switch {
	case err != nil || c > 0:
		return true, nil // accept versions that do not compare in any order
	case c < 0:
		return false, ErrOutOfOrder
	case ev.Type == Bookmark:
		return true, nil
	case s.open.rv == seen || ev.Type == Deleted:
		return !isRecent(s, ev), nil
	}
	return false, nil // the list, or what came before a bookmark, has it
}

// isRecent reports whether ev repeats an event in the ring.
func isRecent[T any](s *recentEvents[T], ev Event[T]) bool {
	for n := oldest(s); n < s.n; n++ {
		if isCertainlyAgain(recentAt(s, n), ev) {
			return true
		}
	}
	return false
}

// resumeFrom returns the version from which a watch starts so that it goes on after version seen.
// If seen may have more events, the watch begins with the events of seen.
func resumeFrom[T any](s *recentEvents[T], seen string) string {
	if o := s.open; o.rv == seen && !o.whole && older(o.before, o.rv) {
		return o.before
	}
	return seen
}

// noteEnd records that a watch ended at the given time. Only the end of the one that brought the
// newest event counts.
func noteEnd[T any](s *recentEvents[T], at time.Duration) {
	if s.open.until == 0 {
		s.open.until = at
	}
}

// mayLack reports whether version seen is likely to have events that have not come. Kubernetes
// writes one object at a time, and only the end of a lease of etcd deletes several at once. So one
// event that is no deletion counts as all of its version.
func mayLack[T any](s *recentEvents[T], seen string) bool {
	o := s.open
	return o.rv == seen && !o.alone && !o.whole && o.until-o.at < wholeAfter
}

// firstOpen is the number of the first event that has the open version.
func firstOpen[T any](s *recentEvents[T]) int {
	n := s.n
	for n > oldest(s) && recentAt(s, n-1).known.rv == s.open.rv {
		n--
	}
	return n
}

// isAgain reports whether ev repeats e, and is not another event of the same version. If it
// does, differs reports whether the object has other contents.
func isAgain[T any](e *knownEvent[T], ev Event[T]) (again, differs bool) {
	if ev.Type == Bookmark || ev.ResourceVersion != e.known.rv || e.gone != (ev.Type == Deleted) {
		return false, false
	}
	found := knownFrom(ev)
	return is(e.known, found), hasOtherContents(e.known, found)
}

// isCertainlyAgain is isAgain, except that objects without metadata must have equal contents:
// otherwise they may be two objects of one version.
func isCertainlyAgain[T any](e *knownEvent[T], ev Event[T]) bool {
	again, differs := isAgain(e, ev)
	return again && (!differs || hasMetadata(e.known))
}
