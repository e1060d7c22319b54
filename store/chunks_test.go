package store

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCommitChunks makes the same random changes in one piece and in chunks: the results
// and the content must be the same, and readers see nothing before the end.
func TestCommitChunks(t *testing.T) {
	key := func(it *item) (id, error) {
		if it.version%17 == 0 {
			return id{}, errNoID
		}
		return it.id, nil
	}
	rnd := rand.New(rand.NewPCG(1, 7))
	whole, _ := New(key, Options[*item]{})
	parts, _ := New(key, Options[*item]{})
	for round := range 50 {
		var ops []Op[id, *item]
		for range rnd.IntN(3000) {
			k := id{num: rnd.IntN(500)}
			ops = append(ops, Op[id, *item]{Key: k, Object: &item{id: k, version: rnd.IntN(100)}, Delete: rnd.IntN(3) == 0})
		}
		rv := string(rune('1' + round%9))
		if round%3 == 0 {
			whole.Rewind()
			parts.Rewind()
		}
		copied := slices.Clone(ops)
		if err := whole.Commit(rv, ops); err != nil {
			t.Fatal(err)
		}
		before := parts.Len()
		err := parts.CommitChunks(rv, len(ops), func(yield func([]Op[id, *item]) bool) {
			for chunk := range slices.Chunk(copied, 1+rnd.IntN(300)) {
				if !yield(chunk) {
					t.Error("a chunk is not wanted")
				}
				if parts.Len() != before {
					t.Errorf("%d objects can be seen before the end, want %d", parts.Len(), before)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for n := range ops {
			got, want := copied[n], ops[n]
			if (got.Err == nil) != (want.Err == nil) || got.Old != want.Old || got.Had != want.Had {
				t.Fatalf("op %d: got %+v, want %+v", n, got, want)
			}
		}
		if err := parts.Check(); err != nil {
			t.Fatal(err)
		}
		if parts.Len() != whole.Len() || parts.ResourceVersion() != whole.ResourceVersion() {
			t.Fatalf("%d objects at %s, want %d at %s", parts.Len(), parts.ResourceVersion(), whole.Len(), whole.ResourceVersion())
		}
		for k, want := range whole.All() {
			if got, ok := parts.Get(k); !ok || got != want {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
	}
	parts.Close()
	if err := parts.CommitChunks("", 0, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("got error %v after Close", err)
	}
}
