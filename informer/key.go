package informer

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinform/kinform/reflector"
)

var errZeroKey = errors.New("its key is the zero value") // most likely it was never set

// keyOf calls the user's key function and keeps its panics from the process.
func (i *Informer[K, T]) keyOf(obj T) (key K, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = i.panicked("key function", "", value)
		}
	}()
	if key, err = i.key(obj); err == nil {
		err = checkKey(key)
	}
	return key, err
}

// checkKey returns why nothing can be stored under key.
func checkKey[K comparable](key K) error {
	if key == *new(K) {
		return errZeroKey
	}
	return nil
}

// badObject reports and counts an object that the informer itself could not use.
func (i *Informer[K, T]) badObject(bad *reflector.ObjectError) {
	bad.Resource = i.Resource()
	i.badObjects.Add(1)
	i.report(bad)
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

// older reports whether resourceVersion a is older than b; not if they do not compare.
func older(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}
