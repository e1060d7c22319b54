package reflector

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/longtest"
)

var manySeeds = flag.Uint64("seeds", longtest.N[uint64](200, 10_000), "how many histories TestFaults plays")

// TestFaults plays thousands of random histories on random bad servers. Once the servers
// are quiet the sink must have what they have. Play one again with
//
//	go test -run 'TestFaults/metadata/seed=17$' ./reflector
//
// and more of them with -seeds 10000.
func TestFaults(t *testing.T) {
	t.Run("bare", func(t *testing.T) { manyFaults(t, bareThing) })
	t.Run("metadata", func(t *testing.T) { manyFaults(t, withMetadata, "list by name") })
}

// manyFaults plays histories of objects that object makes. The faults in more have to come up, too.
func manyFaults[T modelObject](t *testing.T, object func(change) T, more ...string) {
	seeds := *manySeeds
	seen := map[string]int{}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playFaults(t, seed, object, seen) })
		})
		if t.Failed() {
			t.Fatalf("seed %d failed", seed)
		}
	}
	if len(seen) == 0 || seen["event"] < int(seeds) {
		return // one seed was chosen by -run
	}
	t.Logf("faults and what the reflector said of them: %v", seen)
	for _, must := range append(more,
		"refusal", "lag", "break in a list", "list without a version", "expired token", "later page is newer",
		"expired list", "list goes back", "too large", "expired watch", "too large watch", "watch closed at once",
		"early close", "break between events", "break in a watch", "swapped events", "event sent twice", "old event sent again",
		"stream", "stream refused", "stream ignored", "change in a stream's list", "break in a stream's list", "pause in a stream's list",
		"stream that stops", "stream closed before its end", "slow list", "idle watch", errNoInitialEventsEnd.Error(), errUnreadableDelete.Error(),
		errOutOfOrder.Error(), errListTooOld.Error(), errNoResourceVersion.Error(), ErrShortWatch.Error(), errGarbage.Error(),
		"kept a skipped object",
	) {
		if seen[must] == 0 {
			t.Errorf("in %d seeds this never came up: %s", seeds, must)
		}
	}
}

// playFaults must run in a synctest bubble. It adds to seen what came up.
func playFaults[T modelObject](t *testing.T, seed uint64, object func(change) T, seen map[string]int) {
	r := rand.New(rand.NewPCG(seed, 2))
	// Without metadata, another event of the version cannot be told from the same one again.
	_, transactions := any(*new(T)).(metav1.Object)
	server := &modelServer[T]{
		history: newHistory(r, transactions), rand: r, began: time.Now(), object: object, seen: seen,
		messy: r.IntN(2) == 0, kind: max(streams, r.IntN(2*streamKinds)-streamKinds), names: max(selectsNames, r.IntN(2*nameKinds)-nameKinds),
	}
	sink := &modelSink[T]{t: t, server: server, held: map[string]Event[T]{}, slow: r.IntN(3) == 0}
	sink.Discard()
	var slow atomic.Int64 // from another goroutine
	defer func() { seen["slow list"] += int(slow.Load()) }()
	reflector, err := New[T](server, sink, Options{
		Tuning: Tuning{
			PageSize:     int64(r.IntN(5) - 1), // -1 is no limit, 0 the default
			WatchTimeout: 20 * time.Second,
			Backoff:      Backoff{Random: r.Float64},
			// A few seeds have LIST alone, and some a short patience.
			DisableWatchList: r.IntN(5) == 0,
			IdleTimeout:      time.Duration(r.IntN(3)) * 5 * time.Second,
		},
		OnError: func(err error) {
			if !server.messy {
				noAlarm(t, err)
			}
			if errors.As(err, new(*SlowListError)) {
				slow.Add(1)
			}
			for _, known := range []error{
				errOutOfOrder, errListTooOld, errNoResourceVersion, ErrShortWatch, errNoInitialEventsEnd, errUnreadableDelete, errGarbage,
			} {
				if errors.Is(err, known) {
					seen[known.Error()]++
				}
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	// The longest wait is a minute; a list and a watch follow it.
	ctx, cancel := context.WithTimeout(t.Context(), server.lastChange+3*time.Minute)
	defer cancel()
	if err := reflector.Run(ctx); err != nil {
		t.Fatalf("Run: %v", err)
	}

	if !server.messy {
		noRestores(t, reflector.Stats())
	}
	want, got := map[string]string{}, map[string]string{}
	for key, c := range server.content(len(server.changes)) {
		if key != poison {
			want[key] = fmt.Sprintf("%d@%d", c.obj.val, c.rv)
		}
	}
	for key, ev := range sink.held {
		got[key] = fmt.Sprintf("%d@%s", ev.Object.model().val, ev.ResourceVersion)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the sink has not what the server has (-server +sink):\n%s\nstats %+v", diff, reflector.Stats())
	}
	seen["idle watch"] += int(reflector.Stats().IdleWatches)
	if stats := reflector.Stats(); stats.Failures > uint64(server.lastChange/time.Second) {
		t.Errorf("more than a failure per second: %+v in %v", stats, server.lastChange)
	}
}

// modelSink is the simplest sink there is: maps. It checks what a sink may rely on.
type modelSink[T modelObject] struct {
	t      *testing.T
	server *modelServer[T]
	slow   bool

	held    map[string]Event[T]
	listed  map[string]Event[T]
	skipped map[string]bool
	rv      int // newest heard of; zero before the first Replace
}

func (s *modelSink[T]) Listed(ctx context.Context, ev Event[T]) error {
	if ev.Type == Bookmark || ev.Object.model().key == "" {
		s.t.Errorf("listed %+v", ev)
	}
	if s.listed[ev.Object.model().key] = ev; ev.Type == Deleted {
		delete(s.listed, ev.Object.model().key)
	}
	if s.slow && s.server.faulty() && !s.server.sleep(ctx, time.Second) {
		return ctx.Err()
	}
	return nil
}

func (s *modelSink[T]) Skipped(bad *ObjectError) { s.skipped[bad.Key] = true }

func (s *modelSink[T]) Replace(_ context.Context, resourceVersion string) error {
	rv, err := strconv.Atoi(resourceVersion)
	if err != nil {
		s.t.Errorf("replace at %q", resourceVersion)
	}
	if rv < s.rv { // the model's storage never does
		s.t.Errorf("replace at %d after %d", rv, s.rv)
	}
	s.rv = rv
	for key := range s.skipped {
		s.server.seen["kept a skipped object"]++
		if old, ok := s.held[key]; ok {
			s.listed[key] = old
		}
	}
	s.held = maps.Clone(s.listed)
	s.Discard()
	return nil
}

func (s *modelSink[T]) Discard() { s.listed, s.skipped = map[string]Event[T]{}, map[string]bool{} }

func (s *modelSink[T]) Apply(_ context.Context, ev Event[T]) error {
	s.server.seen["event"]++
	rv, err := strconv.Atoi(ev.ResourceVersion)
	switch {
	case err != nil || s.rv == 0:
		s.t.Errorf("apply %+v before any list", ev)
	case len(s.listed) > 0 || len(s.skipped) > 0:
		s.t.Errorf("apply %+v in the middle of a list", ev)
	case rv == s.rv && ev.Type == Deleted && s.held[ev.Object.model().key].Type == 0: // the server repeats it after a list
	case rv < s.rv || rv == s.rv && ev.Type != Bookmark && s.server.changesAt(rv) == 1:
		s.t.Errorf("apply %+v after %d", ev, s.rv)
	}
	s.rv = rv
	switch ev.Type {
	case Added, Modified:
		s.held[ev.Object.model().key] = ev
	case Deleted:
		delete(s.held, ev.Object.model().key)
	}
	return nil
}
