package deltafifo

import "errors"

// ErrClosed is returned by all methods of a queue after Close; by Pop only once all that
// was pending has been taken.
var ErrClosed = errors.New("delta FIFO is closed")
