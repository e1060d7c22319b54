package controller

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/note"
)

// takenNames knows which keys found the name of an object taken. The zero value knows none.
type takenNames[Q comparable] struct {
	some atomic.Bool   // of is not empty
	gone atomic.Uint64 // number of objects that went or changed hands

	mu sync.Mutex
	of map[Q]types.NamespacedName // at most one name per key: a reconcile mostly ends at the first
	by map[types.NamespacedName]map[Q]struct{}
}

// noted notes the result of each reconcile: if it is an [*OwnedError], its key waits for the name, because
// the events of somebody else's object lead to no owner. The error says it, and not a call, so that an
// author cannot forget it. The retries go on all the same.
// If any object went while reconcile ran, it may have been the one: then enqueue is called at once.
func noted[Q comparable](n *takenNames[Q], reconcile func(context.Context, Q) error, enqueue func(Q)) func(context.Context, Q) error {
	return func(ctx context.Context, key Q) error {
		gone := n.gone.Load()
		err := reconcile(ctx, key)
		if taken := takenName(err); taken.Name != "" {
			if n.set(key, taken); n.gone.Load() != gone {
				enqueue(key)
			}
		} else if n.some.Load() {
			n.set(key, types.NamespacedName{})
		}
		return err
	}
}

// takenName returns the name that a result of reconcile says is taken; the empty one is none.
func takenName(err error) (name types.NamespacedName) {
	if taken, ok := errors.AsType[*OwnedError](err); ok {
		name = taken.key
	}
	return name
}

// set notes that key waits for a name; the empty one is none.
func (n *takenNames[Q]) set(key Q, name types.NamespacedName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if old, ok := n.of[key]; ok {
		delete(n.of, key)
		delete(n.by[old], key)
		if len(n.by[old]) == 0 {
			delete(n.by, old)
		}
	}
	if name.Name != "" {
		if n.of == nil {
			n.of, n.by = map[Q]types.NamespacedName{}, map[types.NamespacedName]map[Q]struct{}{}
		}
		if n.by[name] == nil {
			n.by[name] = map[Q]struct{}{}
		}
		n.of[key] = name
		n.by[name][key] = struct{}{}
	}
	n.some.Store(len(n.of) > 0)
}

// freed queues a key that waits for a name which may be free now.
func (c *Controller[Q]) freed(key Q) { c.enqueue(key, 0, note.Freed) }

// waiting returns the keys that wait for a name.
func (n *takenNames[Q]) waiting(name types.NamespacedName) (keys []Q) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key := range n.by[name] {
		keys = append(keys, key)
	}
	return keys
}

// controllerOf returns the UID of an object's controller, empty for none.
func controllerOf(obj metav1.Object) types.UID {
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		return ref.UID
	}
	return ""
}
