package deltafifo

import (
	"context"
	"slices"
	"testing"
)

// A loop over All sees one moment, even if its body takes the deltas and adds others, and what it
// got stays as it was.
func TestAllIsOneMoment(t *testing.T) {
	ctx := context.Background()
	f := New[int, int](nil, Options{})
	for key := range 3 {
		if err := f.Add(ctx, key, 10*key, ""); err != nil {
			t.Fatal(err)
		}
	}
	kept := f.Get(1)
	var seen []int
	var first []Delta[int]
	for key, deltas := range f.All() {
		if seen = append(seen, key); len(seen) > 1 {
			continue
		}
		first = deltas
		for range 3 { // reuses the memory of the batch
			if _, err := f.Pop(ctx); err != nil {
				t.Fatal(err)
			}
			if err := f.Add(ctx, 3, 9, ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !slices.Equal(seen, []int{0, 1, 2}) {
		t.Errorf("saw %v", seen)
	}
	if len(first) != 1 || first[0].Object != 0 || len(kept) != 1 || kept[0].Object != 10 {
		t.Errorf("the copies changed: %v, %v", first, kept)
	}
	if got := f.Get(0); got != nil {
		t.Errorf("taken deltas are returned: %v", got)
	}
	for range f.All() {
		break // must not go on
	}
}

// comparePending compares what Get and All return with the pending deltas of the model.
func (s *script) comparePending() {
	s.t.Helper()
	same := func(d Delta[int], p put) bool { return d == p.delta }
	total := 0
	for key, got := range s.queue.All() {
		if puts := of(s.model.pending, key); len(puts) == 0 || !slices.EqualFunc(got, puts, same) {
			s.t.Fatalf("pending of key %d: got %v, want %v", key, got, puts)
		}
		total += len(got)
	}
	if total != len(s.model.pending) {
		s.t.Fatalf("got %d pending deltas, want %d", total, len(s.model.pending))
	}
	for key := range s.keys {
		if got, puts := s.queue.Get(key), of(s.model.pending, key); !slices.EqualFunc(got, puts, same) {
			s.t.Fatalf("Get(%d): got %v, want %v", key, got, puts)
		}
	}
}
