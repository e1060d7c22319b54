package clientgo_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/store"
	"github.com/kinform/kinform/with/clientgo"
)

var configMaps = &kind.Kind[*corev1.ConfigMap]{
	GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Resource: "configmaps", Scope: kind.Namespaced,
}

// newServer returns a server of ConfigMaps, and a ListerWatcher of them by client-go's own client.
func newServer(t testing.TB) (*fake.Server, cache.ListerWatcher) {
	return newServerWith(t, fake.Options{})
}

func newServerWith(t testing.TB, opts fake.Options) (*fake.Server, cache.ListerWatcher) {
	server := fake.New(opts)
	check(t, fake.Register(server, configMaps, fake.Rules{}))
	clients, err := kubernetes.NewForConfigAndClient(&rest.Config{Host: fake.URL}, server.Client())
	check(t, err)
	return server, cache.NewListWatchFromClient(clients.CoreV1().RESTClient(), "configmaps", metav1.NamespaceAll, fields.Everything())
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}, Data: map[string]string{"v": value}}
}

// calls are the calls of a handler, as texts, and what the handler knows by them.
type calls struct {
	mu    sync.Mutex
	all   []string
	knows map[string]string
	wrong []string // calls that do not fit what it knew
}

// take returns the calls since the last take, sorted: client-go's lists have no order.
func (c *calls) take() (all, wrong []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, wrong = c.all, c.wrong
	c.all, c.wrong = nil, nil
	slices.Sort(all)
	return all, wrong
}

// learn records a call by which an object went from one state to another; an empty text is no
// state.
func (c *calls) learn(call, name, from, to string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, call)
	if c.knows == nil {
		c.knows = map[string]string{}
	}
	if c.knows[name] != from {
		c.wrong = append(c.wrong, fmt.Sprintf("%s, known was %q", call, c.knows[name]))
	}
	if c.knows[name] = to; to == "" {
		delete(c.knows, name)
	}
}

func (c *calls) OnAdd(obj any, initial bool) {
	name, state := textOf(obj)
	c.learn(fmt.Sprintf("add %s, initial %v", state, initial), name, "", state)
}

func (c *calls) OnUpdate(old, obj any) {
	_, before := textOf(old)
	name, state := textOf(obj)
	c.learn("update "+before+" to "+state, name, before, state)
}

func (c *calls) OnDelete(obj any) {
	name, state := textOf(obj)
	c.mu.Lock()
	before := c.knows[name] // the last state may be newer
	c.mu.Unlock()
	c.learn("delete "+state, name, before, "")
}

func textOf(obj any) (name, state string) {
	switch obj := obj.(type) {
	case *corev1.ConfigMap:
		return obj.Name, fmt.Sprintf("%s@%s=%s", obj.Name, obj.ResourceVersion, obj.Data["v"])
	case cache.DeletedFinalStateUnknown:
		name, state = textOf(obj.Obj)
		return name, obj.Key + " unknown " + state
	}
	return "", fmt.Sprintf("%T", obj)
}

type constructor func(testing.TB, cache.ListerWatcher, time.Duration, cache.Indexers) cache.SharedIndexInformer

// ours are Kinform's informers: the one in place of client-go's, and a typed one.
var ours = map[string]constructor{
	"untyped": func(_ testing.TB, lw cache.ListerWatcher, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
		return clientgo.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, resync, indexers)
	},
	"typed": func(t testing.TB, lw cache.ListerWatcher, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
		shared, err := clientgo.Informer(newTyped(t, lw, informer.Options[*corev1.ConfigMap]{Resync: resync}))
		check(t, err)
		check(t, shared.AddIndexers(indexers))
		return shared
	},
}

func newTyped(t testing.TB, lw cache.ListerWatcher, opts informer.Options[*corev1.ConfigMap]) *informer.Informer[types.NamespacedName, *corev1.ConfigMap] {
	inf, err := informer.New(clientgo.Source[*corev1.ConfigMap]("configmaps", lw), store.ObjectKey, opts)
	check(t, err)
	return inf
}

func byValue(obj any) ([]string, error) { return []string{obj.(*corev1.ConfigMap).Data["v"]}, nil }

// side is one informer with a handler from before Run.
type side struct {
	cache.SharedIndexInformer
	calls calls
	late  calls
}

func (s *side) state(t testing.TB) []string {
	var all []string
	for _, obj := range s.GetStore().List() {
		_, state := textOf(obj)
		all = append(all, state)
	}
	for _, value := range []string{"0", "1", "2"} {
		keys, err := s.GetIndexer().IndexKeys("value", value)
		check(t, err)
		objs, err := s.GetIndexer().ByIndex("value", value)
		check(t, err)
		slices.Sort(keys)
		all = append(all, fmt.Sprint("value ", value, ": ", keys, " ", len(objs)))
	}
	values := s.GetIndexer().ListIndexFuncValues("value")
	slices.Sort(values)
	all = append(all, fmt.Sprint("values ", values), "at "+s.LastSyncResourceVersion())
	slices.Sort(all)
	return all
}

// TestSame: whatever happens on a server, handlers are called with the same as by client-go's
// informer, and the stores are equal. While watches are broken, how far each of them comes before
// the next break is a matter of luck. Then only what a handler knows in the end is compared, and
// that its calls fit together.
func TestSame(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) { same(t, seed) })
	}
}

func same(t *testing.T, seed uint64) {
	server, lw := newServer(t)
	rng := rand.New(rand.NewPCG(seed, 15))
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	value := func() string { return fmt.Sprint(rng.IntN(3)) }
	for n := range rng.IntN(4) {
		_, err := fake.Create(server, newMap(fmt.Sprint("first", n), value()))
		check(t, err)
	}
	start := func(inf cache.SharedIndexInformer) *side {
		s := &side{SharedIndexInformer: inf}
		_, err := s.AddEventHandler(&s.calls)
		check(t, err)
		all.Go(func() { s.RunWithContext(ctx) })
		return s
	}
	indexers := cache.Indexers{"value": byValue}
	stock := start(cache.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, indexers))
	ofOurs := map[string]*side{}
	for name, make := range ours {
		ofOurs[name] = start(make(t, lw, 0, indexers))
	}
	compareHandler := func(step string, exact bool, want []string, stock, our *calls) {
		t.Helper()
		got, wrong := our.take()
		if diff := cmp.Diff(want, got); exact && diff != "" {
			t.Errorf("seed %d, %s: calls (-client-go +kinform):\n%s", seed, step, diff)
		}
		if diff := cmp.Diff(stock.knows, our.knows); diff != "" || len(wrong) > 0 {
			t.Errorf("seed %d, %s: knowledge (-client-go +kinform):\n%s\nby wrong calls %q", seed, step, diff, wrong)
		}
	}
	compare := func(step string, exact bool) {
		t.Helper()
		synctest.Wait()
		calls, _ := stock.calls.take()
		late, _ := stock.late.take()
		state := stock.state(t)
		for name, our := range ofOurs {
			compareHandler(step+", handler of "+name, exact, calls, &stock.calls, &our.calls)
			compareHandler(step+", late handler of "+name, exact, late, &stock.late, &our.late)
			if diff := cmp.Diff(state, our.state(t)); diff != "" {
				t.Errorf("seed %d, %s: the stores (-client-go +%s):\n%s", seed, step, name, diff)
			}
		}
	}
	compare("sync", true)
	for n := range 30 {
		if n == 15 {
			_, err := stock.AddEventHandler(&stock.late)
			check(t, err)
			for _, s := range ofOurs {
				_, err := s.AddEventHandler(&s.late)
				check(t, err)
			}
		}
		step := fmt.Sprint(n, " ")
		away := rng.IntN(5) == 0
		if away {
			time.Sleep(time.Minute) // neither likes a watch that ends within a second
			server.DropWatches()
			step += "watches dropped, "
			for range rng.IntN(4) {
				step += change(t, rng, server, value) + ", "
			}
		}
		step += change(t, rng, server, value)
		if away && rng.IntN(2) == 0 {
			check(t, server.Compact(server.ResourceVersion())) // both list again
			step += ", compaction"
		}
		if away {
			time.Sleep(time.Minute)
		}
		compare(step, !away)
	}
	cancel()
	all.Wait()
}

// change makes a random change, and says which.
func change(t *testing.T, rng *rand.Rand, server *fake.Server, value func() string) string {
	list, err := fake.List[*corev1.ConfigMap](server, fake.Selection{})
	check(t, err)
	if len(list) == 0 || rng.IntN(3) == 0 {
		name := fmt.Sprint("map", rng.IntN(1000))
		_, err := fake.Create(server, newMap(name, value()))
		check(t, err)
		return "create " + name
	}
	obj := list[rng.IntN(len(list))].DeepCopy()
	if rng.IntN(3) == 0 {
		_, err := fake.Delete[*corev1.ConfigMap](server, types.NamespacedName{Namespace: obj.Namespace, Name: obj.Name})
		check(t, err)
		return "delete " + obj.Name
	}
	obj.Data["v"] = value()
	_, err = fake.Update(server, obj)
	check(t, err)
	return "update " + obj.Name
}
