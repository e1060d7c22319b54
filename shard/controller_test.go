package shard_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/shard"
)

// website is a resource whose status says who has reconciled it last.
type website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Title string `json:"title"`
	} `json:"spec"`
	Status struct {
		Title  string `json:"title"`
		Number int64  `json:"number"`
		By     string `json:"by"`
	} `json:"status"`
}

func (w *website) DeepCopy() *website {
	c := *w
	w.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

var websites = kind.Of[*website](schema.GroupVersion{Group: "example.com", Version: "v1"}, "websites").WithSubresources("status")

// site is one process with a controller of websites.
type site struct {
	replica *shard.Replica
	wire    atomic.Bool  // cut: no request arrives
	missed  atomic.Int32 // reconciles whose object was not in the cache
	cached  func() int
	queued  func() int
	stop    context.CancelFunc
	ended   sync.WaitGroup
}

// siteKeys are the keys of a process.
type siteKeys = shard.Keys[types.NamespacedName]

// startSite starts a process as a program would. With parts, its cache has only its part of the
// objects. change, of which there is at most one, changes its keys.
func startSite(t *testing.T, server *fake.Server, identity string, parts bool, change ...func(*siteKeys, *controller.Handle[*website])) *site {
	s := &site{}
	conn := client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if s.wire.Load() {
			return nil, errors.New("the wire is cut")
		}
		return server.Client().Transport.RoundTrip(r)
	})}}
	replica, err := shard.New(conn, shard.Options{Namespace: namespace, Name: name, Identity: identity})
	must(t, err)
	var opts controller.OpenOptions[*website]
	if parts {
		opts.Part = shard.Part[*website]{Hashes: replica.Hashes(), Hash: func(w *website) uint64 {
			return shard.Hash(shard.ByKey(types.NamespacedName{Namespace: w.Namespace, Name: w.Name}))
		}}
	}
	handle := controller.Open(replica.Gate(conn), websites, opts)
	var c *controller.Controller[types.NamespacedName]
	keys := siteKeys{
		Hashed: shard.ByKey, All: handle.AsInformer().Store().Keys, CatchUp: handle.WaitForNow,
		Add: func(key types.NamespacedName) { c.Queue().Add(key) },
	}
	for _, change := range change {
		change(&keys, handle)
	}
	work, err := shard.Divide(replica, keys, func(ctx context.Context, key types.NamespacedName) error {
		site, ok := handle.Cached(key)
		if !ok {
			s.missed.Add(1)
		}
		if !ok || site.Status.Title == site.Spec.Title {
			return nil
		}
		_, err := controller.PatchStatus(ctx, handle, site, func(s *website) {
			number, _ := shard.Number(ctx)
			s.Status.Title, s.Status.Number, s.Status.By = s.Spec.Title, number, identity
		})
		return err
	})
	must(t, err)
	c = controller.New("websites", work.Reconcile, controller.Options[types.NamespacedName]{Run: queue.RunOptions{Workers: 4}})
	controller.For(c, handle, func(ev informer.Event[types.NamespacedName, *website]) bool { return work.Has(ev.Key) })
	ctx, stop := context.WithCancel(t.Context())
	s.replica, s.stop, s.queued, s.cached = replica, stop, c.Queue().Len, handle.AsInformer().Store().Len
	s.ended.Go(func() {
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	s.ended.Go(func() {
		if err := replica.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestController: three processes with a controller each divide the objects, while a user changes
// them.
func TestController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { testController(t, false) })
	synctest.Test(t, func(t *testing.T) { testController(t, true) })
}

func testController(t *testing.T, parts bool) {
	server := fake.New(fake.Options{})
	must(t, fake.Register(server, shard.Kind, fake.Rules{}))
	must(t, fake.Register(server, websites, fake.Rules{}))
	const objects = 60
	for n := range objects {
		_, err := fake.Create(server, &website{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("w", n)}})
		must(t, err)
	}
	var sites []*site
	for n := range 3 {
		sites = append(sites, startSite(t, server, strconv.Itoa(n), parts))
	}
	numbers := make([]int64, objects)
	// round gives every object a title, and waits until its status has that, too.
	round := func(title string, limit time.Duration) map[string]int {
		t.Helper()
		for n := range objects {
			w, err := fake.Get[*website](server, types.NamespacedName{Namespace: namespace, Name: fmt.Sprint("w", n)})
			must(t, err)
			w.Spec.Title = title
			_, err = fake.Update(server, w)
			must(t, err)
		}
		time.Sleep(limit)
		by := map[string]int{}
		for n := range objects {
			w, err := fake.Get[*website](server, types.NamespacedName{Namespace: namespace, Name: fmt.Sprint("w", n)})
			must(t, err)
			if w.Status.Title != title || w.Status.Number < numbers[n] {
				t.Errorf("%s after %s: %+v, and the number was %d", w.Name, title, w.Status, numbers[n])
			}
			numbers[n] = w.Status.Number
			by[w.Status.By]++
		}
		return by
	}
	round("first", 30*time.Second)
	if by := round("second", time.Second); len(by) != 3 || by["0"] > 35 || by["1"] > 35 || by["2"] > 35 {
		t.Errorf("objects by process: %v", by)
	}
	all, most := 0, 0
	for _, s := range sites {
		all, most = all+s.cached(), max(most, s.cached())
	}
	if parts && (all != objects || most > objects/2) || !parts && all != 3*objects {
		t.Errorf("parts: %t: the caches have %d objects, and one has %d", parts, all, most)
	}
	sites[1].stop()
	sites[1].ended.Wait()
	if by := round("third", 3*time.Second); by["1"] > 0 || len(by) != 2 {
		t.Errorf("objects by process: %v", by)
	}
	sites = append(sites, startSite(t, server, "3", parts))
	round("fourth", 10*time.Second)
	for _, s := range sites { // before one leaves: its keys come to the others
		if n := s.missed.Load(); n > 0 {
			t.Errorf("parts: %t: %d reconciles did not find their object", parts, n)
		}
		if n := s.queued(); n > 0 {
			t.Errorf("%d keys are queued", n)
		}
	}
	for _, s := range sites {
		s.stop()
		s.ended.Wait()
	}
}

// tenantKey is a key of a controller that is divided by a label of the objects.
type tenantKey struct {
	tenant string
	site   types.NamespacedName
}

// TestByLabel: the objects are divided by a label that never changes: all with one value come to
// one replica.
func TestByLabel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.New(fake.Options{})
		must(t, fake.Register(server, shard.Kind, fake.Rules{}))
		must(t, fake.Register(server, websites, fake.Rules{}))
		const objects, tenants = 120, 12
		create := func(n int) {
			_, err := fake.Create(server, &website{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: fmt.Sprint("w", n), Labels: map[string]string{"tenant": fmt.Sprint("t", n%tenants)},
			}})
			must(t, err)
		}
		for n := range objects / 2 {
			create(n)
		}
		var mu sync.Mutex
		by := map[string]map[string]sets.Set[types.NamespacedName]{} // tenant, identity; a key may come twice
		ctx, stop := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		for n := range 3 {
			conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
			replica, err := shard.New(conn, shard.Options{Namespace: namespace, Name: name, Identity: strconv.Itoa(n), Scheme: "tenant"})
			must(t, err)
			handle := controller.Open(replica.Gate(conn), websites, controller.OpenOptions[*website]{
				Part: shard.Part[*website]{Hashes: replica.Hashes(), Hash: func(w *website) uint64 { return shard.Hash(w.Labels["tenant"]) }},
			})
			key := func(s *website) tenantKey {
				return tenantKey{s.Labels["tenant"], types.NamespacedName{Namespace: s.Namespace, Name: s.Name}}
			}
			var c *controller.Controller[tenantKey]
			work, err := shard.Divide(replica, shard.Keys[tenantKey]{
				Hashed: func(k tenantKey) string { return k.tenant }, CatchUp: handle.WaitForNow,
				Add: func(k tenantKey) { c.Queue().Add(k) },
				All: func() iter.Seq[tenantKey] {
					return func(yield func(tenantKey) bool) {
						for s := range handle.AsInformer().Store().Values() {
							if !yield(key(s)) {
								return
							}
						}
					}
				},
			}, func(_ context.Context, k tenantKey) error {
				mu.Lock()
				defer mu.Unlock()
				of := by[k.tenant]
				if of == nil {
					of = map[string]sets.Set[types.NamespacedName]{}
					by[k.tenant] = of
				}
				of[replica.Identity()] = of[replica.Identity()].Union(sets.New(k.site))
				return nil
			})
			must(t, err)
			c = controller.New("websites", work.Reconcile)
			controller.Watch(c, handle, func(dst []tenantKey, s *website) []tenantKey {
				if k := key(s); work.Has(k) {
					dst = append(dst, k)
				}
				return dst
			})
			must(t, c.Err())
			ended.Go(func() { _ = c.Run(ctx) })
			ended.Go(func() { _ = replica.Run(ctx) })
		}
		time.Sleep(30 * time.Second)
		for n := range objects / 2 {
			create(objects/2 + n)
		}
		time.Sleep(time.Second)
		defer ended.Wait()
		defer stop()
		mu.Lock()
		defer mu.Unlock()
		identities := map[string]bool{}
		for tenant, of := range by {
			for identity, keys := range of {
				if identities[identity] = true; len(of) != 1 || len(keys) != objects/tenants {
					t.Errorf("%s: %v", tenant, of)
				}
			}
		}
		if len(by) != tenants || len(identities) < 2 {
			t.Errorf("%v", by)
		}
	})
}

// TestHandOver: the next owner of a range begins when its cache has the writes of the former one,
// even if its watch is late, and even if the former one is cut off from the server instead of
// leaving.
func TestHandOver(t *testing.T) {
	for _, cut := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server := fake.New(fake.Options{})
			must(t, fake.Register(server, shard.Kind, fake.Rules{}))
			must(t, fake.Register(server, websites, fake.Rules{}))
			key := func(n int) types.NamespacedName {
				return types.NamespacedName{Namespace: namespace, Name: fmt.Sprint("w", n)}
			}
			const objects = 20
			for n := range objects {
				w := &website{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: key(n).Name}}
				w.Spec.Title = "first"
				_, err := fake.Create(server, w)
				must(t, err)
			}
			first := startSite(t, server, "first", false)
			time.Sleep(time.Minute)
			const late = time.Minute
			must(t, server.Inject(faults.Fault{Verb: faults.VerbWatch, Resource: websites.GroupResource(), Delay: late, After: objects + 1, Times: 1}))
			var mu sync.Mutex
			var written map[types.NamespacedName]string // by the first one, before the second one gets something of it
			took, looked := time.Duration(0), 0
			var began time.Time
			second := startSite(t, server, "second", false, func(keys *siteKeys, handle *controller.Handle[*website]) {
				all := keys.All
				keys.All = func() iter.Seq[types.NamespacedName] {
					mu.Lock()
					defer mu.Unlock()
					for key, rv := range written {
						looked++
						took = time.Since(began)
						if w, ok := handle.Cached(key); !ok || w.ResourceVersion != rv {
							t.Errorf("cut off: %t: %v is as old as %v, and the former owner has written %s", cut, key, w, rv)
						}
					}
					return all()
				}
			})
			time.Sleep(10 * time.Second) // the watch begins, and gets an event
			for n := range objects {
				w, err := fake.Get[*website](server, key(n))
				must(t, err)
				w.Spec.Title = "second"
				_, err = fake.Update(server, w)
				must(t, err)
			}
			time.Sleep(time.Second)
			mu.Lock()
			written = map[types.NamespacedName]string{}
			for n := range objects {
				w, err := fake.Get[*website](server, key(n))
				must(t, err)
				if w.Status.By == "first" && w.Status.Title == "second" {
					written[key(n)] = w.ResourceVersion
				}
			}
			began = time.Now()
			mu.Unlock()
			if cut {
				first.wire.Store(true)
			} else {
				first.stop()
			}
			time.Sleep(2 * late)
			mu.Lock()
			if len(written) == 0 || looked == 0 || took > 30*time.Second {
				t.Errorf("cut off: %t: looked at %d objects of %d after %v", cut, looked, len(written), took)
			}
			mu.Unlock()
			for _, s := range []*site{first, second} {
				s.stop()
				s.ended.Wait()
			}
		})
	}
}

// TestRunningKeepsObjects: a range moves while reconcile works on objects in it. They stay in the
// cache until those calls return.
func TestRunningKeepsObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.New(fake.Options{})
		must(t, fake.Register(server, shard.Kind, fake.Rules{}))
		must(t, fake.Register(server, websites, fake.Rules{}))
		const objects = 20
		for n := range objects {
			_, err := fake.Create(server, &website{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("w", n)}})
			must(t, err)
		}
		conn := client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: server.Client().Transport}}
		replica, err := shard.New(conn, shard.Options{Namespace: namespace, Name: name, Identity: "first"})
		must(t, err)
		handle := controller.Open(replica.Gate(conn), websites, controller.OpenOptions[*website]{
			Part: shard.Part[*website]{Hashes: replica.Hashes(), Hash: func(w *website) uint64 {
				return shard.Hash(shard.ByKey(types.NamespacedName{Namespace: w.Namespace, Name: w.Name}))
			}},
		})
		var c *controller.Controller[types.NamespacedName]
		var work *shard.Work[types.NamespacedName]
		var moving atomic.Int64
		work, err = shard.Divide(replica, siteKeys{
			Hashed: shard.ByKey, All: handle.AsInformer().Store().Keys, CatchUp: handle.WaitForNow,
			Add: func(key types.NamespacedName) { c.Queue().Add(key) },
		}, func(_ context.Context, key types.NamespacedName) error {
			for range 60 {
				time.Sleep(time.Second)
				if !work.Has(key) {
					moving.Add(1)
				}
				if _, ok := handle.Cached(key); !ok {
					t.Errorf("%s has left the cache, and reconcile works on it", key)
					return nil
				}
			}
			return nil
		})
		must(t, err)
		c = controller.New("websites", work.Reconcile, controller.Options[types.NamespacedName]{Run: queue.RunOptions{Workers: objects}})
		controller.For(c, handle, func(ev informer.Event[types.NamespacedName, *website]) bool { return work.Has(ev.Key) })
		ctx, stop := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		for _, run := range []func() error{
			func() error { return c.Run(ctx) }, func() error { return replica.Run(ctx) },
		} {
			ended.Go(func() {
				if err := run(); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(30 * time.Second) // all objects are worked on
		second := startSite(t, server, "second", true)
		time.Sleep(2 * time.Minute)
		if n := handle.AsInformer().Store().Len(); moving.Load() == 0 || n == objects || n+second.cached() != objects {
			t.Errorf("%d seconds of work on what is to move; then the caches have %d and %d objects", moving.Load(), n, second.cached())
		}
		stop()
		ended.Wait()
		second.stop()
		second.ended.Wait()
	})
}
