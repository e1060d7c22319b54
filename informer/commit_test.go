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
	var c changes[string, string]
	fill := func(n int) {
		for range n {
			c.ops = append(c.ops, store.Op[string, string]{Object: "x"})
			c.outcomes = append(c.outcomes, outcome[string]{old: "x"})
			c.failed = append(c.failed, nil)
		}
	}
	fill(10)
	c.reset()
	if len(c.ops) != 0 || cap(c.ops) == 0 {
		t.Errorf("%d of %d ops kept, want none of some", len(c.ops), cap(c.ops))
	}
	if c.ops[:1][0].Object != "" || c.outcomes[:1][0].old != "" || c.failed != nil {
		t.Error("reset keeps an object alive")
	}
	fill(keepChanges + 1)
	c.reset()
	if cap(c.ops) != 0 || cap(c.outcomes) != 0 {
		t.Errorf("room for %d ops kept after a large batch", cap(c.ops))
	}
}
