package informer

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// errZeroKey refuses a key that most likely was never set.
var errZeroKey = errors.New("its key is the zero value")

// keyOf calls the user's key function and keeps its panics from the process.
func (i *Informer[K, T]) keyOf(obj T) (key K, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = i.panicked("key function", "", value)
		}
	}()
	key, err = i.key(obj)
	if err == nil && key == *new(K) {
		err = errZeroKey
	}
	return key, err
}

// badObject reports and counts an object that the informer itself could not use.
func (i *Informer[K, T]) badObject(bad *reflector.ObjectError) {
	bad.Resource = i.Resource()
	i.badObjects.Add(1)
	i.report(bad)
}

// keeper returns which keys may be those of objects that a list had but that could not be
// used: nil for none. Their names are all that is known of them, so for keys that are not
// names, and for objects without a known name, it may be any.
func keeper[K comparable](skipped []*reflector.ObjectError) func(K) bool {
	names := map[string]bool{}
	for _, bad := range skipped {
		if bad.Key != "" {
			names[bad.Key] = true
		} else if !errors.Is(bad, reflector.ErrNoName) && !errors.Is(bad, store.ErrNoName) {
			return func(K) bool { return true }
		}
	}
	if len(names) == 0 {
		return nil
	}
	return func(key K) bool {
		name, ok := any(key).(types.NamespacedName)
		return !ok || names[nameString(name)]
	}
}

// keyString is key for people.
func keyString[K comparable](key K) string {
	if name, ok := any(key).(types.NamespacedName); ok {
		return nameString(name)
	}
	return fmt.Sprint(key)
}

// nameString is name as reflector.ObjectError has it.
func nameString(name types.NamespacedName) string {
	if name.Namespace == "" {
		return name.Name
	}
	return name.String()
}

// unchanged returns what says that two objects of one key are the same state, nil if T
// has no metadata. What T is gets decided here once and not for each object.
func unchanged[T any]() func(old, new T) bool {
	if _, ok := any(*new(T)).(metav1.Object); !ok {
		return nil
	}
	return func(old, new T) bool { return store.SameVersion(any(old).(metav1.Object), any(new).(metav1.Object)) }
}
