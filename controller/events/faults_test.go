package events_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/controller/events"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/internal/longtest"
)

// refuse makes a number of calls fail.
func (s *scene) refuse(verb faults.Verb, times, code int, reason metav1.StatusReason, after int) {
	s.t.Helper()
	must(s.t, s.server.Inject(faults.Fault{Verb: verb, Times: times, Status: faults.Refusal(code, reason, after)}))
}

// What the server refuses for good is dropped at once, and told.
func TestRefused(t *testing.T) {
	for _, test := range []struct {
		code   int
		reason metav1.StatusReason
	}{
		{http.StatusForbidden, metav1.StatusReasonForbidden}, // also for a namespace that is being deleted
		{http.StatusNotFound, metav1.StatusReasonNotFound},
		{http.StatusUnprocessableEntity, metav1.StatusReasonInvalid},
		{http.StatusBadRequest, metav1.StatusReasonBadRequest},
	} {
		t.Run(string(test.reason), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, events.Options{})
				s.refuse(faults.VerbCreate, 1, test.code, test.reason, 0)
				for range 3 {
					s.sites.Normal(site("a"), "Deployed", "A", "n")
				}
				s.sites.Normal(site("b"), "Deployed", "A", "n")
				s.run()
				settle()
				if stats := s.stats(); stats.Dropped.Refused+stats.Written != 4 || stats.Dropped.Refused == 0 || stats.Waiting != 0 || stats.Requests != 2 {
					t.Errorf("wrong counts: %+v", stats)
				}
				got := s.reported()
				if len(got) != 1 || got[0].Lost != s.stats().Dropped.Refused || apierrors.ReasonForError(got[0]) != test.reason || !strings.Contains(got[0].Error(), "Website prod/") {
					t.Errorf("reported %v", got)
				}
			})
		})
	}
}

// A series that is refused, such as for a permission that is missing, is tried once in six minutes
// and not for each of its events.
func TestRefusedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{})
		s.refuse(faults.VerbCreate, 3, http.StatusForbidden, metav1.StatusReasonForbidden, 0)
		s.run()
		const each = 100 * time.Millisecond
		for range 17 * time.Minute / each {
			s.sites.Normal(site("a"), "Deployed", "A", "n")
			time.Sleep(each)
		}
		stats := s.stats()
		if stats.Dropped.Refused != uint64(17*time.Minute/each) || stats.Requests != 3 || len(s.reported()) != 3 {
			t.Errorf("%+v, %d reports", stats, len(s.reported()))
		}
		time.Sleep(2 * time.Minute)
		s.sites.Normal(site("a"), "Deployed", "A", "n")
		settle()
		if now := s.stats(); now.Written != 1 || now.Requests != 4 {
			t.Errorf("after the permission came: %+v", now)
		}
	})
}

// What may succeed later is tried again: less and less often, and not before the server allows it.
func TestRetries(t *testing.T) {
	for _, test := range []struct {
		code   int
		reason metav1.StatusReason
		after  int
	}{
		{http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 7},
		{http.StatusInternalServerError, metav1.StatusReasonInternalError, 0},
		{http.StatusConflict, metav1.StatusReasonConflict, 0},
		{http.StatusUnauthorized, metav1.StatusReasonUnauthorized, 0},
	} {
		t.Run(string(test.reason), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, events.Options{})
				s.refuse(faults.VerbCreate, 3, test.code, test.reason, test.after)
				s.run()
				s.sites.Normal(site("a"), "R", "A", "n")
				sleep(time.Minute)
				if stats := s.stats(); stats.Written != 1 || stats.Requests != 4 || stats.Failures != 3 || count(s.one()) != 1 {
					t.Errorf("wrong counts: %+v", stats)
				}
				least := []time.Duration{time.Second / 2, time.Second, 2 * time.Second}
				for n, want := range least {
					want = max(want, time.Duration(test.after)*time.Second)
					if got := s.wire.at[n+1].Sub(s.wire.at[n]); got != want {
						t.Errorf("request %d after %v, want %v", n+1, got, want)
					}
				}
				if got := s.reported(); len(got) != 3 || got[0].Lost != 0 {
					t.Errorf("reported %v", got)
				}
			})
		})
	}
}

// The failures that count are those in a row, of the server and of a series.
func TestFailuresInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{})
		s.run()
		s.sites.Normal(site("a"), "R", "A", "n")
		settle()
		for range 2 {
			s.refuse(faults.VerbPatch, 8, http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)
			began := time.Now()
			for range 2 {
				s.sites.Normal(site("a"), "R", "A", "n")
			}
			sleep(5 * time.Minute)
			s.wire.mu.Lock()
			pause := s.wire.at[len(s.wire.at)-8].Sub(s.wire.at[len(s.wire.at)-9])
			s.wire.mu.Unlock()
			if pause != 500*time.Millisecond {
				t.Errorf("since %v the first pause is %v", began, pause)
			}
			s.sites.Normal(site("a"), "R", "A", "n") // before the end of the series
			sleep(time.Minute)
		}
		if stats := s.stats(); stats.Written != 7 || stats.Dropped.Total() != 0 || stats.Failures != 16 || len(s.stored()) != 1 {
			t.Errorf("wrong counts: %+v", stats)
		}
	})
}

// A server that refuses an event for good can be reached: the next failure is the first in a row.
func TestRefusalEndsPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{})
		s.refuse(faults.VerbCreate, 5, http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)
		s.refuse(faults.VerbCreate, 6, http.StatusForbidden, metav1.StatusReasonForbidden, 0)
		s.refuse(faults.VerbCreate, 7, http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)
		s.run()
		s.sites.Normal(site("a"), "R", "A", "n")
		sleep(time.Minute)
		s.sites.Normal(site("b"), "R", "A", "n")
		sleep(time.Minute)
		if n := len(s.wire.at); s.stats().Dropped.Refused != 1 || s.stats().Written != 1 || n != 8 || s.wire.at[7].Sub(s.wire.at[6]) != 500*time.Millisecond {
			t.Errorf("%+v; requests at %v", s.stats(), s.wire.at)
		}
	})
}

// No server can ask for an hour.
func TestLongDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{})
		s.refuse(faults.VerbCreate, 1, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 3600)
		s.run()
		s.sites.Normal(site("a"), "R", "A", "n")
		sleep(5 * time.Minute)
		if s.stats().Written != 1 {
			t.Errorf("wrong counts: %+v", s.stats())
		}
	})
}

// A request without an answer ends, and the others go on.
func TestHangingRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{})
		must(t, s.server.Inject(faults.Fault{Delay: time.Hour, Times: 1}))
		s.run()
		s.sites.Normal(site("a"), "R", "A", "n")
		settle()
		s.sites.Normal(site("b"), "R", "A", "n")
		sleep(31 * time.Second)
		if stats := s.stats(); stats.Written != 2 || stats.Failures != 1 {
			t.Errorf("wrong counts: %+v", stats)
		}
	})
}

// A flood is written at a bounded rate, and the next burst has to be saved up.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{})
		s.run()
		sleep(time.Hour) // nothing is saved up beyond the burst
		for n := range 400 {
			s.sites.Normal(site(fmt.Sprint("a", n)), "R", "A", "n")
		}
		for _, want := range []uint64{101, 201, 301} {
			settle()
			if got := s.stats().Written; got != want {
				t.Errorf("%d written, want %d", got, want)
			}
			time.Sleep(5 * time.Second)
		}
	})
}

// A server that is away costs few requests. The events are given up after a while, one by one.
func TestServerAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{})
		s.refuse("", -1, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, 0)
		s.run()
		for n := range 10 {
			s.sites.Normal(site("a"), "R", "A", "%d", n)
		}
		sleep(time.Hour)
		stats := s.stats()
		if stats.Dropped.GaveUp != 10 || stats.Waiting != 0 || stats.Series != 0 || stats.Requests != 120 {
			t.Errorf("wrong counts: %+v", stats)
		}
		s.server.ClearFaults()
		s.sites.Normal(site("a"), "R", "A", "back")
		sleep(time.Minute)
		if s.stats().Written != 1 {
			t.Errorf("wrong counts: %+v", s.stats())
		}
		for range 2 { // the pause is short again
			s.sites.Normal(site("a"), "R", "A", "again")
			settle()
		}
		if s.stats().Written != 2 {
			t.Errorf("wrong counts: %+v", s.stats())
		}
	})
}

// If the answer to a create is lost, the next one finds the event there, and nothing is twice.
func TestLostCreate(t *testing.T) {
	for _, before := range []int{1, 5} {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t, events.Options{})
			left := 1
			s.wire.lose = func() bool { left--; return left >= 0 }
			for range before {
				s.sites.Normal(site("a"), "R", "A", "n")
			}
			s.run()
			settle()
			s.sites.Normal(site("a"), "R", "A", "n")
			sleep(time.Minute)
			if got := s.one(); count(got) != uint64(before+1) {
				t.Errorf("%d events became %d", before+1, count(got))
			}
			if stats := s.stats(); stats.Written != uint64(before+1) {
				t.Errorf("wrong counts: %+v", stats)
			}
			if got := s.wire.requests(); got != "POST POST PATCH" || !s.wire.at[2].Equal(s.wire.at[1]) {
				t.Errorf("requests: %s at %v", got, s.wire.at)
			}
		})
	}
}

// A single event whose answer was lost needs no patch.
func TestLostSingle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{})
		left := 1
		s.wire.lose = func() bool { left--; return left >= 0 }
		s.run()
		s.sites.Normal(site("a"), "R", "A", "n")
		sleep(time.Hour)
		if got := s.wire.requests(); got != "POST POST" || count(s.one()) != 1 || s.stats().Written != 1 {
			t.Errorf("requests: %s; %+v", got, s.stats())
		}
	})
}

// A name that somebody else has taken is left to them.
func TestTakenName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{})
		s.refuse(faults.VerbCreate, 2, http.StatusConflict, metav1.StatusReasonAlreadyExists, 0)
		s.run()
		s.sites.Normal(site("a"), "R", "A", "n")
		sleep(time.Minute)
		if stats := s.stats(); stats.Written != 1 || count(s.one()) != 1 || s.wire.requests() != "POST POST POST" {
			t.Errorf("%+v, %s", stats, s.wire.requests())
		}
	})
}

// An event that was deleted is written again, with the whole count.
func TestDeletedEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{})
		s.run()
		s.sites.Normal(site("a"), "R", "A", "n")
		settle()
		e := s.one()
		_, err := fake.Delete[*events.Event](s.server, types.NamespacedName{Namespace: e.Namespace, Name: e.Name})
		must(t, err)
		s.sites.Normal(site("a"), "R", "A", "n")
		sleep(time.Minute)
		if got := s.one(); count(got) != 2 || s.wire.requests() != "POST PATCH POST" || s.stats().Written != 2 {
			t.Errorf("%+v after %s", got, s.wire.requests())
		}
	})
}

// At the end of the context what waits is written, also what is not due yet.
func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, events.Options{})
		s.run()
		for range 3 {
			s.sites.Normal(site("a"), "R", "A", "n")
			settle()
		}
		for n := range 20 {
			s.sites.Normal(site("b"), "R", "A", "%d", n)
		}
		began := time.Now()
		s.stop()
		if took := time.Since(began); took > 0 {
			t.Errorf("the end took %v", took)
		}
		if stats := s.stats(); stats.Written != 23 || stats.Waiting != 0 || len(s.stored()) != 21 {
			t.Errorf("wrong counts: %+v", stats)
		}
		s.sites.Normal(site("a"), "R", "A", "late")
		if stats := s.stats(); stats.Dropped.Total() != 0 || stats.Waiting != 1 || len(s.reported()) != 0 {
			t.Errorf("wrong counts: %+v", stats)
		}
	})
}

// A server that does not answer holds the end up for the time that Options say.
func TestFlushTimeout(t *testing.T) {
	for flush, want := range map[time.Duration]time.Duration{0: 5 * time.Second, 2 * time.Second: 2 * time.Second, -1: 0} {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t, events.Options{FlushTimeout: flush})
			must(t, s.server.Inject(faults.Fault{Delay: 20 * time.Second, Times: -1}))
			s.run()
			s.sites.Normal(site("a"), "R", "A", "1")
			s.sites.Normal(site("a"), "R", "A", "2")
			settle()
			began := time.Now()
			s.stop()
			if took := time.Since(began); took != want {
				t.Errorf("the end took %v, want %v", took, want)
			}
			if stats := s.stats(); stats.Dropped.Stopped != 2 || stats.Waiting != 0 {
				t.Errorf("wrong counts: %+v", stats)
			}
			got := s.reported()
			if last := got[len(got)-1]; !errors.Is(last, events.ErrStopped) || last.Lost != 2 {
				t.Errorf("reported %v", got)
			}
		})
	}
}

// A panic in OnError costs nothing, and without OnError errors are logged.
func TestReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		logger := slog.New(slog.NewTextHandler(&text, nil))
		s := newScene(t, events.Options{Logger: logger, OnError: func(error) { panic("oops") }})
		s.refuse(faults.VerbCreate, 1, http.StatusForbidden, metav1.StatusReasonForbidden, 0)
		s.run()
		s.sites.Normal(site("a"), "R", "A", "n")
		settle()
		s.sites.Normal(site("b"), "R", "A", "n")
		settle()
		s.stop()
		if s.stats().Written != 1 || !strings.Contains(text.String(), "oops") {
			t.Errorf("%+v; log: %s", s.stats(), text.String())
		}
	})
}

// Random events, faults, deletions, pauses and ends: every event is on the server or counted as
// dropped, and none is there twice.
func TestRandom(t *testing.T) {
	for seed := range longtest.N(60, 10_000) {
		synctest.Test(t, func(t *testing.T) { (&random{dice: rand.New(rand.NewPCG(uint64(seed), 1)), seed: seed}).run(t) })
		if t.Failed() {
			return
		}
	}
}

// random is one random run.
type random struct {
	*scene
	dice     *rand.Rand
	seed     int
	recorded map[string]uint64 // per note
	deleted  map[string]*events.Event
}

func (r *random) run(t *testing.T) {
	r.recorded, r.deleted = map[string]uint64{}, map[string]*events.Event{}
	r.scene = newScene(t, events.Options{MaxSeries: 1 + r.dice.IntN(12), MaxPerObject: 1 + r.dice.IntN(6)})
	if r.dice.IntN(2) == 0 {
		lose := rand.New(rand.NewPCG(uint64(r.seed), 2))
		r.wire.lose = func() bool { return lose.IntN(5) == 0 }
	}
	r.faults()
	if r.dice.IntN(3) == 0 {
		r.events(20)
	}
	r.scene.run()
	for range 60 {
		r.op()
	}
	r.server.ClearFaults()
	if r.dice.IntN(2) == 0 {
		sleep(time.Hour)
	}
	r.stop()
	r.check()
}

func (r *random) faults() {
	for _, status := range []*apierrors.StatusError{
		faults.Refusal(429, metav1.StatusReasonTooManyRequests, 2), faults.Refusal(500, metav1.StatusReasonInternalError, 0),
		faults.Refusal(409, metav1.StatusReasonConflict, 0), faults.Refusal(504, metav1.StatusReasonTimeout, 0), faults.Refusal(403, metav1.StatusReasonForbidden, 0),
	} {
		if r.dice.IntN(3) == 0 {
			must(r.t, r.server.Inject(faults.Fault{Status: status, Chance: 0.15, Seed: r.dice.Uint64(), Verb: []faults.Verb{"", faults.VerbCreate, faults.VerbPatch}[r.dice.IntN(3)]}))
		}
	}
}

func (r *random) events(limit int) {
	for range 1 + r.dice.IntN(limit) {
		object, note := r.dice.IntN(4), r.dice.IntN(6)
		text := fmt.Sprintf("%d of %d", note, object)
		r.recorded[text]++
		r.sites.Warning(site(fmt.Sprint("o", object)), "R", "A", "%s", text)
		if r.dice.IntN(3) == 0 {
			settle()
		}
	}
}

func (r *random) op() {
	switch r.dice.IntN(10) {
	case 0, 1, 2, 3:
		r.events(5)
	case 4:
		r.events(50)
	case 5, 6:
		sleep(time.Duration(r.dice.IntN(20)) * time.Second)
	case 7:
		sleep(time.Duration(r.dice.IntN(10)) * time.Minute)
	case 8:
		r.delete()
	case 9:
		settle()
	}
}

// delete deletes events behind the recorder's back, while it sends nothing.
func (r *random) delete() {
	settle()
	all, err := fake.List[*events.Event](r.server, fake.Selection{})
	must(r.t, err)
	for _, e := range all {
		if r.dice.IntN(4) == 0 {
			_, err := fake.Delete[*events.Event](r.server, types.NamespacedName{Namespace: e.Namespace, Name: e.Name})
			must(r.t, err)
			r.deleted[e.Name] = e
		}
	}
}

// check compares the server and the counts with what was recorded.
func (r *random) check() {
	final := map[string]*events.Event{}
	for name, e := range r.deleted {
		final[name] = e
	}
	for _, e := range r.stored() {
		if was := final[e.Name]; was != nil && count(was) > count(e) {
			r.t.Errorf("seed %d: %s went from %d to %d", r.seed, e.Name, count(was), count(e))
		}
		final[e.Name] = e
	}
	var sum, recorded uint64
	got := map[string]uint64{}
	for _, e := range final {
		sum += count(e)
		got[e.Note] += count(e)
	}
	for note, n := range r.recorded {
		recorded += n
		if got[note] > n {
			r.t.Errorf("seed %d: %q is there %d times, and was recorded %d times", r.seed, note, got[note], n)
		}
	}
	stats := r.stats()
	// What was given up or refused after a lost answer may be there.
	doubtful := uint64(0)
	if r.wire.lose != nil {
		doubtful = stats.Dropped.GaveUp + stats.Dropped.Refused + stats.Dropped.Stopped
	}
	if stats.Recorded != recorded || stats.Waiting != 0 || sum < stats.Written || sum > stats.Written+doubtful {
		r.t.Errorf("seed %d: %d events recorded, %d on the server: %+v", r.seed, recorded, sum, stats)
	}
}
