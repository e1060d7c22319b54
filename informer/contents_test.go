package informer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/store"
)

// setDefault gives widgets without a node another one from now on, as a CustomResourceDefinition
// does that gets a default: objects are read with it, and keep their versions.
func setDefault(t *testing.T, server *fake.Server, node string) {
	t.Helper()
	err := fake.Define(server, fake.Definition[*widget]{
		Kind: kind.Of[*widget](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets"),
		Hooks: fake.Hooks[*widget]{Default: func(w *widget) {
			if w.Spec.Node == "" {
				w.Spec.Node = node
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// noSums is a source that knows no sums and recalls nothing, as one of another library's client.
type noSums[T any] struct{ from reflector.Source[T] }

func (s noSums[T]) Resource() string { return s.from.Resource() }

func (s noSums[T]) List(ctx context.Context, opts metav1.ListOptions, yield func(reflector.Event[T], error) bool) (metav1.ListMeta, error) {
	return s.from.List(ctx, opts, func(ev reflector.Event[T], err error) bool {
		ev.Sum = 0
		return yield(ev, err)
	})
}

func (s noSums[T]) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[T], error] {
	return func(yield func(reflector.Event[T], error) bool) {
		for ev, err := range s.from.Watch(ctx, opts) {
			ev.Sum = 0
			if !yield(ev, err) {
				return
			}
		}
	}
}

// contentsCase is a way to keep widgets as objects of type T.
type contentsCase[T any] struct {
	name       string
	tuning     reflector.Tuning
	source     func(reflector.Source[*widget]) reflector.Source[T]
	recalls    bool
	again      bool // Run is called again in place of a relist
	namespaced bool
	part       shard.Part[T] // of one namespace, if it says how
	older      bool          // the server does not select by shards
	keyOf      store.KeyFunc[key, T]
	contents   func(T) string
}

// decoding is a source of the same objects that decodes each object of each list.
func decoding(from reflector.Source[*widget]) reflector.Source[*widget] {
	return struct{ reflector.Source[*widget] }{from}
}

// TestNewContentsAtAnOldVersion: after each list the store has the contents of the list, whatever
// their versions. Handlers get an update of the objects that have changed, and of no others.
func TestNewContentsAtAnOldVersion(t *testing.T) {
	same := func(s reflector.Source[*widget]) reflector.Source[*widget] { return s }
	bare := func(s reflector.Source[*widget]) reflector.Source[*widget] { return noSums[*widget]{s} }
	pages := reflector.Tuning{DisableWatchList: true}
	of := contentsCase[*widget]{source: same, keyOf: store.ObjectKey[*widget], contents: func(w *widget) string { return w.Spec.Node }, recalls: true}
	for _, c := range []func(*contentsCase[*widget]){
		func(c *contentsCase[*widget]) { c.name = "stream" },
		func(c *contentsCase[*widget]) { c.name, c.tuning = "list", pages },
		func(c *contentsCase[*widget]) { c.name, c.source, c.recalls = "decoded", decoding, false },
		func(c *contentsCase[*widget]) { c.name, c.source, c.recalls = "no sums", bare, false },
		func(c *contentsCase[*widget]) {
			c.name, c.source, c.recalls, c.tuning = "no sums, list", bare, false, pages
		},
		func(c *contentsCase[*widget]) { c.name, c.again = "second run", true },
		func(c *contentsCase[*widget]) {
			c.name, c.again, c.source, c.recalls = "second run without sums", true, bare, false
		},
		func(c *contentsCase[*widget]) { c.name, c.namespaced = "namespaces", true },
		func(c *contentsCase[*widget]) {
			c.name, c.namespaced, c.source, c.recalls = "namespaces without sums", true, bare, false
		},
		func(c *contentsCase[*widget]) {
			c.name, c.source = "filter and tweak", func(s reflector.Source[*widget]) reflector.Source[*widget] {
				all := func(*widget) bool { return true }
				return reflector.Tweak(reflector.Filter(s, all), func(*metav1.ListOptions) {})
			}
		},
		func(c *contentsCase[*widget]) { c.name, c.part.Field = "part by the server", shard.FieldNamespace },
		func(c *contentsCase[*widget]) {
			c.name, c.part.Field, c.older = "part by an older server", shard.FieldNamespace, true
		},
		func(c *contentsCase[*widget]) { c.name, c.part.Hash = "part by the client", hashOfNamespace },
		func(c *contentsCase[*widget]) {
			c.name, c.part.Hash, c.source, c.recalls = "part without sums", hashOfNamespace, bare, false
		},
	} {
		c0 := of
		c(&c0)
		t.Run(c0.name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { c0.run(t) }) })
	}
	project := func(s reflector.Source[*widget]) reflector.Source[projection] {
		return reflector.Map(s, func(w *widget) (projection, error) {
			return &projected{Key: key{Namespace: w.Namespace, Name: w.Name}, Text: w.Spec.Node}, nil
		})
	}
	mapped := contentsCase[projection]{name: "projection", source: project, keyOf: projection.key, contents: projection.text, recalls: true}
	t.Run(mapped.name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { mapped.run(t) }) })
	mapped.namespaced = true
	t.Run("namespaces of projections", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { mapped.run(t) }) })
	mapped.namespaced, mapped.recalls = false, false
	mapped.source = func(s reflector.Source[*widget]) reflector.Source[projection] { return project(bare(s)) }
	t.Run("projection without sums", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { mapped.run(t) }) })
}

// divide returns a source of what is in the part, and creates what is not. Without a part, that is src.
func (c contentsCase[T]) divide(t *testing.T, server *fake.Server, src reflector.Source[T]) reflector.Source[T] {
	if c.part.Field == "" && c.part.Hash == nil {
		return src
	}
	must1(fake.Create(server, newWidget("other", "w", "")))(t)
	hash := shard.ServerHash("n")
	c.part.Hashes = new(shard.Hashes)
	if err := c.part.Hashes.Set(shard.HashRange{First: hash, Last: hash}); err != nil {
		t.Fatal(err)
	}
	return must1(c.part.Source(src))(t)
}

func hashOfNamespace(w *widget) uint64 { return shard.ServerHash(w.Namespace) }

func (c contentsCase[T]) run(t *testing.T) {
	const objects = 40 // so that few of them change, and also many: see compare.Known
	server := newShardServer(t, !c.older)
	for n := range objects {
		node := "own"
		if n < 3 {
			node = "" // gets the default
		}
		must1(fake.Create(server, newWidget("n", fmt.Sprint("w", n), node)))(t)
	}
	opts := informer.Options[T]{OnError: ignore, Reflector: c.tuning}
	var inf *informer.Informer[key, T]
	if src := c.divide(t, server, c.source(source(t, server))); c.namespaced {
		inf = must1(informer.NewNamespaced("widgets", informer.NewNamespaces("n"), func(string) (reflector.Source[T], error) { return src, nil }, c.keyOf, opts))(t)
	} else {
		inf = must1(informer.New(src, c.keyOf, opts))(t)
	}
	var got []string
	must1(inf.AddHandler(informer.HandlerFunc[key, T](func(ev informer.Event[key, T]) {
		if !ev.Initial {
			got = append(got, fmt.Sprintf("%v %s %q", ev.Type, ev.Key.Name, c.contents(ev.Old)+"→"+c.contents(ev.Object)))
		}
	}), informer.HandlerOptions[T]{}))(t)
	stop := run(t, inf)
	// list has one list, after the default has become node if that is not empty.
	list := func(note, node string, want ...string) {
		t.Helper()
		recalled := inf.Stats().Recalled
		switch {
		case c.again:
			stop()
			if node != "" {
				setDefault(t, server, node)
			}
			stop = run(t, inf)
		case node != "": // the change of the definition ends the watches, and the next ones get 410
			setDefault(t, server, node)
			time.Sleep(time.Minute)
			synctest.Wait()
		default:
			relist(t, server)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: handlers got %q, want %q", note, got, want)
		}
		got = nil
		recalled = inf.Stats().Recalled - recalled
		if all := c.recalls && len(want) == 0; all && recalled != objects || !all && recalled != 0 {
			t.Errorf("%s: recalled %d of %d objects", note, recalled, objects)
		}
	}
	defer func() { stop() }()
	list("unchanged", "")
	list("a default", "first", `Updated w0 "→first"`, `Updated w1 "→first"`, `Updated w2 "→first"`)
	list("unchanged again", "")
	list("another default", "second", `Updated w0 "first→second"`, `Updated w1 "first→second"`, `Updated w2 "first→second"`)
	if n := inf.Store().Len(); n != objects {
		t.Errorf("the store has %d objects, want %d", n, objects)
	}
	for key, obj := range inf.Store().All() {
		want := "own"
		if key.Name == "w0" || key.Name == "w1" || key.Name == "w2" {
			want = "second"
		}
		if c.contents(obj) != want {
			t.Errorf("the store has %s with %q, want %q", key.Name, c.contents(obj), want)
		}
	}
}

// warnings returns an OnError that counts the warnings of contents that vary.
func warnings(n *int) func(error) {
	return func(err error) {
		if errors.Is(err, informer.ErrContentsVary) {
			*n++
		}
	}
}

// TestServersThatDisagree: if two servers answer in turn with different contents at one version, the
// newest list wins, and OnError gets one warning.
func TestServersThatDisagree(t *testing.T) {
	for _, objects := range []int{1, 200} {
		for _, c := range []struct {
			name   string
			source func(reflector.Source[*widget]) reflector.Source[*widget]
			tuning reflector.Tuning
		}{
			{"stream", func(s reflector.Source[*widget]) reflector.Source[*widget] { return s }, reflector.Tuning{}},
			{"list", func(s reflector.Source[*widget]) reflector.Source[*widget] { return s }, reflector.Tuning{DisableWatchList: true}},
			{"no sums", func(s reflector.Source[*widget]) reflector.Source[*widget] { return noSums[*widget]{s} }, reflector.Tuning{}},
		} {
			t.Run(fmt.Sprintf("%s of %d", c.name, objects), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := newServer(t)
					src := c.source(source(t, server))
					disagree(t, server, objects, src, c.tuning, store.ObjectKey[*widget], func(w *widget) string { return w.Spec.Node })
				})
			})
		}
		t.Run(fmt.Sprintf("projections of %d", objects), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t)
				src := reflector.Map(source(t, server), func(w *widget) (projection, error) {
					return &projected{Key: key{Namespace: w.Namespace, Name: w.Name}, Text: w.Spec.Node}, nil
				})
				disagree(t, server, objects, src, reflector.Tuning{}, projection.key, projection.text)
			})
		})
	}
}

func disagree[T any](t *testing.T, server *fake.Server, objects int, src reflector.Source[T], tuning reflector.Tuning, keyOf store.KeyFunc[key, T], contents func(T) string) {
	for n := range objects {
		must1(fake.Create(server, newWidget("n", fmt.Sprint("w", n), "")))(t)
	}
	warned, events := 0, 0
	inf := must1(informer.New(src, keyOf, informer.Options[T]{OnError: warnings(&warned), Reflector: tuning}))(t)
	must1(inf.AddHandler(informer.HandlerFunc[key, T](func(informer.Event[key, T]) { events++ }), informer.HandlerOptions[T]{}))(t)
	defer run(t, inf)()
	for n := range 10 {
		node := []string{"first", "second"}[n%2]
		setDefault(t, server, node)
		relist(t, server)
		for key, obj := range inf.Store().All() {
			if contents(obj) != node {
				t.Errorf("list %d: the store has %s with %q, want %q", n, key.Name, contents(obj), node)
			}
		}
		if want := min(1, n/3); warned != want {
			t.Errorf("list %d: %d warnings, want %d", n, warned, want)
		}
	}
	if events != 11*objects {
		t.Errorf("handlers got %d events, want %d", events, 11*objects)
	}
}

// TestVaryingContentsAreNamed: the warning names the resource, the object and then the cause.
func TestVaryingContentsAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("n", "w", "")))(t)
		var got []string
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: func(err error) {
			if errors.Is(err, informer.ErrContentsVary) {
				got = append(got, err.Error())
			}
		}})
		defer run(t, inf)()
		for n := range 10 {
			setDefault(t, server, []string{"first", "second"}[n%2])
			relist(t, server)
		}
		want := []string{`widgets.example.com: object "n/w" at resourceVersion 2: contents vary without a new version: do all servers behind the address agree?`}
		if !slices.Equal(got, want) {
			t.Errorf("OnError got %q, want %q", got, want)
		}
	})
}

// TestChangesOfADefault: a default may change often, and be taken back, without a warning.
func TestChangesOfADefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, warned := newServer(t), 0
		for n := range 100 {
			must1(fake.Create(server, newWidget("n", fmt.Sprint("w", n), "")))(t)
		}
		inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: warnings(&warned)})
		defer run(t, inf)()
		for n := range 8 {
			setDefault(t, server, fmt.Sprint("node", n))
			relist(t, server)
		}
		setDefault(t, server, "node6")
		relist(t, server)
		if warned > 0 {
			t.Errorf("%d warnings", warned)
		}
	})
}

// TestNewDefaultIsSeen: the fake ends watches when a definition changes, and refuses to resume them, as
// an API server does. So the new contents are there within seconds, even for an object that is not the
// newest, and with a source that has no connection.
func TestNewDefaultIsSeen(t *testing.T) {
	widgets := kind.Of[*widget](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets")
	for name, open := range map[string]func(*testing.T, *fake.Server) reflector.Source[*widget]{
		"source": func(t *testing.T, s *fake.Server) reflector.Source[*widget] { return source(t, s) },
		"HTTP": func(t *testing.T, s *fake.Server) reflector.Source[*widget] {
			return must1(client.New(client.Connection{URL: fake.URL, HTTP: s.Client()}, widgets, client.Options{}))(t)
		},
	} {
		for n, tuning := range []reflector.Tuning{{}, {DisableWatchList: true}, {TrustVersions: true}} {
			for live := range 6 {
				t.Run(fmt.Sprintf("%s, tuning %d, %d events", name, n, live), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						server := newServer(t)
						must1(fake.Create(server, newWidget("n", "old", "")))(t)
						must1(fake.Create(server, newWidget("n", "new", "own")))(t)
						inf := newInformer(t, open(t, server), informer.Options[*widget]{OnError: ignore, Reflector: tuning})
						defer run(t, inf)()
						for n := range live { // the watch has brought so many events
							must1(fake.Create(server, newWidget("n", fmt.Sprint("w", n), "own")))(t)
						}
						time.Sleep(time.Hour)
						for _, node := range []string{"first", "second"} {
							setDefault(t, server, node)
							time.Sleep(5 * time.Second)
							if w, _ := inf.Store().Get(key{Namespace: "n", Name: "old"}); w.Spec.Node != node {
								t.Errorf("the store has %q, want %q; %+v", w.Spec.Node, node, inf.Stats().Relists)
							}
						}
					})
				})
			}
		}
	}
}

// TestNewDefaultAndBrokenWatch: a watch that breaks off after a new default repeats its events with
// other contents. That leads to one list, and is no sign of a restored server.
func TestNewDefaultAndBrokenWatch(t *testing.T) {
	broken := func(t *testing.T, server *fake.Server, lists func() uint64, restored func() int, node func() string, defaults ...string) {
		for _, name := range []string{"a", "b"} {
			must1(fake.Create(server, newWidget("n", name, "")))(t)
		}
		synctest.Wait()
		for _, want := range defaults {
			before := lists()
			setDefault(t, server, want)
			server.DropWatches()
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			if got := node(); got != want {
				t.Errorf("the store has %q, want %q", got, want)
			}
			if n := lists() - before; n > 2 || restored() > 0 {
				t.Errorf("%d lists, %d reports of a restored server", n, restored())
			}
		}
	}
	note := func(n *int) func(error) {
		return func(err error) {
			if errors.Is(err, reflector.ErrRestored) {
				*n++
			}
		}
	}
	for _, tuning := range []reflector.Tuning{{}, {DisableWatchList: true}} {
		synctest.Test(t, func(t *testing.T) {
			server, restored := newServer(t), 0
			inf := newInformer(t, source(t, server), informer.Options[*widget]{OnError: note(&restored), Reflector: tuning})
			defer run(t, inf)()
			broken(t, server, func() uint64 { return inf.Stats().Lists }, func() int { return restored }, func() string {
				w, _ := inf.Store().Get(key{Namespace: "n", Name: "a"})
				return w.Spec.Node
			}, "first", "second")
		})
		synctest.Test(t, func(t *testing.T) {
			server, restored := newServer(t), 0
			src := reflector.Map(source(t, server), func(w *widget) (projection, error) {
				return &projected{Key: key{Namespace: w.Namespace, Name: w.Name}, Text: w.Spec.Node}, nil
			})
			inf := must1(informer.New(src, projection.key, informer.Options[projection]{OnError: note(&restored), Reflector: tuning}))(t)
			defer run(t, inf)()
			broken(t, server, func() uint64 { return inf.Stats().Lists }, func() int { return restored }, func() string {
				p, _ := inf.Store().Get(key{Namespace: "n", Name: "a"})
				return p.text()
			}, "first") // without metadata, only events are compared, and there are none after the list
		})
	}
}
