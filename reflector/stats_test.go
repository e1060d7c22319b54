package reflector

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// timedSource has lists that take 3 seconds. Its watches end after the given times, one after
// the other, and bring an event if they last longer than a second. The last one goes on.
type timedSource struct{ watches []time.Duration }

func (s *timedSource) Resource() string { return "objects" }

func (s *timedSource) List(_ context.Context, _ metav1.ListOptions, yield func(Event[string], error) bool) (metav1.ListMeta, error) {
	time.Sleep(3 * time.Second)
	yield(added("a", 1), nil)
	yield(added("b", 2), nil)
	return metav1.ListMeta{ResourceVersion: "9"}, nil
}

func (s *timedSource) Watch(ctx context.Context, _ metav1.ListOptions) iter.Seq2[Event[string], error] {
	return func(yield func(Event[string], error) bool) {
		if len(s.watches) == 0 {
			<-ctx.Done()
			return
		}
		lasts := s.watches[0]
		s.watches = s.watches[1:]
		if lasts > time.Second && !yield(added("c", 10+len(s.watches)), nil) {
			return
		}
		time.Sleep(lasts)
		yield(Event[string]{}, errors.New("the connection broke"))
	}
}

// Stats says how long lists and watches took, how many objects all lists had, and how many
// watches were short. A run that goes on has the watches that ended.
func TestStatsOfTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &timedSource{watches: []time.Duration{time.Minute, time.Second - 1, 0, time.Second}}
		opts := Options{Tuning: Tuning{DisableWatchList: true, TrustVersions: true, IdleTimeout: -1, WatchTimeout: 2 * time.Hour}, OnError: func(error) {}}
		r, err := New(src, &sink[string]{}, opts)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		got := r.Stats()
		if got.Lists != 1 || got.ListTime != 3*time.Second || got.ListedInAll != 2 {
			t.Errorf("%d lists took %v and had %d objects", got.Lists, got.ListTime, got.ListedInAll)
		}
		if want := time.Minute + 2*time.Second - 1; got.WatchTime != want || got.ShortWatches != 2 {
			t.Errorf("the watches took %v, want %v; %d of them were short", got.WatchTime, want, got.ShortWatches)
		}
	})
}
