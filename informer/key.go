package informer

import (
	"errors"
	"fmt"
	"runtime/debug"

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
			err = &PanicError{Where: "key function", Resource: i.Resource(), Value: value, Stack: debug.Stack()}
		}
	}()
	key, err = i.key(obj)
	if err == nil && key == *new(K) {
		err = errZeroKey
	}
	return key, err
}

// badEvent reports an event whose object has no key.
func (i *Informer[K, T]) badEvent(ev reflector.Event[T], cause error) *reflector.ObjectError {
	bad := &reflector.ObjectError{Resource: i.Resource(), ResourceVersion: ev.ResourceVersion, Err: cause}
	i.opts.OnError(bad)
	return bad
}

// badObject reports an object that the store did not take.
func (i *Informer[K, T]) badObject(key K, cause error) {
	i.opts.OnError(&reflector.ObjectError{Resource: i.Resource(), Key: keyString(key), Err: cause})
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

// versionOf returns how to read an object's resourceVersion, nil if T has none. What T is
// gets decided here once and not for each object.
func versionOf[T any]() func(T) string {
	var zero T
	if _, ok := any(zero).(metav1.Object); !ok {
		return nil
	}
	return func(obj T) string { return any(obj).(metav1.Object).GetResourceVersion() }
}
