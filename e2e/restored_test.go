package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
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

// restoredEtcd is a cluster whose etcd is put back to a backup, again and again, and the gate
// to it.
type restoredEtcd struct {
	ctx    context.Context
	c      *cluster.Cluster
	conn   client.Connection
	gate   *gate
	direct *oracle.Client
	writer configWriter
	backup string
}

// TestRestoredEtcd puts etcd back to a backup under informers of all encodings.
func TestRestoredEtcd(t *testing.T) {
	c := cluster.Start(t, cluster.Options{ExtraAPIServerArgs: []string{"--feature-gates=CBORServingAndStorage=true"}})
	conn, err := client.NewConnection(c.URL(), client.ConnectionOptions{CAFile: c.CAFile(), Token: c.Token()})
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(conn.HTTP.Transport)
	conn.HTTP = &http.Client{Transport: g}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	r := &restoredEtcd{ctx: ctx, c: c, conn: conn, gate: g, direct: &oracle.Client{URL: c.URL(), HTTP: c.HTTPClient()}}
	r.writer = configWriter{ctx: ctx, t: t, to: r.direct}
	r.writer.write(10)
	if r.backup, err = c.Backup(ctx); err != nil {
		t.Fatal(err)
	}
	for _, v := range []restoredVariant{
		{name: "behind"},
		{name: "overtaken", overtaken: true},
		{name: "idle", idle: true, overtaken: true},
		{name: "idle, without changes to the newest object", idle: true, overtaken: true, elsewhere: true},
		{name: "started again", overtaken: true, again: true},
	} {
		t.Run(v.name, func(t *testing.T) { r.run(t, v) })
	}
}

// restoredVariant is a way to restore a server.
type restoredVariant struct {
	name      string
	idle      bool // nothing happens between the list of the informers and the restore
	overtaken bool // the server goes further than before, until the informers are back
	elsewhere bool // by changes to other collections
	again     bool // then the API server starts again, and has no events of before
}

func (r *restoredEtcd) run(t *testing.T, v restoredVariant) {
	w := r.writer
	w.t = t
	defer func() { r.writer.n = w.n }()
	caches := []restoredCache{
		newRestoredCache[*corev1.ConfigMap](t, "protobuf", r.conn, client.Options{Encoding: client.Protobuf}),
		newRestoredCache[*corev1.ConfigMap](t, "JSON", r.conn, client.Options{Encoding: client.JSON}),
		newRestoredCache[*unstructured.Unstructured](t, "unstructured", r.conn, client.Options{Kind: "ConfigMap", Encoding: client.CBOR}),
		newRestoredCache[*metav1.PartialObjectMetadata](t, "metadata", r.conn, client.Options{}),
	}
	if v.idle {
		w.write(20)
	}
	ended := make(chan error, len(caches))
	running, stop := context.WithCancel(r.ctx)
	defer stop()
	for _, cache := range caches {
		go func() { ended <- cache.run(running) }()
	}
	equalToServer(r.ctx, t, r.direct, caches)
	if !v.idle {
		w.write(20)
		equalToServer(r.ctx, t, r.direct, caches)
	}
	r.restore(t, v, &w)
	began := time.Now()
	equalToServer(r.ctx, t, r.direct, caches)
	t.Logf("right again after %v", time.Since(began).Round(time.Millisecond))
	w.write(5)
	equalToServer(r.ctx, t, r.direct, caches)
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

// restore puts etcd back and lets it go on.
func (r *restoredEtcd) restore(t *testing.T, v restoredVariant, w *configWriter) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	seen := r.version(t)
	if v.overtaken {
		r.gate.Shut()
	}
	must(r.c.Restore(r.ctx, r.backup))
	if !v.elsewhere {
		w.write(2)
	}
	for n := 0; v.overtaken && r.version(t) < seen+5; n++ {
		if v.elsewhere {
			must(w.createSecret(n))
		} else {
			w.write(1)
		}
	}
	if v.again {
		must(r.c.APIServer.Stop(r.ctx))
		must(r.c.APIServer.Start(r.ctx))
	}
	if v.overtaken {
		r.gate.Open()
	}
}

// version is the newest resourceVersion of the server.
func (r *restoredEtcd) version(t *testing.T) uint64 {
	t.Helper()
	_, text, err := oracle.List[corev1.ConfigMap](r.ctx, r.direct, oracle.Path("configmaps", "", ""), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rv, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return rv
}

// createSecret makes the server write to another collection.
func (w *configWriter) createSecret(n int) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("secret-%d", n)}}
	secret.APIVersion, secret.Kind = "v1", "Secret"
	_, err := oracle.Create(w.ctx, w.to, oracle.Path("secrets", "default", ""), secret)
	return err
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
