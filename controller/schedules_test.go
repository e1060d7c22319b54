package controller_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
	schedules = flag.Int("schedules", longtest.N(80, 10_000), "number of random schedules of TestSchedules")
	firstSeed = flag.Uint64("first-seed", 1, "seed of the first of them")
)

const cleanup = "example.com/cleanup"

// bare is a projection that hides the metadata. All tests use this one, since each further type is
// compiled with all the code of a cache. As a pointer, it shares the code of the gadgets.
type bare struct{ g *gadget }

func bareOf(g *gadget) (*bare, error) { return &bare{g}, nil }

func (b *bare) key() (key, error) { return key{Namespace: b.g.Namespace, Name: b.g.Name}, nil }

// owner is the gadget's, and empty without one.
func (b *bare) owner() string {
	if b == nil {
		return ""
	}
	return b.g.Owner
}

// reads are the reads of a handle or of a projected one.
type reads struct {
	get      func(key) (*gadget, bool)
	children func(uid string) []*gadget
	all      func() []*gadget
	run      func(context.Context) error
	places   func() []informer.NamespaceStats
	now      func(context.Context) error
	covers   func(namespace string) bool
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
	sick   string               // the namespace that fails at times, a or b
	outage *outages             // of sick
	denied bool                 // a namespace that has not listed since may have been refused
	wrote  map[key]*gadget      // the newest answers to own writes

	// selector is that of every fourth and fifth seed of five, otherwise empty.
	selector string
}

// parts are what a selected object has at random.
var parts = []string{"x", "y", "z"}

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
	s := &schedule{t: t, seed: seed, dice: rand.New(rand.NewPCG(seed, 0)), server: server, wire: &wire{next: server.Client().Transport}, wrote: map[key]*gadget{}}
	s.sick = string("ab"[seed>>3&1])
	s.outage = &outages{next: s.wire, hits: s.isHit}
	conn := client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: s.outage}}
	if seed%2 == 0 {
		s.set = informer.NewNamespaces("a", "b")
	}
	if seed%5 > 2 {
		s.selector = "part in (x,y,z)"
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
	h := controller.Open(conn, gadgetKind, controller.OpenOptions[*gadget]{Namespaces: s.set, Client: client.Options{LabelSelector: s.selector}, Informer: quiet[*gadget]()})
	owned := informer.AddIndex(h, byUID)
	return reads{h.Cached, owned.Get, func() []*gadget { return h.List("", nil) }, h.AsInformer().Run, func() []informer.NamespaceStats { return h.AsInformer().Stats().Namespaces }, h.WaitForNow, h.Covers, &h.Requests}
}

func (s *schedule) projected(conn client.Connection) reads {
	byUID := index.New("owner", func(dst []string, b *bare) []string { return owner(dst, b.g) })
	h := controller.OpenProjected(conn, gadgetKind, bareOf, (*bare).key, controller.OpenOptions[*bare]{Namespaces: s.set, Client: client.Options{LabelSelector: s.selector}, Informer: quiet[*bare]()})
	owned := informer.AddIndex(h, byUID)
	all := func() (all []*gadget) {
		for _, b := range h.List() {
			all = append(all, b.g)
		}
		return all
	}
	children := func(uid string) (all []*gadget) {
		for _, b := range owned.Get(uid) {
			all = append(all, b.g)
		}
		return all
	}
	get := func(k key) (*gadget, bool) {
		b, ok := h.Cached(k)
		if !ok {
			return nil, false
		}
		return b.g, true
	}
	return reads{get, children, all, h.AsInformer().Run, func() []informer.NamespaceStats { return h.AsInformer().Stats().Namespaces }, h.WaitForNow, h.Covers, &h.Requests}
}

func (s *schedule) start() {
	s.denied = s.outage.how.Load() == http.StatusForbidden
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
	if s.set != nil && s.dice.IntN(12) == 0 {
		s.fail()
		return
	}
	switch s.dice.IntN(13) {
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
	case 7:
		s.relabel(s.parent())
	case 8:
		s.waitForNow()
	default:
		s.reconcile(s.parent())
	}
}

// comeOrGo adds or removes the namespace b, perhaps amid what follows.
func (s *schedule) comeOrGo() {
	s.denied = s.outage.how.Load() == http.StatusForbidden
	if s.set.Has("b") {
		s.set.Remove("b")
	} else if err := s.set.Add("b"); err != nil {
		s.t.Error(err)
	}
	if s.dice.IntN(2) == 0 {
		synctest.Wait()
	}
}

// fail begins or ends an outage of one member, or lets it last and sees that others go on.
func (s *schedule) fail() {
	switch how := s.outage.how.Load(); {
	case how == 0:
		if s.dice.IntN(2) == 0 {
			s.wire.lose.Store(true)
			s.reconcile(key{Namespace: s.sick, Name: fmt.Sprint("p", s.dice.IntN(2))})
		}
		s.outage.how.Store([...]int32{mute, http.StatusForbidden, http.StatusInternalServerError}[s.dice.IntN(3)])
		s.denied = s.denied || s.outage.how.Load() == http.StatusForbidden
		s.server.DropWatches()
	case s.dice.IntN(2) == 0:
		s.outage.how.Store(0)
	default:
		s.goesOn()
	}
}

// isHit reports whether an outage concerns a request: in the sick namespace, of some seeds only
// lists and watches.
func (s *schedule) isHit(r *http.Request) bool {
	if s.seed%4 == 0 {
		return strings.HasSuffix(r.URL.Path, "/namespaces/"+s.sick+"/gadgets") && r.Method == http.MethodGet
	}
	return strings.Contains(r.URL.Path, "/namespaces/"+s.sick+"/")
}

// isMute reports whether the version of a deletion may be missing, so that the next reconcile waits
// for it: lists are not answered, or fail while writes succeed.
func (s *schedule) isMute() bool {
	how := s.outage.how.Load()
	return how == mute || how != 0 && s.seed%4 == 0
}

// goesOn makes sure that the keys of one namespace are reconciled although the other one fails for
// long.
func (s *schedule) goesOn() {
	well := map[string]string{"a": "b", "b": "a"}[s.sick]
	if s.set == nil || !s.set.Has(well) {
		return
	}
	defer func() {
		for n := range 2 {
			s.reconcile(key{Namespace: s.sick, Name: fmt.Sprint("p", n)}) // waits, or reads all
		}
	}()
	s.server.ClearFaults()
	s.server.DropWatches()
	var err error
	for range 30 {
		time.Sleep(5 * time.Second)
		s.server.Bookmark()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
		err = s.h.requests.CatchUp(ctx)
		cancel()
		if err == nil && !controller.Awaits(s.h.requests, well) {
			return
		}
	}
	s.t.Errorf("the namespace %s waits for the other one: %v, %t", well, err, controller.Awaits(s.h.requests, well))
}

// isRefused reports whether a namespace has been refused since the handle runs, even if it fails in
// another way by now. Its keys do not wait.
func (s *schedule) isRefused(namespace string) bool {
	return slices.ContainsFunc(s.h.places(), func(n informer.NamespaceStats) bool {
		return (n.Refused != nil || s.denied) && !n.Synced && n.Namespace == namespace
	})
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
		s.label(g, s.dice.IntN(5) > 0)
		done(fake.Create(s.server, g))
	case s.dice.IntN(3) == 0:
		done(fake.Delete[*gadget](s.server, k))
	default:
		s.label(g, s.dice.IntN(5) > 0)
		done(fake.Update(s.server, g))
	}
}

// label changes the labels of an object so that a selector matches it, or none does.
func (s *schedule) label(g *gadget, selected bool) {
	g.Labels = map[string]string{"turn": fmt.Sprint(s.dice.Uint32())}
	if selected {
		g.Labels["part"] = parts[s.dice.IntN(len(parts))]
	}
}

// isSelected reports whether the handle selects an object.
func (s *schedule) isSelected(g *gadget) bool { return s.selector == "" || g.Labels["part"] != "" }

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
	if s.h.requests.CatchUp(ctx) != nil || controller.Awaits(s.h.requests, k.Namespace) || s.isRefused(k.Namespace) {
		s.waits++
		return
	}
	s.checkAll(k.Namespace)
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
		s.label(g, s.dice.IntN(4) > 0)
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
		if _, ok := s.h.get(key{Namespace: child.Namespace, Name: child.Name}); ok && !s.isMute() {
			s.t.Errorf("%s was deleted and is there", child.Name)
		}
	}
	if n := len(s.h.children(string(g.UID))); n > 0 && !s.isMute() {
		s.t.Errorf("%d deleted children are there", n)
	}
	g.Finalizers = nil
	s.between(k)
	if _, err = s.h.requests.Update(ctx, g, metav1.UpdateOptions{}); err == nil {
		if seen, ok := s.h.get(k); ok && seen.UID == g.UID && !s.isMute() {
			s.t.Errorf("%v is gone and is there", k)
		}
	}
}

func (s *schedule) ensureChild(ctx context.Context, g *gadget) {
	if all := s.h.children(string(g.UID)); len(all) > 0 {
		s.move(ctx, all[0].DeepCopy())
		return
	}
	child := newGadget("", string(g.UID))
	child.GenerateName, child.Namespace = g.Name+"-child-", g.Namespace
	s.label(child, true)
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

// move changes the labels of a child, which stays in the selection. Reads have it at any time.
func (s *schedule) move(ctx context.Context, child *gadget) {
	if s.selector == "" || s.dice.IntN(2) == 0 {
		return
	}
	s.label(child, true)
	now, err := s.h.requests.Update(ctx, child, metav1.UpdateOptions{})
	s.check(now, err)
}

// waitForNow makes sure that reads are as new as the server then, wherever it can be asked.
func (s *schedule) waitForNow() {
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	began := time.Now()
	covered := s.h.covers("a") && s.h.covers("b")
	err := s.h.now(ctx)
	if s.outage.how.Load() != 0 || !covered || !s.h.covers("a") || !s.h.covers("b") {
		return // it does not wait for a namespace that has failed for long
	}
	if took := time.Since(began); err != nil || took > 3*time.Second {
		s.t.Errorf("WaitForNow: %v after %v", err, took)
	}
	s.compare()
}

// relabel is an own write to an object that it has not read.
func (s *schedule) relabel(k key) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	var g gadget
	s.label(&g, s.dice.IntN(3) > 0)
	labels := map[string]any{"turn": g.Labels["turn"], "part": nil}
	if part := g.Labels["part"]; part != "" {
		labels["part"] = part
	}
	patch := done(json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}}))
	now, err := s.h.requests.Patch(ctx, k, types.MergePatchType, patch, metav1.PatchOptions{})
	s.check(now, err)
}

// check makes sure that reads are not older than a write.
func (s *schedule) check(now *gadget, err error) {
	if err != nil {
		return
	}
	s.wrote[key{Namespace: now.Namespace, Name: now.Name}] = now
	seen, ok := s.h.get(key{Namespace: now.Namespace, Name: now.Name})
	switch selected := s.isSelected(now); {
	case !selected && ok && seen.UID == now.UID && number(seen) <= number(now):
		s.t.Errorf("%s left the selection at %s and is there at %s", now.Name, now.ResourceVersion, seen.ResourceVersion)
	case selected && (!ok || number(seen) < number(now)):
		s.t.Errorf("wrote %s at %s, read %v", now.Name, now.ResourceVersion, seen)
	}
}

// checkAll makes sure that what a reconcile for a namespace reads is not older than any write.
func (s *schedule) checkAll(namespace string) {
	for k, now := range s.wrote {
		if k.Namespace != namespace || s.set != nil && !s.set.Has(namespace) {
			continue
		}
		seen, ok := s.h.get(k)
		truth, err := fake.Get[*gadget](s.server, k)
		if ok && number(seen) < number(now) || !ok && s.isSelected(now) && err == nil && truth.ResourceVersion == now.ResourceVersion {
			s.t.Errorf("%v was written at %s, and reads have %v", k, now.ResourceVersion, seen)
		}
	}
}

func number(g *gadget) uint64 { return done(strconv.ParseUint(g.ResourceVersion, 10, 64)) }

// settle lets the watch catch up, and compares all reads with the server: nothing stays hidden.
func (s *schedule) settle() {
	s.outage.how.Store(0)
	s.server.ClearFaults()
	s.server.DropWatches()
	time.Sleep(time.Hour)
	s.server.Bookmark()
	synctest.Wait()
	s.compare()
	s.stop()
}

// compare compares all reads with the server.
func (s *schedule) compare() {
	want := map[string]string{}
	for _, g := range done(fake.List[*gadget](s.server, fake.Selection{})) {
		if s.set != nil && !s.set.Has(g.Namespace) || !s.isSelected(g) {
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
}
