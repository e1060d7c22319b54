package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/internal/usercode"
)

// The values of Options that are zero.
const (
	DefaultMaxSeries    = 4096
	DefaultMaxPerObject = 25
	DefaultFlushTimeout = 5 * time.Second
)

// Options configures a [Recorder]. Only Controller must be set.
type Options struct {
	// Controller is the name of the controller that records, such as "websites.example.com": a
	// qualified name (https://kubernetes.io/docs/concepts/overview/working-with-objects/names/).
	Controller string

	// Instance tells the processes of the controller apart. It is at most 128 bytes long. Empty
	// means Controller and the name of the host.
	Instance string

	// MaxSeries limits the series that the recorder keeps. A series takes less than 1 KiB and its
	// texts. Zero means [DefaultMaxSeries].
	MaxSeries int

	// MaxPerObject limits the series about one object. A series counts until 6 minutes after its
	// last write. Zero means [DefaultMaxPerObject].
	MaxPerObject int

	// FlushTimeout is how long Run goes on writing after the end of its context. Zero means
	// [DefaultFlushTimeout], and negative means not at all.
	FlushTimeout time.Duration

	// OnError gets an [*Error] for each failed request and for events that are lost. Run calls it, and the
	// goroutine that records an event if that is not valid, or if nobody runs the recorder. It must be safe for
	// concurrent use. A panic in it is logged. Nil logs the errors to Logger at level Warn.
	OnError func(error)

	// Logger gets the errors if OnError is nil. Nil means slog.Default().
	Logger *slog.Logger
}

// Stats counts events, except for Requests, Failures and Series. Recorded is always the sum of
// Written, Waiting and the numbers in Dropped.
type Stats struct {
	// Recorded is the number of calls of [Reporter.Normal] and [Reporter.Warning].
	Recorded uint64
	// Written are the events that the server has acknowledged, alone or in the count of a series.
	Written uint64
	// Waiting are the events that are to be written.
	Waiting uint64
	// Dropped are the events that are lost.
	Dropped Dropped
	// Series is the number of series that the recorder keeps.
	Series int
	// Requests is the number of requests, and Failures the number of requests that failed.
	Requests, Failures uint64
}

// Dropped counts lost events by reason.
type Dropped struct {
	// Invalid events have no object, name, reason or action, or one that is not valid.
	Invalid uint64
	// PerObject is for Options.MaxPerObject, and Full for Options.MaxSeries.
	PerObject, Full uint64
	// Refused are the events that the server refused, and the events of the same series in the six
	// minutes after that, which are not sent.
	Refused uint64
	// GaveUp are those whose requests failed too often.
	GaveUp uint64
	// Stopped are those that were not written in time when Run ended.
	Stopped uint64
}

// Total returns the sum.
func (d Dropped) Total() uint64 {
	return d.Invalid + d.PerObject + d.Full + d.Refused + d.GaveUp + d.Stopped
}

// eventClient has the requests of a client.Resource that a recorder sends. Thanks to the interface,
// packages that import this one are not compiled with the code of a client of Events.
type eventClient interface {
	Create(ctx context.Context, ev *Event, opts metav1.CreateOptions) (*Event, error)
	Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (*Event, error)
}

// Recorder writes events. Make one with [New], run it with [Recorder.Run], and record with a
// [Reporter] for each kind ([For]). It is safe for concurrent use.
type Recorder struct {
	// Set by New and never changed.
	opts   Options
	client eventClient
	log    logs.Log
	wake   chan struct{} // one element: next may have another answer

	mu      sync.Mutex
	faults  []error // of the setup
	table   *table
	started bool      // Run was called
	running bool      // and has not returned
	late    logs.Late // Run, since the first event without it
}

// New returns a recorder that writes to server. It sends nothing. What is wrong is kept: [Recorder.Err] and Run return
// it. It wraps [ErrInvalid] if Options are not usable, or is an error of client.New.
func New(server client.Connection, opts Options) *Recorder {
	host, _ := os.Hostname()
	opts.Instance = cmp.Or(opts.Instance, cut(opts.Controller+"-"+host, maxWord))
	opts.MaxSeries = cmp.Or(opts.MaxSeries, DefaultMaxSeries)
	opts.MaxPerObject = cmp.Or(opts.MaxPerObject, DefaultMaxPerObject)
	opts.FlushTimeout = cmp.Or(opts.FlushTimeout, DefaultFlushTimeout)
	r := &Recorder{opts: opts, log: logs.New(opts.Logger, "events", ""), wake: make(chan struct{}, 1)}
	if err := opts.check(); err != nil {
		r.faults = append(r.faults, err)
		opts.MaxSeries, opts.MaxPerObject = DefaultMaxSeries, DefaultMaxPerObject
	}
	r.table = newTable(opts.MaxSeries, opts.MaxPerObject)
	server.Retries = -1 // Run repeats requests, and writes other events meanwhile
	c, err := client.New(server, Kind, client.Options{})
	if err != nil {
		r.faults = append(r.faults, fmt.Errorf("events: %w", err))
	}
	r.client = c
	return r
}

// Err returns everything that is wrong with the setup so far, joined: the errors of [New] and [For]. Nil means nothing.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.faults...)
}

// wrong keeps an error of the setup.
func (r *Recorder) wrong(err error) {
	r.mu.Lock()
	r.faults = append(r.faults, err)
	late := r.started
	r.mu.Unlock()
	if late {
		r.report(&Error{Err: err})
	}
}

func (o Options) check() error {
	var faults []string
	for _, fault := range validation.IsQualifiedName(o.Controller) {
		faults = append(faults, fmt.Sprintf("Options.Controller %q: %s", o.Controller, fault))
	}
	if len(o.Instance) > maxWord {
		faults = append(faults, fmt.Sprintf("Options.Instance has %d bytes, more than %d", len(o.Instance), maxWord))
	}
	if o.MaxSeries < 0 || o.MaxPerObject < 0 {
		faults = append(faults, "Options.MaxSeries or Options.MaxPerObject is negative")
	}
	if faults == nil {
		return nil
	}
	return fmt.Errorf("events: %w: %s", ErrInvalid, strings.Join(faults, "; "))
}

// Stats returns the current counts. It takes the lock that recording takes.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.table.stats
	s.Waiting = s.Recorded - s.Written - s.Dropped.Total()
	s.Series = len(r.table.all)
	return s
}

// record counts a valid event.
func (r *Recorder) record(k key) {
	now := time.Now()
	r.mu.Lock()
	r.table.add(k, now)
	forgotten := r.late.Due(now)
	r.mu.Unlock()
	if forgotten {
		r.report(&Error{Regarding: k.about, Reason: k.reason, Err: ErrNotRun})
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// refuse counts and reports an event that is not valid.
func (r *Recorder) refuse(k key, err error) {
	r.mu.Lock()
	r.table.stats.Recorded++
	r.table.stats.Dropped.Invalid++
	r.mu.Unlock()
	r.report(&Error{Regarding: k.about, Reason: k.reason, Lost: 1, Err: err})
}

// report calls OnError, or logs.
func (r *Recorder) report(err *Error) { usercode.Report(r.log, r.opts.OnError, err) }
