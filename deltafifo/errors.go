package deltafifo

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kinform/kinform/internal/logs"
)

// ErrClosed is returned after Close: by all producing methods at once, by Pop and Process
// after all pending deltas were taken.
var ErrClosed = errors.New("delta FIFO is closed")

// errNotInFlight is the error of Requeue for a key that is not in the batch being processed, or was given back already.
var errNotInFlight = errors.New("key is not in flight")

// ProcessError lists the keys of a batch that could not be processed. It does not unwrap to the
// errors of the function, so that the timeout of one request is not mistaken for the end of the
// queue's context.
type ProcessError[K comparable] struct {
	// Failed has the keys in the order of the batch. It is never empty.
	Failed []Failure[K]
}

// Failure is a key that could not be processed.
type Failure[K comparable] struct {
	Key K
	// Err is the error that the function returned, never nil.
	Err error
	// Dropped says that the key was not given back, because the queue was closed.
	Dropped bool
}

func (e *ProcessError[K]) Error() string {
	return failureText(e.Failed[0].Key, e.Failed[0].Err, len(e.Failed))
}

// failureText is the text of a ProcessError of so many keys, for the first one.
func failureText(key any, err error, failed int) string {
	if failed > 1 {
		return fmt.Sprintf("processing key %v: %v (and %d keys more)", key, err, failed-1)
	}
	return fmt.Sprintf("processing key %v: %v", key, err)
}

// joined returns err, if there is one, and a ProcessError.
func joined(err, failed error) error {
	if err == nil {
		return failed
	}
	return errors.Join(err, failed)
}

// LogValue implements slog.LogValuer: a group of message, key and error, all for the first key that
// failed, and failed, the number of keys.
func (e *ProcessError[K]) LogValue() slog.Value {
	return failureRecord(e.Failed[0].Key, e.Failed[0].Err, len(e.Failed))
}

// failureRecord is failureText for a log.
func failureRecord(key any, err error, failed int) slog.Value {
	return slog.GroupValue(
		slog.String(logs.Message, "processing failed"),
		slog.String("key", fmt.Sprint(key)),
		slog.Int("failed", failed),
		slog.Any("error", err),
	)
}

// SlowError says that the consumer does not keep up: a batch took more than 100 ms and 1 ms for
// each of its deltas, and more than 10 deltas came meanwhile. It is no failure. An
// informer.Informer and a pipeline.Pipeline pass one to OnError, at most once a minute. The time
// for which an informer waits for its handlers does not count: see informer.SlowHandlerError.
type SlowError struct {
	// Resource is the collection's name.
	Resource string
	// Deltas is the number of deltas in the batch, Took the time that they took.
	Deltas int
	Took   time.Duration
	// Pending is the number of deltas that waited when the batch was done.
	Pending int
}

func (e *SlowError) Error() string {
	return fmt.Sprintf("%s: %d changes took %v to process, and %d others wait", e.Resource, e.Deltas, e.Took.Round(time.Millisecond), e.Pending)
}

// LogValue implements slog.LogValuer: a group of message, resource, deltas, took and pending.
func (e *SlowError) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String(logs.Message, "changes are slow to process"), slog.String("resource", e.Resource), slog.Int("deltas", e.Deltas),
		slog.Duration("took", e.Took), slog.Int("pending", e.Pending),
	)
}
