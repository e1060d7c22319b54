package manager_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/informer/factory"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/store"
)

// What controllers share can be added as it is.
var (
	_ controller.Cache = (*informer.Informer[key, *gadget])(nil)
	_ controller.Cache = (*factory.Handle[key, *gadget])(nil)
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type key = types.NamespacedName

type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

// setup returns a server of gadgets and an informer of them.
func setup(t testing.TB) (*fake.Server, *informer.Informer[key, *gadget]) {
	t.Helper()
	server := fake.New(fake.Options{})
	if err := fake.Register(server, kind.Of[*gadget](schema.GroupVersion{Version: "v1"}, "gadgets"), fake.Rules{}); err != nil {
		t.Fatal(err)
	}
	return server, informerWith(t, server, func(error) {})
}

// informerWith returns an informer of a server's gadgets that reports to onError.
func informerWith(t testing.TB, server *fake.Server, onError func(error)) *informer.Informer[key, *gadget] {
	t.Helper()
	source, err := fake.NewSource[*gadget](server, fake.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	inf, err := informer.New(source, store.ObjectKey, informer.Options[*gadget]{OnError: onError})
	if err != nil {
		t.Fatal(err)
	}
	return inf
}

// refuse makes a number of lists and watches fail; negative means all.
func refuse(t testing.TB, server *fake.Server, times int) {
	t.Helper()
	for _, verb := range []faults.Verb{faults.VerbList, faults.VerbWatch} {
		fault := faults.Fault{Verb: verb, Times: times, Status: faults.Refusal(404, metav1.StatusReasonNotFound, 0)}
		if err := server.Inject(fault); err != nil {
			t.Fatal(err)
		}
	}
}

// journal is what happened, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) take() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	slices.Sort(j.lines)
	text := strings.Join(j.lines, ", ")
	j.lines = nil
	return text
}

// part returns a function that runs until its context is done.
func (j *journal) part(name string) manager.Func {
	return func(ctx context.Context) error {
		j.add(name + " starts")
		<-ctx.Done()
		j.add(name + " ends")
		return ctx.Err()
	}
}

// begin runs m. end ends it and returns Run's error.
func begin(t *testing.T, m *manager.Manager) (end func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

// get returns the answer of a handler.
func get(h http.Handler) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	return fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String()))
}

// Two controllers share an informer, which outlives both.
func TestSharedCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		if _, err := fake.Create(server, &gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "one"}}); err != nil {
			t.Fatal(err)
		}
		m := manager.New(manager.Options{})
		m.AddCaches(inf, inf)
		var log journal
		for _, name := range []string{"x", "y"} {
			c := controller.New(name, func(_ context.Context, k key) error { log.add(name + " " + k.Name); return nil })
			controller.For(c, inf)
			m.Add(name, manager.Func(func(ctx context.Context) error {
				err := c.Run(ctx)
				select {
				case <-inf.Done():
					t.Error("the cache stopped before the controllers")
				default:
				}
				return err
			}))
		}
		if text := get(m.Readyz()); text != "500 manager: Run was not called, or has returned what is wrong with the setup" {
			t.Error(text)
		}
		end := begin(t, m)
		synctest.Wait()
		if text := log.take(); text != "x one, y one" {
			t.Error(text)
		}
		if text := get(m.Readyz()); text != "200 ok" {
			t.Error(text)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
		if text := get(m.Readyz()); text != "500 manager: is stopping or has stopped" {
			t.Error(text)
		}
		if err := m.Run(t.Context()); !errors.Is(err, manager.ErrStarted) {
			t.Error(err)
		}
		if err := m.Err(); err != nil {
			t.Error(err)
		}
		m.Add("late", log.part("late"))
		m.AddToAll("later", log.part("later"))
		m.AddCaches(inf)
		for _, text := range []string{`"late"`, `"later"`, "gadgets"} {
			if err := m.Err(); !errors.Is(err, manager.ErrStarted) || !strings.Contains(err.Error(), text) {
				t.Errorf("no %s in %v", text, err)
			}
		}
	})
}

// What fails is named, and ends the others.
func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		var log journal
		m := manager.New(manager.Options{})
		for name, run := range map[string]manager.Func{
			"good":  log.part("good"),
			"short": func(context.Context) error { return nil },
			"fails": func(context.Context) error { time.Sleep(time.Hour); return broken },
			"late":  func(ctx context.Context) error { <-ctx.Done(); return errors.New("cannot close") },
			"wild":  func(ctx context.Context) error { <-ctx.Done(); panic("oh") },
		} {
			m.Add(name, run)
		}
		began := time.Now()
		err := m.Run(t.Context())
		var panicked *informer.PanicError
		if !errors.Is(err, broken) || !errors.As(err, &panicked) || panicked.Value != "oh" || time.Since(began) != time.Hour {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
		for _, want := range []string{"fails: broken", "late: cannot close", "wild: "} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in %v", want, err)
			}
		}
		if strings.Contains(err.Error(), "good") || strings.Contains(err.Error(), "short") || log.take() != "good ends, good starts" {
			t.Error(err)
		}
	})
}

func TestMisuse(t *testing.T) {
	run := manager.Func(func(context.Context) error { return nil })
	idle := func(name string) *controller.Controller[key] {
		return controller.New(name, func(context.Context, key) error { return nil })
	}
	_, inf := setup(t)
	for name, test := range map[string]struct {
		add  func(*manager.Manager)
		want error
		text string
	}{
		"no name":          {func(m *manager.Manager) { m.Add("", run) }, manager.ErrUnnamed, `manager: "": it has no name`},
		"no part":          {func(m *manager.Manager) { m.AddToAll("one", nil) }, manager.ErrNoPart, `manager: "one": it is nil`},
		"no function":      {func(m *manager.Manager) { m.Add("one", manager.Func(nil)) }, manager.ErrNoPart, `manager: "one": it is nil`},
		"twice":            {func(m *manager.Manager) { m.Add("one", run); m.AddToAll("one", run) }, manager.ErrDuplicate, `manager: "one": the name is taken`},
		"one twice":        {func(m *manager.Manager) { c := idle("one"); m.AddControllers(c, c) }, manager.ErrDuplicate, `manager: "one": it was added before: add it once`},
		"two of one name":  {func(m *manager.Manager) { m.AddControllers(idle("one"), idle("one")) }, manager.ErrDuplicate, `manager: "one": the name is taken`},
		"no cache":         {func(m *manager.Manager) { m.AddCaches(inf, nil) }, manager.ErrNoPart, "manager: cache 2: it is nil"},
		"a nil cache":      {func(m *manager.Manager) { m.AddCaches((*informer.Informer[key, *gadget])(nil)) }, manager.ErrNoPart, "manager: cache 1: it is nil"},
		"no controller":    {func(m *manager.Manager) { m.AddControllers(nil) }, manager.ErrNoPart, "manager: controller 1: it is nil"},
		"a nil controller": {func(m *manager.Manager) { m.AddControllers((*controller.Controller[key])(nil)) }, manager.ErrNoPart, "manager: controller 1: it is nil"},
		"a check unnamed":  {func(m *manager.Manager) { m.AddHealthCheck("", run) }, manager.ErrUnnamed, `manager: check "": it has no name`},
		"no check":         {func(m *manager.Manager) { m.AddReadyCheck("one", nil) }, manager.ErrNoPart, `manager: check "one": it is nil`},
		"a check twice":    {func(m *manager.Manager) { m.AddReadyCheck("one", run); m.AddReadyCheck("one", run) }, manager.ErrDuplicate, `manager: check "one": the name is taken`},
		"of metrics":       {func(m *manager.Manager) { m.AddError(io.ErrUnexpectedEOF); m.AddError(nil) }, io.ErrUnexpectedEOF, io.ErrUnexpectedEOF.Error()},
		"nothing":          {func(m *manager.Manager) { m.AddError(nil) }, manager.ErrNothing, "manager: nothing to run"},
	} {
		m := manager.New(manager.Options{})
		test.add(m)
		if err := m.Err(); name != "nothing" && (!errors.Is(err, test.want) || !strings.HasPrefix(err.Error(), test.text)) {
			t.Errorf("%s: %v", name, err)
		}
		if err := m.Run(t.Context()); !errors.Is(err, test.want) || !strings.HasPrefix(err.Error(), test.text) {
			t.Errorf("%s: Run returned %v", name, err)
		}
	}
}

// Nothing panics without a Manager, and Run and the probes say that it is nil.
func TestNoManager(t *testing.T) {
	var m *manager.Manager
	_, inf := setup(t)
	run := manager.Func(func(context.Context) error { return nil })
	m.AddCaches(inf)
	m.AddControllers(controller.New("one", func(context.Context, key) error { return nil }), nil)
	m.Add("one", run)
	m.AddToAll("two", run)
	m.AddHealthCheck("one", run)
	m.AddReadyCheck("one", run)
	m.AddError(io.ErrUnexpectedEOF)
	m.Show("one", 1)
	if parts := m.Parts(); len(parts) > 0 {
		t.Errorf("it has %v", parts)
	}
	const want = "manager: the Manager: it is nil: make it before you add it"
	for _, err := range []error{m.Err(), m.Run(t.Context())} {
		if !errors.Is(err, manager.ErrNoPart) || err.Error() != want {
			t.Errorf("got %v", err)
		}
	}
	for _, probe := range []http.Handler{m.Healthz(), m.Readyz()} {
		answer := httptest.NewRecorder()
		probe.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
		if answer.Code != http.StatusInternalServerError || !strings.Contains(answer.Body.String(), want) {
			t.Errorf("a probe answers %d, %s", answer.Code, answer.Body)
		}
	}
}

// invalid is a part, and an Elector, whose setup failed.
type invalid struct {
	always
	err error
}

func (p invalid) Err() error              { return p.err }
func (invalid) Run(context.Context) error { panic("runs") }

// Run returns everything that is wrong at once, and runs nothing.
func TestAllMistakes(t *testing.T) {
	elector, part, unused, used := errors.New("no lease"), errors.New("no recorder"), errors.New("no such kind"), errors.New("no such version")
	m := manager.New(manager.Options{Elector: invalid{err: elector}})
	m.Add("events", invalid{err: part})
	m.Add("", nil)
	watched := informer.Failed[*gadget]("gadgets", used)
	m.AddCaches(informer.Failed[*gadget]("gadgets", unused), watched)
	c := controller.New("mine", func(context.Context, key) error { panic("runs") })
	controller.For(c, watched)
	controller.For(c, (*informer.Informer[key, *gadget])(nil))
	m.AddControllers(c)
	for _, err := range []error{m.Err(), m.Run(t.Context())} {
		for _, want := range []error{elector, part, unused, used, manager.ErrUnnamed, mistake.NoInformer} {
			if !errors.Is(err, want) {
				t.Errorf("%v is missing in %v", want, err)
			}
			if strings.Count(fmt.Sprint(err), want.Error()) != 1 {
				t.Errorf("%v is there more than once in %v", want, err)
			}
		}
	}
}

// An author makes every mistake at once: Run names each, with its kind, once.
func TestEverySetupMistake(t *testing.T) {
	server := client.Connection{URL: fake.URL}
	gadgets := kind.Of[*gadget](schema.GroupVersion{Version: "v1"}, "gadgets")
	parts := kind.Of[*gadget](schema.GroupVersion{Version: "v1"}, "parts")
	nodes := kind.Of[*gadget](schema.GroupVersion{Version: "v1"}, "nodes").Cluster()
	reconcile := func(context.Context, key) error { panic("runs") }
	byName := func(field string) *index.Index[*gadget, key] {
		return index.By(field, func(g *gadget) key { return key{Name: g.Name} })
	}

	owners, owned := controller.Open(server, gadgets), controller.Open(server, parts)
	scoped := controller.Open(server, nodes, controller.OpenOptions[*gadget]{Client: client.Options{Namespace: "prod"}})
	informer.AddIndex(owners, byName("twice"))
	informer.AddIndex(owners, byName("twice"))
	one := controller.New("same", reconcile)
	controller.Owns(one, owners, owned) // without For
	controller.Watch(one, scoped, nil)
	controller.For(one, scoped)
	two := controller.New("same", reconcile)
	controller.For(two, owners)
	controller.References(two, owned, informer.AddIndex(owned, byName("of the wrong handle")))
	three := controller.New[key]("no function", nil)
	controller.For(three, owners)
	err := manager.Run(t.Context(), one, two, three)
	for _, want := range []error{client.ErrInvalid, index.ErrDuplicate, controller.ErrInvalid, mistake.NoFunc} {
		if !errors.Is(err, want) {
			t.Errorf("%v is missing", want)
		}
	}
	for _, want := range []string{
		`gadgets: index "twice": the name is taken`, `"same": the name is taken`, "Owns of parts by gadgets", "References of parts by parts",
		"Watch of nodes", "client for nodes in namespace prod", "no function: controller: New",
	} {
		if strings.Count(fmt.Sprint(err), want) != 1 {
			t.Errorf("%q is not there once", want)
		}
	}
	if t.Failed() {
		t.Logf("the error is:\n%v", err)
	}
}

// What is wrong with a part is named, even if the part is not taken.
func TestMistakesOfRefusedParts(t *testing.T) {
	reconcile := func(context.Context, key) error { return nil }
	one, two, three := controller.New[key]("x", nil), controller.New("x", reconcile), controller.New("", reconcile)
	lost := errors.New("no URL")
	failed := informer.Failed[*gadget]("gadgets", lost)
	controller.For(one, failed)
	controller.For(two, failed)
	controller.For(three, (*informer.Informer[key, *gadget])(nil))
	err := manager.Run(t.Context(), one, two, three)
	for _, want := range []error{mistake.NoFunc, manager.ErrDuplicate, lost, manager.ErrUnnamed, mistake.NoInformer} {
		if !errors.Is(err, want) || strings.Count(err.Error(), want.Error()) != 1 {
			t.Errorf("%v is not once in %v", want, err)
		}
	}
	if !strings.Contains(err.Error(), "manager: controller 3: it has no name") {
		t.Errorf("the place is missing in %v", err)
	}
	if err := manager.New(manager.Options{Elector: (*votes)(nil)}).Run(t.Context()); !errors.Is(err, manager.ErrNoPart) {
		t.Errorf("a nil Elector: %v", err)
	}
}

// A mistake with an index that is made while the caches fill ends nothing.
func TestIndexMistakeWhileFilling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported []error
		server, _ := setup(t)
		refuse(t, server, 20)
		inf := informerWith(t, server, func(err error) {
			if errors.Is(err, index.ErrDuplicate) {
				reported = append(reported, err)
			}
		})
		m := manager.New(manager.Options{})
		m.AddCaches(inf)
		end := begin(t, m)
		synctest.Wait()
		informer.AddIndex(inf, index.By("name", (*gadget).GetName))
		informer.AddIndex(inf, index.By("name", (*gadget).GetName))
		if err := inf.WaitForSync(t.Context()); errors.Is(err, index.ErrDuplicate) {
			t.Errorf("the wait for a running informer: %v", err)
		}
		time.Sleep(time.Hour)
		if text := get(m.Readyz()); text != "200 ok" || len(reported) != 1 || !errors.Is(m.Err(), index.ErrDuplicate) {
			t.Errorf("%s, reported %v, Err is %v", text, reported, m.Err())
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// A part may look at the manager when it is asked for its errors.
func TestErrAsksTheManager(t *testing.T) {
	m := manager.New(manager.Options{})
	m.Add("curious", curious{m})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := errors.Join(m.Err(), m.Run(ctx)); err != nil {
		t.Error(err)
	}
}

// curious is a part that asks its manager.
type curious struct{ m *manager.Manager }

func (c curious) Err() error {
	c.m.Show("mine", 1)
	c.m.Parts()
	return nil
}
func (curious) Run(context.Context) error { return nil }

// Run runs the caches of its controllers, before another process gives the leadership up, and stops them last.
func TestCachesOfControllers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		if _, err := fake.Create(server, &gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "one"}}); err != nil {
			t.Fatal(err)
		}
		var log journal
		c := controller.New("x", func(ctx context.Context, k key) error {
			log.add(k.Name)
			<-ctx.Done()
			time.Sleep(time.Second)
			if _, found := inf.Get(k); !found || isDone(inf) {
				t.Error("the cache stopped before the controller")
			}
			return nil
		})
		controller.For(c, inf)
		v := &votes{won: make(chan struct{}), lost: make(chan error), log: &log}
		m := manager.New(manager.Options{Elector: v})
		m.AddControllers(c)
		end := begin(t, m)
		synctest.Wait()
		if got := get(m.Readyz()); got != "200 ok" || len(inf.List()) != 1 || log.take() != "" {
			t.Errorf("while another process leads: %s, %d objects", got, len(inf.List()))
		}
		close(v.won)
		synctest.Wait()
		if got := log.take(); !strings.Contains(got, "one") {
			t.Errorf("reconciled %s", got)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
		if !isDone(inf) {
			t.Error("the cache goes on")
		}
	})
}

func isDone(inf *informer.Informer[key, *gadget]) bool {
	select {
	case <-inf.Done():
		return true
	default:
		return false
	}
}

// A program with nothing but controllers needs no Manager.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		if _, err := fake.Create(server, &gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "one"}}); err != nil {
			t.Fatal(err)
		}
		var log journal
		x := controller.New("x", func(_ context.Context, k key) error { log.add("x " + k.Name); return nil })
		y := controller.New("y", func(_ context.Context, k key) error { log.add("y " + k.Name); return nil })
		controller.For(x, inf)
		controller.For(y, inf)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- manager.Run(ctx, x, y) }()
		synctest.Wait()
		if got := log.take(); got != "x one, y one" {
			t.Errorf("reconciled %s", got)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := manager.Run(ctx, controller.New("z", func(context.Context, key) error { return nil }), controller.New[key]("z", nil)); !errors.Is(err, manager.ErrDuplicate) {
			t.Errorf("two of one name: %v", err)
		}
	})
}

// Caches that cannot be filled are named by Run and by the readiness probe, with the reason.
func TestSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, inf := setup(t)
		refuse(t, server, -1)
		_, good := setup(t)
		var log journal
		m := manager.New(manager.Options{SyncTimeout: time.Hour})
		m.AddCaches(good, inf)
		m.Add("one", log.part("one"))
		ended := make(chan error, 1)
		go func() { ended <- m.Run(t.Context()) }()
		synctest.Wait()
		if text := get(m.Readyz()); !strings.HasPrefix(text, "500 gadgets: not filled: list at resourceVersion ") || !strings.Contains(text, "(does the server serve this resource in this API version?") {
			t.Error(text)
		}
		if text := get(m.Healthz()); text != "200 ok" {
			t.Error(text)
		}
		began := time.Now()
		var late *controller.SyncError
		if err := <-ended; !errors.As(err, &late) || len(late.Errs) != 1 || late.After != time.Hour || time.Since(began) != time.Hour ||
			!strings.Contains(err.Error(), "does the server serve this resource in this API version?") {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if text := log.take(); text != "" {
			t.Error(text)
		}
	})
}

// Without a timeout, a resource may be installed late, and a stop before that is no failure.
func TestLateResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		for _, times := range []int{20, -1} {
			server, inf := setup(t)
			refuse(t, server, times)
			m := manager.New(manager.Options{})
			m.AddCaches(inf)
			m.Add("one", log.part("one"))
			end := begin(t, m)
			time.Sleep(24 * time.Hour)
			if err := end(); err != nil {
				t.Error(err)
			}
			if text, ran := log.take(), times > 0; (text == "one ends, one starts") != ran {
				t.Errorf("%d refusals: %q", times, text)
			}
		}
	})
}

// A cache that another runner stops ends the manager.
func TestCacheStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, inf := setup(t)
		ctx, cancel := context.WithCancel(t.Context())
		go inf.Run(ctx)
		synctest.Wait()
		m := manager.New(manager.Options{})
		m.AddCaches(inf)
		time.AfterFunc(time.Minute, cancel)
		if err := m.Run(t.Context()); !errors.Is(err, informer.ErrStopped) || !strings.HasPrefix(err.Error(), "gadgets: the cache has stopped, because ") {
			t.Error(err)
		}
	})
}

// A program stops its factory and its manager by one context. So the caches may end while
// reconciles are still under way, which is no failure.
func TestCacheStopsWithManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, inf := setup(t)
		ctx, cancel := context.WithCancel(t.Context())
		go inf.Run(ctx)
		synctest.Wait()
		m := manager.New(manager.Options{})
		slow := func(ctx context.Context) error { <-ctx.Done(); <-inf.Done(); time.Sleep(time.Second); return nil }
		m.AddCaches(inf)
		m.Add("slow", manager.Func(slow))
		time.AfterFunc(time.Minute, cancel)
		if err := m.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}

// votes is an elector whose votes the test casts.
type votes struct {
	won  chan struct{}
	lost chan error
	log  *journal
}

func (v *votes) Lead(ctx context.Context, work func(context.Context)) error {
	select {
	case <-v.won:
	case <-ctx.Done():
		return nil
	}
	lead, lose := context.WithCancel(ctx)
	defer lose()
	over := make(chan struct{})
	go func() { work(lead); close(over) }()
	var err error
	select {
	case err = <-v.lost:
	case <-ctx.Done():
	}
	lose()
	<-over
	v.log.add("gives up")
	return err
}

// With EndWithLeadership, Run ends when the leadership is lost.
func TestElection(t *testing.T) {
	lost := errors.New("the lease has another holder")
	for name, test := range map[string]struct {
		lose func(v *votes, end func() error) error
		want error
	}{
		"orderly stop":        {func(_ *votes, end func() error) error { return end() }, nil},
		"lost":                {func(v *votes, end func() error) error { v.lost <- lost; synctest.Wait(); return end() }, lost},
		"lost without reason": {func(v *votes, end func() error) error { v.lost <- nil; synctest.Wait(); return end() }, manager.ErrLeadership},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, inf := setup(t)
				var log journal
				v := &votes{won: make(chan struct{}), lost: make(chan error), log: &log}
				m := manager.New(manager.Options{Elector: v, EndWithLeadership: true})
				m.AddCaches(inf)
				m.Add("led", log.part("led"))
				m.AddToAll("all", log.part("all"))
				end := begin(t, m)
				time.Sleep(time.Hour)
				if text := log.take(); text != "all starts" {
					t.Error(text)
				}
				if text := get(m.Readyz()); text != "200 ok" {
					t.Error(text)
				}
				close(v.won)
				synctest.Wait()
				if text := log.take(); text != "led starts" {
					t.Error(text)
				}
				if err := test.lose(v, end); !errors.Is(err, test.want) || err != nil && !strings.HasPrefix(err.Error(), "leader election: ") {
					t.Error(err)
				}
				if text := log.take(); text != "all ends, gives up, led ends" {
					t.Error(text)
				}
			})
		})
	}
}

// A part that goes on after the leadership is lost ends Run after Grace, or at once with EndWithLeadership. It holds that
// up for Grace only, and is named.
func TestGraceAfterLostLeadership(t *testing.T) {
	const grace = 5 * time.Second
	for end, want := range map[bool]time.Duration{true: time.Minute + grace, false: time.Minute + 2*grace} {
		synctest.Test(t, func(t *testing.T) {
			var log journal
			v := &votes{won: make(chan struct{}), lost: make(chan error), log: &log}
			m := manager.New(manager.Options{Elector: v, Grace: grace, EndWithLeadership: end})
			release := make(chan struct{})
			m.Add("stuck", manager.Func(func(context.Context) error { <-release; return nil }))
			m.AddToAll("all", log.part("all"))
			done, start := make(chan error), time.Now()
			go func() { done <- m.Run(t.Context()) }()
			close(v.won)
			time.Sleep(time.Minute)
			lost := errors.New("the lease has another holder")
			v.lost <- lost
			err := <-done
			var late *manager.GraceError
			if !errors.As(err, &late) || !slices.Equal(late.Running, []string{"leader election", "stuck"}) || !errors.Is(err, manager.ErrLeadership) {
				t.Error(err)
			}
			if d := time.Since(start); d != want {
				t.Errorf("Run took %v, want %v", d, want)
			}
			if text := log.take(); text != "all ends, all starts" {
				t.Error(text)
			}
			close(release)
			synctest.Wait()
		})
	}
}

// eager is an Elector that calls work in a new goroutine, which it does not wait for.
type eager struct{ early, late time.Duration }

func (e eager) Lead(ctx context.Context, work func(context.Context)) error {
	lead, lose := context.WithCancel(ctx)
	defer lose()
	go func() { time.Sleep(e.early); work(lead); work(lead) }()
	time.Sleep(e.late)
	return errors.New("lost")
}

// Run waits for what it started even if the Elector does not, and starts nothing for one that is
// late.
func TestEagerElector(t *testing.T) {
	for name, test := range map[string]struct {
		elector eager
		want    string
	}{
		"returns early": {eager{0, time.Second}, "led ends, led starts"},
		"calls late":    {eager{time.Second, 0}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log journal
				m := manager.New(manager.Options{Elector: test.elector, EndWithLeadership: true})
				slow := func(ctx context.Context) error {
					defer time.Sleep(time.Second) // after the journal has its end
					return log.part("led")(ctx)
				}
				m.Add("led", manager.Func(slow))
				start := time.Now()
				if err := m.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "lost") {
					t.Error(err)
				}
				if text := log.take(); text != test.want {
					t.Errorf("%q, want %q", text, test.want)
				}
				if took := time.Since(start); test.want != "" && took != 2*time.Second {
					t.Errorf("Run took %v, and did not wait for the part", took)
				}
				time.Sleep(time.Minute)
				if text := log.take(); text != "" {
					t.Errorf("after Run: %q", text)
				}
			})
		})
	}
}

// A process that never led stops without an error.
func TestStopBeforeElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		m := manager.New(manager.Options{Elector: &votes{won: make(chan struct{}), log: &log}})
		m.Add("led", log.part("led"))
		end := begin(t, m)
		synctest.Wait()
		if err := end(); err != nil || log.take() != "" {
			t.Error(err)
		}
	})
}

// A stop waits for Grace, and no longer.
func TestGrace(t *testing.T) {
	for _, test := range []struct {
		grace, takes, want time.Duration
		late               bool
	}{
		{0, time.Minute, manager.DefaultGrace, true},
		{0, time.Second, time.Second, false},
		{time.Hour, 2 * time.Hour, time.Hour, true},
		{-1, 2 * time.Hour, 2 * time.Hour, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log journal
			m := manager.New(manager.Options{Grace: test.grace})
			m.Add("quick", log.part("quick"))
			m.Add("slow", manager.Func(func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(test.takes)
				return nil
			}))
			end := begin(t, m)
			synctest.Wait()
			began := time.Now()
			err := end()
			took := time.Since(began)
			var late *manager.GraceError
			if errors.As(err, &late) != test.late || took != test.want || test.late && (late.After != test.want || !slices.Equal(late.Running, []string{"slow"})) {
				t.Errorf("%+v: after %v: %v", test, took, err)
			}
			time.Sleep(test.takes) // the goroutines end
		})
	}
}

// A handler that never returns keeps its cache, and a stop only until Grace is over; the error names the cache. Caches get a
// second if the parts have used it up.
func TestGraceOfCaches(t *testing.T) {
	for _, test := range []struct {
		part, want time.Duration
		running    []string
	}{
		{time.Second, time.Minute, []string{"gadgets"}},
		{time.Hour, 61 * time.Second, []string{"slow", "gadgets"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			server, inf := setup(t)
			if _, err := fake.Create(server, &gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "one"}}); err != nil {
				t.Fatal(err)
			}
			release := make(chan struct{})
			stuck := informer.HandlerFunc[key, *gadget](func(informer.Event[key, *gadget]) { <-release })
			if _, err := inf.AddHandler(stuck, informer.HandlerOptions[*gadget]{}); err != nil {
				t.Fatal(err)
			}
			m := manager.New(manager.Options{Grace: time.Minute})
			m.AddCaches(inf)
			m.Add("slow", manager.Func(func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(test.part)
				return nil
			}))
			end := begin(t, m)
			time.Sleep(13 * time.Second)
			if got := get(m.Readyz()); !strings.HasPrefix(got, `500 gadgets: handler "handler 1" has not returned since 2000-01-01T00:00:02Z`) {
				t.Errorf("Readyz says %s", got)
			}
			began := time.Now()
			err := end()
			var late *manager.GraceError
			if took := time.Since(began); !errors.As(err, &late) || took != test.want || late.After != time.Minute || !slices.Equal(late.Running, test.running) {
				t.Errorf("after %v: %v", took, err)
			}
			close(release)
			time.Sleep(time.Hour) // the goroutines end
		})
	}
}

// An index function that never returns keeps neither SyncTimeout nor a stop. This is in real time, because no time passes
// in a bubble while a goroutine waits for a lock.
func TestIndexFunctionThatHangs(t *testing.T) {
	for timeout := time.Millisecond; ; timeout *= 4 { // until the function is called before it ends
		server, inf := setup(t)
		if _, err := fake.Create(server, &gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "one"}}); err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		informer.AddIndex(inf, index.By("hangs", func(g *gadget) string { <-release; return g.Name }))
		m := manager.New(manager.Options{SyncTimeout: timeout, Grace: time.Millisecond})
		m.AddCaches(inf)
		err := m.Run(t.Context())
		close(release)
		<-inf.Done()
		var unsynced *controller.SyncError
		var late *manager.GraceError
		switch {
		case !errors.As(err, &unsynced):
			t.Fatalf("Run returned %v", err)
		case errors.As(err, &late):
			if !slices.Equal(late.Running, []string{"gadgets"}) {
				t.Errorf("Run returned %v", err)
			}
			return
		case timeout > time.Minute:
			t.Fatalf("Run waited for the function: it returned %v", err)
		}
	}
}

func TestChecks(t *testing.T) {
	m := manager.New(manager.Options{})
	m.AddHealthCheck("good", func(context.Context) error { return nil })
	m.AddHealthCheck("bad", func(ctx context.Context) error { return fmt.Errorf("no disk: %v", ctx.Err()) })
	m.AddHealthCheck("wild", func(context.Context) error { panic("oh") })
	m.AddReadyCheck("soon", func(context.Context) error { return errors.New("not yet") })
	if text := get(m.Healthz()); text != "500 bad: no disk: <nil>\nwild: panic: oh" {
		t.Error(text)
	}
	if text := get(m.Readyz()); text != "500 manager: Run was not called, or has returned what is wrong with the setup\nsoon: not yet" {
		t.Error(text)
	}
}

// A manager ends when OnError ends the goroutine of a cache.
func TestGoexitOfCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := setup(t)
		refuse(t, server, 1)
		inf := informerWith(t, server, func(error) { runtime.Goexit() })
		m := manager.New(manager.Options{})
		m.AddCaches(inf)
		if err := m.Run(t.Context()); !errors.Is(err, usercode.ErrGoexit) {
			t.Errorf("Run returned %v", err)
		}
	})
}

// What AddToAll added serves the others until they have ended.
func TestOrderOfEnds(t *testing.T) {
	for _, elector := range []manager.Elector{nil, always{}} {
		synctest.Test(t, func(t *testing.T) {
			m := manager.New(manager.Options{Elector: elector})
			serves := false
			m.AddToAll("serves", manager.Func(func(ctx context.Context) error {
				serves = true
				<-ctx.Done()
				serves = false
				return nil
			}))
			m.Add("works", manager.Func(func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(time.Second)
				if !serves {
					t.Error("what serves it has ended")
				}
				return nil
			}))
			end := begin(t, m)
			synctest.Wait()
			if err := end(); err != nil || serves {
				t.Error(err)
			}
		})
	}
}

// stuck is an Elector whose work goes on without the leadership.
type stuck struct{ always }

func (*stuck) Healthy(tolerance time.Duration) func(context.Context) error {
	return func(context.Context) error { return fmt.Errorf("the Lease is over for %v", tolerance) }
}

// An Elector that knows whether its work is over has a check. Another has none.
func TestElectorIsHealthy(t *testing.T) {
	for want, elector := range map[string]manager.Elector{"200 ok": always{}, "500 leader election: the Lease is over for 20s": &stuck{}} {
		if text := get(manager.New(manager.Options{Elector: elector}).Healthz()); text != want {
			t.Errorf("got %q, want %q", text, want)
		}
	}
	if err := manager.New(manager.Options{Elector: (*stuck)(nil)}).Err(); !errors.Is(err, manager.ErrNoPart) {
		t.Errorf("a nil Elector: %v", err)
	}
}
