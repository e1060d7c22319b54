package shard_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/shard/leader"
)

const namespace, name = "prod", "websites"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// scene is a server with Leases, replicas, and an observer of their work, in a bubble of virtual
// time.
type scene struct {
	t      *testing.T
	server *fake.Server
	keys   int

	mu      sync.Mutex
	runs    map[int]*process // who works on a key
	numbers map[int]int64    // the newest fencing number
	last    map[int]time.Time
	all     []*process
	slow    time.Duration // of a reconcile
	change  func(*shard.Keys[int])
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, server: fake.New(fake.Options{}), keys: 100, runs: map[int]*process{}, numbers: map[int]int64{}, last: map[int]time.Time{}, slow: 30 * time.Millisecond}
	must(t, fake.Register(s.server, shard.Kind, fake.Rules{}))
	return s
}

// process is a replica with a queue. Each key is reconciled every second.
type process struct {
	s       *scene
	name    string
	replica *shard.Replica
	work    *shard.Work[int]
	queue   *queue.Queue[int]
	cut     atomic.Bool // from the server
	stop    context.CancelFunc
	ended   chan struct{}
	hook    func(context.Context) // for keys below zero

	mu   sync.Mutex
	errs []error
}

func (s *scene) options(identity string) shard.Options {
	return shard.Options{Namespace: namespace, Name: name, Identity: identity}
}

// start starts a replica.
func (s *scene) start(opts shard.Options) *process {
	s.t.Helper()
	p := &process{s: s, name: opts.Identity, queue: queue.New(queue.Options[int]{}), ended: make(chan struct{})}
	opts.OnError = func(err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.errs = append(p.errs, err)
	}
	var err error
	server := p.connection()
	server.Limiter = rate.NewLimiter(0, 0) // other requests have used it up: a renewal does not wait for it
	p.replica, err = shard.New(server, opts)
	must(s.t, err)
	keys := shard.Keys[int]{
		Hashed: func(n int) string { return fmt.Sprint("key-", n) }, Add: p.queue.Add,
		All: func() iter.Seq[int] {
			return func(yield func(int) bool) {
				for n := range s.keys {
					if !yield(n) {
						return
					}
				}
			}
		},
	}
	if s.change != nil {
		s.change(&keys)
	}
	p.work, err = shard.Divide(p.replica, keys, p.reconcile)
	must(s.t, err)
	ctx, stop := context.WithCancel(s.t.Context())
	p.stop = stop
	s.mu.Lock()
	s.all = append(s.all, p)
	s.mu.Unlock()
	workers, endWorkers := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	tasks.Go(func() { _ = queue.Run(workers, p.queue, queue.RunOptions{Workers: 20}, p.work.Reconcile) })
	go func() {
		defer close(p.ended)
		if err := p.replica.Run(ctx); err != nil {
			s.t.Error(err)
		}
		endWorkers()
		tasks.Wait()
		p.queue.ShutDown()
	}()
	return p
}

// connection is the server, unless the process is cut off from it.
func (p *process) connection() client.Connection {
	h := p.s.server.Client()
	to := h.Transport
	h.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
		if p.cut.Load() {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}
		return to.RoundTrip(req)
	})
	return client.Connection{URL: fake.URL, HTTP: h}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// reconcile works on a key, and looks for others that do.
func (p *process) reconcile(ctx context.Context, key int) error {
	s := p.s
	if key < 0 {
		p.hook(ctx)
		return nil
	}
	number, ok := shard.Number(ctx)
	s.mu.Lock()
	if other := s.runs[key]; other != nil {
		s.t.Errorf("%s and %s work on %d", p.name, other.name, key)
	}
	if !ok || number < s.numbers[key] {
		s.t.Errorf("%s: the number of %d goes back from %d to %d", p.name, key, s.numbers[key], number)
	}
	s.runs[key], s.numbers[key], s.last[key] = p, number, time.Now()
	s.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-time.After(s.slow):
	}
	s.mu.Lock()
	delete(s.runs, key)
	s.mu.Unlock()
	p.queue.AddAfter(key, time.Second)
	return nil
}

// settled waits until every key was worked on in the last two seconds, and fails after limit.
func (s *scene) settled(limit time.Duration) {
	s.t.Helper()
	begun := time.Now()
	for {
		time.Sleep(100 * time.Millisecond)
		s.mu.Lock()
		idle := -1
		for key := range s.keys {
			if last, ok := s.last[key]; !ok || time.Since(last) > 2*time.Second || last.Before(begun) {
				idle = key
				break
			}
		}
		s.mu.Unlock()
		if idle < 0 {
			return
		}
		if time.Since(begun) > limit {
			s.dump()
			s.t.Fatalf("nobody works on %d after %v", idle, limit)
		}
	}
}

// dump logs what replicas and server have.
func (s *scene) dump() {
	for _, p := range s.all {
		p.mu.Lock()
		s.t.Logf("%s: %+v, %v", p.name, p.replica.Status(), p.errs)
		p.mu.Unlock()
	}
	for _, l := range s.leases() {
		s.t.Logf("%s %s: %v %v", l.Name, l.UID, l.Annotations, l.Labels)
	}
}

// share returns the number of keys whose newest reconcile was of a process that holds them.
func (p *process) share() (n int) {
	for key := range p.s.keys {
		if p.work.Has(key) {
			n++
		}
	}
	return n
}

func (p *process) reported(want error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.errs, func(err error) bool { return errors.Is(err, want) })
}

func (p *process) said(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.errs, func(err error) bool { return strings.Contains(err.Error(), text) })
}

// leave ends a replica in order.
func (p *process) leave() {
	p.stop()
	<-p.ended
}

// end ends all replicas.
func (s *scene) end() {
	for _, p := range s.all {
		p.cut.Store(false)
		p.stop()
	}
	for _, p := range s.all {
		<-p.ended
	}
	synctest.Wait()
}

func (s *scene) leases() []*leader.Lease {
	s.t.Helper()
	all, err := fake.List[*leader.Lease](s.server, fake.Selection{Namespace: namespace})
	must(s.t, err)
	return all
}

func (s *scene) delete(name string) {
	s.t.Helper()
	_, err := fake.Delete[*leader.Lease](s.server, types.NamespacedName{Namespace: namespace, Name: name})
	must(s.t, err)
}

func (s *scene) edit(name string, change func(*leader.Lease)) {
	s.t.Helper()
	l, err := fake.Get[*leader.Lease](s.server, types.NamespacedName{Namespace: namespace, Name: name})
	must(s.t, err)
	change(l)
	_, err = fake.Update(s.server, l)
	must(s.t, err)
}

// inside calls f in a reconcile of a key that no queue has.
func (p *process) inside(f func(context.Context)) error {
	key := -1
	for !p.work.Has(key) {
		key--
	}
	p.s.mu.Lock()
	p.hook = f
	p.s.mu.Unlock()
	return p.work.Reconcile(p.s.t.Context(), key)
}
