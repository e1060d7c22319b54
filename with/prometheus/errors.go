package kinformprom

import "github.com/kinform/kinform/controller/manager"

// The errors of the methods that add something. They come wrapped, with the name. They are the same
// values as in package manager.
var (
	// ErrUnnamed: the name is empty.
	ErrUnnamed = manager.ErrUnnamed
	// ErrNoPart: the part to be added is nil, or a nil pointer.
	ErrNoPart = manager.ErrNoPart
	// ErrDuplicate: something of the same sort was added under that name. A controller's name is
	// also that of its queue, and a handle's that of an informer and of a client.
	ErrDuplicate = manager.ErrDuplicate
)
