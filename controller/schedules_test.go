package controller_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/reflector"
)

var (
	schedules = flag.Int("schedules", longtest.N(200, 10_000), "number of random schedules of TestSchedules")
	firstSeed = flag.Uint64("first-seed", 1, "seed of the first of them")
)

const cleanup = "example.com/cleanup"

// bare is a projection that hides the metadata.
type bare struct{ g *gadget }

// reads are the reads of a handle or of a projected one.
type reads struct {
	get      func(key) (*gadget, bool)
	children func(uid string) []*gadget
	all      func() []*gadget
	run      func(context.Context) error
	requests *controller.Requests[*gadget]
}

// schedule is one random order of reconciles, foreign writes, faults and restarts. Parents are the
// gadgets without an owner. A reconcile gives each a finalizer and one child of a generated name,
// and cleans up once before the parent goes.
type schedule struct {
	t      *testing.T
	seed   uint64
	dice   *rand.Rand
	server *fake.Server
	wire   *wire
	h      reads
	stop   func()
	ended  chan error
	waits  int                  // reconciles that were put off
	set    *informer.Namespaces // of every second seed, otherwise nil: its namespace b comes and goes
}

func TestSchedules(t *testing.T) {
	waits, reconciled := 0, 0
	for n := range *schedules {
		seed := *firstSeed + uint64(n)
		synctest.Test(t, func(t *testing.T) {
			s := newSchedule(t, seed)
			for range 60 {
				if s.step(); t.Failed() {
					t.Fatalf("seed %d", seed)
				}
				reconciled++
			}
			if s.settle(); t.Failed() {
				t.Fatalf("seed %d", seed)
			}
			waits += s.waits
		})
	}
	if waits == 0 || waits > reconciled/2 {
		t.Errorf("%d of some %d reconciles were put off", waits, reconciled)
	}
}

func newSchedule(t *testing.T, seed uint64) *schedule {
	server, _ := setup(t)
	s := &schedule{t: t, seed: seed, dice: rand.New(rand.NewPCG(seed, 0)), server: server, wire: &wire{next: server.Client().Transport}}
	conn := client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: s.wire}}
	if seed%2 == 0 {
		s.set = informer.NewNamespaces("a", "b")
	}
	if seed%3 == 0 {
		s.h = s.projected(conn)
	} else {
		s.h = s.whole(conn)
	}
	s.start()
	return s
}

func quiet[T any]() informer.Options[T] {
	return informer.Options[T]{OnError: func(error) {}, Reflector: reflector.Tuning{DisableWatchList: true}}
}

func (s *schedule) whole(conn client.Connection) reads {
	byUID := index.New("owner", owner)
	h := done(controller.Open(conn, gadgetKind, controller.OpenOptions[*gadget]{Namespaces: s.set, Indexes: index.Of(byUID), Informer: quiet[*gadget]()}))
	owned := done(informer.Bind(h, byUID))
	return reads{h.Cached, owned.Get, func() []*gadget { return h.List("", nil) }, h.AsInformer().Run, h.Requests}
}

func (s *schedule) projected(conn client.Connection) reads {
	byUID := index.New("owner", func(dst []string, b bare) []string { return owner(dst, b.g) })
	of := func(g *gadget) (bare, error) { return bare{g}, nil }
	keyOf := func(b bare) (key, error) { return key{Namespace: b.g.Namespace, Name: b.g.Name}, nil }
	h := done(controller.OpenProjected(conn, gadgetKind, of, keyOf, controller.OpenOptions[bare]{Namespaces: s.set, Indexes: index.Of(byUID), Informer: quiet[bare]()}))
	owned := done(informer.Bind(h, byUID))
	all := func() (all []*gadget) {
		for k := range h.AsInformer().Store().All() {
			if b, ok := h.Cached(k); ok {
				all = append(all, b.g)
			}
		}
		return all
	}
	children := func(uid string) (all []*gadget) {
		for _, b := range owned.Get(uid) {
			all = append(all, b.g)
		}
		return all
	}
	get := func(k key) (*gadget, bool) { b, ok := h.Cached(k); return b.g, ok }
	return reads{get, children, all, h.AsInformer().Run, h.Requests}
}

func (s *schedule) start() {
	ctx, cancel := context.WithCancel(s.t.Context())
	s.ended = make(chan error, 1)
	s.stop = func() {
		cancel()
		if err := <-s.ended; err != nil {
			s.t.Errorf("Run returned %v", err)
		}
	}
	go func() { s.ended <- s.h.run(ctx) }()
	synctest.Wait() // a reconcile runs beside a running informer
}

// step does one random thing.
func (s *schedule) step() {
	if s.set != nil && s.dice.IntN(12) == 0 {
		s.comeOrGo()
		return
	}
	switch s.dice.IntN(12) {
	case 0:
		s.inject(faults.Fault{Verb: faults.VerbWatch, After: s.dice.IntN(3), Delay: time.Duration(1+s.dice.IntN(200)) * time.Second, Times: 1 + s.dice.IntN(3)})
		s.server.DropWatches()
	case 1:
		s.stop()
		s.start()
	case 2:
		s.wire.lose.Store(true)
	case 3:
		time.Sleep(time.Duration(s.dice.IntN(100_000)) * time.Millisecond)
	case 4:
		s.server.Bookmark()
		synctest.Wait()
	case 5, 6:
		s.foreign(s.parent())
	default:
		s.reconcile(s.parent())
	}
}

// comeOrGo adds or removes the namespace b, perhaps amid what follows.
func (s *schedule) comeOrGo() {
	if s.set.Has("b") {
		s.set.Remove("b")
	} else if err := s.set.Add("b"); err != nil {
		s.t.Error(err)
	}
	if s.dice.IntN(2) == 0 {
		synctest.Wait()
	}
}

func (s *schedule) inject(f faults.Fault) {
	if err := s.server.Inject(f); err != nil {
		s.t.Fatal(err)
	}
}

func (s *schedule) parent() key {
	return key{Namespace: [...]string{"a", "b"}[s.dice.IntN(2)], Name: fmt.Sprint("p", s.dice.IntN(2))}
}

// foreign is a write of somebody else.
func (s *schedule) foreign(k key) {
	g, err := fake.Get[*gadget](s.server, k)
	switch {
	case err != nil:
		g = newGadget(k.Name, "")
		g.Namespace = k.Namespace
		done(fake.Create(s.server, g))
	case s.dice.IntN(3) == 0:
		done(fake.Delete[*gadget](s.server, k))
	default:
		g.Labels = map[string]string{"turn": fmt.Sprint(s.dice.Uint32())}
		done(fake.Update(s.server, g))
	}
}

// between has somebody else write between a read and a write of a reconcile.
func (s *schedule) between(k key) {
	if s.dice.IntN(5) == 0 {
		s.foreign(k)
	}
}

// reconcile is what a controller does for a parent. Errors are left to the next one.
func (s *schedule) reconcile(k key) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	if s.h.requests.CatchUp(ctx) != nil {
		s.waits++
		return
	}
	g, ok := s.h.get(k)
	if !ok {
		return
	}
	g = g.DeepCopy()
	switch held := len(g.Finalizers) > 0; {
	case g.DeletionTimestamp != nil && held:
		s.cleanUp(ctx, g)
	case g.DeletionTimestamp == nil && !held:
		g.Finalizers = []string{cleanup}
		s.between(k)
		now, err := s.h.requests.Update(ctx, g, metav1.UpdateOptions{})
		s.check(now, err)
	case g.DeletionTimestamp == nil:
		s.ensureChild(ctx, g)
	}
}

// cleanUp cleans up and then removes the finalizer. Nobody else removes it, so a parent without it
// was cleaned up before.
func (s *schedule) cleanUp(ctx context.Context, g *gadget) {
	k := key{Namespace: g.Namespace, Name: g.Name}
	now, err := fake.Get[*gadget](s.server, k)
	if err != nil || now.UID != g.UID || len(now.Finalizers) == 0 {
		s.t.Errorf("cleans up %v twice", k)
	}
	for _, child := range s.h.children(string(g.UID)) {
		if err := s.h.requests.Delete(ctx, key{Namespace: child.Namespace, Name: child.Name}, metav1.DeleteOptions{}); err != nil {
			return
		}
		if _, ok := s.h.get(key{Namespace: child.Namespace, Name: child.Name}); ok {
			s.t.Errorf("%s was deleted and is there", child.Name)
		}
	}
	if n := len(s.h.children(string(g.UID))); n > 0 {
		s.t.Errorf("%d deleted children are there", n)
	}
	g.Finalizers = nil
	s.between(k)
	if _, err = s.h.requests.Update(ctx, g, metav1.UpdateOptions{}); err == nil {
		if seen, ok := s.h.get(k); ok && seen.UID == g.UID {
			s.t.Errorf("%v is gone and is there", k)
		}
	}
}

func (s *schedule) ensureChild(ctx context.Context, g *gadget) {
	if len(s.h.children(string(g.UID))) > 0 {
		return
	}
	child := newGadget("", string(g.UID))
	child.GenerateName, child.Namespace = g.Name+"-child-", g.Namespace
	now, err := s.h.requests.Create(ctx, child, metav1.CreateOptions{})
	s.check(now, err)
	n := 0
	for _, other := range done(fake.List[*gadget](s.server, fake.Selection{})) {
		if other.Owner == string(g.UID) {
			n++
		}
	}
	if n > 1 {
		s.t.Errorf("%d children of %s", n, g.Name)
	}
	if err == nil && len(s.h.children(string(g.UID))) != 1 {
		s.t.Errorf("the index has %d children of %s, want the one that was made", len(s.h.children(string(g.UID))), g.Name)
	}
}

// check makes sure that reads are not older than a write.
func (s *schedule) check(now *gadget, err error) {
	if err != nil {
		return
	}
	seen, ok := s.h.get(key{Namespace: now.Namespace, Name: now.Name})
	if !ok || number(seen) < number(now) {
		s.t.Errorf("wrote %s at %s, read %v", now.Name, now.ResourceVersion, seen)
	}
}

func number(g *gadget) uint64 { return done(strconv.ParseUint(g.ResourceVersion, 10, 64)) }

// settle lets the watch catch up, and compares all reads with the server: nothing stays hidden.
func (s *schedule) settle() {
	s.server.ClearFaults()
	s.server.DropWatches()
	time.Sleep(time.Hour)
	s.server.Bookmark()
	synctest.Wait()
	want := map[string]string{}
	for _, g := range done(fake.List[*gadget](s.server, fake.Selection{})) {
		if s.set != nil && !s.set.Has(g.Namespace) {
			continue
		}
		want[g.Namespace+"/"+g.Name] = g.ResourceVersion
		seen, ok := s.h.get(key{Namespace: g.Namespace, Name: g.Name})
		if !ok || seen.ResourceVersion != g.ResourceVersion {
			s.t.Errorf("%s is at %s, reads have %v", g.Name, g.ResourceVersion, seen)
		}
	}
	all := s.h.all()
	for _, g := range all {
		if want[g.Namespace+"/"+g.Name] != g.ResourceVersion {
			s.t.Errorf("reads have %s at %s, the server %q", g.Name, g.ResourceVersion, want[g.Namespace+"/"+g.Name])
		}
	}
	if len(all) != len(want) {
		s.t.Errorf("reads have %d objects, the server %d", len(all), len(want))
	}
	s.stop()
}
