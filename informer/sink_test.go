package informer

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// TestListInProgress gives a sink the live changes that a streaming list can have between
// its objects.
func TestListInProgress(t *testing.T) {
	inf := &Informer[string, string]{
		key:  func(obj string) (string, error) { return obj[:1], nil },
		fifo: deltafifo.New[string, string](nil, deltafifo.Options{}),
	}
	s := &sink[string, string]{inf: inf}
	listed := func(typ reflector.EventType, obj string) {
		t.Helper()
		if err := s.Listed(t.Context(), reflector.Event[string]{Type: typ, Object: obj}); err != nil {
			t.Fatal(err)
		}
	}
	listed(reflector.Added, "gone before Discard")
	s.Discard()
	listed(reflector.Added, "a1")
	listed(reflector.Added, "b1")
	listed(reflector.Added, "c1")
	listed(reflector.Deleted, "x: was not listed")
	listed(reflector.Modified, "a2")
	listed(reflector.Deleted, "b1")
	listed(reflector.Added, "b2")
	listed(reflector.Deleted, "c1")
	listed(reflector.Added, "d1")
	listed(reflector.Modified, "d2")
	if err := s.Replace(t.Context(), "9"); err != nil {
		t.Fatal(err)
	}
	batch, err := inf.fifo.Pop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for k, deltas := range batch.All() {
		if len(deltas) != 1 || deltas[0].Type != deltafifo.Replaced {
			t.Errorf("%s has deltas %v", k, deltas)
		}
		got[k] = deltas[0].Object
	}
	if want := (map[string]string{"a": "a2", "b": "b2", "d": "d2"}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the list is %v, want %v", got, want)
	}
	if s.items != nil || s.at != nil {
		t.Error("the sink keeps the list after Replace")
	}
}

func TestListedEndsWithContext(t *testing.T) {
	s := &sink[string, string]{inf: &Informer[string, string]{key: func(obj string) (string, error) { return obj, nil }}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Listed(ctx, reflector.Event[string]{Type: reflector.Added, Object: "a"}); err == nil {
		t.Error("a list goes on though its context is done")
	}
}

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

func TestKeeper(t *testing.T) {
	bad := func(key string) *reflector.ObjectError {
		return &reflector.ObjectError{Key: key, Err: fmt.Errorf("broken")}
	}
	names := keeper[types.NamespacedName]([]*reflector.ObjectError{bad("a/b"), bad("c")})
	for _, c := range []struct {
		key  types.NamespacedName
		want bool
	}{
		{types.NamespacedName{Namespace: "a", Name: "b"}, true},
		{types.NamespacedName{Namespace: "a", Name: "c"}, false},
		{types.NamespacedName{Name: "c"}, true}, // cluster-scoped
		{types.NamespacedName{Name: "b"}, false},
	} {
		if got := names(c.key); got != c.want {
			t.Errorf("keeps %v: %v, want %v", c.key, got, c.want)
		}
	}
	if keep := keeper[int]([]*reflector.ObjectError{bad("a/b")}); !keep(7) {
		t.Error("a key that is no name may be that of a/b")
	}
	if keeper[int](nil) != nil {
		t.Error("there is something to keep though nothing was skipped")
	}
}

func TestChangesAreEmptiedAndLetGo(t *testing.T) {
	var c changes[string, string]
	fill := func(n int) {
		for range n {
			c.ops = append(c.ops, store.Op[string, string]{Object: "x"})
			c.deltas = append(c.deltas, &deltafifo.Delta[string]{})
		}
	}
	fill(10)
	c.reset()
	if len(c.ops) != 0 || cap(c.ops) == 0 {
		t.Errorf("%d of %d ops kept, want none of some", len(c.ops), cap(c.ops))
	}
	if c.ops[:1][0].Object != "" || c.deltas[:1][0] != nil {
		t.Error("reset keeps an object alive")
	}
	fill(keepChanges + 1)
	c.reset()
	if cap(c.ops) != 0 || cap(c.deltas) != 0 {
		t.Errorf("room for %d ops kept after a large batch", cap(c.ops))
	}
}
