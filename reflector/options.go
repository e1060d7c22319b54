package reflector

import (
	"log/slog"
	"time"
)

// Options configures a [Reflector]. The zero value works.
type Options struct {
	Tuning

	// OnError receives every *RequestError and *ObjectError, in the goroutine of Run, and holds up
	// the protocol while it runs. It receives a *SlowListError, and a *RequestError for
	// a source that does not return, in another goroutine, possibly during another call; Run waits for that call
	// too. Nil logs the errors to Logger at level Warn, with the attributes of their LogValue.
	// Errors with the same message and key are logged once a minute, with the number of those
	// omitted.
	OnError func(error)

	// Logger records at level Debug when lists and watches begin and end, and why a collection
	// is listed again. It records errors only if OnError is nil, and never an event. Nil means
	// slog.Default().
	Logger *slog.Logger

	// ReadOnly says that nobody writes to the objects that the sink gets. Equal parts of theirs may be one then, which
	// takes less memory: see client.Resource.Relist.
	ReadOnly bool
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
	// watch, which costs the server far less memory (KEP-3157).
	//
	// If a server says that it has no streaming lists, the reflector uses LIST at once. It asks for
	// a stream again only after a connection breaks, because the next connection may lead to another
	// server. Any other refusal leads to LIST too, because a server that cannot reach its storage may
	// answer LIST from its cache. The exception is 429, which waits. An answer that is not from the
	// Kubernetes API also leads to LIST. The reflector does not report a refusal that finds fault
	// with the request: if the stream is not the cause, LIST fails as well and is reported.
	//
	// A stream that is silent for a minute, or that does not end its list, leads to LIST: a minute after
	// its first change, or two to three minutes after its begin if it brings only new objects. All later
	// lists then come in pages if the server has never sent a whole stream, or if this was the second
	// such stream in a row. A single one may just have been slow. A stream that breaks off is dropped
	// and requested again. After the second one in a row, or after one that lasted for Backoff.Max,
	// the list comes in pages. It also comes in pages after a deletion that cannot be read, or that
	// may belong to an object that could not be used.
	DisableWatchList bool

	// FirstVersion is the resourceVersion of the first list. The state of that list is not older,
	// unless the server was restored from a backup; the sink learns of that (Rewound of [Sink]). Nil does
	// as client-go does: a streaming list asks for "", the newest state, which the server sends
	// from its cache, and a LIST asks for "0", the present state of the cache.
	FirstVersion *string

	// IdleTimeout ends a watch that brings neither an event nor a bookmark for so long, and
	// begins it again where it ended. Up to a quarter more may pass. API servers send a
	// bookmark every minute. Zero means 3 minutes; negative turns it off.
	IdleTimeout time.Duration

	// PollInterval is the time between two lists of a [Server] whose lists have no resourceVersion,
	// such as metrics-server and other aggregated APIs: nothing can be watched from them. Zero means
	// 15 seconds; less than a second counts as one second. See Stats.Polling.
	PollInterval time.Duration

	// TrustVersions turns off the check for a server that was restored from a backup. The package documentation
	// describes the check, under "Restored servers". It runs when a watch resumes after one that ended early,
	// was idle, or was not ended in time by the server. It costs the repetition of up to four events, or a list
	// of one object, rarely of more. Turn it off for a source that is not a Kubernetes API and can do neither.
	// A list that is older than the newest version seen then still counts as the list of a restored server. A
	// watch still resumes before the events of the newest version, because there may be more of them.
	//
	// An inconclusive check leads to a list. A second such list waits until a watch has brought
	// something new or has lasted long. If again none of the known objects is unchanged, a watch of
	// five seconds is long enough. If all watches end earlier, the list comes five to ten minutes after
	// the last one (ten to twenty times Backoff.Max if that is longer).
	//
	// If the server refuses the list of one object three times in a row, or does not end it, the
	// reflector watches for a minute at a time and asks again after each watch. It does the same if it
	// has a connection but gets no answer eight times, because a proxy may let only watches pass. The
	// first of these watches then lasts five seconds, because the server may have come back meanwhile.
	TrustVersions bool
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
