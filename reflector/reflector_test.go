package reflector

import (
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/mistake"
)

// source answers lists and watches from functions.
type source[T any] struct {
	list  func(ctx context.Context, opts metav1.ListOptions, yield func(Event[T], error) bool) (metav1.ListMeta, error)
	watch func(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[T], error]
}

func (s *source[T]) Resource() string { return "pods" }

func (s *source[T]) List(ctx context.Context, opts metav1.ListOptions, yield func(Event[T], error) bool) (metav1.ListMeta, error) {
	return s.list(ctx, opts, yield)
}

func (s *source[T]) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[T], error] {
	return s.watch(ctx, opts)
}

// hang is a watch in which nothing happens.
func hang[T any](ctx context.Context, _ metav1.ListOptions) iter.Seq2[Event[T], error] {
	return func(yield func(Event[T], error) bool) {
		<-ctx.Done()
		yield(Event[T]{}, ctx.Err())
	}
}

// events is a watch of fixed events that the server closes in order.
func events[T any](evs ...Event[T]) func(context.Context, metav1.ListOptions) iter.Seq2[Event[T], error] {
	return func(context.Context, metav1.ListOptions) iter.Seq2[Event[T], error] {
		return func(yield func(Event[T], error) bool) {
			for _, ev := range evs {
				if !yield(ev, nil) {
					return
				}
			}
		}
	}
}

// objects is a list of fixed objects at resourceVersion rv.
func objects[T any](rv string, evs ...Event[T]) func(context.Context, metav1.ListOptions, func(Event[T], error) bool) (metav1.ListMeta, error) {
	return func(_ context.Context, _ metav1.ListOptions, yield func(Event[T], error) bool) (metav1.ListMeta, error) {
		for _, ev := range evs {
			if !yield(ev, nil) {
				return metav1.ListMeta{}, ErrListStopped
			}
		}
		return metav1.ListMeta{ResourceVersion: rv}, nil
	}
}

// sink counts its calls and fails where told.
type sink[T any] struct {
	listed, replace, apply error

	nListed, nSkipped, nReplace, nDiscard, nApply int
}

func (s *sink[T]) Listed(context.Context, Event[T]) error { s.nListed++; return s.listed }
func (s *sink[T]) Skipped(*ObjectError)                   { s.nSkipped++ }
func (s *sink[T]) Replace(context.Context, string) error  { s.nReplace++; return s.replace }
func (s *sink[T]) Discard()                               { s.nDiscard++ }
func (s *sink[T]) Apply(context.Context, Event[T]) error  { s.nApply++; return s.apply }

func added(name string, rv int) Event[string] {
	return Event[string]{Type: Added, Object: name, ResourceVersion: strconv.Itoa(rv)}
}

func TestNewRefusesNil(t *testing.T) {
	if _, err := New[string](nil, &sink[string]{}, Options{}); !errors.Is(err, mistake.NoSource) {
		t.Errorf("nil source: %v, want mistake.NoSource", err)
	}
	if _, err := New[string](&source[string]{}, nil, Options{}); !errors.Is(err, errNoSink) {
		t.Errorf("nil sink: %v, want errNoSink", err)
	}
}

func TestOptionsDefaults(t *testing.T) {
	o := Tuning{}.withDefaults()
	b := o.Backoff
	if b.Initial != 800*time.Millisecond || b.Max != 30*time.Second || b.Random == nil {
		t.Errorf("default backoff %+v", b)
	}
	if o.IdleTimeout != 3*time.Minute || o.DisableWatchList || o.FirstVersion != nil {
		t.Errorf("defaults %+v", o)
	}
	if o.PageSize != 500 || o.WatchTimeout != 5*time.Minute {
		t.Errorf("default page size %d, watch timeout %v", o.PageSize, o.WatchTimeout)
	}

	called := false
	own := Options{
		Tuning: Tuning{
			Backoff:      Backoff{Initial: 1, Max: 2, Random: func() float64 { return 0.25 }},
			PageSize:     6,
			WatchTimeout: time.Hour,
		},
		OnError: func(error) { called = true },
	}
	own.Tuning = own.withDefaults()
	b = own.Backoff
	if b.Initial != 1 || b.Max != 2 || b.Random() != 0.25 {
		t.Errorf("own backoff became %+v", b)
	}
	own.OnError(nil)
	if own.PageSize != 6 || own.WatchTimeout != time.Hour || !called {
		t.Errorf("own options became %+v", own)
	}
}

func TestWatchTimeout(t *testing.T) {
	for _, c := range []struct {
		timeout time.Duration
		random  float64
		want    int64
	}{
		{0, 0, 300},
		{0, 0.999, 599},
		{-time.Hour, 0, 1},
		{time.Millisecond, 0, 1},
		{90 * time.Second, 0.5, 135},
		{math.MaxInt64, 0.5, math.MaxInt64 / int64(time.Second)},
	} {
		r, err := New(&source[string]{}, &sink[string]{}, Options{
			Tuning: Tuning{
				WatchTimeout: c.timeout,
				Backoff:      Backoff{Random: func() float64 { return c.random }},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := *r.core.watchOptions().TimeoutSeconds; got != c.want {
			t.Errorf("timeout %v, random %v: asks for %d s, want %d", c.timeout, c.random, got, c.want)
		}
	}
}

// The longest timeout there is is long, though a bit is added to it.
func TestEndlessWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		src := &source[string]{list: objects[string]("3")}
		src.watch = func(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[string], error] {
			if ctx.Err() != nil {
				t.Error("the watch has no time at all")
				cancel()
			}
			return hang[string](ctx, opts)
		}
		r, err := New(src, &sink[string]{}, Options{Tuning: Tuning{DisableWatchList: true, WatchTimeout: math.MaxInt64, IdleTimeout: -1}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(ctx); err != nil || r.Stats().Watches != 1 {
			t.Errorf("%v, %d watches", err, r.Stats().Watches)
		}
	})
}

func TestRunTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := New(&source[string]{list: objects[string]("3"), watch: hang[string]}, &sink[string]{}, Options{Tuning: Tuning{DisableWatchList: true}})
		if err != nil {
			t.Fatal(err)
		}
		first := make(chan error)
		go func() { first <- r.Run(ctx) }()
		synctest.Wait()
		if err := r.Run(ctx); !errors.Is(err, errStarted) {
			t.Errorf("Run beside Run: %v, want errStarted", err)
		}
		cancel()
		if err := <-first; err != nil {
			t.Errorf("the first Run: %v", err)
		}
		if err := r.Run(t.Context()); !errors.Is(err, errStarted) {
			t.Errorf("Run after Run: %v, want errStarted", err)
		}
	})
}

func TestRunWithDoneContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &sink[string]{}
	r, err := New(&source[string]{}, s, Options{}) // nil functions: a request would panic
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(ctx); err != nil || *s != (sink[string]{}) {
		t.Errorf("Run returned %v, sink %+v", err, *s)
	}
}

// TestSinkErrors: an error of a sink ends Run unchanged, and ends the request too.
func TestSinkErrors(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name string
		sink sink[string]
		want sink[string]
	}{
		{"Listed", sink[string]{listed: boom}, sink[string]{nListed: 1, nDiscard: 1}},
		{"Replace", sink[string]{replace: boom}, sink[string]{nListed: 2, nReplace: 1}},
		{"Apply", sink[string]{apply: boom}, sink[string]{nListed: 2, nReplace: 1, nApply: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var reported []error
			src := &source[string]{
				list:  objects("3", added("a", 1), added("b", 2)),
				watch: events(added("c", 4), added("d", 5)),
			}
			r, err := New(src, &c.sink, Options{Tuning: Tuning{DisableWatchList: true}, OnError: func(err error) { reported = append(reported, err) }})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Run(t.Context()); err != boom {
				t.Errorf("Run returned %v, want the sink's error", err)
			}
			if len(reported) > 0 {
				t.Errorf("the sink's own failure was reported as the server's: %v", reported)
			}
			got := c.sink
			got.listed, got.replace, got.apply = nil, nil, nil
			if got != c.want {
				t.Errorf("sink calls %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestSinkGivesUpWithContext: a sink that returns because the context is done has not failed,
// and Run returns nil.
func TestSinkGivesUpWithContext(t *testing.T) {
	for _, where := range []string{"Listed", "Replace", "Apply"} {
		t.Run(where, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			src := &source[string]{list: objects("3", added("a", 1)), watch: events(added("c", 4))}
			r, err := New(src, &cancelSink{where: where, cancel: cancel}, Options{Tuning: Tuning{DisableWatchList: true}})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Run(ctx); err != nil {
				t.Errorf("Run returned %v, want nil", err)
			}
		})
	}
}

// cancelSink returns the error of its context from the call that it is told.
type cancelSink struct {
	sink[string]
	where  string
	cancel context.CancelFunc
}

func (s *cancelSink) at(ctx context.Context, where string) error {
	if s.where == where {
		s.cancel()
	}
	return ctx.Err()
}

func (s *cancelSink) Listed(ctx context.Context, _ Event[string]) error { return s.at(ctx, "Listed") }
func (s *cancelSink) Replace(ctx context.Context, _ string) error       { return s.at(ctx, "Replace") }
func (s *cancelSink) Apply(ctx context.Context, _ Event[string]) error  { return s.at(ctx, "Apply") }

// TestRefusedEventIsNotSeen: an event that the sink did not take is not counted as seen.
func TestRefusedEventIsNotSeen(t *testing.T) {
	s := &sink[string]{apply: errors.New("boom")}
	r, err := New(&source[string]{list: objects[string]("3"), watch: events(added("c", 4))}, s, Options{Tuning: Tuning{DisableWatchList: true}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context()); err == nil {
		t.Fatal("Run returned nil")
	}
	if r.core.state.rv != "3" {
		t.Errorf("seen %s, want 3", r.core.state.rv)
	}
}

// TestRequestErrors checks the fields of the errors that OnError gets, in virtual time.
func TestRequestErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var answers []error
		timeout := failure("timeout", 0)
		src := &source[string]{
			list: func(_ context.Context, opts metav1.ListOptions, _ func(Event[string], error) bool) (metav1.ListMeta, error) {
				if len(answers) == 0 {
					return metav1.ListMeta{ResourceVersion: "7"}, nil
				}
				err := answers[0]
				answers = answers[1:]
				return metav1.ListMeta{}, err
			},
			watch: func(context.Context, metav1.ListOptions) iter.Seq2[Event[string], error] {
				return func(yield func(Event[string], error) bool) { yield(Event[string]{}, timeout) }
			},
		}
		answers = []error{failure("expired", 0), failure("busy", 3)}
		want := []RequestError{
			{Verb: "list", Resource: "pods", ResourceVersion: "0", RetryIn: 0, Err: answers[0]},
			{Verb: "list", Resource: "pods", ResourceVersion: "", RetryIn: 3 * time.Second, Err: answers[1]},
			{Verb: "watch", Resource: "pods", ResourceVersion: "7", RetryIn: 1600 * time.Millisecond, Err: timeout},
		}
		var got []RequestError
		r, err := New(src, &sink[string]{}, Options{Tuning: Tuning{DisableWatchList: true, Backoff: Backoff{Random: none}}, OnError: func(err error) {
			var re *RequestError
			if !errors.As(err, &re) {
				t.Errorf("reported %T, want *RequestError", err)
				return
			}
			if got = append(got, *re); len(got) == len(want) {
				cancel()
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("error %d\ngot  %+v\nwant %+v", i, got[i], want[i])
			}
		}
	})
}

// TestStats reads the counters while a list and a watch are under way.
func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		more := make(chan Event[string])
		remaining := int64(5)
		src := &source[string]{
			list: func(_ context.Context, opts metav1.ListOptions, yield func(Event[string], error) bool) (metav1.ListMeta, error) {
				if opts.Continue == "" {
					yield(added("a", 1), nil)
					yield(Event[string]{}, &ObjectError{Resource: "pods", Err: ErrNoName})
					return metav1.ListMeta{ResourceVersion: "7", Continue: "t", RemainingItemCount: &remaining}, nil
				}
				yield(<-more, nil)
				return metav1.ListMeta{ResourceVersion: "7"}, nil
			},
			watch: func(context.Context, metav1.ListOptions) iter.Seq2[Event[string], error] {
				return func(yield func(Event[string], error) bool) {
					for ev := range more {
						if !yield(ev, nil) {
							return
						}
					}
					yield(Event[string]{}, io.ErrUnexpectedEOF)
				}
			},
		}
		r, err := New(src, &sink[string]{}, Options{Tuning: Tuning{DisableWatchList: true}})
		if err != nil {
			t.Fatal(err)
		}
		check := func(when string, want Stats) {
			t.Helper()
			synctest.Wait()
			got := r.Stats()
			if !got.LastEvent.Equal(want.LastEvent) {
				t.Errorf("%s: the last event was at %v, want %v", when, got.LastEvent, want.LastEvent)
			}
			if since := got.ListingSince; since.IsZero() != want.ListingSince.IsZero() || since.Sub(want.ListingSince) > 1 {
				t.Errorf("%s: the list began at %v, want %v", when, since, want.ListingSince)
			}
			got.LastEvent, want.LastEvent = time.Time{}, time.Time{}
			got.ListingSince, want.ListingSince = time.Time{}, time.Time{}
			if got != want {
				t.Errorf("%s\ngot  %+v\nwant %+v", when, got, want)
			}
		}
		check("before Run", Stats{})
		began := time.Now()
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		check("in the second page", Stats{BadObjects: 1, Listed: 1, Expected: 6, ListingSince: began})
		time.Sleep(time.Second)
		more <- added("b", 2)
		want := Stats{Lists: 1, ListTime: time.Since(began), ListedInAll: 2, Watches: 1, BadObjects: 1, Listed: 2, Expected: 2, SeenVersion: "7"}
		watchBegan := time.Now()
		check("after the list", want)
		for _, typ := range []EventType{Added, Modified, Modified, Deleted, Deleted, Deleted} {
			time.Sleep(time.Second)
			want.SeenVersion = strconv.Itoa(8 + int(want.Events))
			more <- Event[string]{Type: typ, Object: "c", ResourceVersion: want.SeenVersion}
			want.Events++
			want.LastEvent = time.Now()
		}
		want.Added, want.Modified, want.Deleted = 1, 2, 3
		check("after events", want)
		time.Sleep(time.Second)
		want.Bookmarks, want.Events, want.SeenVersion, want.LastEvent = 2, 8, "20", time.Now()
		more <- Event[string]{Type: Bookmark, ResourceVersion: "20"}
		more <- Event[string]{Type: Bookmark, ResourceVersion: "20"}
		check("after bookmarks", want)
		time.Sleep(time.Second)
		more <- added("c", 20) // a duplicate
		check("after a duplicate", want)
		close(more)
		want.Failures, want.EndedWatches, want.WatchTime = 1, 1, time.Since(watchBegan)
		synctest.Wait()
		if got := r.Stats().Failing; !errors.Is(got.Err, io.ErrUnexpectedEOF) || !got.Since.Equal(time.Now()) {
			t.Errorf("after a break: failing %+v", got)
		}
		want.Failing = r.Stats().Failing
		want.LastError, want.LastErrorAt = want.Failing.Err, want.Failing.Since
		check("after a break", want)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// metered is a source that counts.
type metered struct{ source[string] }

func (*metered) Received() (uint64, time.Duration) { return 1234, time.Minute }

func TestMeter(t *testing.T) {
	r, err := New[string](&metered{}, &sink[string]{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Stats(); got.Received != 1234 || got.Decoding != time.Minute {
		t.Errorf("stats %+v", got)
	}
}

// TestExpected: Stats has the number of objects that each page announces.
func TestExpected(t *testing.T) {
	remaining := func(n int64) *int64 { return &n }
	var got []uint64
	pages := []metav1.ListMeta{
		{ResourceVersion: "7", Continue: "t"}, // selectors: it does not tell
		{ResourceVersion: "7", Continue: "t1", RemainingItemCount: remaining(4)},
		{ResourceVersion: "7", Continue: "t2", RemainingItemCount: remaining(-4)}, // nonsense
		{}, // the list fails
		{ResourceVersion: "7", Continue: "t"},
		{ResourceVersion: "7"},
	}
	want := []uint64{0, 0, 6, 3, 0, 0, 2}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var r *Reflector[string]
		src := &source[string]{
			list: func(_ context.Context, _ metav1.ListOptions, yield func(Event[string], error) bool) (metav1.ListMeta, error) {
				got = append(got, r.Stats().Expected)
				yield(added("a", 1), nil)
				page := pages[0]
				pages = pages[1:]
				if page.ResourceVersion == "" {
					return page, io.ErrUnexpectedEOF
				}
				return page, nil
			},
			watch: func(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[string], error] {
				got = append(got, r.Stats().Expected)
				cancel()
				return hang[string](ctx, opts)
			},
		}
		var err error
		if r, err = New(src, &sink[string]{}, Options{Tuning: Tuning{DisableWatchList: true}}); err != nil {
			t.Fatal(err)
		}
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
	})
	if !slices.Equal(got, want) {
		t.Errorf("Expected at each request: %v, want %v", got, want)
	}
}

// A watch from version "0" would leave out the deletions since the newest version seen. So no event has
// the next watch begin there, whatever version it carries.
func TestVersionZero(t *testing.T) {
	for name, ev := range map[string]Event[string]{
		"bookmark": {Type: Bookmark, ResourceVersion: "0"},
		"event":    {Type: Modified, ResourceVersion: "0", Object: "a"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var from []string
			s := &source[string]{list: objects("15", added("a", 3))}
			s.watch = func(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[string], error] {
				if from = append(from, opts.ResourceVersion); len(from) == 1 {
					return func(yield func(Event[string], error) bool) {
						if yield(ev, nil) {
							time.Sleep(2 * time.Second)
						}
					}
				}
				return hang[string](ctx, opts)
			}
			r, err := New(s, &sink[string]{}, Options{Tuning: Tuning{DisableWatchList: true, TrustVersions: true}, OnError: func(error) {}})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- r.Run(ctx) }()
			time.Sleep(time.Minute)
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if !slices.Equal(from, []string{"15", "15"}) {
				t.Errorf("%s: watches from %q", name, from)
			}
		})
	}
}
