package upkeep_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/upkeep"
)

type object = metav1.PartialObjectMetadata

// memory holds the objects of one resource. It is a server that knows only upkeep.
type memory struct {
	mu      *sync.Mutex
	keeper  *upkeep.Keeper
	kept    *upkeep.Collection
	objects map[types.NamespacedName]*object
}

// newMemory adds a resource to k.
func newMemory(k *upkeep.Keeper, mu *sync.Mutex, r upkeep.Resource) *memory {
	m := &memory{mu: mu, keeper: k, objects: map[types.NamespacedName]*object{}}
	mu.Lock()
	defer mu.Unlock()
	m.kept = k.Add(r, m)
	return m
}

// put writes obj, or deletes the object at key if obj is nil.
func (m *memory) put(key types.NamespacedName, obj *object) {
	m.mu.Lock()
	var old, cur metav1.Object
	if o := m.objects[key]; o != nil {
		old = o
	}
	if delete(m.objects, key); obj != nil {
		m.objects[key], cur = obj, obj
	}
	m.kept.Note(key, old, cur)
	m.mu.Unlock()
	m.keeper.Run()
}

func (m *memory) create(namespace, name string, owners ...string) {
	obj := &object{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}}
	for _, o := range owners {
		obj.OwnerReferences = append(obj.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: o, UID: types.UID(o)})
	}
	m.put(types.NamespacedName{Namespace: namespace, Name: name}, obj)
}

func (m *memory) get(key types.NamespacedName) *object {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.objects[key]
}

func (m *memory) names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for key := range m.objects {
		out = append(out, key.Name)
	}
	slices.Sort(out)
	return out
}

func (m *memory) Peek(key types.NamespacedName) metav1.Object {
	if obj := m.get(key); obj != nil {
		return obj
	}
	return nil
}

func (m *memory) Keys(namespace string) (out []types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.objects {
		if key.Namespace == namespace {
			out = append(out, key)
		}
	}
	return out
}

func (m *memory) Remove(key types.NamespacedName, opts metav1.DeleteOptions) {
	obj := m.get(key)
	if obj == nil || opts.Preconditions != nil && *opts.Preconditions.UID != obj.UID {
		return
	}
	if len(obj.Finalizers) == 0 {
		m.put(key, nil)
		return
	}
	obj = obj.DeepCopy()
	obj.DeletionTimestamp = &metav1.Time{}
	m.put(key, obj)
}

func (m *memory) Change(key types.NamespacedName, change func(metav1.Object)) {
	if obj := m.get(key).DeepCopy(); obj != nil {
		change(obj)
		m.put(key, obj)
	}
}

func (m *memory) Dissolve(key types.NamespacedName) { m.put(key, nil) }

func podResource() upkeep.Resource {
	return upkeep.Resource{Name: schema.GroupResource{Resource: "pods"}, Kind: "Pod", Namespaced: true}
}

// TestGarbage deletes objects at random. An object stays as long as it has no owners, or one of
// its owners stays.
func TestGarbage(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var mu sync.Mutex
		pods := newMemory(upkeep.New(&mu, true, false), &mu, podResource())
		owners := map[string][]string{}
		for i := range 12 {
			var of []string
			for _, o := range slices.Sorted(maps.Keys(owners)) {
				if random.IntN(4) == 0 {
					of = append(of, o)
				}
			}
			name := fmt.Sprintf("%02d", i)
			owners[name] = of
			pods.create("a", name, of...)
		}
		for range 4 {
			name := fmt.Sprintf("%02d", random.IntN(12))
			pods.Remove(types.NamespacedName{Namespace: "a", Name: name}, metav1.DeleteOptions{})
			delete(owners, name)
			drop(owners)
			if got, want := pods.names(), slices.Sorted(maps.Keys(owners)); !slices.Equal(got, want) {
				t.Fatalf("seed %d: %v are left after the deletion of %s, want %v", seed, got, name, want)
			}
		}
	}
}

// drop removes the objects whose owners are all gone. Owners have smaller names, so one pass in
// the order of names is enough.
func drop(owners map[string][]string) {
	for _, name := range slices.Sorted(maps.Keys(owners)) {
		gone := func(o string) bool { _, ok := owners[o]; return !ok }
		if of := owners[name]; len(of) > 0 && !slices.ContainsFunc(of, func(o string) bool { return !gone(o) }) {
			delete(owners, name)
		}
	}
}

func TestEmptyNamespace(t *testing.T) {
	var mu sync.Mutex
	k := upkeep.New(&mu, false, true)
	pods := newMemory(k, &mu, podResource())
	spaces := newMemory(k, &mu, upkeep.Resource{Name: schema.GroupResource{Resource: "namespaces"}, Kind: "Namespace"})
	spaces.create("", "a")
	spaces.create("", "b")
	pods.create("a", "gone")
	pods.create("b", "stays")
	held := &object{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "held", Finalizers: []string{"x/y"}}}
	pods.put(types.NamespacedName{Namespace: "a", Name: "held"}, held)
	spaces.Change(types.NamespacedName{Name: "a"}, func(obj metav1.Object) { obj.SetDeletionTimestamp(&metav1.Time{Time: metav1.Now().Time}) })
	if got := append(pods.names(), spaces.names()...); !slices.Equal(got, []string{"held", "stays", "a", "b"}) {
		t.Errorf("left while a finalizer holds an object: %v", got)
	}
	pods.put(types.NamespacedName{Namespace: "a", Name: "held"}, nil)
	if got := append(pods.names(), spaces.names()...); !slices.Equal(got, []string{"stays", "b"}) {
		t.Errorf("left: %v", got)
	}
}

// TestNothingToKeep uses a nil Keeper.
func TestNothingToKeep(t *testing.T) {
	var mu sync.Mutex
	k := upkeep.New(&mu, false, false)
	if k != nil || k.Namespaces() {
		t.Error("a Keeper without work")
	}
	pods := newMemory(k, &mu, podResource())
	pods.create("a", "p", "nobody")
	k.Forget()
	if got := pods.names(); !slices.Equal(got, []string{"p"}) {
		t.Errorf("left: %v", got)
	}
}
