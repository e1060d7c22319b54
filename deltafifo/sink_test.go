package deltafifo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/reflector"
)

// sinkAndQueue is a sink with the queue that it fills.
type sinkAndQueue struct {
	*Sink[string, string]
	fifo *DeltaFIFO[string, string]
}

func newSink(key func(string) (string, error)) sinkAndQueue { return newLimited(key, Options{}) }

func newLimited(key func(string) (string, error), opts Options) sinkAndQueue {
	f := New[string, string](nil, opts)
	return sinkAndQueue{f.Sink(key, func(*reflector.ObjectError) {}), f}
}

// TestListInProgress gives a sink the live changes that a streaming list can have between
// its objects.
func TestListInProgress(t *testing.T) {
	s := newSink(func(obj string) (string, error) { return obj[:1], nil })
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
	batch, err := s.fifo.Pop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for k, deltas := range batch.All() {
		if len(deltas) != 1 || deltas[0].Type != Replaced {
			t.Errorf("%s has deltas %v", k, deltas)
		}
		got[k] = deltas[0].Object
	}
	if want := (map[string]string{"a": "a2", "b": "b2", "d": "d2"}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the list is %v, want %v", got, want)
	}
	if s.items != nil {
		t.Error("the sink keeps the list after Replace")
	}
}

// TestLongList lists many objects, with and without a change that comes after them.
func TestLongList(t *testing.T) {
	for _, n := range []int{1023, 1024, 1025, 3077} {
		for _, change := range []bool{false, true} {
			t.Run(fmt.Sprint(n, change), func(t *testing.T) { longList(t, n, change) })
		}
	}
}

func longList(t *testing.T, n int, change bool) {
	s := newSink(func(obj string) (string, error) { return obj, nil })
	want := map[string]bool{}
	listed := func(typ reflector.EventType, obj string) {
		if want[obj] = true; typ == reflector.Deleted {
			delete(want, obj)
		}
		if err := s.Listed(t.Context(), reflector.Event[string]{Type: typ, Object: obj}); err != nil {
			t.Fatal(err)
		}
	}
	for k := range n {
		listed(reflector.Added, fmt.Sprint("object ", k))
	}
	if change {
		listed(reflector.Deleted, "object 0")
		listed(reflector.Modified, fmt.Sprint("object ", n-1))
		listed(reflector.Added, "new")
	}
	if err := s.Replace(t.Context(), "9"); err != nil {
		t.Fatal(err)
	}
	batch, err := s.fifo.Pop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if batch.Len() != len(want) {
		t.Errorf("%d deltas for %d objects", batch.Len(), len(want))
	}
	for key := range batch.All() {
		if !want[key] {
			t.Errorf("%s is listed", key)
		}
	}
	if s.items != nil {
		t.Error("the sink keeps the list after Replace")
	}
}

func TestListedEndsWithContext(t *testing.T) {
	s := newSink(func(obj string) (string, error) { return obj, nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Listed(ctx, reflector.Event[string]{Type: reflector.Added, Object: "a"}); err == nil {
		t.Error("a list goes on though its context is done")
	}
}

func TestKeeper(t *testing.T) {
	type object = *metav1.PartialObjectMetadata
	named := func(namespace, name string) object {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	// Keys that are no names, to show that the names of the objects count.
	byUpper := func(o object) (string, error) { return strings.ToUpper(o.Namespace + "." + o.Name), nil }
	objects := map[string]object{}
	for _, o := range []object{named("a", "b"), named("a", "c"), named("", "c"), named("", "b")} {
		key, _ := byUpper(o)
		objects[key] = o
	}
	bad := func(key string, err error) *reflector.ObjectError { return &reflector.ObjectError{Key: key, Err: err} }
	broken := errors.New("broken")
	for _, c := range []struct {
		name    string
		skipped []*reflector.ObjectError
		want    string
	}{
		{"nothing", nil, ""},
		{"no name", []*reflector.ObjectError{bad("", reflector.ErrNoName)}, ""},
		{"two names", []*reflector.ObjectError{bad("a/b", broken), bad("c", broken)}, "A.B .C"},
		{"a name that is not known", []*reflector.ObjectError{bad("a/b", broken), bad("", broken)}, "A.B A.C .B .C"},
	} {
		var kept []string
		keep := keeper[string, object](c.skipped)
		for k, o := range objects {
			if keep != nil && keep(k, o) {
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
