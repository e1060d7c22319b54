package deltafifo

import (
	"maps"
	"slices"
	"testing"

	"github.com/kinform/kinform/internal/memtest"
)

// next takes a batch and returns what is in it.
func next(t *testing.T, f *DeltaFIFO[int, int]) (Batch[int, int], map[int][]Delta[int]) {
	t.Helper()
	b, err := f.Pop(never)
	if err != nil {
		t.Fatal(err)
	}
	f.check(t)
	return b, maps.Collect(b.All())
}

// An initial list of nothing is news, though there is neither a delta nor a version.
func TestEmptyInitialList(t *testing.T) {
	f := New[int, int](nil, Options{})
	must(t, f.Replace(never, Replacement[int, int]{}))
	b, _ := next(t, f)
	if b.Len() != 0 || b.ResourceVersion() != "" || !b.EndsInitialList() {
		t.Errorf("got %d deltas at %q, end of the initial list: %t", b.Len(), b.ResourceVersion(), b.EndsInitialList())
	}
	must(t, f.Replace(never, Replacement[int, int]{}))
	if b, err := f.Pop(never); err == nil {
		t.Errorf("got %d deltas for a second list of nothing", b.Len())
	}
}

// The deletion that a list found and the one that the watch reports afterwards are one,
// with the object that the watch has. The other way round nothing is added either.
func TestDeletedTwice(t *testing.T) {
	store := newShelf[int]()
	store.m[1], store.m[2] = 10, 20
	f := New(store, Options{})
	must(t,
		f.Delete(never, 2, 21, ""),
		f.Replace(never, Replacement[int, int]{}),
		f.Delete(never, 1, 11, ""),
		f.Delete(never, 1, 12, "5"),
	)
	b, got := next(t, f)
	want := map[int][]Delta[int]{1: {{Type: Deleted, Object: 11}}, 2: {{Type: Deleted, Object: 21}}}
	if !maps.EqualFunc(got, want, slices.Equal) || b.ResourceVersion() != "5" {
		t.Errorf("got %v at %q, want %v at 5", got, b.ResourceVersion(), want)
	}
	// Still not committed, so that the store has both.
	must(t, f.Delete(never, 1, 13, ""), f.Delete(never, 2, 23, ""), f.Replace(never, Replacement[int, int]{}))
	if f.Len() != 0 {
		t.Errorf("%d deltas for what is deleted already", f.Len())
	}
}

// What is in flight counts before what is known, even when the store has half of it.
func TestReplaceSeesInFlight(t *testing.T) {
	store := newShelf[int]()
	store.m[1], store.m[2], store.m[3] = 10, 20, 30
	f := New(store, Options{})
	must(t, f.Delete(never, 1, 10, ""), f.Update(never, 2, 21, ""), f.Add(never, 4, 40, ""))
	_, _ = next(t, f)
	must(t, f.Replace(never, Replacement[int, int]{Keep: func(key, _ int) bool { return key == 3 }}))
	_, got := next(t, f)
	gone := func(obj int) []Delta[int] {
		return []Delta[int]{{Type: Deleted, FinalStateUnknown: true, Object: obj}}
	}
	if want := (map[int][]Delta[int]{2: gone(21), 4: gone(40)}); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A batch can be ranged over again, and be left in the middle.
func TestRangeTwice(t *testing.T) {
	f := New[int, int](nil, Options{})
	for key := range 5 {
		must(t, f.Add(never, key, key, ""))
	}
	b, err := f.Pop(never)
	must(t, err)
	for range 2 {
		seen := 0
		for key := range b.All() {
			if key != seen {
				t.Fatalf("got key %d, want %d", key, seen)
			}
			if seen++; seen == 3 {
				break
			}
		}
	}
	if n := memtest.Allocs(10, func() {
		for range b.All() {
		}
	}); n > 0 {
		t.Errorf("%g allocations to range", n)
	}
}

func TestZeroBatch(t *testing.T) {
	var b Batch[int, int]
	for range b.All() {
		t.Error("has a key")
	}
	if b.Len() != 0 || b.ResourceVersion() != "" || b.EndsInitialList() {
		t.Errorf("not empty: %d, %q, %t", b.Len(), b.ResourceVersion(), b.EndsInitialList())
	}
}

func TestDeltaTypeString(t *testing.T) {
	for d, want := range map[DeltaType]string{
		Added: "Added", Updated: "Updated", Deleted: "Deleted", Replaced: "Replaced", Sync: "Sync",
		0: "DeltaType(0)", 200: "DeltaType(200)",
	} {
		if got := d.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
