package informer

import (
	"github.com/kinform/kinform/internal/compare"
)

// HandlerLag is the number of events after which the informer waits for a handler.
const HandlerLag = handlerLag

// SetLag makes handlers count as slow when they are n events behind instead of HandlerLag.
func SetLag[K comparable, T any](i *Informer[K, T], n uint64) { coreOf(i).lag = n }

// SetOwnLimit limits the own writes that are ahead to n instead of 10,000.
func SetOwnLimit[K comparable, T any](i *Informer[K, T], n int) { coreOf(i).ownLimit = n }

// Comparer returns what the queue asks about the objects of a list.
func Comparer[K comparable, T any](i *Informer[K, T]) compare.Known[K, T] {
	return &knownObjects[K, T]{i.reader, coreOf(i).only}
}

func coreOf[K comparable, T any](i *Informer[K, T]) *core[K, T] { return i.typed.(*core[K, T]) }

// ErrContentsVary is the error of contents that change back and forth at one version.
var ErrContentsVary = errContentsVary
