package debug_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// refusing is a server that refuses watches, lists or both.
type refusing struct {
	breaker reflector.Breaker

	mu             sync.Mutex
	watches, lists error  // why it refuses them
	version        string // of lists
}

func (s *refusing) change(watches, lists error, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches, s.lists, s.version = watches, lists, version
}

func (*refusing) Resource() string { return "secrets" }

func (s *refusing) Breaker() *reflector.Breaker { return &s.breaker }

func (s *refusing) List(context.Context, metav1.ListOptions, func(reflector.Event[*Secret], error) bool) (metav1.ListMeta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return metav1.ListMeta{ResourceVersion: s.version}, s.lists
}

func (s *refusing) Watch(ctx context.Context, _ metav1.ListOptions) iter.Seq2[reflector.Event[*Secret], error] {
	return func(yield func(reflector.Event[*Secret], error) bool) {
		s.mu.Lock()
		err := s.watches
		s.mu.Unlock()
		if err != nil {
			yield(reflector.Event[*Secret]{}, err)
			return
		}
		reflector.AttemptOf(ctx).Answered()
		reflector.AttemptOf(ctx).Accepted()
		<-ctx.Done()
	}
}

// TestStateByLists: the state says that a cache lives by lists, and how often they come, until watches
// work or lists fail.
func TestStateByLists(t *testing.T) {
	resource := schema.GroupResource{Resource: "secrets"}
	forbidden := apierrors.NewForbidden(resource, "", errors.New("no such role"))
	type change struct {
		after          time.Duration
		watches, lists error // why the server refuses them from now on
		version        string
		want           string // the state soon after
	}
	for name, changes := range map[string][]change{
		"watches are forbidden": {
			{0, forbidden, nil, "5", "failing"},
			{25 * time.Second, forbidden, nil, "6", "failing"},
			{10 * time.Second, forbidden, nil, "7", "lists every 30s"}, // Backoff.Max, until there are two
			{time.Minute, forbidden, nil, "8", "lists every 3*s"},
			{5 * time.Minute, nil, nil, "9", "*"}, // the next watch may not be there yet
			{5 * time.Second, nil, nil, "9", "watching"},
			{time.Minute, nil, nil, "9", "watching"},
		},
		"lists fail later": {
			{0, forbidden, nil, "5", "failing"},
			{2 * time.Minute, forbidden, forbidden, "6", "*"}, // a list may have failed already
			{6 * time.Minute, forbidden, nil, "6", "*"},       // the newest failure may be a watch's
			{8 * time.Minute, forbidden, nil, "6", "lists every *s"},
		},
		"lists have no version": {
			{0, forbidden, nil, "", "lists every 15s"},
			{time.Minute, forbidden, forbidden, "", "*"},
			{20 * time.Second, forbidden, forbidden, "", "failing"},
			{time.Minute, forbidden, nil, "", "*"},
			{20 * time.Second, forbidden, nil, "", "lists every 15s"},
			{0, nil, nil, "5", "*"}, // the next list may not be there yet
			{16 * time.Second, nil, nil, "5", "watching"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &refusing{}
				inf, err := informer.New(s, store.ObjectKey[*Secret], informer.Options[*Secret]{
					Reflector: reflector.Tuning{DisableWatchList: true}, OnError: func(error) {},
				})
				if err != nil {
					t.Fatal(err)
				}
				page := debug.New(debug.Options{})
				if err := debug.AddInformer(page, "secrets", inf, nil); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				for n, c := range changes {
					time.Sleep(c.after)
					s.change(c.watches, c.lists, c.version)
					if n == 0 {
						go func() { ended <- inf.Run(ctx) }()
					}
					time.Sleep(500 * time.Millisecond)
					synctest.Wait()
					time.Sleep(1100 * time.Millisecond) // viewers share a state for a second
					var got debug.State
					if err := json.Unmarshal(get(page, "/x/state.json").Body.Bytes(), &got); err != nil {
						t.Fatal(err)
					}
					if ok, _ := path.Match(c.want, got.Informers[0].State); !ok {
						t.Errorf("change %d: %q, want %q", n, got.Informers[0].State, c.want)
					}
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
