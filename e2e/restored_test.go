//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/store"
)

// restoredCache is an informer of the test, for any T.
type restoredCache struct {
	name   string
	run    func(context.Context) error
	legal  func() error
	stats  func() informer.Stats
	differ func(items []json.RawMessage) (string, error) // from what the server has
}

// boxed hides metadata from faketest.Histories: a restored server may go back in time.
type boxed[T any] struct{ object T }

func newRestoredCache[T metav1.Object](t *testing.T, name string, conn client.Connection, opts client.Options) restoredCache {
	inf, err := informer.New(resource(t, conn, kind.As[T](configMaps), opts), store.ObjectKey, informer.Options[T]{OnError: func(err error) { t.Logf("%s: %v", name, err) }})
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
	differ := func(items []json.RawMessage) (string, error) {
		want, got, handled := map[key]T{}, map[key]T{}, map[key]T{}
		for _, item := range items {
			var obj T
			if err := utiljson.Unmarshal(item, &obj); err != nil {
				return "", err
			}
			want[nameOf(obj)] = obj
		}
		for k, obj := range inf.Store().All() {
			got[k] = obj
		}
		for k, box := range seen.Live() {
			handled[k] = box.object
		}
		return cmp.Diff(want, got, ignoreKinds) + cmp.Diff(want, handled, ignoreKinds), nil
	}
	return restoredCache{name: name, run: inf.Run, legal: seen.Err, stats: inf.Stats, differ: differ}
}

// restoredEtcd is a cluster whose etcd is put back to a backup, again and again.
type restoredEtcd struct {
	ctx    context.Context
	c      *cluster.Cluster
	tokens map[reader]string
	direct *oracle.Client
	writer configWriter
	backup string
}

// reader has the rights of the informers' user.
type reader int

const (
	readsAll    reader = iota
	readsRole          // the ConfigMaps of a namespace
	readsObject        // one of them
)

const onlyName = "cm-00000"

// selection selects the objects of the reader's informers.
func (r reader) selection() (opts client.Options) {
	if r != readsAll {
		opts.Namespace = "default"
	}
	if r == readsObject {
		opts.FieldSelector = "metadata.name=" + onlyName
	}
	return opts
}

// TestRestoredEtcd puts etcd back to a backup under informers of all encodings.
func TestRestoredEtcd(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	r := &restoredEtcd{ctx: ctx, c: c, direct: &oracle.Client{URL: c.URL(), HTTP: c.HTTPClient()}}
	r.writer = configWriter{ctx: ctx, t: t, to: r.direct}
	r.writer.write(10)
	r.makeReaders(t)
	var err error
	if r.backup, err = c.Backup(ctx); err != nil {
		t.Fatal(err)
	}
	for _, v := range []restoredVariant{
		{name: "behind", told: true},
		{name: "overtaken", overtaken: true, told: true},
		{name: "idle", idle: true, overtaken: true},
		{name: "idle, without changes to the newest object", idle: true, overtaken: true, elsewhere: true, told: true},
		{name: "started again", overtaken: true, again: true},
		{name: "started again, without changes to the newest objects", overtaken: true, again: true, elsewhere: true, told: true},
		{name: "read by a role", reader: readsRole, idle: true, overtaken: true, elsewhere: true, told: true},
		{name: "read by a role, after events", reader: readsRole, overtaken: true, told: true},
		{name: "one object, read by its name", reader: readsObject, idle: true, overtaken: true, elsewhere: true, told: true},
	} {
		t.Run(v.name, func(t *testing.T) { r.run(t, v) })
	}
}

// restoredVariant is a way to restore a server.
type restoredVariant struct {
	name      string
	reader    reader
	idle      bool // nothing happens between the list of the informers and the restore
	overtaken bool // the server goes further than before, until the informers are back
	elsewhere bool // by changes to other collections
	again     bool // then the API server starts again, and has no events of before
	// told: the server shows that it was restored. Otherwise all objects that the informers know
	// have changed since, as on a server that was not restored, so there is only a doubt.
	told bool
}

// makeReaders makes the users that are not administrators.
func (r *restoredEtcd) makeReaders(t *testing.T) {
	r.tokens = map[reader]string{readsAll: r.c.Token()}
	rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"}}
	for reader, name := range map[reader]string{readsRole: "by-role", readsObject: "by-name"} {
		if reader == readsObject {
			rule.ResourceNames = []string{onlyName}
		} else {
			rule.ResourceNames = nil
		}
		var err error
		if r.tokens[reader], err = oracle.ServiceAccount(r.ctx, r.direct, "default", name, rule); err != nil {
			t.Fatal(err)
		}
	}
}

// connect returns a connection of the reader, and the gate to it.
func (r *restoredEtcd) connect(t *testing.T, as reader) (client.Connection, *gate) {
	conn, err := client.NewConnection(r.c.URL(), client.ConnectionOptions{CAFile: r.c.CAFile(), Token: r.tokens[as]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.HTTP.CloseIdleConnections)
	g := newGate(conn.HTTP.Transport)
	conn.HTTP = &http.Client{Transport: g}
	return conn, g
}

// acceptsJSON makes requests accept JSON alone.
type acceptsJSON struct{ http.RoundTripper }

func (a acceptsJSON) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Accept", "application/json")
	return a.RoundTripper.RoundTrip(req)
}

func (r *restoredEtcd) run(t *testing.T, v restoredVariant) {
	w := r.writer
	w.t = t
	defer func() { r.writer.n = w.n }()
	conn, g := r.connect(t, v.reader)
	inJSON := conn
	inJSON.HTTP = &http.Client{Transport: acceptsJSON{g}}
	caches := []restoredCache{
		newRestoredCache[*corev1.ConfigMap](t, "protobuf", conn, v.reader.selection()),
		newRestoredCache[*corev1.ConfigMap](t, "JSON", inJSON, v.reader.selection()),
		newRestoredCache[*unstructured.Unstructured](t, "unstructured", conn, v.reader.selection()),
		newRestoredCache[*metav1.PartialObjectMetadata](t, "metadata", conn, v.reader.selection()),
	}
	change := func() {
		w.write(20)
		w.put(onlyName) // which the backup has, too
	}
	if v.idle {
		change()
	}
	ended := make(chan error, len(caches))
	running, stop := context.WithCancel(r.ctx)
	defer stop()
	for _, cache := range caches {
		go func() { ended <- cache.run(running) }()
	}
	r.equalToServer(t, v, caches)
	if !v.idle {
		change()
		r.equalToServer(t, v, caches)
	}
	r.restore(t, v, g, &w)
	began := time.Now()
	r.equalToServer(t, v, caches)
	t.Logf("right again after %v", time.Since(began).Round(time.Millisecond))
	w.write(5)
	r.equalToServer(t, v, caches)
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
		stats := cache.stats()
		if v.told && stats.Restores != 1 || !v.told && stats.Restores+stats.Relists.Restored == 0 {
			t.Errorf("%s: the restore was not noticed as it should be: %+v", cache.name, stats)
		}
		t.Logf("%s: %+v", cache.name, stats)
	}
}

// restore puts etcd back and lets it go on.
func (r *restoredEtcd) restore(t *testing.T, v restoredVariant, g *gate, w *configWriter) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	seen := r.version(t)
	if v.overtaken {
		g.Shut()
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
		g.Open()
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
		name := fmt.Sprintf("cm-%05d", (w.n+1)%5)
		if (w.n+1)%3 > 0 || !w.has(name) {
			w.put(name)
			continue
		}
		w.n++
		if err := w.to.Delete(w.ctx, oracle.Path("configmaps", "default", name)); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *configWriter) has(name string) bool {
	_, err := oracle.Get[corev1.ConfigMap](w.ctx, w.to, oracle.Path("configmaps", "default", name))
	return err == nil
}

// put creates or changes an object.
func (w *configWriter) put(name string) {
	w.t.Helper()
	w.n++
	object := oracle.NewConfigMap("default", w.n)
	object.Name, object.Data = name, map[string]string{"n": fmt.Sprint(w.n)}
	var err error
	if w.has(name) {
		_, err = oracle.Update(w.ctx, w.to, oracle.Path("configmaps", "default", name), object)
	} else {
		_, err = oracle.Create(w.ctx, w.to, oracle.Path("configmaps", "default", ""), object)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// equalToServer waits until every cache and its handler hold what a list of the server has.
func (r *restoredEtcd) equalToServer(t *testing.T, v restoredVariant, caches []restoredCache) {
	t.Helper()
	selection := v.reader.selection()
	items, _, err := oracle.List[json.RawMessage](r.ctx, r.direct, oracle.Path("configmaps", selection.Namespace, ""), metav1.ListOptions{FieldSelector: selection.FieldSelector})
	if err != nil {
		t.Fatal(err)
	}
	for i := range items { // items of a list have no kind
		items[i] = append([]byte(`{"apiVersion":"v1","kind":"ConfigMap",`), items[i][1:]...)
	}
	limited, cancel := context.WithTimeout(r.ctx, time.Minute)
	defer cancel()
	for _, cache := range caches {
		var diff string
		if err := eventually(limited, func() bool { diff, err = cache.differ(items); return err != nil || diff == "" }); err != nil || diff != "" {
			t.Fatalf("%s: %v (-server +cache):\n%s\n%+v", cache.name, err, diff, cache.stats())
		}
	}
}
