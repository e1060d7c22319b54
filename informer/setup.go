package informer

import (
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Err returns every mistake in the setup of the informer, joined: the error of [Failed], and the
// errors of [AddIndex]. Nil means that there is none, and says nothing about requests: see Stats.
// It is safe from any goroutine.
func (i *Informer[K, T]) Err() error { return i.engine.Err() }

func (i *core[K, T]) Err() error { return i.faults.err() }

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

// faults are the errors of an informer's setup.
type faults struct {
	mu  sync.Mutex
	all error // joined: what err has returned is a part of what it returns later
}

func (f *faults) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = errors.Join(f.all, err)
}

func (f *faults) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all
}
