package kinformprom

import "errors"

// The errors of the methods that add something. They are wrapped, with the name.
var (
	// ErrNoName: the name is empty.
	ErrNoName = errors.New("no name")
	// ErrNothing: the part to be added is nil, or a nil pointer.
	ErrNothing = errors.New("nil has no metrics")
	// ErrDuplicate: something of the same sort was added under that name. A controller's name is
	// also that of its queue, and a handle's that of an informer and of a client.
	ErrDuplicate = errors.New("the name is taken")
)
