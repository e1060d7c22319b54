package reflector

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// slowList has lists that fail at first, and then take long before and after their first object.
type slowList struct {
	stream bool
	failed bool
	pause  time.Duration
}

var errFirst = errors.New("the first request")

func (s *slowList) Resource() string { return "objects" }

func (s *slowList) List(_ context.Context, _ metav1.ListOptions, yield func(Event[string], error) bool) (metav1.ListMeta, error) {
	if !s.failed {
		s.failed = true
		return metav1.ListMeta{}, errFirst
	}
	time.Sleep(s.pause)
	yield(added("a", 1), nil)
	time.Sleep(s.pause)
	return metav1.ListMeta{ResourceVersion: "9"}, nil
}

func (s *slowList) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[string], error] {
	return func(yield func(Event[string], error) bool) {
		switch {
		case opts.SendInitialEvents != nil && !s.stream:
			yield(Event[string]{}, errors.ErrUnsupported)
			return
		case opts.SendInitialEvents != nil && !s.failed:
			s.failed = true
			yield(Event[string]{}, errFirst)
			return
		case opts.SendInitialEvents != nil:
			time.Sleep(s.pause)
			yield(added("a", 1), nil)
			time.Sleep(s.pause)
			yield(Event[string]{Type: Bookmark, ResourceVersion: "9", InitialEventsEnd: true}, nil)
		}
		<-ctx.Done()
	}
}

// Stats says since when a list is in progress, since when nothing of it comes, and what failed last, even after that is over.
func TestStatsOfList(t *testing.T) {
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprint("stream=", stream), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				r, err := New(&slowList{stream: stream, pause: 40 * time.Second}, &sink[string]{}, Options{OnError: func(error) {}})
				if err != nil {
					t.Fatal(err)
				}
				if s := r.Stats(); s.LastError != nil || !s.LastErrorAt.IsZero() || !s.ListingSince.IsZero() || !s.QuietSince.IsZero() {
					t.Errorf("before Run: %+v", s)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- r.Run(ctx) }()
				since := r.Stats().ListingSince
				expect := func(after time.Duration, lists, quiet bool, listed uint64) {
					t.Helper()
					time.Sleep(time.Until(began.Add(after)))
					synctest.Wait()
					s := r.Stats()
					if lists == s.ListingSince.IsZero() || quiet == s.QuietSince.IsZero() || s.Listed != listed {
						t.Errorf("after %v: since %v, quiet since %v, %d objects", after, s.ListingSince, s.QuietSince, s.Listed)
					}
					if quiet && (time.Since(s.QuietSince) < 10*time.Second || s.QuietSince.Before(s.ListingSince)) {
						t.Errorf("after %v: quiet since %v", after, s.QuietSince)
					}
					if !errors.Is(s.LastError, errFirst) || !s.LastErrorAt.Equal(began) {
						t.Errorf("after %v: the last error is %v, of %v", after, s.LastError, s.LastErrorAt)
					}
					since = s.ListingSince
				}
				expect(8*time.Second, true, false, 0)
				expect(38*time.Second, true, true, 0)
				first := since
				expect(50*time.Second, true, false, 1)
				if !since.Equal(first) {
					t.Errorf("the list began at %v, and then at %v", first, since)
				}
				expect(75*time.Second, true, true, 1)
				expect(3*time.Minute, false, false, 1)
				if f := r.Stats().Failing; f.Err != nil {
					t.Errorf("failing: %+v", f)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
