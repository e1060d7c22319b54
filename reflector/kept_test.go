package reflector

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A request that ended well has not failed, though the breaker gave it up at the same moment.
func TestGivenUpTooLate(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errUnanswered)
	if err := causeOf(ctx, nil); err != nil {
		t.Error(err)
	}
}

// Once a list is whole, only the newest events keep its newest object: until the first event.
func TestListedObjectIsLetGo(t *testing.T) {
	r := newIdle(t)
	r.core.beginList("list")
	ev := metaEvent(Added, "a", "5")
	addListed(&r.transfer.listed, r.core.listed, &ev)
	settleList(&r.transfer.listed, r.core.listed)
	r.core.state.rv = "5"
	if err := r.core.replace(t.Context()); err != nil {
		t.Fatal(err)
	}
	kept := func() bool {
		whole := r.core.recent.keptIn(0) == &r.core.recent.listed
		if whole != (r.transfer.kept[0] == ev.Object) {
			t.Errorf("the events keep the object: %t, and it is %v", whole, r.transfer.kept[0])
		}
		return whole
	}
	if r.core.listed != nil || r.transfer.listed.newest != nil || r.transfer.listed.block != nil || !kept() {
		t.Errorf("kept by the list: %t, by the events: %t", r.core.listed != nil, kept())
	}
	w := &watchRequest{turn: t.Context(), end: watchEnd{rv: "5"}}
	w.dog = r.core.guardWatch(w)
	defer w.dog.stop()
	r.core.state.phase = phaseWatching
	if _, err := receivePair(&r.transfer, w, metaEvent(Added, "b", "6"), nil); err != nil {
		t.Error(err)
	}
	if kept() {
		t.Error("an event came, and the newest object of the list is kept alive")
	}
}

// A reflector counts as denied while its last failure was a refusal, and once.
func TestDeniedOnce(t *testing.T) {
	r := newIdle(t)
	for n, c := range []struct {
		why  pause
		want int
	}{{pauseDenied, 1}, {pauseDenied, 1}, {pauseBusy, 0}, {pauseDenied, 1}, {noPause, 1}, {pauseAway, 0}} {
		if r.core.setReason(c.why); r.core.breaker.failing[pauseDenied] != c.want {
			t.Errorf("failure %d: %d denied, want %d", n, r.core.breaker.failing[pauseDenied], c.want)
		}
	}
}

// The end of an outage and the success of others cut the wait after a failure short, but not a wait
// that the server asked for. After that wait, they do.
func TestWaitsThatAreCutShort(t *testing.T) {
	for name, c := range map[string]struct {
		st  step
		cut bool
	}{
		"internal error": {failedStep(failure("internal", 0)), true},
		"retry after":    {step{err: failure("internal", 0), pause: pauseBusy, atLeast: time.Minute}, false},
		"retry soon":     {step{err: failure("internal", 0), pause: pauseBusy, atLeast: 5 * time.Second}, true},
		"429":            {failedStep(failure("busy", 0)), true},
		"broken list":    {step{err: failure("eof", 0), pause: pauseRetry}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newIdle(t)
				r.core.breaker.countFailing(pauseBusy, 100) // others: all together ask seldom
				r.core.waits.retries = retryBurst
				r.core.breaker.lists.pay(time.Now(), time.Minute)
				r.core.waits.busy.next, r.core.waits.busy.last = time.Minute, time.Now()
				go func() {
					time.Sleep(time.Second)
					r.core.breaker.failed(time.Now(), r.core.opts.Backoff)
					time.Sleep(longOutage)
					r.core.breaker.answered()
					r.core.breaker.wakeAlike(pauseBusy)
				}()
				began := time.Now()
				r.core.carryOut(t.Context(), c.st, RequestError{}, began)
				if took := time.Since(began); (took < 10*time.Second) != c.cut {
					t.Errorf("went on after %v", took)
				}
			})
		})
	}
}

// newIdle returns a reflector that does not run.
func newIdle(t *testing.T) *Reflector[*metav1.PartialObjectMetadata] {
	t.Helper()
	r, err := New(&source[*metav1.PartialObjectMetadata]{}, &sink[*metav1.PartialObjectMetadata]{}, Options{OnError: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A watch that ended right after a deletion may have lost the rest of its version, however late the
// deletion came.
func TestLateDeletionMayLackOthers(t *testing.T) {
	for lived, want := range map[time.Duration]bool{wholeAfter - 1: true, wholeAfter: false} {
		var recent knownEvents
		recent.add(time.Minute, "5", metaEvent(Deleted, "a", "6"))
		recent.noteEnd(time.Minute + lived)
		if recent.mayLack("6") != want {
			t.Errorf("%v after the deletion: may lack others: %t", lived, !want)
		}
	}
}

// Only the end of the watch that brought the newest event counts: not of the one after it, nor of the one before it.
func TestEndsOfOtherWatches(t *testing.T) {
	var recent knownEvents
	recent.add(time.Minute, "5", metaEvent(Deleted, "a", "6"))
	recent.noteEnd(time.Minute)
	recent.noteEnd(time.Hour)
	if !recent.mayLack("6") {
		t.Error("the end of the next watch shows that nothing is missing")
	}
	recent.add(2*time.Hour, "5", metaEvent(Deleted, "b", "6"))
	recent.noteEnd(3 * time.Hour)
	if recent.mayLack("6") {
		t.Error("a watch went on after the newest event, and something is missing")
	}
}

// A bookmark at the version seen brings something new, unless it stands for an event that the
// source left out: that is a repetition.
func TestRepeatedOmission(t *testing.T) {
	for _, omitted := range []bool{false, true} {
		var recent knownEvents
		recent.add(0, "5", metaEvent(Modified, "a", "6"))
		ev := Event[*metav1.PartialObjectMetadata]{Type: Bookmark, ResourceVersion: "6", Omitted: omitted}
		if _, isNew, err := recent.verifyEvent(replay{active: true, next: 1, known: 1}, recent.notice(ev), "6"); err != nil || isNew == omitted {
			t.Errorf("omitted %t: new %t, %v", omitted, isNew, err)
		}
	}
}
