package faketest_test

import (
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/kinform/kinform/fake/faketest"
)

func versioned(rv string) *pod {
	p := newPod("a", "p")
	p.ResourceVersion = rv
	return p
}

func TestHistoriesFindViolations(t *testing.T) {
	type histories = faketest.Histories[string, *pod]
	v2, v3 := versioned("2"), versioned("3")
	for name, c := range map[string]struct {
		events func(h *histories)
		want   string // empty for a legal history
	}{
		"legal":            {func(h *histories) { h.Added("k", v2); h.Updated("k", v2, v3); h.Deleted("k", v3); h.Added("k", v2) }, ""},
		"resync":           {func(h *histories) { h.Added("k", v2); h.Updated("k", v2, v2) }, ""},
		"newer delete":     {func(h *histories) { h.Added("k", v2); h.Deleted("k", v3) }, ""},
		"two keys":         {func(h *histories) { h.Added("k", v2); h.Added("l", v2) }, ""},
		"added twice":      {func(h *histories) { h.Added("k", v2); h.Added("k", v3) }, "event 2, key k: added while present"},
		"update of none":   {func(h *histories) { h.Updated("k", v2, v3) }, "updated while absent"},
		"other old":        {func(h *histories) { h.Added("k", v2); h.Updated("k", v3, v3) }, "last seen resourceVersion 2"},
		"equal old":        {func(h *histories) { h.Added("k", v2); h.Updated("k", versioned("2"), v3) }, "updated from resourceVersion 2"},
		"back in time":     {func(h *histories) { h.Added("k", v3); h.Updated("k", v3, v2) }, "back in time"},
		"update to nil":    {func(h *histories) { h.Added("k", v3); h.Updated("k", v3, nil) }, "without an object"},
		"delete of none":   {func(h *histories) { h.Deleted("k", v3) }, "deleted while absent"},
		"deleted twice":    {func(h *histories) { h.Added("k", v3); h.Deleted("k", v3); h.Deleted("k", v3) }, "deleted while absent"},
		"delete with nil":  {func(h *histories) { h.Added("k", v3); h.Deleted("k", nil) }, "without its last state"},
		"delete with past": {func(h *histories) { h.Added("k", v3); h.Deleted("k", v2) }, "deleted at resourceVersion 2"},
	} {
		var h histories
		c.events(&h)
		switch err := h.Err(); {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestHistoriesOfValues uses objects that are no pointers and cannot be compared by ==.
func TestHistoriesOfValues(t *testing.T) {
	type row struct{ cells []string }
	var h faketest.Histories[int, row]
	h.Added(1, row{[]string{"a"}})
	h.Updated(1, row{[]string{"a"}}, row{[]string{"b"}})
	if err := h.Err(); err != nil {
		t.Error(err)
	}
	h.Updated(1, row{[]string{"a"}}, row{[]string{"c"}})
	if h.Err() == nil {
		t.Error("a wrong old value passed")
	}
	for range 100 {
		h.Deleted(2, row{})
	}
	if text := h.Err().Error(); !strings.HasSuffix(text, "and 81 more") || strings.Count(text, "\n") != 20 {
		t.Error(text)
	}
}

// TestHistoriesAgainstModel feeds legal histories of many keys from many goroutines, and
// compares what is live in the end.
func TestHistoriesAgainstModel(t *testing.T) {
	var h faketest.Histories[int, *pod]
	want := map[int]*pod{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 3))
			live := map[int]*pod{}
			for range 1000 {
				k, next := worker*10+r.IntN(10), newPod("a", "p")
				switch old := live[k]; {
				case old == nil:
					h.Added(k, next)
					live[k] = next
				case r.IntN(3) == 0:
					h.Deleted(k, old)
					delete(live, k)
				default:
					h.Updated(k, old, next)
					live[k] = next
				}
			}
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(want, live)
		})
	}
	wg.Wait()
	if err := h.Err(); err != nil || h.Events() != 8000 {
		t.Fatalf("%d events: %v", h.Events(), err)
	}
	if !maps.Equal(want, maps.Collect(h.Live())) {
		t.Error("live objects differ")
	}
}
