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
	"github.com/kinform/kinform/reflector"
)

var (
	// ErrStarted is returned by a second call of [Factory.Run].
	ErrStarted = errors.New("factory: Run was called before")

	// ErrNoName is returned by Project for a projection without a name.
	ErrNoName = errors.New("factory: projection has no name")

	// ErrNoProjection is returned by Project for a projection without a function.
	ErrNoProjection = errors.New("factory: projection has no function")
)

// Options are the defaults for Requests. The zero value works.
type Options struct {
	// Namespace, LabelSelector and FieldSelector are those of a request whose own are
	// empty. See client.Options.
	Namespace, LabelSelector, FieldSelector string

	// Reflector is informer.Options.Reflector of every informer whose own is the zero value:
	// the page size of lists, whether they are streamed, how long watches last.
	Reflector reflector.Options

	// Resync is informer.Options.Resync of every informer whose own is zero. Negative in a
	// request turns it off there.
	Resync time.Duration

	// Transform is called for every object that the server sends, before it is cached, and
	// may change it, so as to leave out what nobody reads; for [Project] before the
	// projection. The rules are those of reflector.Map: it runs in the goroutines of
	// reflectors, several at once, and what it returns an error for is reported and
	// skipped. What may be changed with client.Options.SharedParts is said there. A change
	// for one type alone is a projection, whose name tells informers apart. Types without
	// metadata are left as they are. Nil changes nothing.
	Transform func(metav1.Object) error

	// OnError hears what informer.Options.OnError does, of every informer without one of
	// its own. Nil logs each error to Logger at level Warn.
	OnError func(error)

	// Logger is informer.Options.Logger of every informer without one of its own.
	Logger *slog.Logger
}

// Factory holds the informers of one API server. All methods and functions of this package
// may be called at the same time, from handlers too.
type Factory struct {
	conn client.Connection // set once
	opts Options           // set once

	mu      sync.Mutex
	phase   phase
	shared  map[identity]*shared
	ctx     context.Context // of Run
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

// shared is one informer and who uses it.
type shared struct {
	inf      any // the *informer.Informer
	resource string
	run      func(context.Context) error
	wait     func(context.Context) error
	stats    func() informer.Stats
	handles  int
	stop     context.CancelFunc // nil until it runs
}

// New returns a factory without informers. For reports a conn that cannot be used.
func New(conn client.Connection, opts Options) *Factory {
	return &Factory{conn: conn, opts: opts, shared: map[identity]*shared{}}
}

// Run runs the informers that were asked for, and those that will be, until ctx is done,
// and returns nil then. It returns the error of an informer that failed, and [ErrStarted]
// when called twice. All that Run started has ended when it returns.
func (f *Factory) Run(ctx context.Context) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	<-f.ctx.Done()
	f.mu.Lock()
	f.phase = stopped // nothing can be started any more
	f.mu.Unlock()
	f.running.Wait()
	f.cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// fail ends Run with the error of an informer, unless it has ended.
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

// start runs s until the factory stops or nobody holds it. Called with the lock held.
func (f *Factory) start(s *shared) {
	ctx, stop := context.WithCancel(f.ctx)
	s.stop = stop
	f.running.Go(func() {
		defer stop()
		if err := s.run(ctx); err != nil {
			f.fail(err)
		}
	})
}

// Result says how far an informer got.
type Result struct {
	// Resource is the name of what it caches, such as "pods in namespace prod".
	Resource string
	// Err is nil if its cache is filled, and else what informer.Informer.WaitForSync
	// returned: an *informer.NotSyncingError, informer.ErrStopped, or an
	// *informer.UnsyncedError, which has the context's error and says what failed so far.
	Err error
}

// WaitForSync waits until the cache of every informer that was asked for is filled, or
// will not be. It returns what came of each, in no order, and nil or the errors of all,
// joined. Informers do not run before Run does.
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

// Stats is what an informer did and holds.
type Stats struct {
	informer.Stats
	// Resource is the name of what it caches. Handles is how many hold it.
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

// all returns copies of what is shared at present.
func (f *Factory) all() []shared {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]shared, 0, len(f.shared))
	for _, s := range f.shared {
		all = append(all, *s)
	}
	return all
}
