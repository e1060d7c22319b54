package reflector

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/logs"
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

	// DisableWatchList asks for lists in pages. Otherwise they come as the beginning of a
	// watch, which costs the server far less memory (KEP-3157), with LIST for servers
	// that cannot do so.
	DisableWatchList bool

	// FirstVersion is the resourceVersion that the first list asks for: its state will not
	// be older. Nil is what client-go asks for: "" in a streaming list, which is the newest
	// state, from the server's cache; "0" in a LIST, which is what the cache has.
	FirstVersion *string

	// ForcePages asks for pages also where the server would answer from its cache if it
	// were asked for all: by LIST, at a resourceVersion other than "" and "0". Not needed
	// for a server without such a cache: it is known by the pages that it sends for "0".
	ForcePages bool

	// IdleTimeout is how long neither an event nor a bookmark may come before a watch is
	// given up and begun again where it ended; up to a quarter of it more can pass. API
	// servers send a bookmark every minute. Zero means 3 minutes; negative turns it off.
	IdleTimeout time.Duration

	// InternalErrorRetry is how long watches that end with an InternalError in a row are
	// begun again before the collection is listed again. Zero means a minute; negative
	// means not at all.
	InternalErrorRetry time.Duration

	// TrustVersions turns off the check whether the server was restored from a backup, which
	// costs a watch that goes on after one that ended early the repetition of one event, or a
	// list of one object. It is for sources that are no Kubernetes API, and cannot do either.
	TrustVersions bool

	// OnError hears of every *RequestError and *ObjectError, in the goroutine of Run, and
	// holds up the protocol while it runs. It hears of a *SlowListError in another
	// goroutine, at times beside another call; Run waits for that one, too. Nil logs each
	// to Logger at level Warn, with what the error's LogValue has as attributes.
	OnError func(error)

	// Logger is told, at level Debug, when lists and watches begin and end, and why a
	// collection is listed anew; and of errors if OnError is nil, and only then. No event
	// is logged. Nil means slog.Default().
	Logger *slog.Logger
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
	if o.IdleTimeout == 0 {
		o.IdleTimeout = 3 * time.Minute
	}
	if o.InternalErrorRetry == 0 {
		o.InternalErrorRetry = time.Minute
	}
	return o
}

// Reflector keeps a sink equal to a source. See the package documentation.
type Reflector[T any] struct {
	// Set by New and never changed.
	source Source[T]
	sink   Sink[T]
	opts   Options
	log    logs.Log
	meter  Meter     // source, if it is one
	made   time.Time // by New

	breaker *Breaker // of source, or its own
	server  bool     // source says how far its requests have come

	running atomic.Bool
	stats   counters

	// Owned by the goroutine of Run.
	state  state
	recent recentEvents[T]
	waits  waits
	newest string // version of the objects of the list in progress

	failing bool   // Stats.Failing is set
	reason  pause  // of the last failure, until a request succeeds
	outages uint64 // of breaker, at the last failure
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
	log := logs.Log{To: opts.Logger, Part: "reflector", Resource: source.Resource()}
	if opts.OnError == nil {
		opts.OnError = log.Error
	}
	meter, _ := source.(Meter)
	first := start(opts)
	breaker, server := breakerOf(source)
	first.versioned = first.versioned || server
	return &Reflector[T]{
		source: source,
		sink:   sink,
		opts:   opts,
		log:    log,
		meter:  meter,
		made:   time.Now(),

		breaker: breaker,
		server:  server,

		state: first,
		waits: newWaits(opts.Backoff),
	}, nil
}
