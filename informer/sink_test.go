package informer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	type object = *metav1.PartialObjectMetadata
	named := func(namespace, name string) object {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	// Keys that are no names, to show that the names of the objects count.
	byUpper := func(o object) (string, error) { return strings.ToUpper(o.Namespace + "." + o.Name), nil }
	cache, err := store.New(byUpper, store.Options[object]{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []object{named("a", "b"), named("a", "c"), named("", "c"), named("", "b")} {
		if err := cache.Set(o); err != nil {
			t.Fatal(err)
		}
	}
	inf := &Informer[string, object]{store: cache}
	bad := func(key string, err error) *reflector.ObjectError { return &reflector.ObjectError{Key: key, Err: err} }
	broken := errors.New("broken")
	for _, c := range []struct {
		name    string
		skipped []*reflector.ObjectError
		want    string
	}{
		{"nothing", nil, ""},
		{"no name", []*reflector.ObjectError{bad("", reflector.ErrNoName)}, ""},
		{"two names", []*reflector.ObjectError{bad("a/b", broken), bad("c", broken)}, "A.B .C A.ON-ITS-WAY"},
		{"a name that is not known", []*reflector.ObjectError{bad("a/b", broken), bad("", broken)}, "A.B A.C .B .C A.ON-ITS-WAY"},
	} {
		var kept []string
		keep := inf.keeper(c.skipped)
		for _, k := range []string{"A.B", "A.C", ".B", ".C", "A.ON-ITS-WAY"} {
			if keep != nil && keep(k) {
				kept = append(kept, k)
			}
		}
		want := strings.Fields(c.want)
		slices.Sort(kept)
		slices.Sort(want)
		if !slices.Equal(kept, want) {
			t.Errorf("%s: keeps %q, want %q", c.name, kept, want)
		}
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
