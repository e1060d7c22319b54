package upkeep

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// noteNamespace queues a namespace that is being deleted when it is written, and when one of its
// objects goes.
func (c *Collection) noteNamespace(key types.NamespacedName, cur metav1.Object) {
	k := c.keeper
	switch {
	case k.spaces == nil:
	case c == k.spaces:
		if cur != nil && cur.GetDeletionTimestamp() != nil {
			k.queue = append(k.queue, ref{c, key})
		}
	case cur == nil && key.Namespace != "":
		k.queue = append(k.queue, ref{k.spaces, types.NamespacedName{Name: key.Namespace}})
	}
}

// empty deletes the objects of a namespace that is being deleted, and then the namespace. An
// object that finalizers hold keeps the namespace as well.
func (k *Keeper) empty(at ref) {
	space := at.current()
	if space == nil || space.GetDeletionTimestamp() == nil {
		return
	}
	left, policy := 0, metav1.DeletePropagationBackground
	for _, c := range k.namespaced() {
		for _, key := range c.Keys(at.key.Name) {
			if obj := c.Peek(key); obj != nil && obj.GetDeletionTimestamp() == nil {
				c.Remove(key, metav1.DeleteOptions{PropagationPolicy: &policy})
			}
		}
		left += len(c.Keys(at.key.Name))
	}
	if left == 0 && len(space.GetFinalizers()) == 0 {
		at.in.Dissolve(at.key)
	}
}

// namespaced returns the collections whose objects are in namespaces.
func (k *Keeper) namespaced() (out []*Collection) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.collections {
		if c.resource.Namespaced {
			out = append(out, c)
		}
	}
	return out
}
