package debug

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/informer/factory"
	"github.com/kinform/kinform/internal/keytext"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/objmeta"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/shard"
)

// Errors of the functions that add to a page. Each comes with the name that was given. They are the
// same values as in package manager.
var (
	// ErrUnnamed says that the name is empty.
	ErrUnnamed = manager.ErrUnnamed
	// ErrDuplicate says that something of the same sort was added under that name.
	ErrDuplicate = manager.ErrDuplicate
	// ErrNoPart says that the page, or the part to be added, is nil.
	ErrNoPart = manager.ErrNoPart
)

// Options configures a [Page]. The zero value records nothing.
type Options struct {
	// Events is the number of the newest events that each informer keeps, with the times at which
	// its handlers got them (informer.Informer.Trace). An event costs some 0.1 µs more, and 0.1 µs at most
	// for each handler. Zero and negative mean none.
	Events int
	// Reconciles is the number of the newest reconciles that each controller keeps, and switches on
	// its last errors (controller.Controller.Trace). A reconcile costs some 0.3 µs more. Zero and
	// negative mean none.
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

	mu      sync.Mutex
	added   views
	sources []func() []manager.Part // of managers and factories
	found   map[any]any             // the views of their parts
	names   map[string]bool         // the names in use, by sort and name

	shared struct { // guarded by its own lock, under which mu may be taken
		sync.Mutex
		at       time.Time
		state    State
		text     []byte
		unfilled map[informer.Untyped]string // why the caches are not filled that are not
	}
}

// New returns an empty page. It starts no goroutine.
func New(opts Options) *Page {
	if opts.Viewers <= 0 {
		opts.Viewers = 100
	}
	p := &Page{opts: opts, closed: make(chan struct{}), found: map[any]any{}, names: map[string]bool{}}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

// Close ends all streams, now and later. Give it to http.Server.RegisterOnShutdown, since Shutdown
// waits for requests that have not ended. Everything else goes on working.
func (p *Page) Close() { p.close() }

// AddInformer adds an informer, or a handle on one, as name. server returns the server's present
// object for the story of a key, when the viewer asks for it; it may be nil. Its context ends after
// 5 seconds. Errors: [ErrUnnamed], [ErrDuplicate], [ErrNoPart].
func AddInformer[K comparable, T any](p *Page, name string, inf informer.Informed[K, T], server func(context.Context, K) (T, error)) error {
	if p == nil || inf == nil || inf.AsInformer() == nil {
		return noPart(p, "informer", name)
	}
	v := p.informer(name, inf.AsInformer(), inf)
	awaitTraces(v)
	if server != nil {
		v.ask = func(ctx context.Context, text string) (string, error) {
			key, ok := keytext.Find(text, inf.AsInformer().Store().Keys())
			if !ok {
				return "", errors.New("there is no such key in the cache")
			}
			obj, err := server(ctx, key)
			if err != nil {
				return "", err
			}
			return objmeta.VersionOf(obj), nil
		}
	}
	return p.add("informer", name, func() { p.added.informers = append(p.added.informers, v) })
}

// AddQueue adds a queue as name. Waiting and running times need queue.Options.Timing. Errors:
// [ErrUnnamed], [ErrDuplicate], [ErrNoPart].
func (p *Page) AddQueue(name string, q queue.Untyped) error {
	if p == nil || mistake.IsNil(q) {
		return noPart(p, "queue", name)
	}
	return p.add("queue", name, func() { p.added.queues = append(p.added.queues, &queued{name: printable(name), queue: q}) })
}

// AddController adds a controller and its queue as name: a *controller.Controller. Errors:
// [ErrUnnamed], [ErrDuplicate], [ErrNoPart].
func (p *Page) AddController(name string, c manager.Controller) error {
	if p == nil || mistake.IsNil(c) {
		return noPart(p, "controller", name)
	}
	return p.add("controller", name, func() { p.added.controllers = append(p.added.controllers, p.controller(name, c)) })
}

// Replica is a *shard.Replica.
type Replica interface {
	Identity() string
	Status() shard.Status
	Assignment() *shard.Assignment
}

// AddReplica adds a replica of package shard as name. Errors: [ErrUnnamed], [ErrDuplicate],
// [ErrNoPart].
func (p *Page) AddReplica(name string, r Replica) error {
	if p == nil || mistake.IsNil(r) {
		return noPart(p, "replica", name)
	}
	return p.add("replica", name, func() { p.added.replicas = append(p.added.replicas, &replica{printable(name), r}) })
}

// AddManager adds everything that belongs to a manager (manager.Manager.Parts), each under its name
// there: controllers, queues, caches, replicas, and the informers of factories. Parts that come
// later appear, and parts that end disappear. If a name is taken, a number follows it: "pods 2". If
// a part is added to the manager after this call, it keeps events and reconciles from the next look
// at the page on. If the page is nil, m.Err and m.Run return [ErrNoPart]. A nil manager has no parts,
// and its Run returns [ErrNoPart].
func (p *Page) AddManager(m *manager.Manager) {
	if p == nil {
		m.AddError(noPart(p, "manager", ""))
		return
	}
	p.addSource(m.Parts)
}

// AddFactory adds the informers of a factory, each under the name of its resource, as
// [Page.AddManager] does. Errors: [ErrNoPart].
func (p *Page) AddFactory(f *factory.Factory) error {
	if p == nil || f == nil {
		return noPart(p, "factory", "")
	}
	p.addSource(func() []manager.Part { return manager.InformersOf(f) })
	return nil
}

// add adds a view under a name that is free among its sort.
func (p *Page) add(sort, name string, add func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case name == "":
		return refuse(sort, name, ErrUnnamed)
	case p.names[sort+" "+name]:
		return refuse(sort, name, ErrDuplicate)
	}
	p.names[sort+" "+name] = true
	add()
	return nil
}

// noPart says that a part, or the page to add it to, is nil.
func noPart(p *Page, sort, name string) error {
	if p == nil {
		return refuse(sort, name, fmt.Errorf("the page: %w", ErrNoPart))
	}
	return refuse(sort, name, ErrNoPart)
}

// refuse returns err about a part of a sort. The name is empty if it has none.
func refuse(sort, name string, err error) error {
	if name == "" {
		return fmt.Errorf("debug: %s: %w", sort, err)
	}
	return fmt.Errorf("debug: %s %q: %w", sort, name, err)
}

// informer returns the view of an informer. cache is the handle on it, or the informer.
func (p *Page) informer(name string, inf informer.Untyped, cache any) *informed {
	v := &informed{name: printable(name), inf: inf, cache: cache, objects: p.opts.Objects, looking: make(chan struct{}, 1)}
	v.trace(p.opts.Events)
	return v
}

func (p *Page) controller(name string, c manager.Controller) *queued {
	c.Trace(p.opts.Reconciles)
	return &queued{name: printable(name), queue: c.Untyped(), calls: c, kept: p.opts.Reconciles}
}
