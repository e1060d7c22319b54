package informer

import (
	"context"
	"testing"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/store"
)

// A batch makes an object anew if it deletes it and then has it again, not if it changes it twice.
func TestRemakes(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		put  func(*deltafifo.DeltaFIFO[int, state]) error
		want bool
	}{
		"changed": {func(f *deltafifo.DeltaFIFO[int, state]) error { return f.Update(ctx, 1, state{1, 2}, "") }, false},
		"deleted": {func(f *deltafifo.DeltaFIFO[int, state]) error { return f.Delete(ctx, 1, state{1, 2}, "") }, false},
		"remade": {func(f *deltafifo.DeltaFIFO[int, state]) error {
			if err := f.Delete(ctx, 1, state{1, 2}, ""); err != nil {
				return err
			}
			return f.Add(ctx, 1, state{1, 3}, "")
		}, true},
	} {
		f := deltafifo.New[int, state](nil, deltafifo.Options{})
		if err := f.Add(ctx, 1, state{1, 1}, ""); err != nil {
			t.Fatal(err)
		}
		if err := c.put(f); err != nil {
			t.Fatal(err)
		}
		batch, err := f.Pop(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if got := remakes(batch, 1); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A store that has no version yet has not caught up with a write.
func TestEmptyStoreIsBehind(t *testing.T) {
	s, err := store.New(func(o state) (int, error) { return o.id, nil }, store.Options[state]{})
	if err != nil {
		t.Fatal(err)
	}
	i := &Informer[int, state]{store: s}
	if i.caughtUp(1, ahead[state]{obj: state{id: 1}, rv: "5"}) {
		t.Error("a store without a version counts as newer than a write at 5")
	}
	if err := s.Commit("5", nil); err != nil {
		t.Fatal(err)
	}
	if !i.caughtUp(1, ahead[state]{obj: state{id: 1}, rv: "5"}) {
		t.Error("a store at 5 counts as older than a write at 5")
	}
}
