package kinformprom

import (
	"fmt"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/shard"
)

// Informer is a cache: an *informer.Informer.
type Informer interface {
	Resource() string
	Stats() informer.Stats
	Handlers() []informer.HandlerStats
	Bytes() uint64
}

// Handle is a *controller.Handle or a *controller.Projected.
type Handle interface {
	Stats() controller.Stats
	Handlers() []informer.HandlerStats
	Bytes() uint64
}

// Client is a *client.Resource.
type Client interface{ Stats() client.Stats }

// Queue is a *queue.Queue or, for its reconciles, a *controller.Controller.
type Queue interface{ Metrics() queue.Metrics }

// Elector is a *leader.Elector.
type Elector interface{ Leads() bool }

// Metrics reads the numbers of everything that was added to it when it is scraped. It is a
// prometheus.Collector. Make one with [New]. Its methods may be called from any goroutine.
type Metrics struct {
	// Set by New and never changed.
	caches      cacheTable
	clients     []number[client.Stats]
	queues      queueTable
	controllers controllerTable
	leads       *prometheus.Desc
	shards      []number[shard.Status]
	requests    *requests

	mu    sync.Mutex
	taken map[place]bool
	parts []part // not changed in place, so that Collect reads it without the lock
	alive []*alive
}

// place is a name among the parts of one sort.
type place struct{ sort, name string }

// part is something that was added. collect is called with no lock held, by several scrapes at
// once.
type part struct {
	places  []place
	desc    *prometheus.Desc // to report a panic under
	collect func(emitter)
}

// New returns a collector without parts.
func New() *Metrics {
	return &Metrics{
		caches:      newCacheTable(),
		clients:     clientNumbers(),
		queues:      newQueueTable(),
		controllers: newControllerTable(),
		leads:       desc("leader_election_master_status", "Whether this process leads: 1, or 0 while it stands by.", "name"),
		shards:      shardNumbers(),
		requests:    newRequests(),
		taken:       map[place]bool{},
	}
}

// AddInformer adds a cache under a name, mostly its resource's. A handle on one has more metrics:
// see [Metrics.AddHandle]. It returns [ErrUnnamed], [ErrNoPart] or [ErrDuplicate].
func (m *Metrics) AddInformer(name string, inf Informer) error {
	return m.add("informer", name, inf, func() part { return m.informer(name, inf) })
}

// AddHandle adds a handle under a name, mostly its resource's: its cache as [Metrics.AddInformer]
// does, and its requests as [Metrics.AddClient] does. The errors are the same.
func (m *Metrics) AddHandle(name string, h Handle) error {
	return m.add("handle", name, h, func() part { return m.handle(name, h) })
}

// AddClient adds the numbers of a client under a name. It returns the errors of
// [Metrics.AddInformer].
func (m *Metrics) AddClient(name string, c Client) error {
	return m.add("client", name, c, func() part { return m.client(name, c) })
}

// AddQueue adds a queue under a name. It returns the errors of [Metrics.AddInformer].
func (m *Metrics) AddQueue(name string, q Queue) error {
	return m.add("queue", name, q, func() part { return m.queue(name, q) })
}

// AddController adds a controller under a name: its queue as [Metrics.AddQueue] does, and its
// reconciles. A queue that the program passes to queue.Run itself can be added here as well. It
// returns the errors of [Metrics.AddInformer].
func (m *Metrics) AddController(name string, c Queue) error {
	return m.add("controller", name, c, func() part { return m.controller(name, c) })
}

// AddElector adds a candidate under a name, mostly its Lease's. It returns the errors of
// [Metrics.AddInformer].
func (m *Metrics) AddElector(name string, l Elector) error {
	return m.add("elector", name, l, func() part { return m.elector(name, l) })
}

// AddReplica adds a replica of package shard. name is the value of the label, mostly Options.Name
// of the replica. It returns the errors of [Metrics.AddInformer].
func (m *Metrics) AddReplica(name string, r Replica) error {
	return m.add("replica", name, r, func() part { return m.replica(name, r) })
}

func (m *Metrics) informer(name string, inf Informer) part {
	c := m.caches.of(name, inf.Resource(), "")
	return newPart(name, m.caches.objects.desc, func(e emitter) { c.collect(e, inf.Stats(), inf.Handlers(), inf.Bytes()) }, "informer")
}

func (m *Metrics) handle(name string, h Handle) part {
	s := h.Stats()
	c := m.caches.of(name, s.Resource, s.Kind.Version)
	return newPart(name, m.caches.objects.desc, func(e emitter) {
		s := h.Stats()
		c.collect(e, s.Cache, h.Handlers(), h.Bytes())
		collect(e, m.clients, s.Client, c.name)
	}, "informer", "client")
}

func (m *Metrics) client(name string, c Client) part {
	label := pairs("name", name)
	return newPart(name, m.clients[0].desc, func(e emitter) { collect(e, m.clients, c.Stats(), label) }, "client")
}

func (m *Metrics) queue(name string, q Queue) part {
	shown := m.queues.of(name)
	return newPart(name, m.queues.depth, func(e emitter) { shown.collect(e, q.Metrics()) }, "queue")
}

func (m *Metrics) controller(name string, c Queue) part {
	shown, reconciles := m.queues.of(name), m.controllers.of(name)
	looping, detects := c.(interface{ Loops() []controller.Loop })
	return newPart(name, m.queues.depth, func(e emitter) {
		s := c.Metrics()
		shown.collect(e, s)
		reconciles.collect(e, s)
		if detects {
			e.gauge(reconciles.loops, float64(len(looping.Loops())), reconciles.labels)
		}
	}, "queue")
}

func (m *Metrics) elector(name string, l Elector) part {
	label := pairs("name", name)
	return newPart(name, m.leads, func(e emitter) { e.gauge(m.leads, truth(l.Leads()), label) }, "elector")
}

func (m *Metrics) replica(name string, r Replica) part {
	label := pairs("name", name)
	return newPart(name, m.shards[0].desc, func(e emitter) { collect(e, m.shards, r.Status(), label) }, "replica")
}

// RemoveInformer removes the parts that [Metrics.AddInformer] or [Metrics.AddHandle] added under a
// name, for caches that end before the program does. It reports whether there was such a part.
func (m *Metrics) RemoveInformer(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	gone := place{"informer", name}
	found := false
	var kept []part
	for _, p := range m.parts {
		if p.places[0] != gone {
			kept = append(kept, p)
			continue
		}
		found = true
		for _, at := range p.places {
			delete(m.taken, at)
		}
	}
	m.parts = kept
	return found
}

// newPart returns a part with a name in some sorts.
func newPart(name string, d *prometheus.Desc, collect func(emitter), sorts ...string) part {
	p := part{desc: d, collect: collect}
	for _, sort := range sorts {
		p.places = append(p.places, place{sort, valid(name)})
	}
	return p
}

// add adds the part of value. what names its sort in errors.
func (m *Metrics) add(what, name string, value any, of func() part) error {
	switch {
	case m == nil:
		return refuse(what, name, fmt.Errorf("the metrics: %w", ErrNoPart))
	case mistake.IsNil(value):
		return refuse(what, name, ErrNoPart)
	case name == "":
		return refuse(what, name, ErrUnnamed)
	}
	p := of()
	m.mu.Lock()
	defer m.mu.Unlock()
	if sort := m.take(p); sort != "" {
		return refuse(sort, name, ErrDuplicate)
	}
	m.parts = append(m.parts[:len(m.parts):len(m.parts)], p)
	return nil
}

// take takes the places of a part. If one is taken, it takes none and returns its sort. Called with
// mu held.
func (m *Metrics) take(p part) (sort string) {
	for _, at := range p.places {
		if m.taken[at] {
			return at.sort
		}
	}
	for _, at := range p.places {
		m.taken[at] = true
	}
	return ""
}

func refuse(sort, name string, err error) error {
	return fmt.Errorf("kinformprom: %s %q: %w", sort, name, err)
}

// valid returns a name that a label can have.
func valid(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
