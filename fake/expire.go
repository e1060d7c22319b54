package fake

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Expire deletes objects as etcd does when their lease ends: at once, whatever finalizers they
// have, and in one transaction. So all the deletions have one resourceVersion, which Expire
// returns. API servers give leases to Events alone (--event-ttl), but Expire takes any objects of
// one resource, in the order of the watch events. A watch that begins at that resourceVersion gets
// none of the deletions, even if its client has seen only some of them.
//
// If one of the objects is not there, or is named twice, Expire deletes nothing. Status errors:
// NotFound.
func Expire[T metav1.Object](at Target, keys ...types.NamespacedName) (resourceVersion string, err error) {
	t, err := lookup[T](at, schema.GroupVersionKind{})
	if err != nil {
		return "", err
	}
	resourceVersion, err = t.expire(keys)
	t.after()
	return resourceVersion, err
}

func (t *table) expire(keys []types.NamespacedName) (string, error) {
	s := t.server
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make(map[types.NamespacedName]bool, len(keys))
	for _, key := range keys {
		if t.live(key) == nil || seen[key] {
			return "", apierrors.NewNotFound(t.res.groupResource(), key.Name)
		}
		seen[key] = true
	}
	if len(keys) == 0 {
		return formatRV(s.rv), nil
	}
	rv := s.advance(1)
	for _, key := range keys {
		t.put(rv, t.live(key), nil)
	}
	return formatRV(rv), nil
}
