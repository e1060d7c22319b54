package eventlog

import "errors"

// ErrClosed is returned by Next of a cursor that was closed.
var ErrClosed = errors.New("cursor is closed")
