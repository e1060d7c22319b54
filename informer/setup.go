package informer

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"
)

// Failed returns an informer that only holds an error. It is for a function that opens informers
// and could not open one, so that the function need not return a pair: setup goes on, and finds the
// other mistakes. Run, WaitForSync and Err of the informer return err, which should name the
// resource and say what to do, and may not be nil. Nothing is sent.
func Failed[T any](resource string, err error) *Informer[types.NamespacedName, T] {
	if err == nil {
		err = about(resource, errors.New("Failed got no error"))
	}
	none := func(T) (key types.NamespacedName, _ error) { return key, err }
	i, _ := newCore(resource, none, Options[T]{}) // cannot fail: the type of keys is valid, and there are no indexes
	i.faults.add(errors.Join(err, firstSession(i)))
	i.unread.quiet()
	return informerOf(i)
}
