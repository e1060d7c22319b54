package reflector

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// metaEvent is an event of an object that has its name as uid, too.
func metaEvent(typ EventType, name, rv string) Event[*metav1.PartialObjectMetadata] {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	return Event[*metav1.PartialObjectMetadata]{Type: typ, Object: object, ResourceVersion: rv}
}

// eventsOf are recent events, with the objects that are kept of them.
type eventsOf[T any] struct {
	recentEvents
	kept keptObjects[T]
}

type knownEvents = eventsOf[*metav1.PartialObjectMetadata]

// notice returns the notice of an event.
func (s *eventsOf[T]) notice(ev Event[T]) *notice {
	e := noticeOf(&ev)
	compareKept(&s.kept, &s.recentEvents, &e, ev.Object)
	return &e
}

// add makes ev the newest event.
func (s *eventsOf[T]) add(at time.Duration, before string, ev Event[T]) {
	if s.addRecent(at, before, s.notice(ev)); ev.Type != Bookmark {
		keepNewest(&s.kept, &s.recentEvents, ev.Object)
	}
}

// list makes ev the newest of the list.
func (s *eventsOf[T]) list(ev Event[T]) {
	s.listed, s.kept[0] = knownFrom(ev.ResourceVersion, ev.Object), ev.Object
}

// Only the newest event, or the newest object of the list before the first event, keeps its object:
// the cache holds that, too.
func TestRecentEventsKeepOneObject(t *testing.T) {
	var s knownEvents
	s.list(metaEvent(Added, "a", "5"))
	kept := func() (n int) {
		for slot, object := range s.kept {
			o := s.keptIn(slot)
			if (o == nil) != (object == nil) || o != nil && o.key.Name != object.Name {
				t.Errorf("slot %d: %v is kept as %v", slot, o, object)
			}
			if o != nil {
				n++
			}
		}
		return n
	}
	if kept() != 1 {
		t.Error("the newest of the list is not kept")
	}
	s.add(0, "5", metaEvent(Modified, "a", "6"))
	if kept() != 1 || s.keptIn(0) != &s.recentAt(0).known {
		t.Error("the first event is kept besides others, or is not")
	}
	s.add(0, "6", metaEvent(Modified, "b", "7"))
	if kept() != 1 || s.keptIn(1) != &s.recentAt(1).known {
		t.Error("the second event is kept besides others, or is not")
	}
	if s.add(0, "7", metaEvent(Deleted, "b", "8")); kept() != 0 {
		t.Error("an object is kept that was deleted")
	}
}

// A watch begins before all the events of a version, unless a bookmark says that it has come to
// their end. An event that the source left out is one of them.
func TestEventsOfOneVersion(t *testing.T) {
	var s knownEvents
	for n, c := range []struct {
		name, rv, before string
	}{
		{"a", "6", "5"}, {"b", "7", "6"}, {"c", "7", "6"}, {"d", "7", "6"}, {"e", "8", "7"},
	} {
		before := "5"
		if n > 0 {
			before = s.recentAt(n - 1).known.rv
		}
		s.add(0, before, metaEvent(Added, c.name, c.rv))
		if got := s.recentAt(n).before; got != c.before || s.resumeFrom(c.rv) != c.before {
			t.Errorf("%s: a watch from %s brings it, the next one begins at %s, want %s", c.name, got, s.resumeFrom(c.rv), c.before)
		}
	}
	bookmark := func(omitted bool, rv string) Event[*metav1.PartialObjectMetadata] {
		return Event[*metav1.PartialObjectMetadata]{Type: Bookmark, Omitted: omitted, ResourceVersion: rv}
	}
	s.add(0, "8", bookmark(true, "9"))
	s.add(0, "9", metaEvent(Added, "f", "9"))
	if got := s.recentAt(s.n - 1).before; got != "8" || s.resumeFrom("9") != "8" || s.firstAfter("8") != s.n-1 {
		t.Errorf("after an event that was left out: %s, %s, %d", got, s.resumeFrom("9"), s.firstAfter("8"))
	}
	if s.add(0, "9", bookmark(false, "9")); s.resumeFrom("9") != "9" || s.resumeFrom("10") != "10" {
		t.Errorf("after a bookmark: %s and %s", s.resumeFrom("9"), s.resumeFrom("10"))
	}
	if s.add(0, "9", metaEvent(Added, "g", "9")); s.resumeFrom("9") != "8" {
		t.Errorf("after a bookmark that came too early: %s", s.resumeFrom("9"))
	}
}

// A watch cannot begin at a version that does not compare with the event's.
func TestReplayFromNeedsVersions(t *testing.T) {
	for _, before := range []string{"", "0", "x1"} {
		var s knownEvents
		s.add(0, before, metaEvent(Added, "a", "6"))
		if from := s.replayFrom(); from != "" {
			t.Errorf("from %q: begins at %q", before, from)
		}
		s.add(0, "6", metaEvent(Added, "b", "7"))
		if from := s.replayFrom(); from != "6" || s.firstAfter(from) != 1 {
			t.Errorf("from %q and 6: begins at %q with event %d", before, from, s.firstAfter(from))
		}
	}
}

func TestIsAgain(t *testing.T) {
	var s eventsOf[string] // no metadata, so versions and types alone tell events apart
	s.add(0, "5", Event[string]{Type: Added, Object: "a", ResourceVersion: "6"})
	for _, c := range []struct {
		typ  EventType
		rv   string
		want bool
	}{
		{Added, "6", true}, {Modified, "6", true}, {Deleted, "6", false}, {Bookmark, "6", false}, {Added, "7", false},
	} {
		if got, _ := s.isAgain(0, s.notice(Event[string]{Type: c.typ, Object: "a", ResourceVersion: c.rv})); got != c.want {
			t.Errorf("%v at %s: %v, want %v", c.typ, c.rv, got, c.want)
		}
	}
	var one knownEvents
	one.add(0, "5", metaEvent(Added, "a", "6"))
	other := metaEvent(Added, "b", "6")
	other.Object.UID = "a"
	if again, _ := one.isAgain(0, one.notice(other)); again {
		t.Error("an object of another name is the same")
	}
}

// One event that is no deletion counts as all of its version, until another one of the version
// comes.
func TestMayLack(t *testing.T) {
	var s knownEvents
	s.add(0, "7", metaEvent(Added, "a", "8"))
	s.noteEnd(0)
	if s.mayLack("8") {
		t.Error("one event is not all of its version")
	}
	s.add(0, "8", metaEvent(Deleted, "b", "8"))
	s.noteEnd(0)
	if !s.mayLack("8") {
		t.Error("two events of a version are taken for all of them")
	}
}

// Verify tells the history seen from others. Known are a at 8, b at 9, and c and d at 10.
func TestVerify(t *testing.T) {
	var s knownEvents
	s.add(0, "7", metaEvent(Added, "a", "8"))
	s.add(0, "8", metaEvent(Added, "b", "9"))
	s.add(0, "9", metaEvent(Added, "c", "10"))
	s.add(0, "10", metaEvent(Added, "d", "10"))
	pending := func(next int) replay { return replay{active: true, next: next, known: 4} }
	bookmark := func(rv string) Event[*metav1.PartialObjectMetadata] {
		return Event[*metav1.PartialObjectMetadata]{Type: Bookmark, ResourceVersion: rv}
	}
	for _, c := range []struct {
		name string
		from replay
		ev   Event[*metav1.PartialObjectMetadata]
		next int
		news bool
		bad  bool
	}{
		{"the first", pending(0), metaEvent(Added, "a", "8"), 1, false, false},
		{"the second before the first", pending(0), metaEvent(Added, "b", "9"), 0, false, true},
		{"a bookmark before the first", pending(0), bookmark("7"), 0, false, false},
		{"a bookmark in place of the first", pending(0), bookmark("8"), 0, false, true},
		{"another event of the version", pending(3), metaEvent(Added, "c", "10"), 3, false, false},
		{"an unknown event of the version", pending(3), metaEvent(Added, "x", "10"), 3, false, true},
		{"the last", pending(3), metaEvent(Added, "d", "10"), 4, false, false},
		{"an old event after all", pending(4), metaEvent(Added, "b", "9"), 4, false, false},
		{"an unknown old event after all", pending(4), metaEvent(Added, "x", "9"), 4, false, true},
		{"a bookmark after all", pending(4), bookmark("10"), 4, true, false},
		{"an older bookmark after all", pending(4), bookmark("9"), 4, false, false},
		{"one more event of the version", pending(4), metaEvent(Added, "x", "10"), 4, true, false},
		{"news", pending(4), metaEvent(Added, "x", "11"), 4, true, false},
	} {
		next, news, err := s.verifyEvent(c.from, s.notice(c.ev), "10")
		if next.next != c.next || news != c.news || errors.Is(err, ErrRestored) != c.bad || (err != nil) != c.bad {
			t.Errorf("%s: next %d, news %v, error %v", c.name, next.next, news, err)
		}
		if want := c.name != "news"; next.active != want {
			t.Errorf("%s: active %v, want %v", c.name, next.active, want)
		}
	}
}

// The ring holds fewer events than the version has. A bookmark at that version says that none is
// left to come.
func TestVerifyBeyondTheRing(t *testing.T) {
	var s knownEvents
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.add(0, "9", metaEvent(Deleted, name, "10"))
	}
	from := replay{active: true, next: 1, known: 5}
	if next, _, err := s.verifyEvent(from, s.notice(metaEvent(Deleted, "a", "10")), "10"); err != nil || next.next != 1 {
		t.Errorf("an event that left the ring: next %d, %v", next.next, err)
	}
	if _, _, err := s.verifyEvent(from, s.notice(Event[*metav1.PartialObjectMetadata]{Type: Bookmark, ResourceVersion: "10"}), "10"); !errors.Is(err, ErrRestored) {
		t.Errorf("a bookmark in place of the rest: %v", err)
	}
	omitted := Event[*metav1.PartialObjectMetadata]{Type: Bookmark, ResourceVersion: "10", Omitted: true}
	if next, news, err := s.verifyEvent(from, s.notice(omitted), "10"); err != nil || news || next.next != 1 {
		t.Errorf("an event that the source left out: next %d, news %v, %v", next.next, news, err)
	}
}

// The end of a watch that has to be verified.
func TestVerifyFrom(t *testing.T) {
	for end, want := range map[watchEnd]bool{{}: false, {idle: true}: true, {early: true}: true, {err: failure("eof", 0)}: true} {
		if endedUnexpectedly(end) != want {
			t.Errorf("%+v is unexpected: %v", end, !want)
		}
	}
	s := state{phase: phaseWatching, rv: "10", confirmed: true, asked: 2, tried: 1}
	if got := s.verifyFrom("9"); got.phase != phaseWatching || got.replayRV != "9" || got.confirmed {
		t.Errorf("with events to repeat: %+v", got)
	}
	if got := s.verifyFrom(""); got.phase != phaseChecking || got.asked != 0 || got.tried != 0 || got.confirmed {
		t.Errorf("without: %+v", got)
	}
	s.rv = "x1"
	if got := s.verifyFrom(""); got.phase != phaseWatching {
		t.Errorf("at a version that does not compare: %+v", got)
	}
	s = state{phase: phaseListing, rv: "10"}
	if got := s.verifyFrom("9"); got.phase != phaseListing || got.replayRV != "" {
		t.Errorf("before a list: %+v", got)
	}
}

// A doubt takes nothing back from a proof.
func TestDoubtAfterProof(t *testing.T) {
	s, st := state{phase: phaseWatching, rv: "10"}.doubted(becauseRestored, ErrRestored)
	if s.rewound != rewound || st.pause != noPause {
		t.Errorf("a proof: %v, %s", s.rewound, st.text())
	}
	if s, st = s.doubted(becauseRestored, nil); s.rewound != rewound || st.pause != pauseBusy {
		t.Errorf("a doubt after it: %v, %s", s.rewound, st.text())
	}
	if _, st = s.doubted(becauseRestored, ErrRestored); st.pause != pauseBusy {
		t.Errorf("a proof in a row: %s", st.text())
	}
}

// badUID is an object whose uid cannot be read.
type badUID struct{ metav1.ObjectMeta }

func (*badUID) GetUID() types.UID { panic("no uid") }

func TestKnownObjects(t *testing.T) {
	for name, o := range map[string]metav1.Object{
		"nil":     (*metav1.PartialObjectMetadata)(nil),
		"panics":  &badUID{metav1.ObjectMeta{Namespace: "n", Name: "a"}},
		"no uid":  &metav1.ObjectMeta{Name: "a"},
		"no name": &metav1.ObjectMeta{UID: "1"},
	} {
		known := knownFrom("6", o)
		if known.rv != "6" || known.isNamed() || name == "panics" && known.key != (types.NamespacedName{}) {
			t.Errorf("%s: %+v", name, known)
		}
		var s eventsOf[metav1.Object]
		if s.add(0, "5", Event[metav1.Object]{Type: Added, Object: o, ResourceVersion: "6"}); s.witnesses("6") != nil {
			t.Errorf("%s: can be asked for", name)
		}
	}
}

// A version that does not compare with the one seen proves nothing.
func TestNothingAndAnOpaqueVersion(t *testing.T) {
	for rv, want := range map[string]finding{"6": refuted, "7": refuted, "8": plausible, "x1": plausible} {
		q := question{seen: "7", empty: true}
		if q.take(&notice{typ: Added, rv: rv, object: knownObject{rv: rv}}); q.answer != want {
			t.Errorf("an object at %s where there was none at 7: answer %d, want %d", rv, q.answer, want)
		}
	}
}

// A watch that the server has not answered says nothing about its history, even if the server has come as far
// as the newest version seen.
func TestUnansweredReplay(t *testing.T) {
	for _, answered := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r, _ := endedReflector(t)
			r.core.state.replayRV, r.core.state.confirmed = "4", true
			_, a := r.core.breaker.begin(t.Context(), false, nil)
			defer a.end()
			if answered {
				a.Answered()
			}
			w := &watchRequest{attempt: a, replay: replay{active: true, strict: true, known: 1}}
			w.aborted.Store(true)
			st := r.core.stepAfter(w, watchEnd{rv: "5", at: time.Now(), early: true})
			lists := r.core.state.lists() && st.relist == becauseRestored
			asks := r.core.state.phase == phaseChecking && errors.Is(st.err, errUnanswered) && st.pause == pauseAway
			if lists != answered || asks == answered {
				t.Errorf("answered %t: %s, %s", answered, r.core.state.text(), st.text())
			}
		})
	}
}
