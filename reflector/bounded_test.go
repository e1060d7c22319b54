package reflector

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/pages"
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
				if most := 2 * (resumeBurst + 1 + int(time.Minute/repeatEvery)); s.requests > most || s.requests < most/4 {
					t.Errorf("%d requests, want at most %d", s.requests, most)
				}
			})
		})
	}
}

// Empty pages that lead on do not keep a list for ever. The failure names the resource and the
// cause. A list with fewer of them ends, and so does one of many pages with objects, good or bad.
func TestEmptyPagesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, object := range map[string]error{"good": nil, "bad": ErrNoName} {
			requests, err := listPages(t, 2*pages.EmptyLimit, func(yield func(Event[*int], error) bool) {
				yield(Event[*int]{Type: Added, Object: new(int), ResourceVersion: "5"}, object)
			})
			if err != nil || requests != 2*pages.EmptyLimit+1 {
				t.Errorf("pages with a %s object: %d requests, %v", name, requests, err)
			}
		}
		empty := func(func(Event[*int], error) bool) {}
		if requests, err := listPages(t, pages.EmptyLimit, empty); err != nil || requests != pages.EmptyLimit+1 {
			t.Errorf("%d empty pages: %d requests, %v", pages.EmptyLimit, requests, err)
		}
		requests, err := listPages(t, 2*pages.EmptyLimit, empty)
		if !errors.Is(err, errBadPage) || requests != pages.EmptyLimit+1 {
			t.Fatalf("more empty pages: %d requests, %v", requests, err)
		}
		if text := err.Error(); !strings.Contains(text, "pods") || !strings.Contains(text, "empty pages") {
			t.Error(text)
		}
	})
}

// listPages runs a reflector whose list has n pages from page and then an empty one, until it is
// whole or has failed.
func listPages(t *testing.T, n int, page func(yield func(Event[*int], error) bool)) (requests int, failure error) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &source[*int]{
		list: func(_ context.Context, _ metav1.ListOptions, yield func(Event[*int], error) bool) (metav1.ListMeta, error) {
			if requests++; requests <= n {
				page(yield)
				return metav1.ListMeta{ResourceVersion: "5", Continue: strconv.Itoa(requests)}, nil
			}
			return metav1.ListMeta{ResourceVersion: "5"}, nil
		},
		watch: func(context.Context, metav1.ListOptions) iter.Seq2[Event[*int], error] {
			cancel()
			return func(func(Event[*int], error) bool) {}
		},
	}
	r, err := New(s, &sink[*int]{}, Options{Tuning: Tuning{DisableWatchList: true}, OnError: func(err error) {
		if _, whole := errors.AsType[*RequestError](err); whole {
			failure = err
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return requests, failure
}
