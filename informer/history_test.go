package informer_test

import (
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/informer"
)

// history is a handler that checks the contracts of the package for all it is called
// with, and remembers what it saw.
type history struct {
	inf    *informer.Informer[key, *widget]
	passes func(*widget) bool // the handler's filter
	syncs  bool               // the handler may get events that are no changes
	seen   faketest.Histories[key, *widget]

	mu     sync.Mutex
	events []informer.Event[key, *widget]
	last   map[key]*widget
	faults []string
}

// newHistory returns one that must be legal at the end of the test.
func newHistory(t testing.TB, inf *informer.Informer[key, *widget]) *history {
	h := &history{inf: inf, syncs: true, passes: func(*widget) bool { return true }, seen: faketest.Histories[key, *widget]{Packed: allPacked()}, last: map[key]*widget{}}
	t.Cleanup(func() { h.checkEvents(t, "a handler") })
	return h
}

// checked returns a handler that calls handle, and whose history must be legal at the end of
// the test.
func checked(t testing.TB, inf *informer.Informer[key, *widget], handle func(informer.Event[key, *widget])) informer.HandlerFunc[key, *widget] {
	h := newHistory(t, inf)
	return func(ev informer.Event[key, *widget]) {
		h.Handle(ev)
		handle(ev)
	}
}

// record puts an event into what is seen by its handler.
func record[T any](seen *faketest.Histories[key, T], ev informer.Event[key, T]) {
	switch ev.Type {
	case informer.Added:
		seen.Added(ev.Key, ev.Object)
	case informer.Updated:
		seen.Updated(ev.Key, ev.Old, ev.Object)
	case informer.Deleted:
		seen.Deleted(ev.Key, ev.Object)
	}
}

func (h *history) Handle(ev informer.Event[key, *widget]) {
	record(&h.seen, ev)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, ev)
	if ev.Type == informer.Added && ev.Old != nil {
		h.fault(ev, "it has an old object")
	}
	if ev.Type == informer.Deleted && (ev.Old == nil || !sameWidget(ev.Old, h.last[ev.Key])) {
		h.fault(ev, "its old object is not what was seen last")
	}
	h.last[ev.Key] = ev.Object
	if ev.Sync != (ev.Type == informer.Updated && ev.Old == ev.Object) {
		h.fault(ev, "it is flagged as a sync and is none, or the other way round")
	}
	if ev.Sync && !h.syncs {
		h.fault(ev, "it is a sync that nobody asked for")
	}
	if !h.passes(ev.Object) && ev.Type != informer.Deleted || ev.Old != nil && !h.passes(ev.Old) {
		h.fault(ev, "it does not pass the filter")
	}
	h.checkStore(ev)
}

// checkStore makes sure that the store is at least as new as ev.
func (h *history) checkStore(ev informer.Event[key, *widget]) {
	stored, there := h.inf.Store().Get(ev.Key)
	switch {
	case ev.Type == informer.Deleted && there && stored == ev.Object:
		h.fault(ev, "the store still has it")
	case ev.Type != informer.Deleted && there && older(stored.ResourceVersion, ev.Object.ResourceVersion):
		h.fault(ev, "the store has an older one")
	}
}

func older(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}

func (h *history) fault(ev informer.Event[key, *widget], what string) {
	h.faults = append(h.faults, fmt.Sprintf("%v %v: %s", ev.Type, ev.Key, what))
}

// checkEvents reports what was wrong with what the handler saw.
func (h *history) checkEvents(t testing.TB, name string) {
	t.Helper()
	if err := h.seen.Err(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, fault := range h.faults {
		t.Errorf("%s: %s", name, fault)
	}
}

// check is checkEvents and reports differences between what the handler ended up with
// and the store.
func (h *history) check(t testing.TB, name string) {
	t.Helper()
	h.checkEvents(t, name)
	live, want := 0, 0
	for w := range h.inf.Store().Values() {
		if h.passes(w) {
			want++
		}
	}
	for k, last := range h.seen.Live() {
		live++
		if stored, _ := h.inf.Store().Get(k); !sameWidget(stored, last) {
			t.Errorf("%s: saw another %v last than the store has", name, k)
		}
	}
	if live != want {
		t.Errorf("%s: ended up with %d objects, the store with %d", name, live, want)
	}
}

// count returns how many events the handler saw.
func (h *history) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.events)
}

// types returns what the handler saw of k, such as "Added Updated".
func (h *history) types(k key) (s string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ev := range h.events {
		if ev.Key != k {
			continue
		}
		if s != "" {
			s += " "
		}
		s += ev.Type.String()
		if ev.Initial {
			s += "(initial)"
		}
		if ev.FinalStateUnknown {
			s += "(unknown)"
		}
		if ev.Sync {
			s += "(sync)"
		}
	}
	return s
}
