package factory

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

var (
	// ErrStarted is returned by a second call of [Factory.Run].
	ErrStarted = errors.New("factory: Run was called before")

	// ErrKind is returned for a request that has another name or another scope for a kind than
	// an earlier request for the same informer.
	ErrKind = errors.New("factory: two kinds of one resource")

	// ErrUnnamed is returned by Project, with the name of the resource, for a projection without a
	// name, and by ForSource, with the type of the objects, for a Custom without one.
	ErrUnnamed = errors.New("no name")

	// ErrNoOpen is returned by ForSource, with the name of the source, for a Custom without Open.
	ErrNoOpen = errors.New("no function that opens the source")

	// ErrNoProjection is returned by Project, with the names of the resource and the projection,
	// for a projection without a function.
	ErrNoProjection = errors.New("no function that projects")
)

// Options are the defaults for Requests. The zero value works.
type Options struct {
	// Namespace, LabelSelector and FieldSelector apply to requests that leave the same field
	// empty, Namespace not to cluster-scoped kinds. See client.Options.
	Namespace, LabelSelector, FieldSelector string

	// TweakListOptions sets selectors of every list and watch, in addition to the request's: see
	// reflector.Tweak. The reflectors of all informers call it, several at once. Nil sets none.
	TweakListOptions func(*metav1.ListOptions)

	// Reflector applies to informers whose informer.Options.Reflector is the zero value: page
	// size, streaming lists, duration of watches.
	Reflector reflector.Tuning

	// Packed sets informer.Options.Packed of all informers.
	Packed bool

	// Resync applies to informers whose informer.Options.Resync is zero. A negative value in a
	// request turns resyncs off for that informer.
	Resync time.Duration

	// Transform is called for every object from the server before it is cached, and before the
	// projection in [Project]. It may change the object, for example to remove fields that nobody
	// reads. It follows the rules of reflector.Map: Transform runs in the goroutines of reflectors,
	// several at once, and an object that it returns an error for is reported and skipped. The objects
	// share no parts then (see client.Resource.Relist), and take more memory. To change objects of one
	// type only, use a projection, because its name tells informers apart. Types without metadata are
	// not transformed. Nil changes nothing.
	Transform func(metav1.Object) error

	// OnError applies to informers without an informer.Options.OnError. Nil logs each error to
	// Logger at level Warn.
	OnError func(error)

	// Logger applies to informers without an informer.Options.Logger.
	Logger *slog.Logger
}

// Factory holds the informers of one API server. All methods and functions of this package are
// safe from any goroutine, including handlers.
type Factory struct {
	conn client.Connection // set once
	opts Options           // set once

	mu      sync.Mutex
	phase   phase
	shared  map[identity]*shared
	ctx     context.Context // Run's
	cancel  context.CancelFunc
	failed  error // of the informer that ended ctx; nil if none did
	running sync.WaitGroup
}

type phase uint8

const (
	notStarted phase = iota
	running
	stopped
)

// shared is one informer with the number of its handles.
type shared struct {
	inf      any // the *informer.Informer
	untyped  informer.Untyped
	kind     *kind.Kind[any]
	resource string
	run      func(context.Context) error
	wait     func(context.Context) error
	stats    func() informer.Stats
	handles  int
	stop     context.CancelFunc // nil until it runs
}

// New returns a factory without informers. If conn cannot be used, For reports that.
func New(conn client.Connection, opts Options) *Factory {
	return &Factory{conn: conn, opts: opts, shared: map[identity]*shared{}}
}

// Run runs all informers, including those requested later, until ctx is done, and then returns
// nil. It returns the error of an informer that failed, an error that says so if the source or OnError
// of an informer ended the goroutine that ran it, and [ErrStarted] when called twice. When Run
// returns, every goroutine that it started has ended.
func (f *Factory) Run(ctx context.Context) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	<-f.ctx.Done()
	f.mu.Lock()
	f.phase = stopped // nothing can start from now on
	f.mu.Unlock()
	f.running.Wait()
	f.cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// fail ends Run with the error of an informer. If Run is ending already, its result stays.
func (f *Factory) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx.Err() == nil {
		f.failed = err
	}
	f.cancel()
}

func (f *Factory) begin(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.phase != notStarted {
		return ErrStarted
	}
	f.phase = running
	f.ctx, f.cancel = context.WithCancel(ctx)
	for _, s := range f.shared {
		f.start(s)
	}
	return nil
}

// start runs s until the factory stops or the last handle is released. Called with the lock
// held.
func (f *Factory) start(s *shared) {
	ctx, stop := context.WithCancel(f.ctx)
	s.stop = stop
	f.running.Go(func() {
		defer stop()
		usercode.Outcome(func() error { return s.run(ctx) }, func(err error) {
			if err != nil {
				f.fail(err)
			}
		})
	})
}

// Result says how far an informer got.
type Result struct {
	// Resource is the name of the cached collection, such as "pods in namespace prod".
	Resource string
	// Err is nil if the cache is filled. Otherwise it is the error of
	// informer.Informer.WaitForSync: an *informer.NotSyncingError, informer.ErrStopped, or an
	// *informer.UnsyncedError, which has the context's error and the failures so far.
	Err error
}

// WaitForSync waits until informer.Informer.WaitForSync has returned for every informer
// requested so far. It returns one Result for each, in no order, and their errors joined, nil
// if there are none. Informers run only while Run does.
func (f *Factory) WaitForSync(ctx context.Context) ([]Result, error) {
	all := f.all()
	results := make([]Result, len(all))
	failed := make([]error, len(all))
	var wg sync.WaitGroup
	for n, s := range all {
		wg.Go(func() {
			failed[n] = s.wait(ctx)
			results[n] = Result{Resource: s.resource, Err: failed[n]}
		})
	}
	wg.Wait()
	return results, errors.Join(failed...)
}

// Stats holds an informer's counters and the number of its handles.
type Stats struct {
	informer.Stats
	// Resource is the name of the cached collection, Handles the number of handles not
	// released yet.
	Resource string
	Handles  int
}

// Stats returns the counters of every informer, in no order.
func (f *Factory) Stats() []Stats {
	all := f.all()
	stats := make([]Stats, len(all))
	for n, s := range all {
		stats[n] = Stats{Stats: s.stats(), Resource: s.resource, Handles: s.handles}
	}
	return stats
}

// Informers returns the informers that somebody holds a handle on at present, in no order.
func (f *Factory) Informers() (informers []informer.Untyped) {
	for _, s := range f.all() {
		informers = append(informers, s.untyped)
	}
	return informers
}

// all returns copies of the current entries of shared.
func (f *Factory) all() []shared {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]shared, 0, len(f.shared))
	for _, s := range f.shared {
		all = append(all, *s)
	}
	return all
}
