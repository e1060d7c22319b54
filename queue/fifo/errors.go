package fifo

import (
	"errors"
	"fmt"

	"github.com/kinform/kinform/internal/mapkey"
)

var (
	// ErrClosed is returned after Close: by the methods that add at once, by Pop and Process
	// after all items were taken.
	ErrClosed = errors.New("queue is closed")

	// ErrKeyType is in the error of [NewHeap], and in the one that [New] panics with, for a
	// type K that cannot be a key: a float, a complex number, an interface, or an array or
	// struct that holds one. Values of these may not equal themselves (NaN), or not compare.
	// The value is the same in all packages that export it.
	ErrKeyType = mapkey.ErrKeyType

	// ErrNoCompare is returned by [NewHeap] without a function.
	ErrNoCompare = errors.New("heap needs a function to compare objects")
)

// ProcessError is returned by [FIFO.Process] if the function failed. It does not unwrap to the
// function's error, so that the timeout of one request is not mistaken for the end of the queue's
// context.
type ProcessError[K comparable] struct {
	Key K
	// Err is the error that the function returned, never nil.
	Err error
	// Dropped says that the object was not put back: the queue has a newer one of the
	// key, or is closed.
	Dropped bool
}

func (e *ProcessError[K]) Error() string { return fmt.Sprintf("processing key %v: %v", e.Key, e.Err) }
