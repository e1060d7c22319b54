package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/store"
)

// restoredCache is an informer of the test, whatever its T is.
type restoredCache struct {
	name     string
	run      func(context.Context) error
	versions func() map[key]string // resourceVersion by key
	legal    func() error
	stats    func() informer.Stats
}

// boxed hides metadata from faketest.Histories: a restored server may go back in time.
type boxed[T any] struct{ object T }

func newRestoredCache[T metav1.Object](t *testing.T, name string, conn client.Connection, opts client.Options) restoredCache {
	inf, err := informer.New(resource[T](t, conn, configMaps, opts), store.ObjectKey, informer.Options[T]{OnError: func(err error) { t.Logf("%s: %v", name, err) }})
	if err != nil {
		t.Fatal(err)
	}
	seen := new(faketest.Histories[key, boxed[T]])
	_, err = inf.AddHandler(informer.HandlerFunc[key, T](func(ev informer.Event[key, T]) {
		switch ev.Type {
		case informer.Added:
			seen.Added(ev.Key, boxed[T]{ev.Object})
		case informer.Updated:
			seen.Updated(ev.Key, boxed[T]{ev.Old}, boxed[T]{ev.Object})
		case informer.Deleted:
			seen.Deleted(ev.Key, boxed[T]{ev.Object})
		}
	}), informer.HandlerOptions[T]{})
	if err != nil {
		t.Fatal(err)
	}
	return restoredCache{name: name, run: inf.Run, legal: seen.Err, stats: inf.Stats, versions: func() map[key]string {
		all := map[key]string{}
		for k, obj := range inf.Store().All() {
			all[k] = string(obj.GetUID()) + " " + obj.GetResourceVersion()
		}
		return all
	}}
}

// TestRestoredEtcd puts etcd back to a backup under informers of all encodings: once the
// server has not come as far again when they are back, and once it has gone further.
func TestRestoredEtcd(t *testing.T) {
	c := cluster.Start(t, cluster.Options{ExtraAPIServerArgs: []string{"--feature-gates=CBORServingAndStorage=true"}})
	conn, err := client.NewConnection(c.URL(), client.ConnectionOptions{CAFile: c.CAFile(), Token: c.Token()})
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(conn.HTTP.Transport)
	conn.HTTP = &http.Client{Transport: g}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	caches := []restoredCache{
		newRestoredCache[*corev1.ConfigMap](t, "protobuf", conn, client.Options{Encoding: client.Protobuf}),
		newRestoredCache[*corev1.ConfigMap](t, "JSON", conn, client.Options{Encoding: client.JSON}),
		newRestoredCache[*unstructured.Unstructured](t, "unstructured", conn, client.Options{Kind: "ConfigMap", Encoding: client.CBOR}),
		newRestoredCache[*metav1.PartialObjectMetadata](t, "metadata", conn, client.Options{}),
	}
	ended := make(chan error, len(caches))
	running, stop := context.WithCancel(ctx)
	for _, cache := range caches {
		go func() { ended <- cache.run(running) }()
	}
	direct := &oracle.Client{URL: c.URL(), HTTP: c.HTTPClient()}
	w := configWriter{ctx: ctx, t: t, to: direct}
	w.write(10)
	backup, err := c.Backup(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, overtaken := range []bool{false, true} {
		equalToServer(ctx, t, direct, caches)
		w.write(20)
		equalToServer(ctx, t, direct, caches)
		if overtaken {
			g.Shut()
		}
		if err := c.Restore(ctx, backup); err != nil {
			t.Fatal(err)
		}
		if w.write(2); overtaken {
			w.write(60)
			g.Open()
		}
		began := time.Now()
		equalToServer(ctx, t, direct, caches)
		t.Logf("overtaken %v: right again after %v", overtaken, time.Since(began).Round(time.Millisecond))
		w.write(5)
		equalToServer(ctx, t, direct, caches)
	}
	stop()
	for range caches {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	for _, cache := range caches {
		if err := cache.legal(); err != nil {
			t.Errorf("%s: %v", cache.name, err)
		}
		t.Logf("%s: %+v", cache.name, cache.stats())
	}
}

// configWriter creates, changes and deletes ConfigMaps; it never writes the same content twice.
type configWriter struct {
	ctx context.Context
	t   *testing.T
	to  *oracle.Client
	n   int
}

func (w *configWriter) write(times int) {
	w.t.Helper()
	for range times {
		w.n++
		object := oracle.NewConfigMap("default", w.n%5)
		object.Data = map[string]string{"n": fmt.Sprint(w.n)}
		path := oracle.Path("configmaps", "default", object.Name)
		_, err := oracle.Get[corev1.ConfigMap](w.ctx, w.to, path)
		switch {
		case err != nil:
			_, err = oracle.Create(w.ctx, w.to, oracle.Path("configmaps", "default", ""), object)
		case w.n%3 == 0:
			err = w.to.Delete(w.ctx, path)
		default:
			_, err = oracle.Update(w.ctx, w.to, path, object)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// equalToServer waits until every cache holds what a list of the server has.
func equalToServer(ctx context.Context, t *testing.T, to *oracle.Client, caches []restoredCache) {
	t.Helper()
	all, _, err := oracle.List[corev1.ConfigMap](ctx, to, oracle.Path("configmaps", "", ""), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[key]string{}
	for i := range all {
		want[key{Namespace: all[i].Namespace, Name: all[i].Name}] = string(all[i].UID) + " " + all[i].ResourceVersion
	}
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, cache := range caches {
		if err := eventually(limited, func() bool { return fmt.Sprint(cache.versions()) == fmt.Sprint(want) }); err != nil {
			t.Fatalf("%s: %v\n got %v\nwant %v\n%+v", cache.name, err, cache.versions(), want, cache.stats())
		}
	}
}
