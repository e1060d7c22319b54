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

// endlessSource is a source whose every watch brings something new at once, and then ends. It
// counts the requests.
type endlessSource struct {
	brings   func(version string) (Event[*metav1.PartialObjectMetadata], error)
	version  int
	requests int
	stop     context.CancelFunc
}

// asked counts a request. Too many stop the test: virtual time stands still meanwhile.
func (s *endlessSource) asked() {
	if s.requests++; s.requests > 1000 {
		s.stop()
	}
}

func (s *endlessSource) Resource() string { return "pods" }

func (s *endlessSource) List(_ context.Context, _ metav1.ListOptions, yield func(Event[*metav1.PartialObjectMetadata], error) bool) (metav1.ListMeta, error) {
	s.asked()
	version := fmt.Sprint(s.version)
	if !yield(metaEvent(Added, "a", version), nil) {
		return metav1.ListMeta{}, ErrListStopped
	}
	return metav1.ListMeta{ResourceVersion: version}, nil
}

func (s *endlessSource) Watch(context.Context, metav1.ListOptions) iter.Seq2[Event[*metav1.PartialObjectMetadata], error] {
	return func(yield func(Event[*metav1.PartialObjectMetadata], error) bool) {
		s.asked()
		s.version++
		yield(s.brings(fmt.Sprint(s.version)))
	}
}

// A server does not get more requests than a few at once and one in two seconds, though all its
// watches bring news.
func TestNewsWithoutEndAreBounded(t *testing.T) {
	for name, brings := range map[string]func(version string) (Event[*metav1.PartialObjectMetadata], error){
		"an event": func(version string) (Event[*metav1.PartialObjectMetadata], error) {
			return metaEvent(Modified, "a", version), nil
		},
		"a deletion that cannot be read": func(version string) (Event[*metav1.PartialObjectMetadata], error) {
			return Event[*metav1.PartialObjectMetadata]{}, &ObjectError{Resource: "pods", ResourceVersion: version, Type: Deleted, Err: ErrNoName}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &endlessSource{brings: brings, version: 10}
				opts := Options{OnError: func(error) {}, Tuning: Tuning{DisableWatchList: true, TrustVersions: true}}
				r, err := New(s, &sink[*metav1.PartialObjectMetadata]{}, opts)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				s.stop = cancel
				if err := r.Run(ctx); err != nil {
					t.Fatal(err)
				}
				if most := 2 * (resumeBurst + 1 + int(time.Minute/resumeEvery)); s.requests > most || s.requests < most/4 {
					t.Errorf("%d requests, want at most %d", s.requests, most)
				}
			})
		})
	}
}
