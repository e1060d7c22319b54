package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/deltafifo"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/informer/pipeline"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type key = types.NamespacedName

// thing is a custom resource.
type thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Value             int `json:"value,omitempty"`
}

func newThing(name string, value int) *thing {
	return &thing{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Value: value}
}

type deltas = []deltafifo.Delta[*thing]

// world is a server, and a mirror of it that a pipeline keeps.
type world struct {
	t      testing.TB
	server *fake.Server
	source *fake.Source[*thing]
	mirror *store.Store[key, *thing]
	errs   []error
	mu     sync.Mutex
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, server: fake.New(fake.Options{})}
	w.must(fake.Register(w.server, kind.Of[*thing](schema.GroupVersion{Group: "example.com", Version: "v1"}, "things"), fake.Rules{}))
	var err error
	w.source, err = fake.NewSource[*thing](w.server, fake.Selection{})
	w.must(err)
	w.mirror, err = store.New(store.ObjectKey[*thing], store.Options[*thing]{})
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(name string, value int) {
	w.t.Helper()
	_, err := fake.Create(w.server, newThing(name, value))
	w.must(err)
}

func (w *world) delete(name string) {
	w.t.Helper()
	_, err := fake.Delete[*thing](w.server, key{Namespace: "a", Name: name})
	w.must(err)
}

func (w *world) heard(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, err)
}

// take puts deltas into the mirror.
func (w *world) take(k key, ds deltas) error {
	for _, d := range ds {
		if d.Type == deltafifo.Deleted {
			if _, _, err := w.mirror.Delete(k); err != nil {
				return err
			}
		} else if err := w.mirror.Set(d.Object); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) options() pipeline.Options[key, *thing] {
	return pipeline.Options[key, *thing]{OnError: w.heard}
}

// run starts a pipeline; stop ends it and returns what Run did.
func (w *world) run(process func(key, deltas) error, opts pipeline.Options[key, *thing]) (p *pipeline.Pipeline[key, *thing], stop func() error) {
	w.t.Helper()
	p, err := pipeline.New[key](w.source, store.ObjectKey[*thing], process, opts)
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	synctest.Wait()
	return p, func() error { cancel(); return <-ended }
}

func (w *world) compare(note string) {
	w.t.Helper()
	diff, err := faketest.Diff(w.server, fake.Selection{}, w.mirror.Values())
	w.must(err)
	if diff != "" {
		w.t.Errorf("%s: mirror and server differ:\n%s", note, diff)
	}
}

// TestRandom lets a server, faults and a failing function do their worst; when all is
// quiet the mirror is equal to the server.
func TestRandom(t *testing.T) {
	seeds := uint64(80)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			rng := rand.New(rand.NewPCG(seed, 5))
			last := map[key]int{}
			calls := 0
			_, stop := w.run(func(k key, ds deltas) error {
				calls++
				if calls%3 == int(seed%3) {
					return errors.New("not now")
				}
				for _, d := range ds { // values only grow
					if d.Object.Value < last[k] {
						t.Errorf("seed %d: %v goes back from %d to %d", seed, k, last[k], d.Object.Value)
					}
					last[k] = d.Object.Value
				}
				return w.take(k, ds)
			}, func() pipeline.Options[key, *thing] {
				opts := w.options()
				opts.Limit, opts.Retry = 4, time.Millisecond
				opts.Resync = time.Duration(seed%2) * time.Second
				if seed%3 == 0 {
					opts.KnownObjects = w.mirror.Reader()
				}
				return opts
			}())
			there := map[string]bool{}
			for value := range 150 {
				name := string(rune('a' + rng.IntN(8)))
				switch {
				case !there[name]:
					w.create(name, value)
					there[name] = true
				case rng.IntN(3) == 0:
					w.delete(name)
					there[name] = false
				default:
					_, err := fake.Update(w.server, newThing(name, value))
					w.must(err)
				}
				switch rng.IntN(12) {
				case 0:
					w.server.DropWatches()
				case 1:
					w.must(w.server.Compact(w.server.ResourceVersion()))
					w.server.DropWatches()
				case 2:
					w.must(w.server.Inject(faults.Fault{Status: faults.Refusal(500, metav1.StatusReasonInternalError, 0)}))
				case 3:
					time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
				}
			}
			w.server.ClearFaults()
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			w.compare(fmt.Sprint("seed ", seed))
			w.must(stop())
		})
	}
}

func TestSyncedAfterTheInitialList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("one", 1)
		hold := make(chan struct{})
		p, stop := w.run(func(k key, ds deltas) error { <-hold; return w.take(k, ds) }, w.options())
		select {
		case <-p.Synced():
			t.Error("synced before the list was processed")
		default:
		}
		close(hold)
		<-p.Synced()
		w.compare("synced")
		if p.Pending() != 0 || p.Stats().Listed != 1 {
			t.Errorf("pending %d, %+v", p.Pending(), p.Stats())
		}
		w.must(stop())
	})
}

// A failing key comes again after Retry, before newer changes, and holds up no other key.
func TestFailureComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("bad", 1)
		w.create("good", 1)
		var seen []string
		start := time.Now()
		fails := 3
		_, stop := w.run(func(k key, ds deltas) error {
			line := fmt.Sprintf("%v %s", time.Since(start), k.Name)
			for _, d := range ds {
				line += fmt.Sprintf(" %v %d", d.Type, d.Object.Value)
			}
			seen = append(seen, line)
			if k.Name == "bad" && fails > 0 {
				fails--
				return errors.New("broken")
			}
			return w.take(k, ds)
		}, w.options())
		_, err := fake.Update(w.server, newThing("bad", 2))
		w.must(err)
		time.Sleep(10 * time.Second)
		w.must(stop())
		want := []string{
			"0s bad Replaced 1", "0s good Replaced 1",
			"1s bad Replaced 1 Updated 2", "2s bad Replaced 1 Updated 2", "3s bad Replaced 1 Updated 2",
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		var failed *deltafifo.ProcessError[key]
		if len(w.errs) != 3 || !errors.As(w.errs[0], &failed) || failed.Failed[0].Key.Name != "bad" {
			t.Errorf("heard of %v, want three of bad", w.errs)
		}
		w.compare("end")
	})
}

func TestResyncRepeatsWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("one", 1)
		w.create("two", 1)
		got := map[deltafifo.DeltaType]int{}
		opts := w.options()
		opts.Resync = time.Minute
		_, stop := w.run(func(k key, ds deltas) error {
			for _, d := range ds {
				got[d.Type]++
			}
			return w.take(k, ds)
		}, opts)
		time.Sleep(3*time.Minute + time.Second)
		w.must(stop())
		if diff := cmp.Diff(map[deltafifo.DeltaType]int{deltafifo.Replaced: 2, deltafifo.Sync: 6}, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// An object whose key function fails is reported, and only this object is lost.
func TestBadObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		boom := errors.New("boom")
		for _, name := range []string{"error", "panic", "zero", "fine"} {
			w.create(name, 1)
		}
		byName := func(obj *thing) (string, error) {
			switch obj.Name {
			case "error":
				return "x", boom
			case "panic":
				panic(boom)
			case "zero":
				return "", nil
			}
			return obj.Name, nil
		}
		var keys []string
		p, err := pipeline.New(w.source, byName, func(k string, _ deltas) error {
			keys = append(keys, k)
			return nil
		}, pipeline.Options[string, *thing]{OnError: w.heard})
		w.must(err)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		synctest.Wait()
		_, err = fake.Update(w.server, newThing("zero", 2)) // the same in a watch
		w.must(err)
		w.create("later", 1)
		synctest.Wait()
		cancel()
		w.must(<-ended)
		if diff := cmp.Diff([]string{"fine", "later"}, keys); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		var panicked *pipeline.PanicError
		all := errors.Join(w.errs...)
		if len(w.errs) != 4 || !errors.Is(all, pipeline.ErrZeroKey) || !errors.As(all, &panicked) || !errors.Is(panicked, boom) {
			t.Errorf("heard of %v", w.errs)
		}
		for _, err := range w.errs {
			if bad := new(reflector.ObjectError); !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), "things.example.com: ") {
				t.Errorf("%v is no ObjectError of things", err)
			}
		}
	})
}

// An object that a list has but that cannot be used must not look deleted.
func TestUnusableObjectIsNotDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, name := range []string{"gone", "kept", "spoilt"} {
			w.create(name, 1)
		}
		spoil := false
		source := reflector.Map(reflector.Source[*thing](w.source), func(obj *thing) (*thing, error) {
			if spoil && obj.Name == "spoilt" {
				return nil, errors.New("spoilt")
			}
			return obj, nil
		})
		p, err := pipeline.New(source, store.ObjectKey[*thing], w.take, w.options())
		w.must(err)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		synctest.Wait()
		spoil = true
		w.must(w.server.Inject(faults.Fault{Verb: "watch", Times: 1, Status: faults.Refusal(500, metav1.StatusReasonInternalError, 0)}))
		w.server.DropWatches()
		synctest.Wait()
		w.delete("gone")
		w.create("new", 1)
		w.must(w.server.Compact(w.server.ResourceVersion())) // only a list tells now
		time.Sleep(time.Minute)
		cancel()
		w.must(<-ended)
		got := map[string]bool{}
		for k := range w.mirror.Keys() {
			got[k.Name] = true
		}
		if diff := cmp.Diff(map[string]bool{"kept": true, "spoilt": true, "new": true}, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestPanics(t *testing.T) {
	boom := errors.New("boom")
	t.Run("of the source end Run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.create("one", 1)
			source := reflector.Map(reflector.Source[*thing](w.source), func(*thing) (*thing, error) { panic(boom) })
			p, err := pipeline.New(source, store.ObjectKey[*thing], w.take, w.options())
			w.must(err)
			err = p.Run(context.Background())
			var panicked *pipeline.PanicError
			if !errors.As(err, &panicked) || !errors.Is(err, boom) || !strings.Contains(err.Error(), "a/one") {
				t.Errorf("Run() = %v, want the panic and the object", err)
			}
		})
	})
	t.Run("of the source are not lost when the context ends after them", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			source := reflector.Map(reflector.Source[*thing](w.source), func(obj *thing) (*thing, error) {
				if obj.Name == "two" {
					panic(boom)
				}
				return obj, nil
			})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			p, err := pipeline.New(source, store.ObjectKey[*thing], func(key, deltas) error {
				w.create("two", 2)
				time.Sleep(time.Second)
				cancel()
				return nil
			}, w.options())
			w.must(err)
			w.create("one", 1)
			expectPanic(t, p.Run(ctx), "source", boom)
		})
	})
	t.Run("of OnError end Run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.create("one", 1)
			opts := w.options()
			opts.OnError = func(error) { panic(boom) }
			p, err := pipeline.New[key](w.source, store.ObjectKey[*thing], func(key, deltas) error { return errors.New("no") }, opts)
			w.must(err)
			expectPanic(t, p.Run(context.Background()), "OnError", boom)
		})
	})
	t.Run("of what is known end Run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.create("one", 1)
			opts := w.options()
			opts.Resync = time.Second
			opts.KnownObjects = &fragile{Store: w.mirror, value: boom}
			p, err := pipeline.New[key](w.source, store.ObjectKey[*thing], w.take, opts)
			w.must(err)
			expectPanic(t, p.Run(context.Background()), "known", boom)
		})
	})
	t.Run("of the function go on", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.create("one", 1)
			p, err := pipeline.New[key](w.source, store.ObjectKey[*thing], func(key, deltas) error { panic(boom) }, w.options())
			w.must(err)
			defer func() {
				if value := recover(); value != boom {
					t.Errorf("recovered %v, want the panic of the function", value)
				}
			}()
			_ = p.Run(context.Background())
		})
	})
}

// expectPanic makes sure that Run returned value as what where panicked with.
func expectPanic(t *testing.T, err error, where string, value error) {
	t.Helper()
	var panicked *pipeline.PanicError
	if !errors.As(err, &panicked) || panicked.Where != where || !errors.Is(err, value) {
		t.Errorf("Run() = %v, want a panic of %s", err, where)
	}
}

// fragile is a store that panics when it is walked for the second time, by a resync.
type fragile struct {
	*store.Store[key, *thing]
	value error
	walks int
}

func (f *fragile) All() iter.Seq2[key, *thing] {
	if f.walks++; f.walks > 1 {
		panic(f.value)
	}
	return f.Store.All()
}

func TestMisuse(t *testing.T) {
	w := newWorld(t)
	opts := w.options()
	if _, err := pipeline.New[key, *thing](nil, store.ObjectKey[*thing], w.take, opts); !errors.Is(err, reflector.ErrInvalid) {
		t.Errorf("no source: %v", err)
	}
	if _, err := pipeline.New[key](w.source, nil, w.take, opts); !errors.Is(err, pipeline.ErrNoKeyFunc) {
		t.Errorf("no key function: %v", err)
	}
	if _, err := pipeline.New(w.source, store.ObjectKey[*thing], nil, opts); !errors.Is(err, pipeline.ErrNoProcess) {
		t.Errorf("no function: %v", err)
	}
	p, err := pipeline.New[key](w.source, store.ObjectKey[*thing], w.take, opts)
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w.must(p.Run(ctx))
	if err := p.Run(ctx); !errors.Is(err, pipeline.ErrStarted) {
		t.Errorf("second Run: %v", err)
	}
}

// Example_deletesAll is a controller that deletes every object that it gets. Every key first
// comes because it was listed, and then once more because it was deleted.
func Example_deletesAll() {
	server := fake.New(fake.Options{})
	check := func(err error) {
		if err != nil {
			fmt.Println(err)
		}
	}
	check(fake.Register(server, kind.Of[*thing](schema.GroupVersion{Group: "example.com", Version: "v1"}, "things"), fake.Rules{}))
	for _, name := range []string{"a-hello", "b-controller", "c-framework"} {
		_, err := fake.Create(server, newThing(name, 0))
		check(err)
	}
	source, err := fake.NewSource[*thing](server, fake.Selection{})
	check(err)

	ctx, cancel := context.WithCancel(context.Background())
	seen := map[string][]deltafifo.DeltaType{}
	left := 3
	controller, err := pipeline.New[key](source, store.ObjectKey[*thing], func(k key, deltas []deltafifo.Delta[*thing]) error {
		for _, d := range deltas {
			seen[k.Name] = append(seen[k.Name], d.Type)
			if d.Type != deltafifo.Deleted {
				if _, err := fake.Delete[*thing](server, k); err != nil {
					return err // the key comes again
				}
			} else if left--; left == 0 {
				cancel()
			}
		}
		return nil
	}, pipeline.Options[key, *thing]{})
	check(err)
	check(controller.Run(ctx))
	for _, name := range []string{"a-hello", "b-controller", "c-framework"} {
		fmt.Println(name, seen[name])
	}
	fmt.Println(len(seen), "keys")
	// Output:
	// a-hello [Replaced Deleted]
	// b-controller [Replaced Deleted]
	// c-framework [Replaced Deleted]
	// 3 keys
}
