package debug

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/queue"
)

// Errors of the functions that add to a page. Each comes with the name that was given.
var (
	// ErrName says that the name is empty or taken.
	ErrName = errors.New("debug: the name is empty or taken")
	// ErrNil says that the page is nil, or the informer, queue or controller to add.
	ErrNil = errors.New("debug: nil page, informer, queue or controller")
)

// Options configures a [Page]. The zero value records nothing.
type Options struct {
	// Events is the number of the newest events that the page keeps of each informer, by a handler
	// of its own. With the usual key each takes 88 bytes, and keeps the texts of its key and version
	// in memory. An event costs some 0.15 µs of processor time more (BenchmarkEvent); the
	// informer waits for the handler as for any other. Zero and negative mean none: no handler is
	// added.
	Events int
	// Reconciles is the number of the newest reconciles that the page keeps of each controller,
	// and switches on its last errors. With the usual key each takes 96 bytes, and keeps its error
	// in memory. A reconcile costs some 0.2 µs of processor time more (BenchmarkReconcile), with two
	// short locks and no allocation. Zero and negative mean none: [AddController]
	// returns the function that it was given.
	Reconciles int
	// Objects shows the cached object in a [Story], with the exceptions in the package
	// documentation.
	Objects bool
	// Viewers is the largest number of streams at the same time; more get status 503. Zero and
	// negative mean 100.
	Viewers int
}

// Page is a debug page. Make it with [New]. All methods may be called from any goroutine, and
// things may be added while it serves.
type Page struct {
	opts    Options
	viewers atomic.Int64
	closed  chan struct{}
	close   func()

	mu          sync.Mutex
	informers   []informerView
	queues      []queueView
	controllers []queueView

	shared struct { // guarded by its own lock, under which mu may be taken
		sync.Mutex
		at    time.Time
		state State
		text  []byte
	}
}

// New returns an empty page. It starts no goroutine.
func New(opts Options) *Page {
	if opts.Viewers <= 0 {
		opts.Viewers = 100
	}
	p := &Page{opts: opts, closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

// Close ends all streams, now and later. Give it to http.Server.RegisterOnShutdown, since Shutdown waits
// for requests that have not ended. Everything else goes on working.
func (p *Page) Close() { p.close() }

// AddInformer adds an informer, or a handle on one, as name. server returns the server's present
// object for the story of a key, when the viewer asks for it; it may be nil. Its context ends after 5
// seconds. Errors: [ErrName], [ErrNil], and those of AddHandler.
func AddInformer[K comparable, T any](p *Page, name string, inf informer.Informed[K, T], server func(context.Context, K) (T, error)) error {
	if p == nil || inf == nil || inf.AsInformer() == nil {
		return fmt.Errorf("informer %q: %w", name, ErrNil)
	}
	v := &informed[K, T]{name: name, inf: inf.AsInformer(), server: server, objects: p.opts.Objects}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !free(name, p.informers) {
		return fmt.Errorf("informer %q: %w", name, ErrName)
	}
	if p.opts.Events > 0 {
		v.recent = newRing[seen[K]](p.opts.Events)
		opts := informer.HandlerOptions[T]{Name: handlerName, Resync: -1}
		if _, err := v.inf.AddHandler(informer.HandlerFunc[K, T](v.note), opts); err != nil {
			return fmt.Errorf("informer %q: %w", name, err)
		}
	}
	p.informers = append(p.informers, v)
	return nil
}

// AddQueue adds a queue as name. Waiting and running times need queue.Options.Timing. Errors:
// [ErrName], [ErrNil].
func AddQueue[K comparable](p *Page, name string, q *queue.Queue[K]) error {
	if p == nil || q == nil {
		return fmt.Errorf("queue %q: %w", name, ErrNil)
	}
	return p.addQueue(&p.queues, "queue", &queued[K]{name: name, queue: q})
}

// AddController adds a controller and its queue as name. It returns the function to give to the
// controller's Run: reconcile itself or, with Options.Reconciles, one that records each call of it.
// On an error, it returns reconcile itself. Errors: [ErrName], [ErrNil].
func AddController[Q comparable](p *Page, name string, c *controller.Controller[Q], reconcile func(context.Context, Q) error) (func(context.Context, Q) error, error) {
	if p == nil || c == nil {
		return reconcile, fmt.Errorf("controller %q: %w", name, ErrNil)
	}
	v := &queued[Q]{name: name, queue: c.Queue()}
	if p.opts.Reconciles > 0 && reconcile != nil {
		v.calls = newRecorder[Q](p.opts.Reconciles)
	}
	if err := p.addQueue(&p.controllers, "controller", v); err != nil || v.calls == nil {
		return reconcile, err
	}
	return v.calls.record(reconcile), nil
}

func (p *Page) addQueue(to *[]queueView, what string, v queueView) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !free(v.title(), *to) {
		return fmt.Errorf("%s %q: %w", what, v.title(), ErrName)
	}
	*to = append(*to, v)
	return nil
}

// free reports whether something can be added under name.
func free[V interface{ title() string }](name string, all []V) bool {
	return name != "" && !slices.ContainsFunc(all, func(v V) bool { return v.title() == name })
}
