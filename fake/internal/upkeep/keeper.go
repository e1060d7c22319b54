// Package upkeep does the work of those controllers of Kubernetes that act on objects of every
// kind: it collects garbage and empties namespaces.
//
// The goroutine of a write does that work before the write returns. The write itself only notes,
// under the lock, which objects need a look; the work then consists of writes like any other.
// While one goroutine works, the others only note.
package upkeep

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Keeper keeps the collections that were added to it. A nil Keeper does nothing.
type Keeper struct {
	mu         *sync.Mutex // the writers' lock
	garbage    bool        // set once
	namespaces bool        // set once

	// mu guards everything below.

	collections []*Collection // by time of addition
	spaces      *Collection   // holds the namespaces; nil until it is added, or if namespaces is unset
	objects     map[types.UID]ref
	dependents  map[types.UID]map[ref]struct{} // by the uid of an owner, which may be absent
	queue       []ref                          // objects that need a look
	busy        bool                           // a goroutine works on the queue
}

// New returns a Keeper, or nil if it would have nothing to do. Every write holds mu when it calls
// [Collection.Note].
func New(mu *sync.Mutex, garbage, namespaces bool) *Keeper {
	if !garbage && !namespaces {
		return nil
	}
	return &Keeper{
		mu: mu, garbage: garbage, namespaces: namespaces,
		objects: map[types.UID]ref{}, dependents: map[types.UID]map[ref]struct{}{},
	}
}

// Namespaces reports whether the Keeper empties namespaces.
func (k *Keeper) Namespaces() bool { return k != nil && k.namespaces }

// Resource describes a collection.
type Resource struct {
	Name       schema.GroupResource
	Kind       string
	Namespaced bool
}

// namespaces is the resource of the namespaces themselves.
var namespaces = schema.GroupResource{Resource: "namespaces"}

// Objects reads and writes the objects of one resource. Its methods take the lock themselves.
type Objects interface {
	// Peek returns the newest state of an object for reading, or nil if there is none.
	Peek(key types.NamespacedName) metav1.Object
	// Keys lists a namespace.
	Keys(namespace string) []types.NamespacedName
	// Remove deletes an object and Change rewrites a copy of its metadata. Somebody else may have
	// changed or deleted the object first. Both then do nothing, because the Keeper also gets that
	// write.
	Remove(key types.NamespacedName, opts metav1.DeleteOptions)
	Change(key types.NamespacedName, change func(metav1.Object))
	// Dissolve deletes a namespace that is being deleted and has no finalizers.
	Dissolve(key types.NamespacedName)
}

// Collection is a resource that a [Keeper] keeps. A nil Collection notes nothing.
type Collection struct {
	Objects
	keeper   *Keeper
	resource Resource
}

// Add makes k keep a resource. The caller holds the lock. A resource stays known when it ends, so
// that its objects' dependents are collected; one that comes back takes its place.
func (k *Keeper) Add(r Resource, objects Objects) *Collection {
	if k == nil {
		return nil
	}
	c := &Collection{Objects: objects, keeper: k, resource: r}
	ended := func(was *Collection) bool { return was.resource.Name == r.Name }
	k.collections = append(slices.DeleteFunc(slices.Clone(k.collections), ended), c)
	if r.Name == namespaces && k.namespaces {
		k.spaces = c
	}
	return c
}

// Forget makes k forget all objects. The caller holds the lock, and notes them anew.
func (k *Keeper) Forget() {
	if k == nil {
		return
	}
	clear(k.objects)
	clear(k.dependents)
	k.queue = nil
}

// Note takes in a write of the object at key: a create has no old, a delete no cur. The caller
// holds the lock.
func (c *Collection) Note(key types.NamespacedName, old, cur metav1.Object) {
	if c == nil {
		return
	}
	c.noteNamespace(key, cur)
	if c.keeper.garbage {
		c.keeper.noteOwners(ref{c, key}, old, cur)
	}
}

// Run works until no object needs a look, unless another goroutine does that.
func (k *Keeper) Run() {
	if k == nil {
		return
	}
	working := false
	defer func() {
		if working { // the program's own code panicked, such as a check of names
			k.mu.Lock()
			defer k.mu.Unlock()
			k.busy = false
		}
	}()
	for {
		var next ref
		if next, working = k.next(working); !working {
			return
		}
		if next.in == k.spaces {
			k.empty(next)
		}
		if k.garbage {
			k.collect(next)
		}
	}
}

// next takes an object from the queue. It reports false if there is none, or if another
// goroutine works on the queue. working says that the caller does.
func (k *Keeper) next(working bool) (ref, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.busy && !working {
		return ref{}, false
	}
	if k.busy = len(k.queue) > 0; !k.busy {
		return ref{}, false
	}
	r := k.queue[0]
	k.queue = k.queue[1:]
	return r, true
}

// look queues an object.
func (k *Keeper) look(r ref) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = append(k.queue, r)
}

// ref is the place of an object.
type ref struct {
	in  *Collection
	key types.NamespacedName
}

func compareRefs(a, b ref) int {
	return cmp.Or(strings.Compare(a.in.resource.Name.String(), b.in.resource.Name.String()),
		strings.Compare(a.key.Namespace, b.key.Namespace), strings.Compare(a.key.Name, b.key.Name))
}

// current returns the newest state of the object, or nil if it is gone.
func (r ref) current() metav1.Object { return r.in.Peek(r.key) }

// remove deletes the object, if it is still the one of uid.
func (r ref) remove(uid types.UID, policy metav1.DeletionPropagation) {
	r.in.Remove(r.key, metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &uid}})
}

// change rewrites the object's metadata, if it is still the one of uid.
func (r ref) change(uid types.UID, change func(metav1.Object)) {
	r.in.Change(r.key, func(obj metav1.Object) {
		if obj.GetUID() == uid {
			change(obj)
		}
	})
}

// dependentsOf returns the objects that name an owner. It sorts them, because the order of the
// work must not depend on the order of a map.
func (k *Keeper) dependentsOf(uid types.UID) []ref {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sortedDependents(uid)
}

// sortedDependents is dependentsOf for callers that hold the lock.
func (k *Keeper) sortedDependents(uid types.UID) []ref {
	out := make([]ref, 0, len(k.dependents[uid]))
	for r := range k.dependents[uid] {
		out = append(out, r)
	}
	slices.SortFunc(out, compareRefs)
	return out
}
