package reflector

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deafSource is a source of which one request hears nothing of its context for an hour.
type deafSource struct {
	t       *testing.T
	deaf    string // "list", "watch", "watchlist" or "check": the request of that kind
	yields  bool   // the deaf watch brings an event a second meanwhile
	calls   int    // in progress
	before  context.Context
	returns time.Time // when the deaf request has returned
}

func (s *deafSource) Resource() string { return "pods" }

// begin begins a request, and reports whether it is the deaf one. end ends it.
func (s *deafSource) begin(ctx context.Context, kind string) (deaf bool, end func()) {
	if s.calls++; s.calls > 1 {
		s.t.Errorf("%s begins during another request", kind)
	}
	if s.before != nil && s.before.Err() == nil {
		s.t.Errorf("%s begins and the context of the request before goes on", kind)
	}
	deaf = kind == s.deaf && s.returns.IsZero()
	return deaf, func() {
		s.calls--
		if deaf {
			s.returns = time.Now()
		}
		if strings.HasPrefix(kind, "watch") {
			s.before = ctx
		}
	}
}

func (s *deafSource) List(ctx context.Context, opts metav1.ListOptions, yield func(Event[*metav1.PartialObjectMetadata], error) bool) (metav1.ListMeta, error) {
	kind := "list"
	if opts.Limit == 1 {
		kind = "check"
	}
	deaf, end := s.begin(ctx, kind)
	defer end()
	if deaf {
		time.Sleep(time.Hour)
	}
	if !yield(metaEvent(Added, "a", "3"), nil) {
		return metav1.ListMeta{}, ErrListStopped
	}
	return metav1.ListMeta{ResourceVersion: "3"}, ctx.Err()
}

func (s *deafSource) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[*metav1.PartialObjectMetadata], error] {
	return func(yield func(Event[*metav1.PartialObjectMetadata], error) bool) {
		kind := "watch"
		if opts.SendInitialEvents != nil {
			kind = "watchlist"
		}
		deaf, end := s.begin(ctx, kind)
		defer end()
		if kind == "watchlist" && s.deaf == "watch" {
			initial := metaEvent(Bookmark, "", "3")
			initial.InitialEventsEnd = true
			if !yield(metaEvent(Added, "a", "3"), nil) || !yield(initial, nil) {
				return
			}
			deaf = s.returns.IsZero()
			defer func() { s.returns = time.Now() }()
		}
		began := time.Now()
		for deaf && time.Since(began) < time.Hour {
			time.Sleep(time.Second)
			if s.yields && !yield(metaEvent(Modified, "a", time.Now().Format("150405")), nil) {
				return
			}
		}
		if s.deaf == "check" && s.returns.IsZero() {
			return // so that the server is asked
		}
		<-ctx.Done()
		yield(Event[*metav1.PartialObjectMetadata]{}, ctx.Err())
	}
}

// A source that hears nothing of the end of its context is reported once, and is called again
// only when it has returned.
func TestSourceDoesNotReturn(t *testing.T) {
	for _, c := range []struct {
		deaf   string
		tuning Tuning
		after  time.Duration // from the beginning until the report
	}{
		{deaf: "watchlist", after: 105 * time.Second}, // ignoredAfter, a look in 2.5 s
		{deaf: "watch", after: 270 * time.Second},     // IdleTimeout and a look after the list, a look in 45 s
		{deaf: "watch", tuning: Tuning{DisableWatchList: true}, after: 225 * time.Second},
		{deaf: "watch", tuning: Tuning{IdleTimeout: -1, WatchTimeout: time.Minute}, after: 120 * time.Second},
		{deaf: "check", tuning: Tuning{DisableWatchList: true}, after: 60 * time.Second},
	} {
		t.Run(c.deaf, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				began := time.Now()
				var told []error
				var at time.Time
				src := &deafSource{t: t, deaf: c.deaf}
				c.tuning.Backoff.Random = func() float64 { return 0 }
				r, err := New(src, &sink[*metav1.PartialObjectMetadata]{}, Options{Tuning: c.tuning, OnError: func(err error) {
					if errors.Is(err, errNotReturning) {
						told, at = append(told, err), time.Now()
					}
				}})
				if err != nil {
					t.Fatal(err)
				}
				done := make(chan error)
				go func() { done <- r.Run(ctx) }()
				time.Sleep(59 * time.Minute)
				synctest.Wait()
				verb := strings.Replace(c.deaf, "check", "list", 1)
				var failed *RequestError
				if len(told) != 1 || !errors.As(told[0], &failed) || failed.Verb != verb || failed.Resource != "pods" {
					t.Fatalf("told %v", told)
				}
				if failed.ResourceVersion != map[bool]string{true: "", false: "3"}[c.deaf == "watchlist"] || !strings.Contains(failed.Error(), "trying again once it has returned: the source") {
					t.Errorf("told %v", failed)
				}
				if took := at.Sub(began); took < c.after-lateAfter/2 || took > c.after+lateAfter/2 {
					t.Errorf("told after %v, want about %v", took, c.after)
				}
				if f := r.Stats().Failing; f.Err != failed || !f.Next.IsZero() {
					t.Errorf("failing: %+v", f)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if src.returns.IsZero() || src.calls != 1 {
					t.Errorf("returned at %v, %d calls in progress", src.returns, src.calls)
				}
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
				if f := r.Stats().Failing; f.Err != nil {
					t.Errorf("failing after the end: %v", f)
				}
			})
		})
	}
}

// Run waits for a list that does not end with it, and says so.
func TestListOutlivesRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		var told []error
		r, err := New(&deafSource{t: t, deaf: "list"}, &sink[*metav1.PartialObjectMetadata]{}, Options{
			Tuning: Tuning{DisableWatchList: true}, OnError: func(err error) { told = append(told, err) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(ctx); err != nil || time.Since(began) != time.Hour {
			t.Errorf("Run returned %v after %v", err, time.Since(began))
		}
		if len(told) != 1 || !errors.Is(told[0], errNotReturning) {
			t.Errorf("told %v", told)
		}
	})
}

// A source is not blamed for the time that its sink takes, nor for events that come late.
func TestLateSinkAndEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		s := &slowSink{}
		src := &source[string]{list: objects("3", added("a", 1)), watch: func(ctx context.Context, _ metav1.ListOptions) iter.Seq2[Event[string], error] {
			return func(yield func(Event[string], error) bool) {
				if yield(added("b", 4), nil) {
					yield(added("c", 5), nil) // the request is over
				}
			}
		}}
		r, err := New(src, s, Options{
			Tuning: Tuning{WatchTimeout: time.Minute, TrustVersions: true, DisableWatchList: true}, OnError: func(err error) { t.Error(err) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		began := time.Now()
		src := &deafSource{t: t, deaf: "watch", yields: true}
		tuning := Tuning{WatchTimeout: time.Minute, TrustVersions: true, DisableWatchList: true}
		tuning.Backoff.Random = func() float64 { return 0 }
		r, err := New(src, &sink[*metav1.PartialObjectMetadata]{}, Options{Tuning: tuning, OnError: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if took := src.returns.Sub(began); took < 90*time.Second || took > 91*time.Second {
			t.Errorf("a watch of a minute with events was left after %v", took)
		}
	})
}

// After the end of its context, a source has some time to return since it last brought something.
func TestLateSinceItBroughtSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r, g := newIdle(t), &guard{request: ctx}
		r.core.checkLate(g, time.Hour) // finds the end
		time.Sleep(time.Hour)
		if r.core.checkLate(g, lateAfter-1); g.late {
			t.Error("late right after an event")
		}
		if r.core.checkLate(g, lateAfter); !g.late {
			t.Error("not late")
		}
	})
}

// A panic of OnError in a report goes on in Run, once the source has returned.
func TestLateReportPanics(t *testing.T) {
	for _, deaf := range []string{"list", "watch", "check"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			src := &deafSource{t: t, deaf: deaf}
			r, err := New(src, &sink[*metav1.PartialObjectMetadata]{}, Options{Tuning: Tuning{DisableWatchList: true}, OnError: func(err error) {
				if errors.Is(err, errNotReturning) {
					panic("boom")
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if got := recover(); got != "boom" {
					t.Errorf("%s: Run ended with %v", deaf, got)
				}
			}()
			t.Error(deaf, r.Run(ctx))
		})
	}
}

// What comes while OnError runs is not lost: neither the end of a streaming list nor a panic.
func TestPanicAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source[string]{list: objects[string]("3"), watch: func(ctx context.Context, _ metav1.ListOptions) iter.Seq2[Event[string], error] {
			return func(func(Event[string], error) bool) { time.Sleep(20 * time.Second) }
		}}
		r, err := New(src, &sink[string]{}, Options{OnError: func(err error) {
			if slow := new(SlowListError); errors.As(err, &slow) {
				time.Sleep(time.Minute)
				panic("boom")
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if got := recover(); got != "boom" {
				t.Errorf("Run ended with %v", got)
			}
		}()
		t.Error(r.Run(t.Context()))
	})
}
