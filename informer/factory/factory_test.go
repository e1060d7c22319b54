package factory_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/informer/factory"
	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/kind"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type key = types.NamespacedName

// gear and cog are two custom resources.
type gear struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Teeth             int `json:"teeth,omitempty"`
}

type cog gear

var (
	gears = kind.Of[*gear](schema.GroupVersion{Group: "example.com", Version: "v1"}, "gears")
	cogs  = kind.Of[*cog](schema.GroupVersion{Group: "example.com", Version: "v1"}, "cogs")
)

func newGear(namespace, name string, teeth int) *gear {
	return &gear{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"size": fmt.Sprint(teeth % 2)}}, Teeth: teeth}
}

// world is a server, and a factory on it whose open requests are counted.
type world struct {
	t      testing.TB
	server *fake.Server
	*factory.Factory
	open atomic.Int32 // response bodies
}

func newWorld(t testing.TB, opts factory.Options) *world {
	t.Helper()
	w := &world{t: t, server: fake.New(fake.Options{})}
	w.must(fake.Register(w.server, gears, fake.Rules{}))
	w.must(fake.Register(w.server, cogs, fake.Rules{}))
	if opts.OnError == nil {
		opts.OnError = func(error) {}
	}
	base := w.server.Client().Transport
	counting := roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := base.RoundTrip(r)
		if err == nil {
			w.open.Add(1)
			resp.Body = &counted{ReadCloser: resp.Body, closed: sync.OnceFunc(func() { w.open.Add(-1) })}
		}
		return resp, err
	})
	w.Factory = factory.New(client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: counting}}, opts)
	return w
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type counted struct {
	io.ReadCloser
	closed func()
}

func (c *counted) Close() error {
	c.closed()
	return c.ReadCloser.Close()
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(namespace, name string, teeth int) {
	w.t.Helper()
	_, err := fake.Create(w.server, newGear(namespace, name, teeth))
	w.must(err)
}

// run runs the factory in the background; stop ends it.
func (w *world) run() (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	synctest.Wait()
	return func() {
		w.t.Helper()
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("Run() = %v", err)
		}
		synctest.Wait()
		if n := w.open.Load(); n != 0 {
			w.t.Errorf("%d requests left open", n)
		}
	}
}

func request[T metav1.Object](w *world, k *kind.Kind[T], req factory.Request[T]) *factory.Handle[key, T] {
	w.t.Helper()
	h, err := factory.For(w.Factory, k, req)
	w.must(err)
	return h
}

// checked returns a handler that calls handle, and whose history must be legal at the end of
// the test.
func checked(t *testing.T, handle func(informer.Event[key, *gear])) informer.HandlerFunc[key, *gear] {
	var seen faketest.Histories[key, *gear]
	t.Cleanup(func() {
		if err := seen.Err(); err != nil {
			t.Error(err)
		}
	})
	return recorded(&seen, handle)
}

// recorded returns a handler that calls handle and puts what it sees into seen.
func recorded(seen *faketest.Histories[key, *gear], handle func(informer.Event[key, *gear])) informer.HandlerFunc[key, *gear] {
	return func(ev informer.Event[key, *gear]) {
		switch ev.Type {
		case informer.Added:
			seen.Added(ev.Key, ev.Object)
		case informer.Updated:
			seen.Updated(ev.Key, ev.Old, ev.Object)
		case informer.Deleted:
			seen.Deleted(ev.Key, ev.Object)
		}
		handle(ev)
	}
}

// Requests for the same objects share an informer. Any other difference makes another one.
func TestWhatIsShared(t *testing.T) {
	w := newWorld(t, factory.Options{Namespace: "prod"})
	first := request(w, gears, factory.Request[*gear]{})
	if again := request(w, gears, factory.Request[*gear]{}); again.Informer != first.Informer {
		t.Error("the same request got another informer")
	}
	spelt := request(w, gears, factory.Request[*gear]{Select: client.Options{Namespace: "prod"}})
	if spelt.Informer != first.Informer {
		t.Error("the default namespace is another one if it is asked for")
	}
	for name, same := range map[string][]client.Options{
		"labels": {
			{LabelSelector: "size=1,!old,color in (red,blue),shape notin (round)"},
			{LabelSelector: " color in (blue, red,red), shape!=round , size==1,!old"},
			{LabelSelector: "!old,size in (1),size=1,shape!=round,color in (blue,red)"},
		},
		"fields": {
			{FieldSelector: "metadata.name!=x,metadata.namespace=prod"},
			{FieldSelector: "metadata.namespace==prod,metadata.name!=x,metadata.name!=x"},
		},
	} {
		for _, sel := range same {
			if request(w, gears, factory.Request[*gear]{Select: sel}).Informer != request(w, gears, factory.Request[*gear]{Select: same[0]}).Informer {
				t.Errorf("%s: %+v got another informer than %+v", name, sel, same[0])
			}
		}
	}
	others := map[string]any{"the first": first.Informer}
	for name, sel := range map[string]client.Options{
		"a namespace": {Namespace: "test"}, "labels": {LabelSelector: "size=1"}, "fields": {FieldSelector: "metadata.name=x"},
		"other labels": {LabelSelector: "size=2"}, "not labels": {LabelSelector: "size!=1"}, "a label": {LabelSelector: "size"}, "no label": {LabelSelector: "!size"},
		"more": {LabelSelector: "size>1"}, "less": {LabelSelector: "size<1"}, "two labels": {LabelSelector: "size in (1,2)"}, "both": {LabelSelector: "size=1,size=2"},
		"not fields": {FieldSelector: "metadata.name!=x"}, "a field with a comma": {FieldSelector: `metadata.name=x\\,metadata.name=y`}, "two fields": {FieldSelector: "metadata.name=x,metadata.name=y"},
	} {
		others[name] = request(w, gears, factory.Request[*gear]{Select: sel}).Informer
	}
	others["metadata"] = request(w, kind.As[*metav1.PartialObjectMetadata](gears), factory.Request[*metav1.PartialObjectMetadata]{}).Informer
	others["unstructured"] = request(w, kind.As[*unstructured.Unstructured](gears), factory.Request[*unstructured.Unstructured]{}).Informer
	others["a resource"] = request(w, kind.As[*gear](cogs), factory.Request[*gear]{}).Informer
	others["a projection"] = project(w, "teeth").Informer
	others["a projection of another name"] = project(w, "teeth of teeth").Informer
	seen := map[any]string{}
	for name, inf := range others {
		if other, ok := seen[inf]; ok {
			t.Errorf("%s and %s share an informer", name, other)
		}
		seen[inf] = name
	}
	if project(w, "teeth").Informer != others["a projection"] {
		t.Error("the same projection got another informer")
	}
	for _, stats := range w.Stats() {
		if stats.Resource == "gears.example.com in namespace prod" && stats.Handles == 3 {
			return
		}
	}
	t.Errorf("no informer of three handles in %+v", w.Stats())
}

// tooth is a projection of a gear. It is used as a pointer and with the usual key, so that the
// compiler makes no more code for it.
type tooth struct {
	name  string
	count int
}

func project(w *world, name string) *factory.Handle[key, *tooth] {
	w.t.Helper()
	h, err := factory.Project(w.Factory, gears, factory.Projection[key, *gear, *tooth]{
		Name: name,
		Func: func(g *gear) (*tooth, error) { return &tooth{strings.Clone(g.Name), g.Teeth}, nil },
		Key:  func(t *tooth) (key, error) { return key{Name: t.name}, nil },
	}, factory.Request[*tooth]{})
	w.must(err)
	return h
}

func TestFillsCachesOfEveryType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, factory.Options{})
		w.create("prod", "one", 1)
		w.create("test", "two", 2)
		all := request(w, gears, factory.Request[*gear]{})
		small := project(w, "teeth")
		stop := w.run()
		odd := request(w, gears, factory.Request[*gear]{Select: client.Options{LabelSelector: "size=1"}}) // while it runs
		loose := request(w, kind.As[*unstructured.Unstructured](gears), factory.Request[*unstructured.Unstructured]{Select: client.Options{Namespace: "test"}})
		meta := request(w, kind.As[*metav1.PartialObjectMetadata](gears), factory.Request[*metav1.PartialObjectMetadata]{})
		results, err := w.WaitForSync(context.Background())
		if err != nil || len(results) != 5 {
			t.Errorf("WaitForSync() = %v, %v", results, err)
		}
		for name, got := range map[string][2]int{
			"all": {all.Store().Len(), 2}, "odd": {odd.Store().Len(), 1}, "projected": {small.Store().Len(), 2},
			"unstructured": {loose.Store().Len(), 1}, "metadata": {meta.Store().Len(), 2},
		} {
			if got[0] != got[1] {
				t.Errorf("%s: %d objects, want %d", name, got[0], got[1])
			}
		}
		if got, _ := small.Store().Get(key{Name: "two"}); got == nil || *got != (tooth{"two", 2}) {
			t.Errorf("projected %+v", got)
		}
		stop()
	})
}

// One of several informers is stopped by its last user, and starts again from nothing.
func TestReleaseStopsOneOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, factory.Options{})
		w.create("prod", "one", 1)
		stop := w.run()
		first, second := request(w, gears, factory.Request[*gear]{}), request(w, gears, factory.Request[*gear]{})
		other := request(w, cogs, factory.Request[*cog]{})
		synctest.Wait()
		if n := w.open.Load(); n != 2 {
			t.Fatalf("%d requests are open, want a watch each", n)
		}
		first.Release()
		first.Release() // counts once
		synctest.Wait()
		if n := w.open.Load(); n != 2 || first.Store().Len() != 1 {
			t.Errorf("%d requests open and %d objects while somebody holds the informer", n, first.Store().Len())
		}
		second.Release()
		synctest.Wait()
		if n := w.open.Load(); n != 1 {
			t.Errorf("%d requests are open after the last release, want 1", n)
		}
		w.create("prod", "two", 2)
		again := request(w, gears, factory.Request[*gear]{})
		w.must(again.WaitForSync(context.Background()))
		if again.Informer == first.Informer || again.Store().Len() != 2 {
			t.Errorf("asked again: the same informer is %v, %d objects", again.Informer == first.Informer, again.Store().Len())
		}
		if _, err := fake.Create(w.server, &cog{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "c"}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if other.Store().Len() != 1 {
			t.Error("the other informer stopped too")
		}
		stop()
	})
}

func TestReleaseFromAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, factory.Options{})
		w.create("prod", "one", 1)
		h := request(w, gears, factory.Request[*gear]{})
		_, err := h.AddHandler(checked(t, func(informer.Event[key, *gear]) { h.Release() }), informer.HandlerOptions[*gear]{})
		w.must(err)
		stop := w.run()
		if n := w.open.Load(); n != 0 {
			t.Errorf("%d requests open", n)
		}
		stop()
	})
}

func TestIndexesOfLaterRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, factory.Options{})
		w.create("prod", "one", 1)
		w.create("prod", "two", 2)
		byTeeth := index.New("teeth", func(dst []int, g *gear) []int { return append(dst, g.Teeth) })
		plain := request(w, gears, factory.Request[*gear]{})
		stop := w.run()
		for range 2 {
			h := request(w, gears, factory.Request[*gear]{Informer: informer.Options[*gear]{Indexes: index.Of(byTeeth)}})
			if h.Informer != plain.Informer {
				t.Error("an index made another informer")
			}
		}
		if got := byTeeth.Get(plain.Store(), 2); len(got) != 1 || got[0].Name != "two" {
			t.Errorf("by index: %v", got)
		}
		other := index.New("teeth", func(dst []int, g *gear) []int { return append(dst, -g.Teeth) })
		_, err := factory.For(w.Factory, gears, factory.Request[*gear]{Informer: informer.Options[*gear]{Indexes: index.Of(other)}})
		if !errors.Is(err, index.ErrDuplicate) || !strings.Contains(err.Error(), "gears.example.com") {
			t.Errorf("two indexes of one name: %v", err)
		}
		if got := w.Stats()[0].Handles; got != 3 {
			t.Errorf("%d handles, want 3: the refused request holds one", got)
		}
		stop()
	})
}

func TestWaitForSyncSaysWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, factory.Options{})
		request(w, gears, factory.Request[*gear]{})
		request(w, kind.Of[*gear](gears.GroupVersion(), "wheels"), factory.Request[*gear]{})
		stop := w.run()
		results, err := w.WaitForSync(context.Background())
		var refused *informer.NotSyncingError
		if !errors.As(err, &refused) || refused.Resource != "wheels.example.com" {
			t.Errorf("WaitForSync() = %v", err)
		}
		for _, r := range results {
			if (r.Err != nil) != (r.Resource == "wheels.example.com") {
				t.Errorf("%s: %v", r.Resource, r.Err)
			}
		}
		stop()
	})
}

// A wait that times out says of each informer since when it fails, and why.
func TestWaitForSyncInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, factory.Options{OnError: func(error) {}})
		w.must(w.server.Inject(faults.Fault{Times: -1, Resource: gears.GroupResource(), Status: faults.Refusal(503, metav1.StatusReasonServiceUnavailable, 0)}))
		request(w, gears, factory.Request[*gear]{})
		request(w, cogs, factory.Request[*cog]{})
		began := time.Now()
		stop := w.run()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		results, err := w.WaitForSync(ctx)
		var unsynced *informer.UnsyncedError
		if !errors.As(err, &unsynced) || unsynced.Resource != "gears.example.com" || !unsynced.Failing.Since.Equal(began) || !apierrors.IsServiceUnavailable(unsynced.Failing.Err) {
			t.Errorf("WaitForSync() = %v", err)
		}
		for _, r := range results {
			if (r.Err != nil) != (r.Resource == "gears.example.com") {
				t.Errorf("%s: %v", r.Resource, r.Err)
			}
		}
		stop()
	})
}

// A factory reports an informer whose goroutine OnError has ended.
func TestGoexitOfInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, factory.Options{OnError: func(error) { runtime.Goexit() }})
		w.must(w.server.Inject(faults.Fault{Times: 1, Status: faults.Refusal(500, metav1.StatusReasonInternalError, 0)}))
		request(w, gears, factory.Request[*gear]{})
		if err := w.Run(t.Context()); !errors.Is(err, usercode.ErrGoexit) {
			t.Errorf("Run returned %v", err)
		}
	})
}

// A wait for an informer that was released before it could run ends with an error.
func TestReleaseBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, factory.Options{})
		h := request(w, gears, factory.Request[*gear]{})
		again := request(w, gears, factory.Request[*gear]{})
		of := make(chan error, 2)
		go func() {
			_, err := w.WaitForSync(context.Background())
			of <- err
		}()
		go func() { of <- h.WaitForSync(context.Background()) }()
		h.Release()
		synctest.Wait()
		if len(of) > 0 {
			t.Error("the waits ended though there is another handle")
		}
		again.Release()
		for range 2 {
			if err := <-of; !errors.Is(err, informer.ErrStopped) {
				t.Errorf("a wait ended with %v", err)
			}
		}
		w.run()()
	})
}

// A thousand informers come and go, and the heap has its former size again, within 1%.
func TestThousandLives(t *testing.T) {
	lives := 1000
	if testing.Short() {
		lives = 200
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, factory.Options{})
		for n := range 20 {
			w.create("prod", fmt.Sprint("g", n), n)
		}
		for n := range 4000 { // so that 1% is more than the runtime's own ups and downs
			_, err := fake.Create(w.server, (*cog)(newGear("prod", fmt.Sprint("c", n), n)))
			w.must(err)
		}
		request(w, cogs, factory.Request[*cog]{})
		stop := w.run()
		live := func() {
			h := request(w, gears, factory.Request[*gear]{Informer: informer.Options[*gear]{Indexes: index.Of(index.Namespace[*gear]())}})
			var seen faketest.Histories[key, *gear]
			reg, err := h.AddHandler(recorded(&seen, func(informer.Event[key, *gear]) {}), informer.HandlerOptions[*gear]{})
			w.must(err)
			synctest.Wait()
			if h.Store().Len() != 20 {
				t.Errorf("%d objects", h.Store().Len())
			}
			h.Release()
			<-reg.Done()
			synctest.Wait()
			w.must(seen.Err())
		}
		for range 50 {
			live()
		}
		limit := memtest.Heap() / 100
		grown := memtest.Least(limit, func() int64 {
			before := memtest.Heap()
			for range lives {
				live()
			}
			return memtest.Heap() - before
		})
		if grown > limit {
			t.Errorf("the heap grew by %d bytes in %d lives", grown, lives)
		}
		stop()
	})
}

func TestFailureOfOneEndsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, factory.Options{})
		w.create("prod", "one", 1)
		h := request(w, gears, factory.Request[*gear]{})
		request(w, cogs, factory.Request[*cog]{})
		boom := errors.New("boom")
		_, err := h.AddHandler(checked(t, func(informer.Event[key, *gear]) { panic(boom) }), informer.HandlerOptions[*gear]{})
		w.must(err)
		if err := w.Run(context.Background()); !errors.Is(err, boom) {
			t.Errorf("Run() = %v, want the panic", err)
		}
		if n := w.open.Load(); n != 0 {
			t.Errorf("%d requests open", n)
		}
	})
}

func TestMisuse(t *testing.T) {
	w := newWorld(t, factory.Options{})
	nothing := factory.Projection[key, *gear, *tooth]{Func: func(*gear) (*tooth, error) { return &tooth{}, nil }}
	if _, err := factory.Project(w.Factory, gears, nothing, factory.Request[*tooth]{}); !errors.Is(err, factory.ErrUnnamed) {
		t.Errorf("no name: %v", err)
	}
	nothing.Name = "x"
	if _, err := factory.Project(w.Factory, gears, nothing, factory.Request[*tooth]{}); !errors.Is(err, informer.ErrInvalid) {
		t.Errorf("no key: %v", err)
	}
	nothing.Func = nil
	if _, err := factory.Project(w.Factory, gears, nothing, factory.Request[*tooth]{}); !errors.Is(err, factory.ErrNoProjection) {
		t.Errorf("no function: %v", err)
	}
	if _, err := factory.For(w.Factory, gears, factory.Request[*gear]{Select: client.Options{LabelSelector: "=="}}); err == nil {
		t.Error("a selector that does not parse was taken")
	}
	if _, err := factory.For(factory.New(client.Connection{}, factory.Options{}), gears, factory.Request[*gear]{}); err == nil {
		t.Error("a factory without a server handed out an informer")
	}
	if _, err := factory.For(w.Factory, gears.Cluster(), factory.Request[*gear]{Select: client.Options{Namespace: "a"}}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("scope: %v", err)
	}
	if len(w.Stats()) != 0 {
		t.Errorf("refused requests left %v", w.Stats())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w.must(w.Run(ctx))
	if err := w.Run(ctx); !errors.Is(err, factory.ErrStarted) {
		t.Errorf("second Run: %v", err)
	}
	if _, err := factory.For(w.Factory, gears, factory.Request[*gear]{}); !errors.Is(err, informer.ErrStopped) {
		t.Errorf("For after Run: %v", err)
	}
}

// Users come and go at any time. As long as a user holds a handle, its cache is right.
func TestUsersComeAndGo(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, factory.Options{})
			stop := w.run()
			var users sync.WaitGroup
			for user := range 6 {
				users.Go(func() {
					rng := rand.New(rand.NewPCG(seed, uint64(user)))
					for range 15 {
						sel := client.Options{LabelSelector: fmt.Sprintf("size=%d", rng.IntN(2))}
						h, err := factory.For(w.Factory, gears, factory.Request[*gear]{Select: sel})
						if err != nil {
							t.Errorf("seed %d: %v", seed, err)
							return
						}
						if err := h.WaitForSync(context.Background()); err != nil {
							t.Errorf("seed %d: a handle that is held: %v", seed, err)
						}
						time.Sleep(time.Duration(rng.IntN(1000)) * time.Millisecond)
						h.Release()
					}
				})
			}
			rng := rand.New(rand.NewPCG(seed, 99))
			for n := range 40 {
				w.create("prod", fmt.Sprint("gear-", n), rng.IntN(10))
				time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
			}
			held := request(w, gears, factory.Request[*gear]{Select: client.Options{LabelSelector: "size=1"}})
			users.Wait()
			synctest.Wait()
			diff, err := faketest.Diff(w.server, fake.Selection{LabelSelector: "size=1"}, held.Store().Values())
			if err != nil || diff != "" {
				t.Errorf("seed %d: %v\n%s", seed, err, diff)
			}
			if n := w.open.Load(); n != 1 {
				t.Errorf("seed %d: %d requests open, want the held informer's watch", seed, n)
			}
			stop()
		})
	}
}

func ExampleFor() {
	server := fake.New(fake.Options{})
	if err := fake.Register(server, gears, fake.Rules{}); err != nil {
		fmt.Println(err)
		return
	}
	_, _ = fake.Create(server, newGear("prod", "one", 12))

	f := factory.New(client.Connection{URL: fake.URL, HTTP: server.Client()}, factory.Options{Namespace: "prod"})
	h, err := factory.For(f, gears, factory.Request[*gear]{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Release()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- f.Run(ctx) }()
	results, err := f.WaitForSync(ctx)
	fmt.Println(results, err)
	fmt.Println(h.Store().Len(), "gear")
	cancel()
	fmt.Println(<-ended)
	// Output:
	// [{gears.example.com in namespace prod <nil>}] <nil>
	// 1 gear
	// <nil>
}

// Only what is needed of each object is kept.
func ExampleProject() {
	server := fake.New(fake.Options{})
	if err := fake.Register(server, gears, fake.Rules{}); err != nil {
		fmt.Println(err)
		return
	}
	_, _ = fake.Create(server, newGear("prod", "one", 12))

	f := factory.New(client.Connection{URL: fake.URL, HTTP: server.Client()}, factory.Options{})
	teeth, err := factory.Project(f, gears, factory.Projection[key, *gear, *tooth]{
		Name: "teeth",
		Func: func(g *gear) (*tooth, error) { return &tooth{name: strings.Clone(g.Name), count: g.Teeth}, nil },
		Key:  func(t *tooth) (key, error) { return key{Name: t.name}, nil },
	}, factory.Request[*tooth]{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- f.Run(ctx) }()
	fmt.Println(teeth.WaitForSync(ctx))
	fmt.Println(teeth.Store().Get(key{Name: "one"}))
	teeth.Release() // its last user: the watch ends
	cancel()
	fmt.Println(<-ended)
	// Output:
	// <nil>
	// &{one 12} true
	// <nil>
}

// A handler that panics ends the factory, even with the errors by which others know that an
// informer runs already, or that Run's context has ended.
func TestPanicWithOthersErrors(t *testing.T) {
	for _, value := range []error{informer.ErrRunning, context.Canceled} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, factory.Options{})
			w.create("prod", "a", 1)
			h := request(w, gears, factory.Request[*gear]{})
			_, err := h.AddHandler(informer.HandlerFunc[key, *gear](func(informer.Event[key, *gear]) { panic(value) }),
				informer.HandlerOptions[*gear]{})
			w.must(err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err = request(w, cogs, factory.Request[*cog]{}).AddHandler(informer.HandlerFunc[key, *cog](func(informer.Event[key, *cog]) {
				time.Sleep(time.Second)
				cancel()
			}), informer.HandlerOptions[*cog]{})
			w.must(err)
			_, err = fake.Create(w.server, (*cog)(newGear("prod", "c", 1)))
			w.must(err)
			var panicked *informer.PanicError
			if err := w.Run(ctx); !errors.As(err, &panicked) || panicked.Value != value {
				t.Errorf("a panic with %v: Run() = %v", value, err)
			}
		})
	}
}

// A controller runs the informers that it finds at rest, and can be faster than the factory.
func TestInformerThatSomebodyElseRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, factory.Options{})
		w.create("prod", "a", 1)
		h := request(w, gears, factory.Request[*gear]{})
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- h.Run(ctx) }()
		synctest.Wait()
		stop := w.run()
		w.create("prod", "b", 1)
		synctest.Wait()
		if n := h.Store().Len(); n != 2 {
			t.Errorf("%d objects while somebody else runs the informer, want 2", n)
		}
		reg, err := h.AddHandler(checked(t, func(ev informer.Event[key, *gear]) {
			if ev.Key.Name == "c" {
				cancel()
				time.Sleep(time.Second) // it stops slowly
			}
		}), informer.HandlerOptions[*gear]{})
		w.must(err)
		w.create("prod", "c", 1)
		if all := h.Handlers(); len(all) != 1 {
			t.Errorf("the factory follows by a handler of its own: %v", all)
		}
		w.must(<-ended)
		w.create("prod", "d", 1)
		synctest.Wait() // and no time passes
		if n := h.Store().Len(); n != 4 {
			t.Errorf("%d objects after the factory took over, want 4", n)
		}
		h.Release()
		synctest.Wait()
		<-reg.Done()
		stop()
	})
}

// TestTwoKinds: a resource has one kind. What a request does not know it takes from the others.
func TestTwoKinds(t *testing.T) {
	w := newWorld(t, factory.Options{})
	h := request(w, gears, factory.Request[*gear]{})
	if same := request(w, kind.OfResource[*gear](gears.GroupVersionResource()), factory.Request[*gear]{}); same.Informer != h.Informer {
		t.Error("an unknown kind has an informer of its own")
	}
	for _, k := range []*kind.Kind[*gear]{gears.Named("Cog"), gears.Cluster()} {
		_, err := factory.For(w.Factory, k, factory.Request[*gear]{Select: client.Options{}})
		if !errors.Is(err, factory.ErrKind) || !strings.Contains(err.Error(), k.Kind) || !strings.Contains(err.Error(), string(k.Scope)) {
			t.Errorf("%s %s: %v", k.Scope, k.Kind, err)
		}
	}
	if stats := w.Stats(); len(stats) != 1 || stats[0].Handles != 2 {
		t.Error(stats)
	}
	if all := w.Informers(); len(all) != 1 || all[0].Resource() != w.Stats()[0].Resource {
		t.Error(all)
	}
}

// TestNamespaceAndScope: the factory's namespace does not apply to cluster-scoped kinds.
func TestNamespaceAndScope(t *testing.T) {
	f := factory.New(client.Connection{URL: "http://test.invalid"}, factory.Options{Namespace: "prod"})
	for _, k := range []*kind.Kind[*gear]{gears, kind.Of[*gear](gears.GroupVersion(), "wheels").Cluster()} {
		if _, err := factory.For(f, k, factory.Request[*gear]{}); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for _, s := range f.Stats() {
		names = append(names, s.Resource)
	}
	slices.Sort(names)
	if want := []string{"gears.example.com in namespace prod", "wheels.example.com"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}
