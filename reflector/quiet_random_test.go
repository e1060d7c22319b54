package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/reflector"
)

// faultySource is a source that cuts watches, refuses lists, and leaves out bookmarks. Relists go
// through it, too, because it is no Relister.
type faultySource struct {
	reflector.Source[*object]
	bookmarks bool
	rng       *rand.Rand // of the reflector's goroutine

	mu      sync.Mutex
	bad     bool // there are faults
	deaf    bool // it refuses lists of one object
	lists   int  // of the collection
	watches int
}

// asked counts a request, and reports which faults there are.
func (s *faultySource) asked(list, watch int) (bad, deaf bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists, s.watches = s.lists+list, s.watches+watch
	return s.bad, s.deaf
}

// set makes faults begin or end. It returns the numbers of lists and watches since the last call.
func (s *faultySource) set(bad, deaf bool) (lists, watches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lists, watches = s.lists, s.watches
	s.bad, s.deaf, s.lists, s.watches = bad, deaf, 0, 0
	return lists, watches
}

var errCut = fmt.Errorf("cut: %w", io.ErrUnexpectedEOF)

func (s *faultySource) List(ctx context.Context, opts metav1.ListOptions, yield func(reflector.Event[*object], error) bool) (metav1.ListMeta, error) {
	list := 1
	if opts.Limit == 1 {
		list = 0
	}
	bad, deaf := s.asked(list, 0)
	if bad && deaf && list == 0 {
		return metav1.ListMeta{}, apierrors.NewInternalError(errors.New("deaf"))
	}
	if bad && s.rng.IntN(8) == 0 {
		return metav1.ListMeta{}, errCut
	}
	return s.Source.List(ctx, opts, yield)
}

func (s *faultySource) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[*object], error] {
	return func(yield func(reflector.Event[*object], error) bool) {
		list := 0
		if opts.SendInitialEvents != nil {
			list = 1
		}
		bad, _ := s.asked(list, 1)
		limited, cancel := context.WithCancel(ctx)
		defer cancel()
		mute := false
		if bad && s.rng.IntN(8) > 0 {
			mute = s.rng.IntN(2) == 0
			defer time.AfterFunc(time.Duration(s.rng.IntN(2)*s.rng.IntN(9000))*time.Millisecond, cancel).Stop()
		}
		for ev, err := range s.Source.Watch(limited, opts) {
			if mute || !s.bookmarks && err == nil && ev.Type == reflector.Bookmark && !ev.InitialEventsEnd {
				continue
			}
			if !yield(ev, err) {
				return
			}
		}
		if ctx.Err() == nil && limited.Err() != nil && s.rng.IntN(4) > 0 {
			yield(reflector.Event[*object]{}, errCut)
		}
	}
}

// TestQuietAfterFaults: whatever a server did, once it is well there are no more lists, and no more
// watches than the timeouts ask for. If it was not restored, the sink has its objects.
func TestQuietAfterFaults(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { quietAfterFaults(t, rand.New(rand.NewPCG(seed, 77))) })
		})
	}
}

func quietAfterFaults(t *testing.T, rng *rand.Rand) {
	server, inner := widgetServer(t)
	src, sink := &faultySource{Source: inner, rng: rand.New(rand.NewPCG(rng.Uint64(), 3)), bookmarks: rng.IntN(2) == 0}, &keptObjects{}
	src.set(true, false)
	jitter := rand.New(rand.NewPCG(rng.Uint64(), 4))
	tuning := reflector.Tuning{
		Backoff:          reflector.Backoff{Random: jitter.Float64},
		DisableWatchList: rng.IntN(2) == 0,
		WatchTimeout:     []time.Duration{time.Second, 3 * time.Second, 6 * time.Second, 20 * time.Second, 5 * time.Minute}[rng.IntN(5)],
		IdleTimeout:      []time.Duration{-1, 2 * time.Second, 7 * time.Second, 3 * time.Minute}[rng.IntN(4)],
	}
	r, err := reflector.New(reflector.Source[*object](src), reflector.Sink[*object](sink), reflector.Options{Tuning: tuning, OnError: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	write(t, server, rng, 10)
	go func() { ended <- r.Run(ctx) }()
	restored := disturb(t, server, src, rng)
	time.Sleep(3 * time.Minute) // the longest wait, and a watch that was asked for before
	src.set(false, false)
	busy, lasts := rng.IntN(2) == 0, 20*time.Minute
	for range int(lasts / (5 * time.Second)) {
		time.Sleep(5 * time.Second)
		if busy {
			write(t, server, rng, 1)
		}
	}
	synctest.Wait()
	shortest := tuning.WatchTimeout
	if tuning.IdleTimeout > 0 {
		shortest = min(shortest, tuning.IdleTimeout)
	}
	lists, watches := src.set(false, false)
	if most := int(lasts/shortest) * 5 / 4; lists > 1 || watches > most+3 { // a version that is gone may show late
		t.Errorf("%+v: %d lists, %d watches, want %d, %+v", tuning, lists, watches, most, r.Stats())
	}
	if diff := cmp.Diff(contents(t, server), sink.all()); diff != "" && !restored {
		t.Errorf("the sink (-server +sink), %+v:\n%s", r.Stats(), diff)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// disturb has two minutes of faults, writes, compactions and, perhaps, restores.
func disturb(t *testing.T, server *fake.Server, src *faultySource, rng *rand.Rand) (restored bool) {
	backup, may, pace, end := server.Backup(), rng.IntN(3) == 0, rng.IntN(4000), time.Now().Add(2*time.Minute)
	for time.Now().Before(end) {
		time.Sleep(time.Duration(1+rng.IntN(1+pace)) * time.Millisecond)
		synctest.Wait()
		switch rng.IntN(12) {
		case 0:
			backup = server.Backup()
		case 1:
			src.set(true, rng.IntN(2) == 0)
		case 2:
			if restored = restored || may; may {
				if err := server.Restore(backup); err != nil {
					t.Fatal(err)
				}
			}
		case 3:
			if err := server.Compact(server.ResourceVersion()); err != nil {
				t.Fatal(err)
			}
		default:
			write(t, server, rng, 1+rng.IntN(3))
		}
	}
	src.set(false, false)
	return restored
}
