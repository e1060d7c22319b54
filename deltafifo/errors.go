package deltafifo

import (
	"errors"
	"fmt"
	"log/slog"
)

var (
	// ErrClosed is returned by all producing methods after Close; by Pop and Process only
	// once all that was pending has been taken.
	ErrClosed = errors.New("delta FIFO is closed")

	// ErrNotInFlight is returned by Requeue for a key that cannot be given back: it is not
	// in the batch being processed, or was given back from it already.
	ErrNotInFlight = errors.New("key is not in flight")
)

// ProcessError says which keys of a batch could not be processed. It does not unwrap to
// what the function returned: a timeout of a single request must not be taken for the
// queue's own end.
type ProcessError[K comparable] struct {
	// Failed are the keys, in the order of the batch, never none.
	Failed []Failure[K]
}

// Failure is a key that could not be processed.
type Failure[K comparable] struct {
	Key K
	// Err is what the function returned, never nil.
	Err error
	// Dropped says that the key was not given back, since the queue was closed.
	Dropped bool
}

func (e *ProcessError[K]) Error() string {
	first := e.Failed[0]
	if more := len(e.Failed) - 1; more > 0 {
		return fmt.Sprintf("processing key %v: %v (and %d keys more)", first.Key, first.Err, more)
	}
	return fmt.Sprintf("processing key %v: %v", first.Key, first.Err)
}

// LogValue implements slog.LogValuer: a group of key and error, those of the first key that
// failed, and failed, the number of keys.
func (e *ProcessError[K]) LogValue() slog.Value {
	first := e.Failed[0]
	return slog.GroupValue(
		slog.String("key", fmt.Sprint(first.Key)),
		slog.Int("failed", len(e.Failed)),
		slog.Any("error", first.Err),
	)
}
