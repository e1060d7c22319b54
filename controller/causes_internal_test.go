package controller

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/internal/note"
	"github.com/kinform/kinform/kind"
)

type thingsKept = events[types.NamespacedName, *metav1.PartialObjectMetadata]

// handled returns the handler of For for a handle or a plain informer, the events that it keeps, and what it works on.
func handled(tb testing.TB, plain bool) (*Controller[types.NamespacedName], *thingsKept, func(informer.Event[types.NamespacedName, *metav1.PartialObjectMetadata])) {
	h := Open(client.Connection{URL: "http://example.com"}, kind.Of[*metav1.PartialObjectMetadata](schema.GroupVersion{Version: "v1"}, "things"))
	c := New("", func(context.Context, types.NamespacedName) error { return nil })
	from := h.writes()
	if plain {
		from = nil
	}
	if err := h.Err(); err != nil {
		tb.Fatal(err)
	}
	kept := &thingsKept{number: 1}
	return c, kept, unauthored(c, from, kept, func(ev informer.Event[types.NamespacedName, *metav1.PartialObjectMetadata], enqueue func(types.NamespacedName, int)) {
		enqueue(ev.Key, 0)
	})
}

func thingEvents(n int) (all []informer.Event[types.NamespacedName, *metav1.PartialObjectMetadata]) {
	for i := range n {
		old, now := &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadata{}
		old.Name, now.Name = string(rune('a'+i)), string(rune('a'+i))
		old.ResourceVersion, now.ResourceVersion = "100", "101"
		all = append(all, informer.Event[types.NamespacedName, *metav1.PartialObjectMetadata]{
			Type: informer.Updated, Key: types.NamespacedName{Namespace: "prod", Name: now.Name}, Old: old, Object: now,
		})
	}
	return all
}

// 10,000 causes per second, of one key and of many, while each reconcile takes a second: the writer of the events never
// waits, each cause is counted, and what is kept has a bound.
func TestManyCauses(t *testing.T) {
	const all = 20_000
	for _, keys := range []int{1, 500} {
		synctest.Test(t, func(t *testing.T) {
			c, kept, handle := handled(t, false)
			var counted atomic.Int64
			c.reconcile = func(ctx context.Context, _ types.NamespacedName) error {
				time.Sleep(time.Second)
				causes := CausesOf(ctx)
				if n := len(causes.Newest); n > note.Kept || n == 0 {
					t.Errorf("%d causes of %d", n, causes.Adds)
				}
				counted.Add(int64(causes.Adds))
				return nil
			}
			events := thingEvents(keys)
			handle(events[0])
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- c.Run(ctx) }()
			began := time.Now()
			for i := range all - 1 {
				handle(events[(i+1)%keys])
				time.Sleep(100 * time.Microsecond)
				if i%100 == 0 {
					checkBounds(t, c, kept, keys)
				}
			}
			if took := time.Since(began); took != (all-1)*100*time.Microsecond {
				t.Errorf("the writer took %v", took)
			}
			time.Sleep(time.Hour)
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if got := counted.Load(); got != all {
				t.Errorf("%d keys: %d causes, want %d", keys, got, all)
			}
		})
	}
}

// checkBounds compares what is kept of events with its bounds.
func checkBounds(t *testing.T, c *Controller[types.NamespacedName], kept *thingsKept, keys int) {
	t.Helper()
	kept.mu.Lock()
	defer kept.mu.Unlock()
	objects := 0
	for _, ev := range kept.kept {
		if ev.now != nil {
			objects++
		}
	}
	c.underway.mu.Lock()
	defer c.underway.mu.Unlock()
	for _, held := range c.underway.held {
		if len(held) > maxHeld {
			t.Errorf("%d events are held", len(held))
		}
	}
	if len(kept.kept) > maxEvents || objects > maxObjects || c.queue.Len() > keys || len(c.underway.held) > keys {
		t.Errorf("%d events, %d objects, %d keys in the queue, %d run", len(kept.kept), objects, c.queue.Len(), len(c.underway.held))
	}
}

// An event that queues a key allocates nothing for its cause, and the key takes little more.
func TestCausesDoNotAllocate(t *testing.T) {
	if size := unsafe.Sizeof(note.Notes{}); size > 64 {
		t.Errorf("a queued key has %d bytes of causes", size)
	}
	if memtest.Race {
		t.Skip("the race detector allocates too")
	}
	for _, plain := range []bool{false, true} {
		c, _, handle := handled(t, plain)
		all := thingEvents(20)
		for range maxEvents {
			for _, ev := range all {
				handle(ev)
			}
		}
		i := 0
		if n := testing.AllocsPerRun(1000, func() { handle(all[i%len(all)]); i++ }); n > 0 {
			t.Errorf("%v allocations per event", n)
		}
		if _, waiting := c.KeyState(all[0].Key); waiting.Adds < maxEvents {
			t.Errorf("%d adds", waiting.Adds)
		}
	}
}

// curiousKey is a key whose text says whether the events are locked.
type curiousKey struct{ of *events[curiousKey, int] }

func (k curiousKey) String() string {
	if !k.of.mu.TryLock() {
		return "locked"
	}
	defer k.of.mu.Unlock()
	return "free"
}

// The text of a key is made without the lock that the handler needs.
func TestKeyTextWithoutLock(t *testing.T) {
	kept := &events[curiousKey, int]{}
	is := kept.add(&informer.Event[curiousKey, int]{Type: informer.Updated, Key: curiousKey{kept}, Old: 1, Object: 2}, false)
	if key, old, now := kept.find(is); key != "free" || old != 1 || now != 2 {
		t.Errorf("find returned %q, %v, %v", key, old, now)
	}
}

// BenchmarkEvent is an event from the handler to a queue that has the key.
func BenchmarkEvent(b *testing.B) {
	for name, plain := range map[string]bool{"handle": false, "informer": true} {
		b.Run("of="+name, func(b *testing.B) {
			_, _, handle := handled(b, plain)
			all := thingEvents(20)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				handle(all[i%len(all)])
			}
		})
	}
}

// A note says all of an event but its object, whatever the numbers.
func TestEventNote(t *testing.T) {
	for _, of := range []informer.EventType{informer.Added, informer.Updated, informer.Deleted} {
		for bits := range 16 {
			flags := [4]bool{bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0}
			is := eventNote(maxInput+7, maxNumber+5, of, flags)
			got := [4]bool{is&isInitial != 0, is&isSync != 0, is&isReplaced != 0, is&isOwn != 0}
			if is&note.Event == 0 || typeOf(is) != of || got != flags || uint64(is)>>numberAt != 4 || uint64(is)>>inputAt&maxInput != 6 {
				t.Errorf("got %x of %v, %v", is, of, flags)
			}
			if c := causeOf(nil, "", is); c.Own != flags[3] {
				t.Errorf("got %+v, want %v", c, flags)
			}
		}
	}
}

// Each cause has its words.
func TestCauseInWords(t *testing.T) {
	for is, want := range map[note.Note]string{
		note.ByHand: "added by hand", note.Delayed: "delay ended", note.Retry: "retry", note.Again: "asked for again",
		note.CutShort: "cut short", note.Freed: "name freed", note.PutOff: "put off",
	} {
		if got := causeOf(nil, "", is); got != (Cause{Why: want, note: is}) || got.String() != want || got.Changed() != nil {
			t.Errorf("%d: got %v, want %s", is, got, want)
		}
	}
	updated := eventNote(1, 1, informer.Updated, [4]bool{})
	of := Cause{Resource: "jobs.batch", Key: "prod/x", Old: "41", Version: "57"}
	for want, change := range map[string]func(c *Cause) (is note.Note){
		"jobs.batch prod/x updated 41 → 57":                  func(*Cause) note.Note { return updated },
		"jobs.batch prod/x updated 41 → 57, by this process": func(c *Cause) note.Note { c.Own = true; return updated },
		"jobs.batch prod/x replaced 41 → 57":                 func(c *Cause) note.Note { return updated | isReplaced },
		"jobs.batch prod/x unchanged 57":                     func(c *Cause) note.Note { c.Old = ""; return updated | isSync },
		"jobs.batch prod/x found 57":                         func(c *Cause) note.Note { c.Old = ""; return note.Event | note.Note(informer.Added) | isInitial },
		"jobs.batch prod/x deleted 57":                       func(c *Cause) note.Note { c.Old = ""; return note.Event | note.Note(informer.Deleted) },
		"jobs.batch updated":                                 func(c *Cause) note.Note { c.Key, c.Old, c.Version = "", "", ""; return updated },
		"an object that is not watched any more updated":     func(c *Cause) note.Note { *c = Cause{}; return updated },
	} {
		c := of
		c.note = change(&c)
		if c.Why = whyOf(c.note); c.String() != want {
			t.Errorf("got %s, want %s", c, want)
		}
	}
}

// The reason is behind the retries.
func TestReason(t *testing.T) {
	if got := inWords(nil, "", &note.Notes{}).Reason(); got != (Cause{}) {
		t.Errorf("without a cause: got %v", got)
	}
	for _, test := range []struct {
		newest []note.Note
		want   note.Note
	}{
		{[]note.Note{note.Retry}, note.Retry},
		{[]note.Note{note.CutShort, note.PutOff, note.Retry}, note.CutShort},
		{[]note.Note{note.Retry, note.Event + 5, note.Event}, note.Event + 5},
		{[]note.Note{note.ByHand, note.Retry, note.Event}, note.ByHand},
	} {
		var n note.Notes
		for _, is := range slices.Backward(test.newest) {
			n.Add(is)
		}
		if got := inWords(nil, "", &n).Reason(); got != causeOf(nil, "", test.want) {
			t.Errorf("%v: got %v", test.newest, got)
		}
	}
}
