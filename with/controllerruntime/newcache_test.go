package controllerruntime_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/with/clientgo"
	"github.com/kinform/kinform/with/controllerruntime"
)

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// newPods returns a server with n pods in the namespaces a, b and c, and the config to reach it.
func newPods(t testing.TB, n int) (*fake.Server, *rest.Config) {
	server := newServer(t)
	for i := range n {
		pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: fmt.Sprint("node-", i%5), Containers: []corev1.Container{{Name: "main", Image: "image"}}}}
		pod.Labels = map[string]string{"app": fmt.Sprint("app-", i%4), "odd": fmt.Sprint(i % 2)}
		pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "test", Operation: metav1.ManagedFieldsOperationUpdate}}
		_, err := fake.Create(server, fake.Object(pod, string("abc"[i%3]), fmt.Sprint("pod-", i)))
		check(t, err)
	}
	for i := range 3 {
		_, err := fake.Create(server, fake.Object(&corev1.Node{}, "", fmt.Sprint("node-", i)))
		check(t, err)
	}
	return server, &rest.Config{Host: fake.URL, Transport: server.Client().Transport, QPS: -1}
}

// running runs a cache until the test or stop ends it.
func running(t testing.TB, c cache.Cache) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	if !c.WaitForCacheSync(ctx) {
		t.Fatal("not synced")
	}
	stop = func() {
		if cancel(); ctx != nil {
			check(t, <-ended)
		}
		ctx = nil
	}
	t.Cleanup(stop)
	return stop
}

// named are the options of one comparison.
type named struct {
	name string
	opts cache.Options
}

func selector(text string) labels.Selector {
	s, err := labels.Parse(text)
	if err != nil {
		panic(err)
	}
	return s
}

// mark is a transform function that leaves its name on the object.
func mark(name string) func(any) (any, error) {
	return func(obj any) (any, error) {
		m, err := meta.Accessor(obj)
		if err != nil {
			return nil, err
		}
		m.SetAnnotations(map[string]string{"transformed": name})
		return obj, nil
	}
}

func options() []named {
	pod := &corev1.Pod{}
	return []named{
		{"zero", cache.Options{}},
		{"defaults", cache.Options{DefaultLabelSelector: selector("odd=1"), DefaultTransform: cache.TransformStripManagedFields()}},
		{"a field", cache.Options{DefaultFieldSelector: fields.OneTermEqualSelector("metadata.name", "pod-4")}},
		{"namespace by field", cache.Options{ByObject: map[client.Object]cache.ByObject{pod: {Field: fields.OneTermEqualSelector("metadata.namespace", "b")}}}},
		{"two namespaces", cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {LabelSelector: selector("odd=0"), Transform: mark("b")}}, DefaultTransform: mark("default")}},
		{"one and the rest", cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {LabelSelector: selector("app=app-1")}, cache.AllNamespaces: {}}}},
		{"by object", cache.Options{
			DefaultNamespaces: map[string]cache.Config{"a": {LabelSelector: selector("odd=0")}, "c": {Transform: mark("c")}},
			DefaultTransform:  mark("default"),
			ByObject:          map[client.Object]cache.ByObject{pod: {Label: selector("odd=1"), Transform: mark("pods")}},
		}},
		{"all namespaces by object", cache.Options{
			DefaultNamespaces: map[string]cache.Config{"a": {}},
			ByObject:          map[client.Object]cache.ByObject{pod: {Namespaces: map[string]cache.Config{}}},
		}},
		{"namespaces by object", cache.Options{
			DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {LabelSelector: selector("odd=1")}},
			ByObject:          map[client.Object]cache.ByObject{pod: {Namespaces: map[string]cache.Config{"b": {}, "c": {LabelSelector: labels.Everything()}}, Label: selector("app=app-2")}},
		}},
	}
}

// TestLikeStock: our cache and controller-runtime's answer the same, for all options and reads.
func TestLikeStock(t *testing.T) {
	_, rc := newPods(t, 60)
	for _, o := range options() {
		t.Run(o.name, func(t *testing.T) {
			ours, err := controllerruntime.NewCache(rc, o.opts)
			check(t, err)
			packed, err := controllerruntime.CacheOptions{Packed: true}.New(rc, o.opts)
			check(t, err)
			theirs, err := cache.New(rc, o.opts)
			check(t, err)
			for _, c := range []cache.Cache{ours, packed, theirs} {
				for _, obj := range forms() {
					check(t, c.IndexField(t.Context(), obj, "parity", func(obj client.Object) []string { return []string{obj.GetLabels()["odd"], "any", "any"} }))
					check(t, c.IndexField(t.Context(), obj, "app", func(obj client.Object) []string { return []string{obj.GetLabels()["app"]} }))
				}
				check(t, c.IndexField(t.Context(), &corev1.Node{}, "any", func(client.Object) []string { return []string{"any"} }))
				running(t, c)
			}
			for range 60 {
				compareReads(t, ours, theirs)
				compareReads(t, packed, theirs)
			}
			compareNodes(t, ours, theirs)
			compareNodes(t, packed, theirs)
		})
	}
}

// forms returns a pod in each form.
func forms() []client.Object {
	u, m := &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}
	u.SetGroupVersionKind(podKind)
	m.SetGroupVersionKind(podKind)
	return []client.Object{&corev1.Pod{}, u, m}
}

func lists() []client.ObjectList {
	u, m := &unstructured.UnstructuredList{}, &metav1.PartialObjectMetadataList{}
	u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	return []client.ObjectList{&corev1.PodList{}, u, m}
}

// compareReads sends one random get and one random list to both, in each form.
func compareReads(t *testing.T, ours, theirs client.Reader) {
	t.Helper()
	key := client.ObjectKey{Namespace: pick("a", "b", "c", "d"), Name: fmt.Sprint("pod-", rand.IntN(70))}
	got, want := forms(), forms()
	for i := range got {
		a, b := ours.Get(t.Context(), key, got[i]), theirs.Get(t.Context(), key, want[i])
		if (a == nil) != (b == nil) || apierrors.IsNotFound(a) != apierrors.IsNotFound(b) || a == nil && !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("get %s as a %T: %v %v, want %v %v", key, got[i], got[i], a, want[i], b)
		}
	}
	var opts []client.ListOption
	if rand.IntN(2) == 0 {
		opts = append(opts, client.InNamespace(pick("a", "b", "c", "d")))
	}
	if text := pick("", "app=app-1", "app in (app-1,app-2)", "odd=0,app!=app-2", "!odd", "app"); text != "" {
		opts = append(opts, client.MatchingLabelsSelector{Selector: selector(text)})
	}
	if text := pick("", "", "parity=0", "parity=any,app=app-3", "app=none", "app!=app-1", "other=1"); text != "" {
		f, err := fields.ParseSelector(text)
		check(t, err)
		opts = append(opts, client.MatchingFieldsSelector{Selector: f})
	}
	limit := rand.IntN(10) - 5
	opts = append(opts, client.Limit(limit))
	gotLists, wantLists := lists(), lists()
	for i := range gotLists {
		a, b := ours.List(t.Context(), gotLists[i], opts...), theirs.List(t.Context(), wantLists[i], opts...)
		if (a == nil) != (b == nil) || a == nil && !reflect.DeepEqual(sorted(t, gotLists[i], limit), sorted(t, wantLists[i], limit)) {
			t.Errorf("list %v as a %T: %v %v, want %v %v", opts, gotLists[i], gotLists[i], a, wantLists[i], b)
		}
	}
}

func pick(texts ...string) string { return texts[rand.IntN(len(texts))] }

// sorted returns the items of a list by name. Only the number counts if the list was limited.
func sorted(t *testing.T, list client.ObjectList, limit int) []apiruntime.Object {
	items, err := meta.ExtractList(list)
	check(t, err)
	if limit > 0 {
		return make([]apiruntime.Object, len(items))
	}
	slices.SortFunc(items, func(a, b apiruntime.Object) int {
		return strings.Compare(a.(client.Object).GetName(), b.(client.Object).GetName())
	})
	return items
}

// compareNodes reads cluster-scoped objects.
func compareNodes(t *testing.T, ours, theirs client.Reader) {
	t.Helper()
	for _, opts := range [][]client.ListOption{nil, {client.InNamespace("a")}, {client.MatchingFields{"any": "any"}}, {client.InNamespace("a"), client.MatchingFields{"any": "any"}}} {
		var got, want corev1.NodeList
		a, b := ours.List(t.Context(), &got, opts...), theirs.List(t.Context(), &want, opts...)
		if (a == nil) != (b == nil) || !reflect.DeepEqual(sorted(t, &got, 0), sorted(t, &want, 0)) || got.Continue != want.Continue {
			t.Errorf("nodes %v: %v %v, want %v %v", opts, got, a, want, b)
		}
	}
	var got, want corev1.Node
	key := client.ObjectKey{Namespace: "ignored", Name: "node-1"}
	if a, b := ours.Get(t.Context(), key, &got), theirs.Get(t.Context(), key, &want); (a == nil) != (b == nil) || !reflect.DeepEqual(got, want) {
		t.Errorf("node: %v %v, want %v %v", got, a, want, b)
	}
}

// TestLabelIndexes: with many objects, lists by label use indexes and return the same.
func TestLabelIndexes(t *testing.T) {
	_, rc := newPods(t, 1500)
	c, err := controllerruntime.NewCache(rc, cache.Options{})
	check(t, err)
	running(t, c)
	for _, text := range []string{"app=app-1", "app in (app-1,app-2),odd=1", "app=app-1,odd notin (1)", "none=x"} {
		want, all := 0, corev1.PodList{}
		check(t, c.List(t.Context(), &all))
		for _, pod := range all.Items {
			if selector(text).Matches(labels.Set(pod.Labels)) {
				want++
			}
		}
		for range 2 {
			var found corev1.PodList
			check(t, c.List(t.Context(), &found, client.MatchingLabelsSelector{Selector: selector(text)}))
			if len(found.Items) != want || len(all.Items) != 1500 {
				t.Errorf("%s: %d pods of %d, want %d", text, len(found.Items), len(all.Items), want)
			}
		}
	}
	for i := range 20 { // more labels than there are indexes
		check(t, c.List(t.Context(), &corev1.PodList{}, client.MatchingLabels{fmt.Sprint("label-", i): "x"}))
	}
}

// TestCopies: reads return copies unless they are asked not to, or the options say so.
func TestCopies(t *testing.T) {
	_, rc := newPods(t, 3)
	key := client.ObjectKey{Namespace: "a", Name: "pod-0"}
	for _, unsafe := range []*bool{nil, new(true), new(false)} {
		c, err := controllerruntime.NewCache(rc, cache.Options{DefaultUnsafeDisableDeepCopy: unsafe})
		check(t, err)
		running(t, c)
		address := func(opts ...client.GetOption) uintptr {
			var pod corev1.Pod
			check(t, c.Get(t.Context(), key, &pod, opts...))
			return reflect.ValueOf(pod.Labels).Pointer()
		}
		listed := func(opts ...client.ListOption) uintptr {
			var pods corev1.PodList
			check(t, c.List(t.Context(), &pods, append(opts, client.InNamespace("a"))...))
			return reflect.ValueOf(pods.Items[0].Labels).Pointer()
		}
		inCache := address(client.UnsafeDisableDeepCopy)
		if inCache != address(client.UnsafeDisableDeepCopy) || inCache != listed(client.UnsafeDisableDeepCopy) {
			t.Error("reads copy although they are asked not to")
		}
		shared := unsafe != nil && *unsafe
		if shared != (inCache == address()) || shared != (inCache == listed()) {
			t.Errorf("with %v: shared %v and %v", shared, inCache == address(), inCache == listed())
		}
	}
}

// TestPackedCopies: all reads of a packed cache return objects that the caller may change.
func TestPackedCopies(t *testing.T) {
	_, rc := newPods(t, 3)
	c, err := controllerruntime.CacheOptions{Packed: true}.New(rc, cache.Options{DefaultUnsafeDisableDeepCopy: new(true)})
	check(t, err)
	running(t, c)
	for range 2 {
		for _, obj := range forms() {
			check(t, c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "pod-0"}, obj, client.UnsafeDisableDeepCopy))
			if obj.GetLabels()["app"] == "spoilt" {
				t.Errorf("%T: what a caller changed is in the cache", obj)
			}
			obj.GetLabels()["app"] = "spoilt"
		}
		for _, list := range lists() {
			check(t, c.List(t.Context(), list, client.InNamespace("a"), client.UnsafeDisableDeepCopy))
			for _, obj := range sorted(t, list, 0) {
				labels := obj.(client.Object).GetLabels()
				if labels["app"] == "spoilt" {
					t.Errorf("%T: what a caller changed is in the cache", obj)
				}
				labels["app"] = "spoilt"
			}
		}
	}
}

// TestManagedFields: they are dropped on request only.
func TestManagedFields(t *testing.T) {
	_, rc := newPods(t, 3)
	for _, drop := range []bool{false, true} {
		c, err := controllerruntime.CacheOptions{DropManagedFields: drop}.New(rc, cache.Options{})
		check(t, err)
		running(t, c)
		for _, obj := range forms() {
			check(t, c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "pod-0"}, obj))
			if drop != (len(obj.GetManagedFields()) == 0) {
				t.Errorf("%T: managed fields %v, dropped %v", obj, obj.GetManagedFields(), drop)
			}
		}
	}
}

// TestReadErrors: what a read cannot do.
func TestReadErrors(t *testing.T) {
	server, rc := newPods(t, 3)
	c, err := controllerruntime.NewCache(rc, cache.Options{ReaderFailOnMissingInformer: true, DefaultNamespaces: map[string]cache.Config{"a": {}}})
	check(t, err)
	var missing *cache.ErrResourceNotCached
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "pod-0"}, &corev1.Pod{}); !errors.As(err, &missing) || missing.GVK != podKind {
		t.Errorf("without an informer: %v", err)
	}
	_, err = c.GetInformer(t.Context(), &corev1.Pod{})
	check(t, err)
	var early *cache.ErrCacheNotStarted
	if err := c.List(t.Context(), &corev1.PodList{}); !errors.As(err, &early) {
		t.Errorf("before Start: %v", err)
	}
	running(t, c)
	if err := c.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "informer already started") {
		t.Errorf("started twice: %v", err)
	}
	for name, read := range map[string]func() error{
		`namespace "b"`: func() error {
			return c.Get(t.Context(), client.ObjectKey{Namespace: "b", Name: "pod-1"}, &corev1.Pod{})
		},
		`have namespace`: func() error { return c.List(t.Context(), &corev1.PodList{}, client.InNamespace("b")) },
		"continue list option is not supported by the cache": func() error { return c.List(t.Context(), &corev1.PodList{}, client.Continue("x")) },
		"IndexField": func() error { return c.List(t.Context(), &corev1.PodList{}, client.MatchingFields{"x": "y"}) },
	} {
		if err := read(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	late, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-late.Done()
	if err := c.Get(late, client.ObjectKey{Namespace: "a", Name: "pod-0"}, &corev1.Pod{}); err != nil {
		t.Errorf("a read of what is there, when there is no time to wait: %v", err)
	}
	for _, verb := range []faults.Verb{faults.VerbList, faults.VerbWatch} { // or the Nodes might come first
		check(t, server.Inject(faults.Fault{Verb: verb, Times: -1, Status: faults.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, 0)}))
	}
	if _, err := c.GetInformer(late, &corev1.Node{}); !apierrors.IsTimeout(err) {
		t.Errorf("an informer that has no time to sync: %v", err)
	}
}

// requests is a transport that keeps the URLs of lists and watches of pods.
type requests struct {
	http.RoundTripper
	mu   sync.Mutex
	urls []*url.URL
}

func (r *requests) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	if strings.HasSuffix(req.URL.Path, "/pods") {
		r.urls = append(r.urls, req.URL)
	}
	r.mu.Unlock()
	return r.RoundTripper.RoundTrip(req)
}

// TestRequests: the options decide what is asked of the server, and HTTPClient how.
func TestRequests(t *testing.T) {
	_, rc := newPods(t, 3)
	for name, o := range map[string]struct {
		opts        cache.Options
		path, query string
		bookmarks   bool
	}{
		"zero":              {path: "/api/v1/pods", bookmarks: true},
		"without bookmarks": {opts: cache.Options{DefaultEnableWatchBookmarks: new(false)}, path: "/api/v1/pods"},
		"namespace":         {opts: cache.Options{DefaultNamespaces: map[string]cache.Config{"b": {}}}, path: "/api/v1/namespaces/b/pods", bookmarks: true},
		"namespace by field": {
			opts: cache.Options{DefaultFieldSelector: fields.OneTermEqualSelector("metadata.namespace", "b")}, path: "/api/v1/namespaces/b/pods",
			query: "metadata.namespace=b", bookmarks: true,
		},
	} {
		r := &requests{RoundTripper: rc.Transport}
		o.opts.HTTPClient = &http.Client{Transport: r}
		c, err := controllerruntime.NewCache(rc, o.opts)
		check(t, err)
		stop := running(t, c)
		_, err = c.GetInformer(t.Context(), &corev1.Pod{})
		check(t, err)
		stop()
		if len(r.urls) == 0 {
			t.Errorf("%s: no requests", name)
		}
		for _, u := range r.urls {
			q := u.Query()
			if u.Path != o.path || q.Get("fieldSelector") != o.query || q.Has("watch") && o.bookmarks != (q.Get("allowWatchBookmarks") == "true") {
				t.Errorf("%s: %s", name, u)
			}
		}
	}
}

// handled are the calls of a handler.
type handled struct {
	mu  sync.Mutex
	all []string
}

func (e *handled) add(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, fmt.Sprintf(format, args...))
}

func (e *handled) sorted() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	slices.Sort(e.all)
	all := strings.Join(e.all, ", ")
	e.all = nil
	return all
}

func (e *handled) handler() toolscache.ResourceEventHandlerDetailedFuncs {
	name := func(obj any) string { return obj.(client.Object).GetName() }
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { e.add("add %s %v", name(obj), initial) },
		UpdateFunc: func(old, obj any) { e.add("update %s %v", name(obj), old != obj) },
		DeleteFunc: func(obj any) { e.add("delete %s", name(obj)) },
	}
}

// TestInformer: handlers of one and of several namespaces, in virtual time.
func TestInformer(t *testing.T) {
	for _, namespaces := range []map[string]cache.Config{nil, {"a": {}, "b": {SyncPeriod: new(time.Hour)}}} {
		synctest.Test(t, func(t *testing.T) {
			server, rc := newPods(t, 2)
			c, err := controllerruntime.NewCache(rc, cache.Options{DefaultNamespaces: namespaces})
			check(t, err)
			inf, err := c.GetInformer(t.Context(), &corev1.Pod{}) // does not wait before Start
			check(t, err)
			var first, second handled
			reg, err := inf.AddEventHandler(first.handler())
			check(t, err)
			if inf.HasSynced() || reg.HasSynced() || inf.IsStopped() {
				t.Error("synced or stopped before Start")
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- c.Start(ctx) }()
			<-reg.HasSyncedChecker().Done()
			<-inf.HasSyncedChecker().Done()
			if !inf.HasSynced() || !reg.HasSynced() || inf.HasSyncedChecker().Name() == reg.HasSyncedChecker().Name() {
				t.Error("not synced")
			}
			late, err := inf.AddEventHandlerWithResyncPeriod(second.handler(), time.Minute)
			check(t, err)
			synctest.Wait()
			want := "add pod-0 true, add pod-1 true"
			if got := first.sorted() + "; " + second.sorted(); got != want+"; "+want {
				t.Errorf("first: %s", got)
			}
			check(t, inf.RemoveEventHandler(reg))
			check(t, inf.RemoveEventHandler(reg))
			_, err = fake.Create(server, fake.Object(&corev1.Pod{}, "b", "new"))
			check(t, err)
			synctest.Wait()
			_, err = fake.Delete[*corev1.Pod](server, client.ObjectKey{Namespace: "a", Name: "pod-0"})
			check(t, err)
			synctest.Wait()
			if got := first.sorted() + "; " + second.sorted(); got != "; add new false, delete pod-0, update pod-0 true" {
				t.Errorf("then: %s", got)
			}
			time.Sleep(90 * time.Second)
			synctest.Wait()
			if got := second.sorted(); !strings.Contains(got, "update new false") || !strings.Contains(got, "update pod-1 false") {
				t.Errorf("resync: %q", got)
			}
			check(t, c.RemoveInformer(ctx, &corev1.Pod{}))
			synctest.Wait()
			if _, err := inf.AddEventHandler(second.handler()); !inf.IsStopped() || !errors.Is(err, informer.ErrStopped) {
				t.Errorf("after the removal: %v", err)
			}
			check(t, inf.RemoveEventHandler(late))
			again, err := c.GetInformer(ctx, &corev1.Pod{})
			check(t, err)
			if again == inf || !again.HasSynced() {
				t.Error("no new informer after the removal")
			}
			cancel()
			check(t, <-ended)
			if !again.IsStopped() {
				t.Error("not stopped")
			}
		})
	}
}

// TestBadInput: our errors where controller-runtime would return one, or panic.
func TestBadInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, rc := newPods(t, 4)
		if _, err := controllerruntime.NewCache(nil, cache.Options{}); err == nil {
			t.Error("a nil rest.Config")
		}
		if _, err := controllerruntime.NewCache(rc, cache.Options{NewInformer: clientgo.NewSharedIndexInformer}); err == nil || !strings.Contains(err.Error(), "NewInformer") {
			t.Errorf("informers of another kind: %v", err)
		}
		node := map[client.Object]cache.ByObject{&corev1.Node{}: {Namespaces: map[string]cache.Config{"a": {}}}}
		if _, err := controllerruntime.NewCache(rc, cache.Options{ByObject: node}); err == nil || !strings.Contains(err.Error(), "not namespaced") {
			t.Errorf("namespaces of nodes: %v", err)
		}
		c, err := controllerruntime.NewCache(rc, cache.Options{
			ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {Transform: func(obj any) (any, error) {
				switch obj.(client.Object).GetName() {
				case "pod-0":
					return "text", nil
				case "pod-2":
					return (*corev1.Pod)(nil), nil
				case "pod-3":
					return nil, nil
				}
				return obj, nil
			}}},
		})
		check(t, err)
		inf, err := c.GetInformer(t.Context(), &corev1.Pod{})
		check(t, err)
		if _, err := inf.AddEventHandler(nil); !errors.Is(err, informer.ErrInvalid) {
			t.Errorf("a nil handler: %v", err)
		}
		if err := inf.RemoveEventHandler(nil); err == nil {
			t.Error("a nil registration")
		}
		if err := inf.AddIndexers(toolscache.Indexers{"x": nil}); !errors.Is(err, index.ErrInvalid) {
			t.Errorf("a nil index function: %v", err)
		}
		field := func(client.Object) []string { return nil }
		check(t, c.IndexField(t.Context(), &corev1.Pod{}, "f", field))
		if err := c.IndexField(t.Context(), &corev1.Pod{}, "f", field); !errors.Is(err, index.ErrDuplicate) {
			t.Errorf("a field twice: %v", err)
		}
		if err := c.IndexField(t.Context(), &corev1.Pod{}, "nil", nil); !errors.Is(err, index.ErrInvalid) {
			t.Errorf("a nil function of a field: %v", err)
		}
		check(t, inf.AddIndexers(toolscache.Indexers{"bad": func(any) ([]string, error) { return nil, errors.New("no value") }}))
		if _, err := c.GetInformerForKind(t.Context(), corev1.SchemeGroupVersion.WithKind("PodExecOptions")); err == nil {
			t.Error("an informer of a kind without metadata")
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Start(ctx) }()
		synctest.Wait()
		var pods corev1.PodList
		check(t, c.List(t.Context(), &pods))
		if len(pods.Items) != 1 || pods.Items[0].Name != "pod-1" {
			t.Errorf("pods %v", pods.Items)
		}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "b", Name: "pod-1"}, (*corev1.Pod)(nil)); err == nil {
			t.Error("a nil pod to read into")
		}
		_, err = inf.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) { panic("no") }})
		check(t, err)
		var panicked *informer.PanicError
		if err := <-ended; !errors.As(err, &panicked) {
			t.Errorf("after the panic of a handler: %v", err)
		}
		cancel()
	})
}

// TestStopped: an informer that will never run says so, and nobody waits for it.
func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, rc := newPods(t, 2)
		c, err := controllerruntime.NewCache(rc, cache.Options{})
		check(t, err)
		removed, err := c.GetInformer(t.Context(), &corev1.Pod{})
		check(t, err)
		check(t, c.RemoveInformer(t.Context(), &corev1.Pod{}))
		if _, err := removed.AddEventHandler(new(handled).handler()); !removed.IsStopped() || !errors.Is(err, informer.ErrStopped) {
			t.Errorf("a handler after the removal: %v", err)
		}
		running(t, c)()
		if err := c.List(t.Context(), &corev1.PodList{}); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("the first list of a kind after the end: %v", err)
		}
	})
}

// TestRemovedWhileWaiting: WaitForCacheSync goes on without a kind that is removed.
func TestRemovedWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, rc := newPods(t, 2)
		check(t, server.Inject(faults.Fault{Verb: faults.VerbList, Times: -1, Status: faults.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, 0)}))
		check(t, server.Inject(faults.Fault{Verb: faults.VerbWatch, Times: -1, Status: faults.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, 0)}))
		c, err := controllerruntime.NewCache(rc, cache.Options{})
		check(t, err)
		_, err = c.GetInformer(t.Context(), &corev1.Pod{})
		check(t, err)
		go func() {
			time.Sleep(time.Second)
			check(t, c.RemoveInformer(t.Context(), &corev1.Pod{}))
		}()
		running(t, c)()
	})
}

// TestRemovedBeforeSync: a handler that is removed before it has had the first list leaves no
// goroutine.
func TestRemovedBeforeSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, rc := newPods(t, 2)
		c, err := controllerruntime.NewCache(rc, cache.Options{})
		check(t, err)
		running(t, c)
		inf, err := c.GetInformer(t.Context(), &corev1.Pod{})
		check(t, err)
		synctest.Wait()
		before := runtime.NumGoroutine()
		entered, leave := make(chan struct{}), make(chan struct{})
		const handlers = 10
		for range handlers {
			reg, err := inf.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) {
				entered <- struct{}{}
				<-leave
			}})
			check(t, err)
			<-entered
			check(t, inf.RemoveEventHandler(reg))
		}
		close(leave)
		synctest.Wait()
		if now := runtime.NumGoroutine(); now >= before+handlers { // one that has just ended may still count
			t.Errorf("%d goroutines, %d before", now, before)
		}
	})
}

// TestWatchErrorHandler gets the refusals of the server.
func TestWatchErrorHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, rc := newPods(t, 2)
		for _, verb := range []faults.Verb{faults.VerbList, faults.VerbWatch} {
			check(t, server.Inject(faults.Fault{Verb: verb, Times: 1, Status: faults.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, 0)}))
		}
		heard := make(chan error, 100)
		c, err := controllerruntime.NewCache(rc, cache.Options{DefaultWatchErrorHandler: func(ctx context.Context, r *toolscache.Reflector, err error) {
			heard <- err
			toolscache.DefaultWatchErrorHandler(ctx, r, err)
		}})
		check(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Start(ctx) }()
		synctest.Wait()
		short, stop := context.WithTimeout(ctx, time.Millisecond)
		defer stop()
		if err := c.List(short, &corev1.PodList{}); !apierrors.IsTimeout(err) || !strings.Contains(err.Error(), "orbidden") {
			t.Errorf("a list while the server refuses: %v", err)
		}
		check(t, c.List(ctx, &corev1.PodList{}))
		if err := <-heard; !apierrors.IsForbidden(err) {
			t.Errorf("the handler got %v", err)
		}
		cancel()
		check(t, <-ended)
	})
}
