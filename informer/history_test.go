package informer_test

import (
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinform/kinform/informer"
)

// history is a handler that checks the contracts of the package for all it is called
// with, and remembers what it saw last of each key.
type history struct {
	inf *informer.Informer[key, *widget]

	mu     sync.Mutex
	last   map[key]*widget
	events []informer.Event[key, *widget]
	faults []string
}

func newHistory(inf *informer.Informer[key, *widget]) *history {
	return &history{inf: inf, last: map[key]*widget{}}
}

func (h *history) Handle(ev informer.Event[key, *widget]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, ev)
	last, seen := h.last[ev.Key]
	switch {
	case ev.Object == nil:
		h.fault(ev, "it has no object")
		return
	case ev.Type == informer.Added && seen:
		h.fault(ev, "the key was there")
	case ev.Type != informer.Added && !seen:
		h.fault(ev, "the key was not there")
	case ev.Type == informer.Updated && ev.Old != last:
		h.fault(ev, "its old object is not the one seen last")
	case ev.Type != informer.Updated && ev.Old != nil:
		h.fault(ev, "it has an old object")
	case ev.Type == informer.Deleted && ev.FinalStateUnknown && ev.Object != last:
		h.fault(ev, "its object is not the one seen last")
	}
	h.checkStore(ev)
	if ev.Type == informer.Deleted {
		delete(h.last, ev.Key)
	} else {
		h.last[ev.Key] = ev.Object
	}
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

// check reports what was wrong, and differences between what the handler ended up with
// and the store.
func (h *history) check(t testing.TB, name string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, fault := range h.faults {
		t.Errorf("handler %s: %s", name, fault)
	}
	if len(h.last) != h.inf.Store().Len() {
		t.Errorf("handler %s: ended up with %d objects, the store with %d", name, len(h.last), h.inf.Store().Len())
	}
	for k, last := range h.last {
		if stored, _ := h.inf.Store().Get(k); stored != last {
			t.Errorf("handler %s: saw another %v last than the store has", name, k)
		}
	}
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
	}
	return s
}
