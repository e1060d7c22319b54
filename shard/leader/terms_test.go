package leader_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/internal/pause"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/shard/leader"
)

// gadget is a resource whose reconcile copies the title into the status.
type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Title int `json:"title"`
	} `json:"spec"`
	Status struct {
		Title int `json:"title"`
	} `json:"status"`
}

func (g *gadget) DeepCopy() *gadget {
	c := *g
	g.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

var gadgets = kind.Of[*gadget](schema.GroupVersion{Group: "example.com", Version: "v1"}, "gadgets").WithSubresources("status")

// realm is a server with gadgets, and processes that lead one after the other.
type realm struct {
	*scene
	seed uint64

	mu     sync.Mutex
	reign  reign // the newest one
	began  time.Time
	reigns int
	writes int
	all    []*process
}

// reign is a term of a process.
type reign struct {
	of   *process
	term int
}

type reignKey struct{}

func newRealm(t *testing.T, objects int) *realm {
	t.Helper()
	r := &realm{scene: newScene(t)}
	must(t, fake.Register(r.server, gadgets, fake.Rules{}))
	for n := range objects {
		_, err := fake.Create(r.server, fake.Object(&gadget{}, key.Namespace, fmt.Sprint("g", n)))
		must(t, err)
	}
	return r
}

// change sets the title of a gadget.
func (r *realm) change(n, title int) {
	r.t.Helper()
	g, err := fake.Get[*gadget](r.server, types.NamespacedName{Namespace: key.Namespace, Name: fmt.Sprint("g", n)})
	must(r.t, err)
	g.Spec.Title = title
	_, err = fake.Update(r.server, g)
	must(r.t, err)
}

// wantAll checks that every gadget is reconciled.
func (r *realm) wantAll() {
	r.t.Helper()
	all, err := fake.List[*gadget](r.server, fake.Selection{})
	must(r.t, err)
	for _, g := range all {
		if g.Status.Title != g.Spec.Title {
			r.t.Errorf("seed %d: %s has the title %d and the status %d", r.seed, g.Name, g.Spec.Title, g.Status.Title)
		}
	}
}

// process is a program with a manager.
type process struct {
	r         *realm
	name      string
	cut       atomic.Bool // no request arrives, and no event comes
	slow      atomic.Bool // requests about the Lease take seconds
	lists     atomic.Int32
	random    func(n int) int
	reconcile func(ctx context.Context, k types.NamespacedName) // called first, if not nil
	m         *manager.Manager
	elector   *leader.Elector
	queue     *queue.Queue[types.NamespacedName]
	records   *strings.Builder
	terms     int
	first     time.Time // when the first reconcile of the newest term began
	cancel    func()
	ended     chan error
}

// Lead tells the realm when this process leads.
func (p *process) Lead(ctx context.Context, work func(context.Context)) error {
	return p.elector.Lead(ctx, func(lead context.Context) {
		p.r.mu.Lock()
		p.terms++
		now := reign{p, p.terms}
		p.r.reign, p.r.began, p.first = now, time.Now(), time.Time{}
		p.r.reigns++
		p.r.mu.Unlock()
		work(context.WithValue(lead, reignKey{}, now))
	})
}

// Healthy is the elector's.
func (p *process) Healthy(tolerance time.Duration) func(context.Context) error {
	return p.elector.Healthy(tolerance)
}

// run starts a process.
func (r *realm) run(name string, change ...func(*process)) *process {
	p := &process{r: r, name: name, records: new(strings.Builder), ended: make(chan error, 1), random: func(int) int { return 0 }}
	for _, f := range change {
		f(p)
	}
	server := client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: p}}
	quiet := slog.New(slog.DiscardHandler)
	p.elector = leader.New(server, leader.Options{Namespace: key.Namespace, Name: key.Name, Identity: name, Logger: quiet})
	handle := controller.Open(p.elector.Gate(server), gadgets, controller.OpenOptions[*gadget]{Informer: informer.Options[*gadget]{Logger: quiet}})
	c := controller.New("gadgets", func(ctx context.Context, k types.NamespacedName) error {
		r.mu.Lock()
		if p.first.IsZero() {
			p.first = time.Now()
		}
		r.mu.Unlock()
		if p.reconcile != nil {
			p.reconcile(ctx, k)
		}
		g, ok := handle.Cached(k)
		if !ok || g.Status.Title == g.Spec.Title {
			return nil
		}
		_, err := controller.PatchStatus(ctx, handle, g, func(g *gadget) { g.Status.Title = g.Spec.Title })
		return err
	}, controller.Options[types.NamespacedName]{Run: queue.RunOptions{Workers: 3}, Logger: quiet})
	controller.For(c, handle, controller.GenerationChanged)
	p.queue = c.Queue()
	p.m = manager.New(manager.Options{Elector: p, Logger: slog.New(slog.NewTextHandler(p.records, nil))})
	p.m.AddControllers(c)
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	r.t.Cleanup(cancel) // if the test ends before
	go func() { p.ended <- p.m.Run(ctx) }()
	r.all = append(r.all, p)
	return p
}

// end stops a process in good order.
func (p *process) end() {
	p.r.t.Helper()
	p.cancel()
	if err := <-p.ended; err != nil {
		p.r.t.Errorf("seed %d: %s: %v", p.r.seed, p.name, err)
	}
	p.ended <- nil
}

// arrives checks a write that comes to the server: it belongs to the newest term of all.
func (r *realm) arrives(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes++
	if of, _ := ctx.Value(reignKey{}).(reign); of != r.reign {
		r.t.Errorf("seed %d: a write of term %d of %s in term %d of %s", r.seed, of.term, of.of.name, r.reign.term, r.reign.of.name)
	}
}

var errCut = errors.New("connection reset by peer")

// RoundTrip is the way to the server, which may be slow, and along which a write can arrive although its sender has
// given up.
func (p *process) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	switch lease := strings.Contains(req.URL.Path, "/leases"); {
	case lease && p.cut.Load():
		<-ctx.Done()
		return nil, ctx.Err()
	case lease:
		if p.slow.Load() && pause.For(ctx, time.Duration(p.random(6000))*time.Millisecond) != nil {
			return nil, ctx.Err()
		}
		return p.r.server.Client().Transport.RoundTrip(req)
	case req.Method == http.MethodGet:
		if p.cut.Load() {
			return nil, errCut
		}
		if !req.URL.Query().Has("watch") && strings.HasSuffix(req.URL.Path, "/gadgets") || req.URL.Query().Has("sendInitialEvents") {
			p.lists.Add(1)
		}
		answer, err := p.r.server.Client().Transport.RoundTrip(req)
		if err == nil {
			answer.Body = body{answer.Body, p}
		}
		return answer, err
	}
	type result struct {
		answer *http.Response
		err    error
	}
	answers := make(chan result, 1)
	time.AfterFunc(time.Duration(p.random(4000))*time.Millisecond, func() {
		if p.cut.Load() {
			answers <- result{nil, errCut}
			return
		}
		p.r.arrives(ctx)
		answer, err := p.r.server.Client().Transport.RoundTrip(req.WithContext(context.WithoutCancel(ctx)))
		if p.random(10) == 1 && err == nil {
			_ = answer.Body.Close()
			answer, err = nil, errCut
		}
		answers <- result{answer, err}
	})
	select {
	case got := <-answers:
		return got.answer, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// body is an answer that ends when its process is cut off.
type body struct {
	io.ReadCloser
	p *process
}

func (b body) Read(to []byte) (int, error) {
	n, err := b.ReadCloser.Read(to)
	if b.p.cut.Load() {
		return 0, errCut
	}
	return n, err
}

// probe returns the answer to a probe.
func probe(h http.Handler) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	return strings.TrimSpace(w.Body.String())
}

// A leader that loses the Lease leads again without a list, with the keys that it had and those that have changed, at once.
func TestRegained(t *testing.T) {
	const look = 5*time.Second + 2400*time.Millisecond // a request that hangs, and a pause
	for name, disturb := range map[string]func(r *realm, p *process){
		"outage": func(_ *realm, p *process) { p.cut.Store(true); time.Sleep(time.Minute); p.cut.Store(false) },
		"slow renewals": func(r *realm, p *process) {
			must(r.t, r.server.Inject(faults.Fault{Verb: faults.VerbPatch, Resource: leader.Kind.GroupResource(), Delay: 20 * time.Second, Times: 3}))
			time.Sleep(15 * time.Second)
		},
		"another holder": func(r *realm, _ *process) {
			r.edit(func(s *leader.LeaseSpec) { s.HolderIdentity = pointer("somebody") })
			time.Sleep(5 * time.Second)
		},
		"deleted and made by somebody": func(r *realm, _ *process) { r.delete(); r.create(held("somebody", 15)); time.Sleep(5 * time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRealm(t, 3)
				var block atomic.Bool
				p := r.run("a", func(p *process) {
					p.reconcile = func(ctx context.Context, k types.NamespacedName) {
						if block.Load() && k.Name == "g0" {
							<-ctx.Done()
						}
					}
				})
				time.Sleep(time.Minute)
				settle()
				if !p.elector.Leads() || p.terms != 1 {
					t.Fatalf("it leads: %t, %d terms", p.elector.Leads(), p.terms)
				}
				block.Store(true)
				r.change(0, 1) // runs at the loss
				settle()
				lists := p.lists.Load()
				disturb(r, p)
				block.Store(false)
				if p.elector.Leads() {
					t.Fatal("it leads")
				}
				if ready, healthy := probe(p.m.Readyz()), probe(p.m.Healthz()); ready != "ok" || healthy != "ok" {
					t.Errorf("the probes answer %s, %s", ready, healthy)
				}
				r.change(1, 1)
				settle()
				if g, _ := fake.Get[*gadget](r.server, types.NamespacedName{Namespace: key.Namespace, Name: "g1"}); g.Status.Title != 0 {
					t.Error("it works without the Lease")
				}
				back := time.Now()
				time.Sleep(time.Minute)
				settle()
				if took := r.began.Sub(back); name == "outage" && took > look {
					t.Errorf("it leads again after %v", took)
				}
				if late := p.first.Sub(r.began); p.terms != 2 || late < 0 || late > time.Second {
					t.Errorf("in term %d the first reconcile began after %v", p.terms, late)
				}
				if n := p.lists.Load() - lists; n > 0 || lists == 0 {
					t.Errorf("%d lists, and %d after the loss", lists, n)
				}
				r.wantAll()
				if results := p.queue.Metrics().Results; results.Failed > 0 || results.CutShort == 0 {
					t.Errorf("the results are %+v", results)
				}
				if n := strings.Count(p.records.String(), "leadership lost, standing again"); n != 1 {
					t.Errorf("the log is %s", p.records)
				}
				p.end()
			})
		})
	}
}

// A write whose answer was lost with the Lease is in doubt: the next term asks for the object before it reconciles, and does
// not write again.
func TestDoubtOverTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(t, 1)
		p := r.run("a", func(p *process) { p.random = func(int) int { return 3999 } })
		time.Sleep(time.Minute)
		r.change(0, 1)
		settle()
		r.edit(func(s *leader.LeaseSpec) { s.HolderIdentity = pointer("somebody") })
		time.Sleep(5 * time.Second) // the Lease is lost after two seconds, and the write arrives after four
		r.wantAll()
		before := r.server.Requests()
		if n := before.Count(faults.VerbGet, gadgets.GroupResource()); n != 0 || p.elector.Leads() {
			t.Errorf("%d objects were asked for, and it leads: %t", n, p.elector.Leads())
		}
		time.Sleep(time.Minute)
		settle()
		after := r.server.Requests().Since(before)
		gets, patches := after.Count(faults.VerbGet, gadgets.GroupResource()), after.Count(faults.VerbPatch, gadgets.GroupResource())
		if gets != 1 || patches != 0 || p.terms != 2 {
			t.Errorf("%d gets and %d patches after %d terms", gets, patches, p.terms)
		}
		p.end()
	})
}

// TestRealm runs processes on bad days, in which they lose the Lease and stop. Writes take their time, and may arrive
// although their sender has given up. No write arrives outside of the newest term, and no change is lost.
func TestRealm(t *testing.T) {
	reigns, writes := 0, 0
	for seed := range longtest.N(uint64(25), 2000) {
		synctest.Test(t, func(t *testing.T) {
			r := newRealm(t, 10)
			r.seed = seed
			badDay(r)
			reigns += r.reigns
			writes += r.writes
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d terms, %d writes", reigns, writes)
	if reigns < 75 || writes < 500 {
		t.Errorf("only %d terms and %d writes", reigns, writes)
	}
}

func badDay(r *realm) {
	rng := rand.New(rand.NewPCG(r.seed, 7))
	var mu sync.Mutex
	random := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return rng.IntN(n)
	}
	start := func(name string) *process {
		return r.run(name, func(p *process) {
			p.random = random
			p.reconcile = func(ctx context.Context, _ types.NamespacedName) {
				wait := time.Duration(random(2000)) * time.Millisecond
				if random(5) == 0 {
					time.Sleep(wait) // whatever its context says
				} else {
					_ = pause.For(ctx, wait)
				}
			}
		})
	}
	present := []*process{start("p0"), start("p1")}
	for change := range 60 {
		r.change(random(10), change)
		n := random(2)
		p := present[n]
		switch random(8) {
		case 0, 1:
			p.cut.Store(true)
			time.AfterFunc(time.Duration(random(60_000))*time.Millisecond, func() { p.cut.Store(false) })
		case 2:
			for _, p := range present {
				p.cut.Store(true)
				time.AfterFunc(time.Duration(random(40_000))*time.Millisecond, func() { p.cut.Store(false) })
			}
		case 3:
			p.slow.Store(true)
			time.AfterFunc(time.Duration(random(60_000))*time.Millisecond, func() { p.slow.Store(false) })
		case 4:
			if random(3) == 0 {
				p.end()
				present[n] = start(fmt.Sprint("p", len(r.all)))
			}
		}
		time.Sleep(time.Duration(random(10_000)) * time.Millisecond)
	}
	time.Sleep(time.Minute)
	for _, p := range present {
		p.cut.Store(false)
		p.slow.Store(false)
	}
	time.Sleep(3 * time.Minute)
	settle()
	r.wantAll()
	for _, p := range r.all {
		p.cancel()
	}
	for _, p := range r.all {
		p.end()
	}
	time.Sleep(time.Minute) // writes that are on their way
}

// A write that the gate refuses because the lease is over does not end Run, even before the context of its part is done.
func TestFencedPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		w := &wire{next: s.server.Client().Transport}
		server := client.Connection{URL: fake.URL, HTTP: s.server.Client()}
		elector := leader.New(client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: w}}, leader.Options{Namespace: key.Namespace, Name: key.Name, OnError: func(error) {}})
		gated, err := client.New(elector.Gate(server), leader.Kind, client.Options{Namespace: "other"})
		must(t, err)
		m := manager.New(manager.Options{Elector: elector, Logger: slog.New(slog.DiscardHandler)})
		var terms, refused atomic.Int32
		m.Add("part", manager.Func(func(ctx context.Context) error {
			if terms.Add(1) > 1 {
				<-ctx.Done()
				return nil
			}
			time.Sleep(time.Second)
			w.set(true, nil)            // the last renewal is one second old
			time.Sleep(9 * time.Second) // as if the process was stopped
			_, err := gated.Create(context.Background(), &leader.Lease{ObjectMeta: metav1.ObjectMeta{GenerateName: "w"}}, metav1.CreateOptions{})
			if errors.Is(err, client.ErrNotSent) {
				refused.Add(1)
			}
			w.set(false, nil)
			return err
		}))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		time.Sleep(time.Minute)
		cancel()
		if err := <-ended; err != nil || refused.Load() != 1 || terms.Load() != 2 {
			t.Errorf("%v after %d terms, refused %d times", err, terms.Load(), refused.Load())
		}
	})
}
