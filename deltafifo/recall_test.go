package deltafifo

import (
	"fmt"
	"iter"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/compare"
	"github.com/kinform/kinform/internal/objid"
	"github.com/kinform/kinform/reflector"
)

type versioned = metav1.PartialObjectMetadata

// cupboard is a known store that compares by UID and version. All objects have the sum 1.
type cupboard map[types.NamespacedName]*versioned

func (c cupboard) Get(key types.NamespacedName) (*versioned, bool)     { obj, ok := c[key]; return obj, ok }
func (c cupboard) Len() int                                            { return len(c) }
func (c cupboard) Omits(string) bool                                   { return true }
func (c cupboard) Brought(key types.NamespacedName) (*versioned, bool) { return c.Get(key) }
func (c cupboard) Awaits(types.NamespacedName) bool                    { return false }
func (c cupboard) Ahead() bool                                         { return false }
func (c cupboard) Awaited() ([]types.NamespacedName, uint64)           { return nil, 0 }
func (c cupboard) All() iter.Seq2[types.NamespacedName, *versioned] {
	return func(yield func(types.NamespacedName, *versioned) bool) {
		for key, obj := range c {
			if !yield(key, obj) {
				return
			}
		}
	}
}

func (c cupboard) GetSum(key types.NamespacedName) (*versioned, uint64, bool) {
	obj, ok := c[key]
	return obj, 1, ok
}

func (c cupboard) Equal(known, listed *versioned) bool { return reflect.DeepEqual(known, listed) }

func (c cupboard) Same(_ types.NamespacedName, known *versioned, listed compare.State) bool {
	return known.UID == listed.UID && known.ResourceVersion == listed.ResourceVersion
}

func objectAt(name, uid, rv string) *versioned {
	return &versioned{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), ResourceVersion: rv}}
}

func identityOf(name, uid, rv string) objid.Identity {
	id := objid.Identity{UID: types.UID(uid), ResourceVersion: rv, Sum: 1}
	id.Name = name
	return id
}

func objectName(obj *versioned) (types.NamespacedName, error) {
	return types.NamespacedName{Name: obj.Name}, nil
}

// Only an object whose newest state is in the store is recalled.
func TestRecall(t *testing.T) {
	a, b, c := objectAt("a", "u", "1"), objectAt("b", "v", "2"), objectAt("c", "w", "3")
	store := cupboard{{Name: "a"}: a, {Name: "b"}: b, {Name: "c"}: c}
	f := New(KnownObjects[types.NamespacedName, *versioned](store), Options{})
	s := f.Sink(objectName, nil)
	recall := s.Lookup()
	check := func(note string, id objid.Identity, want *versioned) {
		t.Helper()
		if got, ok := recall(id); got != want || ok != (want != nil) {
			t.Errorf("%s: recalled %v, %t, want %v", note, got, ok, want)
		}
	}
	check("the same", identityOf("a", "u", "1"), a)
	check("another version", identityOf("a", "u", "2"), nil)
	check("another UID", identityOf("a", "x", "1"), nil)
	check("another name", identityOf("x", "u", "1"), nil)
	changed, unsure := identityOf("a", "u", "1"), identityOf("a", "u", "1")
	changed.Sum, unsure.Sum = 2, 0
	check("another sum", changed, nil)
	check("no sum", unsure, nil)

	// A restored server has another state at the same version. Until it is in the store, the store
	// has the state that is lost.
	restored := Replacement[types.NamespacedName, *versioned]{Objects: &Objects[types.NamespacedName, *versioned]{}, ResourceVersion: "1", Rewound: true}
	for _, obj := range []*versioned{objectAt("a", "u", "1"), c} {
		restored.Objects.Set(types.NamespacedName{Name: obj.Name}, obj, "")
	}
	must(t, f.Replace(never, restored))
	check("pending", identityOf("a", "u", "1"), nil)
	check("deleted, pending", identityOf("b", "v", "2"), nil)
	if _, err := f.Pop(never); err != nil {
		t.Fatal(err)
	}
	check("in flight", identityOf("a", "u", "1"), nil)
	check("deleted, in flight", identityOf("b", "v", "2"), nil)
	_, _ = f.Pop(never)
	check("committed", identityOf("a", "u", "1"), a)
}

// An object without a version is not compared while a commit goes on, which writes the versions.
func TestRecallWithoutVersion(t *testing.T) {
	bare := objectAt("a", "", "")
	f := New(KnownObjects[types.NamespacedName, *versioned](cupboard{{Name: "a"}: bare}), Options{})
	recall := f.Sink(objectName, nil).Lookup()
	if _, ok := recall(identityOf("a", "", "")); !ok {
		t.Error("not recalled")
	}
	must(t, f.Add(never, types.NamespacedName{Name: "z"}, objectAt("z", "", ""), "9"))
	if _, err := f.Pop(never); err != nil {
		t.Fatal(err)
	}
	if _, ok := recall(identityOf("a", "", "")); ok {
		t.Error("recalled during a commit")
	}
}

func TestNothingToRecall(t *testing.T) {
	if New(KnownObjects[types.NamespacedName, *versioned](cupboard{}), Options{}).Sink(objectName, nil).Lookup() != nil {
		t.Error("an empty store knows objects")
	}
	if New[types.NamespacedName, *versioned](nil, Options{}).Sink(objectName, nil).Lookup() != nil {
		t.Error("no store knows objects")
	}
	other := func(*versioned) (int, error) { return 0, nil }
	if New(KnownObjects[int, *versioned](newShelf[*versioned]()), Options{}).Sink(other, nil).Lookup() != nil {
		t.Error("keys that are no names are found by names")
	}
}

// asked is a cupboard that counts what it is asked to compare.
type asked struct {
	cupboard
	n int
}

func (a *asked) Same(key types.NamespacedName, known *versioned, listed compare.State) bool {
	a.n++
	return a.cupboard.Same(key, known, listed)
}

// An object that a list has from the store is not compared, if it carries its version.
func TestRecalledIsNotCompared(t *testing.T) {
	a, b, none := objectAt("a", "u", "1"), objectAt("b", "v", "2"), objectAt("none", "w", "")
	for _, c := range []struct {
		list         []*versioned
		asked, delta int
	}{
		{[]*versioned{a, b}, 0, 0},
		{[]*versioned{a, objectAt("b", "v", "2")}, 1, 0},
		{[]*versioned{a, objectAt("b", "v", "3")}, 1, 1},
		{[]*versioned{a, b, none}, 19, 1}, // one has no version, and the list has another version than the store
	} {
		store := &asked{cupboard: cupboard{{Name: "a"}: a, {Name: "b"}: b}}
		if len(c.list) > len(store.cupboard) {
			store.cupboard[types.NamespacedName{Name: "none"}] = none
		}
		for n := range 16 { // so that one is not too large a part of the list
			obj := objectAt(fmt.Sprint(n), "x", "1")
			store.cupboard[types.NamespacedName{Name: obj.Name}] = obj
			c.list = append(c.list, obj)
		}
		f := New(KnownObjects[types.NamespacedName, *versioned](store), Options{})
		s := f.Sink(objectName, nil)
		for _, obj := range c.list {
			must(t, s.Listed(t.Context(), reflector.Event[*versioned]{Type: reflector.Added, ResourceVersion: "9", Object: obj}))
		}
		must(t, s.Replace(never, "9"))
		if f.Len() != c.delta || store.n != c.asked {
			t.Errorf("list of %d: %d deltas, %d objects compared; want %+v", len(c.list), f.Len(), store.n, c)
		}
	}
}
