package informer

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/store"
)

func TestKeyString(t *testing.T) {
	for _, c := range []struct {
		got, want string
	}{
		{keyString(types.NamespacedName{Namespace: "a", Name: "b"}), "a/b"},
		{keyString(types.NamespacedName{Name: "b"}), "b"},
		{keyString(7), "7"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestChangesAreEmptiedAndLetGo(t *testing.T) {
	var c changes[int, state]
	fill := func(n int) {
		for range n {
			c.ops = append(c.ops, store.Op[int, state]{Object: state{id: 1}})
			c.outcomes = append(c.outcomes, outcome[state]{old: state{id: 1}})
			c.failed = append(c.failed, nil)
		}
	}
	fill(10)
	c.reset()
	if len(c.ops) != 0 || cap(c.ops) == 0 {
		t.Errorf("%d of %d ops kept, want none of some", len(c.ops), cap(c.ops))
	}
	if c.ops[:1][0].Object.id != 0 || c.outcomes[:1][0].old.id != 0 || c.failed != nil {
		t.Error("reset keeps an object alive")
	}
	fill(keepChanges + 1)
	c.reset()
	if cap(c.ops) != 0 || cap(c.outcomes) != 0 {
		t.Errorf("room for %d ops kept after a large batch", cap(c.ops))
	}
}
