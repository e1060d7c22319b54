package reflector

import (
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/lot"
	"github.com/kinform/kinform/internal/mistake"
)

// core is all of a reflector that does not depend on the type of the objects: it decides when to list, to
// watch and to wait, and what an event means. It is compiled once, for all types.
type core struct {
	// Set by init and never changed.
	resource string   // of the source
	requests requests // of the source and the sink
	sink     listSink
	opts     Options
	log      logs.Log
	meter    readCounter   // the source, if it is one
	omitted  func() uint64 // counts the events which the source left out; nil if it leaves out none
	made     time.Time     // by New

	breaker *Breaker // the source's, or one of its own
	server  bool     // the source is a Server, which reports how far its requests have come

	running atomic.Bool
	stats   counters

	// Owned by the goroutine of Run.
	follows following // but for its mu
	state   state
	recent  recentEvents
	waits   waits

	// The connection of the newest watch that ended early and in order since the last list, nil if there
	// is none or a later watch had another connection: see mayRenew.
	renewal net.Conn

	// Of the list in progress: its newest version and object, whether there has been no object, and
	// none in its newest page.
	listed    *newestListed // nil while there is no list in progress
	emptyList bool
	emptyPage bool

	failing bool   // Stats.Failing is set
	reason  pause  // of the last failure, until a request succeeds
	outages uint64 // of breaker, at the last failure

	silence silence

	// Why the last watch failed, if the server had accepted it and it ended soon without anything new.
	// How long the next one has to last then.
	vain  pause
	proof time.Duration
}

// requests are the requests of a reflector, which hand objects from the source to the sink.
type requests interface {
	// list asks for one page, and hands its objects to the sink.
	list(c *listCall)
	// ask asks a question.
	ask(c *listCall, q *question)
	// watch makes the request for a watch that beginWatch begins, and passes on the events until it ends.
	watch(w *watchRequest)
	// endList drops what is kept of the list in progress. If the list is whole, its newest object is the only
	// known one from now on.
	endList(whole bool)
}

// init makes r ready. source and sink are nil if New was given none. changes: the source is a changing one.
func (r *core) init(source interface{ Resource() string }, sink listSink, changes bool, opts Options) error {
	if source == nil {
		return mistake.NoSource
	}
	if sink == nil {
		return errNoSink
	}
	r.resource, r.sink, r.made = source.Resource(), sink, time.Now()
	if pruner, prunes := sink.(pruner); changes && !prunes {
		return fmt.Errorf("%s: %w", r.resource, mistake.NoPruner)
	} else if changes {
		r.follows.sink = pruner
	}
	r.breaker, r.server = breakerOf(source)
	if n := r.breaker.reflectors.Add(1); opts.Backoff.Random == nil {
		opts.Backoff.Random = func() float64 { return lot.Fraction(n) }
	}
	opts.Tuning = opts.withDefaults()
	r.log = logs.New(opts.Logger, "reflector", r.resource)
	if opts.OnError == nil {
		opts.OnError = r.log.Error
	}
	r.opts = opts
	r.meter, _ = source.(readCounter)
	if s, ok := source.(omitter); ok {
		r.omitted = s.omitted
	}
	r.state = initialState(opts.Tuning)
	r.state.server = r.server
	r.waits.Backoff = &r.opts.Backoff
	return nil
}
