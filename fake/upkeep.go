package fake

import (
	"cmp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// upkeep is what controllers of Kubernetes do in consequence of writes, done here by the
// goroutine of the write before that returns: the collection of garbage and the emptying
// of namespaces. A write notes under the lock what is to be looked at; what is then done
// are writes like any other. While one goroutine is at it, writes of others only note.
//
// All fields after namespaces are guarded by Server.mu.
type upkeep struct {
	server     *Server
	garbage    bool // set once
	namespaces bool // set once

	objects    map[types.UID]ref
	dependents map[types.UID]map[ref]struct{} // by the uid of an owner, there or not
	queue      []ref
	busy       bool
}

// ref is the place of an object.
type ref struct {
	in  collection
	key types.NamespacedName
}

func compareRefs(a, b ref) int {
	return cmp.Or(cmp.Compare(a.in.info().groupResource().String(), b.in.info().groupResource().String()), compareKeys(a.key, b.key))
}

func newUpkeep(s *Server, opts Options) *upkeep {
	if !opts.CollectGarbage && !opts.KeepNamespaces {
		return nil
	}
	return &upkeep{
		server: s, garbage: opts.CollectGarbage, namespaces: opts.KeepNamespaces,
		objects: map[types.UID]ref{}, dependents: map[types.UID]map[ref]struct{}{},
	}
}

// note takes a write in; old or cur is nil in a create or a delete. Called under
// Server.mu.
func (u *upkeep) note(at ref, old, cur metav1.Object) {
	if u.namespaces {
		u.noteNamespace(at, cur)
	}
	if !u.garbage {
		return
	}
	if old != nil {
		for _, o := range old.GetOwnerReferences() {
			delete(u.dependents[o.UID], at)
			if owner, ok := u.objects[o.UID]; ok {
				u.queue = append(u.queue, owner) // it may have waited for this one
			}
		}
	}
	if cur == nil {
		delete(u.objects, old.GetUID())
		u.queue = append(u.queue, u.dependentsOf(old.GetUID())...)
		return
	}
	u.objects[cur.GetUID()] = at
	for _, o := range cur.GetOwnerReferences() {
		if u.dependents[o.UID] == nil {
			u.dependents[o.UID] = map[ref]struct{}{}
		}
		u.dependents[o.UID][at] = struct{}{}
	}
	if len(cur.GetOwnerReferences()) > 0 || cur.GetDeletionTimestamp() != nil {
		u.queue = append(u.queue, at)
	}
}

// dependentsOf returns the objects that name an owner, in order: what is done must not
// depend on the order of a map. Called under Server.mu.
func (u *upkeep) dependentsOf(uid types.UID) []ref {
	out := make([]ref, 0, len(u.dependents[uid]))
	for r := range u.dependents[uid] {
		out = append(out, r)
	}
	slices.SortFunc(out, compareRefs)
	return out
}

// run does what there is to do, unless somebody is at it.
func (u *upkeep) run() {
	if u == nil {
		return
	}
	atIt := false
	defer func() {
		if atIt { // a function of the program's panicked, such as Resource.CheckName
			u.server.mu.Lock()
			defer u.server.mu.Unlock()
			u.busy = false
		}
	}()
	for {
		u.server.mu.Lock()
		if u.busy && !atIt || len(u.queue) == 0 {
			u.busy, atIt = u.busy && !atIt, false
			u.server.mu.Unlock()
			return
		}
		u.busy, atIt = true, true
		next := u.queue[0]
		u.queue = u.queue[1:]
		u.server.mu.Unlock()
		if u.namespaces && next.in.info().namespaces() {
			u.empty(next)
		}
		if u.garbage {
			u.collect(next)
		}
	}
}

// current returns the newest state of an object, nil when it is gone.
func (r ref) current() metav1.Object { return r.in.peek(r.key) }

// delete deletes an object that others may have changed or deleted meanwhile; a write that
// they did is noted and looked at again.
func (r ref) delete(policy metav1.DeletionPropagation, uid types.UID) {
	opts := metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &uid}}
	_ = r.in.discard(r.key, opts)
}

// change rewrites the metadata of an object, if it is still the one of uid. change gets a
// copy and reports whether it did anything.
func (r ref) change(uid types.UID, change func(metav1.Object) bool) {
	_ = r.in.adjust(r.key, func(obj metav1.Object) bool { return obj.GetUID() == uid && change(obj) })
}

// peek returns the newest state of an object for reading, nil when there is none.
func (t *table[T]) peek(key types.NamespacedName) metav1.Object {
	if v := t.get(key); v != nil {
		return v.obj
	}
	return nil
}

func (t *table[T]) discard(key types.NamespacedName, opts metav1.DeleteOptions) error {
	_, _, err := t.remove(key, opts)
	return err
}

func (t *table[T]) adjust(key types.NamespacedName, change func(metav1.Object) bool) error {
	_, err := t.update(key, write{manager: "kube-controller-manager"}, func(old *version[T]) (T, error) {
		obj, err := t.clone(old.obj)
		if err != nil {
			return obj, apierrors.NewInternalError(err)
		}
		change(obj) // when it did nothing, nothing is written
		return obj, nil
	})
	return err
}
