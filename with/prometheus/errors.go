package kinformprom

import "github.com/kinform/kinform/controller/manager"

// The errors of the methods that add something. They come with the name, if there is one, and match the errors
// of package manager.
var (
	// ErrUnnamed: the name is empty.
	ErrUnnamed = manager.ErrUnnamed
	// ErrNoPart: the metrics or the part to be added is nil, or a nil pointer.
	ErrNoPart = manager.ErrNoPart
	// ErrDuplicate: something of the same sort was added under that name, or the manager or factory was added
	// before. A controller's name is also its queue's, and a handle's name is also an informer's and a
	// client's.
	ErrDuplicate = manager.ErrDuplicate
)
