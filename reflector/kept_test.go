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
	cancel(ErrUnanswered)
	if err := causeOf(ctx, nil); err != nil {
		t.Error(err)
	}
}

// Once a list is whole, only the newest events keep its newest object: until the first event.
func TestListedObjectIsLetGo(t *testing.T) {
	r := newIdle(t)
	beginList(r, "list")
	addListed(r.listed, metaEvent(Added, "a", "5"))
	settle(r.listed)
	r.state.rv = "5"
	if err := replace(r, t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.listed != nil || !r.recent.listed.whole {
		t.Errorf("kept by the list: %t, by the events: %t", r.listed != nil, r.recent.listed.whole)
	}
	addRecent(&r.recent, 0, "5", metaEvent(Added, "b", "6"))
	if r.recent.listed.whole {
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
		if setReason(r, c.why); r.breaker.failing[pauseDenied] != c.want {
			t.Errorf("failure %d: %d denied, want %d", n, r.breaker.failing[pauseDenied], c.want)
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
		"internal error": {failed(failure("internal", 0)), true},
		"retry after":    {step{err: failure("internal", 0), pause: pauseBusy, atLeast: time.Minute}, false},
		"retry soon":     {step{err: failure("internal", 0), pause: pauseBusy, atLeast: 5 * time.Second}, true},
		"429":            {failed(failure("busy", 0)), true},
		"broken list":    {step{err: failure("eof", 0), pause: pauseRetry}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newIdle(t)
				r.breaker.countFailing(pauseBusy, 100) // others: all together ask seldom
				r.waits.retries = retryBurst
				r.breaker.lists.pay(time.Now(), time.Minute)
				r.waits.busy.next, r.waits.busy.last = time.Minute, time.Now()
				go func() {
					time.Sleep(time.Second)
					r.breaker.failed(time.Now(), r.opts.Backoff)
					time.Sleep(longOutage)
					r.breaker.answered()
					r.breaker.wakeAlike(pauseBusy)
				}()
				began := time.Now()
				carryOut(r, t.Context(), c.st, RequestError{}, began)
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
		var recent recentEvents[*metav1.PartialObjectMetadata]
		addRecent(&recent, time.Minute, "5", metaEvent(Deleted, "a", "6"))
		noteEnd(&recent, time.Minute+lived)
		if mayLack(&recent, "6") != want {
			t.Errorf("%v after the deletion: may lack others: %t", lived, !want)
		}
	}
}

// A bookmark at the version seen brings something new, unless it stands for an event that the
// source left out: that is a repetition.
func TestRepeatedOmission(t *testing.T) {
	for _, omitted := range []bool{false, true} {
		var recent recentEvents[*metav1.PartialObjectMetadata]
		addRecent(&recent, 0, "5", metaEvent(Modified, "a", "6"))
		ev := Event[*metav1.PartialObjectMetadata]{Type: Bookmark, ResourceVersion: "6", Omitted: omitted}
		if _, isNew, err := verifyEvent(&recent, replay{active: true, next: 1, known: 1}, ev, "6"); err != nil || isNew == omitted {
			t.Errorf("omitted %t: new %t, %v", omitted, isNew, err)
		}
	}
}
