package fake

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// newestDefinition is the newest definition of a resource, for package upkeep.
type newestDefinition struct{ of *state }

// Keys is for package upkeep.
func (l newestDefinition) Keys(namespace string) []types.NamespacedName {
	t := l.of.current.Load()
	if t == nil {
		return nil
	}
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	found := t.gather(namespace, types.NamespacedName{Namespace: namespace})
	out := make([]types.NamespacedName, len(found))
	for i, v := range found {
		out[i] = v.key
	}
	return out
}

// Peek is for package upkeep.
func (l newestDefinition) Peek(key types.NamespacedName) metav1.Object {
	t := l.of.current.Load()
	if t == nil {
		return nil
	}
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	return t.live(key).object()
}

// Change is for package upkeep.
func (l newestDefinition) Change(key types.NamespacedName, change func(metav1.Object)) {
	t := l.of.current.Load()
	if t == nil {
		return
	}
	_, _ = t.update(key, write{manager: "kube-controller-manager"}, func(old *revision) (metav1.Object, error) {
		obj, err := clone(old.obj)
		if err != nil {
			return obj, apierrors.NewInternalError(err)
		}
		change(obj) // if it changes nothing, nothing is written
		return obj, nil
	})
}

// Remove is for package upkeep.
func (l newestDefinition) Remove(key types.NamespacedName, opts metav1.DeleteOptions) {
	if t := l.of.current.Load(); t != nil {
		_, _, _ = t.remove(key, opts, write{})
	}
}

// Dissolve is for package upkeep.
func (l newestDefinition) Dissolve(key types.NamespacedName) {
	t := l.of.current.Load()
	if t == nil {
		return
	}
	if old, err := t.get(key); err == nil && old != nil && old.obj.GetDeletionTimestamp() != nil && len(old.obj.GetFinalizers()) == 0 {
		t.commit(old, nil) // it fails after another write, which upkeep gets too
	}
}
