package reflector

import (
	"log/slog"
	"time"
)

// Options configures a [Reflector]. The zero value works.
type Options struct {
	Tuning

	// OnError receives every *RequestError and *ObjectError, in the goroutine of Run, and holds up
	// the protocol while it runs. It receives a *SlowListError, and a *RequestError with
	// ErrNotReturning, in another goroutine, possibly during another call; Run waits for that call
	// too. Nil logs the errors to Logger at level Warn, with the attributes of their LogValue.
	// Errors with the same message and key are logged once a minute, with the number of those
	// omitted.
	OnError func(error)

	// Logger records at level Debug when lists and watches begin and end, and why a collection
	// is listed again. It records errors only if OnError is nil, and never an event. Nil means
	// slog.Default().
	Logger *slog.Logger
}

// Tuning says how a reflector lists and watches. The zero value works.
type Tuning struct {
	// Backoff spaces out requests after failures.
	Backoff Backoff

	// PageSize is the number of objects in one list request. Zero means 500; negative asks for
	// the whole list at once. A LIST at a resourceVersion other than "" and "0" has no limit, so
	// that the server can answer it from its cache, unless the server has none: then it has sent
	// pages for "0".
	PageSize int64

	// WatchTimeout is the time for which the server is asked to keep one watch open. Each watch
	// asks for a random time between WatchTimeout and twice WatchTimeout, so that watches which
	// began together do not end together. Zero means 5 minutes. Less than a second counts as one
	// second, the unit of the protocol.
	WatchTimeout time.Duration

	// DisableWatchList asks for lists in pages. Otherwise a list comes as the beginning of a
	// watch, which costs the server far less memory (KEP-3157); servers that cannot stream
	// lists are asked by LIST.
	DisableWatchList bool

	// FirstVersion is the resourceVersion of the first list: its state is not older, unless the server
	// was restored from a backup, which the sink is told ([Rewinder]). Nil does as client-go does: a
	// streaming list asks for "", the newest state, which the server sends from its cache, and a LIST
	// for "0", the present state of the cache.
	FirstVersion *string

	// IdleTimeout ends a watch that brings neither an event nor a bookmark for so long, and
	// begins it again where it ended. Up to a quarter more may pass. API servers send a
	// bookmark every minute. Zero means 3 minutes; negative turns it off.
	IdleTimeout time.Duration

	// PollInterval is the time between two lists of a [Server] whose lists have no resourceVersion, as
	// those of metrics-server and other aggregated APIs: nothing can be watched from them. Zero means
	// 15 seconds; less than a second counts as one second. See Stats.Polling.
	PollInterval time.Duration

	// TrustVersions turns off the check for a server that was restored from a backup. The check
	// runs when a watch resumes after one that ended early. It costs the repetition of up to four
	// events, or a list of one object, rarely of more. Turn it off for a source that is not a
	// Kubernetes API and can do neither. A list that is older than the newest version seen still
	// counts as that of a restored server. A watch still resumes before the events of the newest
	// version, because there may be more of them.
	TrustVersions bool

	// DecodeAll decodes each object of each list. Otherwise an object that the sink has with the
	// same key, UID, version and sum of its bytes is taken from the sink: see [Relister].
	DecodeAll bool
}

func (o Tuning) withDefaults() Tuning {
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
	if o.PollInterval == 0 {
		o.PollInterval = 15 * time.Second
	}
	o.PollInterval = max(o.PollInterval, time.Second)
	return o
}
