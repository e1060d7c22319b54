package reflector

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// recentEvents are the newest events that the sink took since the last list. The zero value
// holds none. They decide whether the next event is in order, and where a watch resumes. The
// check for a restored server compares them with what the server repeats (replay.go).
type recentEvents struct {
	events *[maxRecent]knownEvent // event n is in slot n%maxRecent; nil before the first event
	n      int                    // number of events so far; the newest is number n-1
	lost   int                    // the server no longer has the events before this number
	pushed string                 // version of the newest event that left the ring
	open   openVersion            // of the newest event
	listed knownObject            // the newest of the list, until the first event
	empty  bool                   // the list had no objects
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
	// core.made. The latter is zero while that watch goes on.
	at, until time.Duration
}

// wholeAfter is how long a watch has to go on after an event to show that its version has no more:
// the server sends the events of a transaction one right after the other.
const wholeAfter = time.Second

// knownEvent is an event that the server has to repeat.
type knownEvent struct {
	before string // a watch from this version begins with the event
	gone   bool   // the event was a deletion
	known  knownObject
}

// addRecent makes e, which was handled at the given time, the newest event. The newest version before
// it is before. Of an event that the source left out, only the version counts.
func (s *recentEvents) addRecent(at time.Duration, before string, e *notice) {
	if e.typ == Bookmark && !e.omitted {
		s.open.whole = s.open.rv == e.rv
		return
	}
	s.open.whole, s.open.alone = false, false
	if s.open.rv != e.rv {
		s.open = openVersion{rv: e.rv, before: before, alone: e.typ != Bookmark && e.typ != Deleted}
	}
	s.open.at, s.open.until = at, 0
	if e.typ == Bookmark {
		return
	}
	if s.events == nil {
		s.events = new([maxRecent]knownEvent)
	}
	k := s.recentAt(s.n)
	s.pushed = k.known.rv
	k.before, k.gone, k.known = s.open.before, e.typ == Deleted, e.object
	s.n++
}

// keptIn returns the object that is kept in a slot, or nil. One is kept where a cache holds it as well: that of
// the newest event or, before the first event and in slot 0, the newest of the list. Without metadata, only its
// contents identify it, so it is kept while it is known.
func (s *recentEvents) keptIn(slot int) *knownObject {
	if s.n == 0 {
		if slot == 0 {
			return &s.listed
		}
		return nil
	}
	k := &s.events[slot]
	if slot >= s.n || k.known.hasMetadata() && (k.gone || slot != (s.n-1)%maxRecent) {
		return nil
	}
	return &k.known
}

// recentAt returns event n, one of the newest.
func (s *recentEvents) recentAt(n int) *knownEvent { return &s.events[n%maxRecent] }

// oldest is the number of the oldest event in the ring.
func (s *recentEvents) oldest() int { return max(0, s.n-maxRecent) }

// inOrder reports whether e is new to the sink. seen is the newest version so far. It returns
// [ErrProtocol] if e is older than that. A deleted object carries the version of its deletion, so
// the rule holds for every type of event. A list has all objects of its version and no deletion: a
// deletion at the list's version is news, unless the list lacks the object, and then the sink has
// nothing to delete.
func (s *recentEvents) inOrder(e *notice, seen string) (fresh bool, err error) {
	c, err := resourceversion.CompareResourceVersion(e.rv, seen)
	switch {
	case err != nil || c > 0:
		return true, nil // accept versions that do not compare in any order
	case c < 0:
		return false, errOutOfOrder
	case e.typ == Bookmark:
		return true, nil
	case s.open.rv == seen || e.typ == Deleted:
		return !s.isRecent(e), nil
	}
	return false, nil // the list, or what came before a bookmark, has it
}

// isRecent reports whether e repeats an event in the ring.
func (s *recentEvents) isRecent(e *notice) bool {
	for n := s.oldest(); n < s.n; n++ {
		if s.isCertainlyAgain(n, e) {
			return true
		}
	}
	return false
}

// resumeFrom returns the version from which a watch starts so that it goes on after version seen.
// If seen may have more events, the watch begins with the events of seen.
func (s *recentEvents) resumeFrom(seen string) string {
	if o := s.open; o.rv == seen && !o.whole && isOlder(o.before, o.rv) {
		return o.before
	}
	return seen
}

// noteEnd records that a watch ended at the given time. Only the end of the one that brought the
// newest event counts.
func (s *recentEvents) noteEnd(at time.Duration) {
	if s.open.until == 0 {
		s.open.until = at
	}
}

// mayLack reports whether version seen is likely to have events that have not come. Kubernetes
// writes one object at a time, and only the end of a lease of etcd deletes several at once. So one
// event that is no deletion counts as all of its version.
func (s *recentEvents) mayLack(seen string) bool {
	o := s.open
	return o.rv == seen && !o.alone && !o.whole && o.until-o.at < wholeAfter
}

// isAgain reports whether e repeats event n, and is not another event of the same version. If it
// does, differs reports whether the object has other contents.
func (s *recentEvents) isAgain(n int, e *notice) (again, differs bool) {
	k := s.recentAt(n)
	again = e.typ != Bookmark && k.gone == (e.typ == Deleted) && k.known.is(e.object)
	return again, again && e.differs[n%maxRecent]
}

// isCertainlyAgain is isAgain, except that objects without metadata must have equal contents:
// otherwise they may be two objects of one version.
func (s *recentEvents) isCertainlyAgain(n int, e *notice) bool {
	again, differs := s.isAgain(n, e)
	return again && (!differs || e.object.hasMetadata())
}
