package factory_test

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/informer/factory"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// Lists are fetched as the factory's options say, but for a request with its own.
func TestDefaultOfFetching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, factory.Options{})
		var mu sync.Mutex
		limits := map[string][]string{} // of lists, by resource
		recording := roundTripper(func(r *http.Request) (*http.Response, error) {
			if query := r.URL.Query(); !query.Has("watch") {
				mu.Lock()
				defer mu.Unlock()
				limits[r.URL.Path] = append(limits[r.URL.Path], query.Get("limit"))
			}
			return w.server.Client().Transport.RoundTrip(r)
		})
		paged := reflector.Tuning{PageSize: 7, DisableWatchList: true}
		f := factory.New(client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: recording}}, factory.Options{Reflector: paged})
		w.Factory = f
		request(w, gears, factory.Request[*gear]{})
		request(w, cogs, factory.Request[*cog]{Informer: informer.Options[*cog]{Reflector: reflector.Tuning{PageSize: 9, DisableWatchList: true}}})
		stop := w.run()
		mu.Lock()
		defer mu.Unlock()
		for path, want := range map[string]string{"/apis/example.com/v1/gears": "7", "/apis/example.com/v1/cogs": "9"} {
			if !slices.Equal(limits[path], []string{want}) {
				t.Errorf("%s was listed with limits %q, want one of %s", path, limits[path], want)
			}
		}
		stop()
	})
}

// Handlers get every object at the intervals of the factory's options, unless the request or
// the handler says otherwise.
func TestDefaultOfResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, factory.Options{Resync: time.Hour})
		w.create("prod", "one", 1)
		plain := request(w, gears, factory.Request[*gear]{})
		often := request(w, gears, factory.Request[*gear]{
			Select:   client.Options{Namespace: "prod"},
			Informer: informer.Options[*gear]{Resync: time.Minute},
		})
		never := request(w, gears, factory.Request[*gear]{
			Select:   client.Options{LabelSelector: "size"},
			Informer: informer.Options[*gear]{Resync: -1},
		})
		var mu sync.Mutex
		syncs := map[string]int{}
		watch := func(h *factory.Handle[key, *gear], name string, opts informer.HandlerOptions[*gear]) {
			_, err := h.AddHandler(checked(t, func(ev informer.Event[key, *gear]) {
				mu.Lock()
				defer mu.Unlock()
				if ev.Sync {
					syncs[name]++
				}
			}), opts)
			w.must(err)
		}
		watch(plain, "the factory's", informer.HandlerOptions[*gear]{})
		watch(plain, "its own", informer.HandlerOptions[*gear]{Resync: 10 * time.Minute})
		watch(plain, "none", informer.HandlerOptions[*gear]{Resync: -1})
		watch(often, "the request's", informer.HandlerOptions[*gear]{})
		watch(never, "none in the request", informer.HandlerOptions[*gear]{})
		stop := w.run()
		time.Sleep(10 * time.Hour)
		stop()
		for name, want := range map[string]int{"the factory's": 10, "its own": 60, "none": 0, "the request's": 600, "none in the request": 0} {
			if got := syncs[name]; got < want-1 || got > want {
				t.Errorf("%s: %d resyncs in ten hours, want %d or one less", name, got, want)
			}
		}
	})
}

// Every type of object is transformed before it is cached or projected, in lists and in
// watches, and what cannot be is reported.
func TestTransform(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := errors.New("bad")
		var mu sync.Mutex
		var heard []error
		w := newWorld(t, factory.Options{
			Transform: func(object metav1.Object) error {
				if object.GetName() == "bad" {
					return bad
				}
				object.SetLabels(nil)
				object.SetAnnotations(map[string]string{"seen": "yes"})
				return nil
			},
			OnError: func(err error) {
				mu.Lock()
				defer mu.Unlock()
				heard = append(heard, err)
			},
		})
		w.create("prod", "one", 1)
		pointers := request(w, gears, factory.Request[*gear]{})
		loose := request(w, kind.As[*unstructured.Unstructured](gears), factory.Request[*unstructured.Unstructured]{})
		values, err := factory.Project(w.Factory, gears, factory.Projection[key, *gear, *tooth]{
			Name: "annotation",
			Func: func(g *gear) (*tooth, error) { return &tooth{name: g.Name + " " + g.Annotations["seen"]}, nil },
			Key:  func(t *tooth) (key, error) { return key{Name: t.name}, nil },
		}, factory.Request[*tooth]{})
		w.must(err)
		stop := w.run()
		w.create("prod", "two", 2)
		w.create("prod", "bad", 2)
		synctest.Wait()
		check := func(what string, objects []metav1.Object) {
			if len(objects) != 2 {
				t.Errorf("%s: %d objects, want 2", what, len(objects))
			}
			for _, object := range objects {
				if len(object.GetLabels()) != 0 || object.GetAnnotations()["seen"] != "yes" {
					t.Errorf("%s: %s is not transformed", what, object.GetName())
				}
			}
		}
		var objects []metav1.Object
		for g := range pointers.Store().Values() {
			objects = append(objects, g)
		}
		check("pointers", objects)
		objects = nil
		for u := range loose.Store().Values() {
			objects = append(objects, u)
		}
		check("unstructured", objects)
		var got []string
		for small := range values.Store().Values() {
			got = append(got, small.name)
		}
		if slices.Sort(got); !slices.Equal(got, []string{"one yes", "two yes"}) {
			t.Errorf("projected %q", got)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(heard) != 3 || !errors.Is(heard[0], bad) {
			t.Errorf("heard %v, want what is bad from each informer", heard)
		}
		stop()
	})
}
