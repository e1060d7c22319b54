package fifo

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed is returned by Add and Replace methods after Close; by Pop and Process
	// only once all that was in the queue has been taken.
	ErrClosed = errors.New("queue is closed")

	// ErrBadKey is returned for a key that no map can hold: it does not equal itself, like
	// a NaN, or has an incomparable value in an interface. The queue is unchanged.
	ErrBadKey = errors.New("key cannot be compared with itself")

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
