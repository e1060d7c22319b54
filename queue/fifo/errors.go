package fifo

import (
	"errors"
	"fmt"

	"github.com/kinform/kinform/internal/mapkey"
)

var (
	// ErrClosed is returned by Add and Replace methods after Close; by Pop and Process
	// only once all that was in the queue has been taken.
	ErrClosed = errors.New("queue is closed")

	// ErrKeyType is in the error of [NewHeap], and in the one that [New] panics with, for a
	// type K that cannot be a key: a float, a complex number, an interface, or an array or
	// struct that holds one. Values of these may not equal themselves (NaN), or not compare.
	// The value is the same in all packages that export it.
	ErrKeyType = mapkey.ErrKeyType

	// ErrNoCompare is returned by [NewHeap] without a function.
	ErrNoCompare = errors.New("heap needs a function to compare objects")
)

// ProcessError is returned by [FIFO.Process] when the function failed. It does not unwrap
// to what that returned: a timeout of a single request must not be taken for the queue's
// own end.
type ProcessError[K comparable] struct {
	Key K
	// Err is what the function returned, never nil.
	Err error
	// Dropped says that the object was not put back: the queue has a newer one of the
	// key, or is closed.
	Dropped bool
}

func (e *ProcessError[K]) Error() string { return fmt.Sprintf("processing key %v: %v", e.Key, e.Err) }
