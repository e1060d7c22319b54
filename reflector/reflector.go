package reflector

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// Options configures a [Reflector]. The zero value works.
type Options struct {
	// Backoff spaces out requests after failures.
	Backoff Backoff

	// PageSize is the number of objects asked for in one list request. Zero means 500;
	// negative asks for the whole list at once.
	PageSize int64

	// WatchTimeout is how long the server is asked to keep one watch open; each watch
	// asks for a random time from WatchTimeout to twice of it, so that watches which
	// began together do not end together. Zero means 5 minutes; less than a second
	// counts as one, since the protocol counts in seconds.
	WatchTimeout time.Duration

	// OnError hears of every *RequestError and *ObjectError. It runs in the goroutine of
	// Run and holds up the protocol while it does. Nil logs each at level Warn to
	// slog.Default().
	OnError func(error)
}

func (o Options) withDefaults() Options {
	o.Backoff = o.Backoff.withDefaults()
	if o.PageSize == 0 {
		o.PageSize = 500
	}
	if o.WatchTimeout == 0 {
		o.WatchTimeout = 5 * time.Minute
	}
	o.WatchTimeout = max(o.WatchTimeout, time.Second)
	if o.OnError == nil {
		o.OnError = func(err error) { slog.Default().Warn("reflector", "error", err) }
	}
	return o
}

// Reflector keeps a sink equal to a source. See the package documentation.
type Reflector[T any] struct {
	// Set by New and never changed.
	source Source[T]
	sink   Sink[T]
	opts   Options

	running atomic.Bool
	stats   counters

	// Owned by the goroutine of Run.
	state state
	waits waits
}

// New returns a reflector that is not running. It returns [ErrNoSource] or [ErrNoSink]
// for a nil argument.
func New[T any](source Source[T], sink Sink[T], opts Options) (*Reflector[T], error) {
	if source == nil {
		return nil, ErrNoSource
	}
	if sink == nil {
		return nil, ErrNoSink
	}
	opts = opts.withDefaults()
	return &Reflector[T]{
		source: source,
		sink:   sink,
		opts:   opts,
		state:  start(),
		waits:  waits{Backoff: opts.Backoff},
	}, nil
}
