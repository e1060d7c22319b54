package controllerruntime_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/clientgo"
	"github.com/kinform/kinform/with/controllerruntime"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// setDefault gives pods without an annotation this one when they are read. Their versions stay.
func setDefault(t *testing.T, server *fake.Server, value string) {
	t.Helper()
	check(t, fake.Define(server, fake.Definition[*corev1.Pod]{
		Kind: core.Pods,
		Hooks: fake.Hooks[*corev1.Pod]{Default: func(pod *corev1.Pod) {
			if pod.Annotations["default"] == "" {
				metav1.SetMetaDataAnnotation(&pod.ObjectMeta, "default", value)
			}
		}},
	}))
}

// TestNewContentsAtAnOldVersion: after a relist the cache has the contents of the list, and handlers
// get an update of each object that has changed.
func TestNewContentsAtAnOldVersion(t *testing.T) {
	forms := map[string]client.Object{"typed": &corev1.Pod{}, "unstructured": &unstructured.Unstructured{}, "metadata": &metav1.PartialObjectMetadata{}}
	ways := map[string]func(*rest.Config, cache.Options) (cache.Cache, error){
		"NewCache": controllerruntime.NewCache,
		"NewInformer": func(rc *rest.Config, opts cache.Options) (cache.Cache, error) {
			opts.NewInformer = clientgo.NewSharedIndexInformer
			return cache.New(rc, opts)
		},
	}
	variants := map[string]cache.Options{
		"zero":                 {},
		"a transform function": {DefaultTransform: cache.TransformStripManagedFields()},
		"namespaces":           {DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}, "c": {}}},
		"shared":               {DefaultUnsafeDisableDeepCopy: new(true)},
	}
	for way, newCache := range ways {
		for form, like := range forms {
			if way == "NewInformer" && form == "metadata" {
				continue // client-go's watch of metadata leaves a goroutine, see TestMain
			}
			for variant, opts := range variants {
				t.Run(way+", "+form+", "+variant, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { newContents(t, newCache, like, opts) })
				})
			}
		}
	}
}

func newContents(t *testing.T, newCache func(*rest.Config, cache.Options) (cache.Cache, error), like client.Object, opts cache.Options) {
	server, rc := newPods(t, 20)
	own := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"default": "own"}}}
	_, err := fake.Create(server, fake.Object(own, "a", "other"))
	check(t, err)
	c, err := newCache(rc, opts)
	check(t, err)
	like = like.DeepCopyObject().(client.Object)
	like.GetObjectKind().SetGroupVersionKind(podKind)
	inf, err := c.GetInformer(t.Context(), like)
	check(t, err)
	var mu sync.Mutex // handlers of several namespaces run at a time
	var updates []string
	_, err = inf.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
		value := func(obj any) string { return obj.(client.Object).GetAnnotations()["default"] }
		mu.Lock()
		defer mu.Unlock()
		updates = append(updates, value(before)+"→"+value(after))
	}})
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	if !c.WaitForCacheSync(ctx) {
		t.Fatal("not synced")
	}
	before := ""
	for _, value := range []string{"first", "second", "second"} {
		updates = nil
		setDefault(t, server, value)
		server.JumpResourceVersion(5)
		check(t, server.Compact(server.ResourceVersion()))
		server.DropWatches()
		time.Sleep(time.Minute)
		synctest.Wait()
		changed := slices.DeleteFunc(updates, func(update string) bool { return update == "own→own" || update == value+"→"+value })
		if want := slices.Repeat([]string{before + "→" + value}, 20); before != value && !slices.Equal(changed, want) {
			t.Errorf("%s: handlers got %q", value, changed)
		}
		for n := range 20 {
			obj := like.DeepCopyObject().(client.Object)
			check(t, c.Get(ctx, client.ObjectKey{Namespace: string("abc"[n%3]), Name: fmt.Sprint("pod-", n)}, obj))
			if got := obj.GetAnnotations()["default"]; got != value {
				t.Errorf("the cache has %s with %q, want %q", obj.GetName(), got, value)
			}
		}
		before = value
	}
	cancel()
	check(t, <-ended)
}
