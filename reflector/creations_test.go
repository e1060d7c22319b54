package reflector

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// creating is a source of objects that are created all the time. Its streaming lists never end.
type creating struct {
	began time.Time
	every time.Duration
}

func (s *creating) Resource() string { return "events" }

// now returns the number of objects, and the version.
func (s *creating) now() int { return 100 + int(time.Since(s.began)/s.every) }

func (s *creating) object(n int) Event[metaObject] {
	return metaEvent(Added, fmt.Sprintf("e%x", (n+1)*2654435761%(1<<32)), fmt.Sprint(n+1))
}

func (s *creating) List(_ context.Context, _ metav1.ListOptions, yield func(Event[metaObject], error) bool) (metav1.ListMeta, error) {
	now := s.now()
	for n := range now {
		if !yield(s.object(n), nil) {
			return metav1.ListMeta{}, ErrListStopped
		}
	}
	return metav1.ListMeta{ResourceVersion: fmt.Sprint(now)}, nil
}

func (s *creating) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[metaObject], error] {
	return func(yield func(Event[metaObject], error) bool) {
		sent := s.now()
		if opts.SendInitialEvents != nil {
			for n := sent - 1; n >= 0; n-- { // names have no order of age
				if !yield(s.object(n), nil) {
					return
				}
			}
		}
		time.Sleep(500 * time.Microsecond) // so that no event comes while the watchdog looks, which would not count then
		for ctx.Err() == nil {
			time.Sleep(s.every)
			for ; sent < s.now(); sent++ {
				if !yield(s.object(sent), nil) {
					return
				}
			}
		}
		yield(Event[metaObject]{}, ctx.Err())
	}
}

// A streaming list has no end, and objects are created all the time: nothing tells these from the list but their
// versions. Lists by page follow within minutes.
func TestCreationsInPlaceOfTheEnd(t *testing.T) {
	for _, every := range []time.Duration{time.Second, 60 * time.Millisecond, 40 * time.Millisecond, 10 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			to := &sink[metaObject]{}
			r, err := New[metaObject](&creating{time.Now(), every}, to, Options{OnError: func(error) {}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- r.Run(ctx) }()
			time.Sleep(3*time.Minute + 30*time.Second)
			if r.Stats().Lists == 0 {
				t.Errorf("an object each %v: no list after three and a half minutes", every)
			}
			cancel()
			<-done
		})
	}
}
