package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientsetfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/store"
	"github.com/kinform/kinform/with/clientgo"
)

// A typed informer over client-go's fake clientset, which knows no streaming lists.
func TestSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clients := clientsetfake.NewClientset(newMap("one", "1"))
		maps := clients.CoreV1().ConfigMaps("n")
		lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
				return maps.List(ctx, opts)
			},
			WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
				return maps.Watch(ctx, opts)
			},
		}, clients)
		inf, err := informer.New(clientgo.Source[*corev1.ConfigMap]("configmaps", lw), store.ObjectKey, informer.Options[*corev1.ConfigMap]{})
		check(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- inf.Run(ctx) }()
		check(t, inf.WaitForSync(ctx))
		_, err = maps.Create(ctx, newMap("two", "2"), metav1.CreateOptions{})
		check(t, err)
		synctest.Wait()
		for _, name := range []string{"one", "two"} {
			if _, ok := inf.Get(types.NamespacedName{Namespace: "n", Name: name}); !ok {
				t.Errorf("no %s", name)
			}
		}
		cancel()
		check(t, <-ended)
	})
}

// While every watch fails, even after lists without a version, lists come every Backoff.Max or a little later.
func TestSourceWithoutWatches(t *testing.T) {
	for name, watches := range map[string]func() (watch.Interface, error){
		"refused": func() (watch.Interface, error) {
			return nil, apierrors.NewForbidden(corev1.Resource("configmaps"), "", nil)
		},
		"not found":     func() (watch.Interface, error) { return nil, apierrors.NewNotFound(corev1.Resource("configmaps"), "") },
		"not connected": func() (watch.Interface, error) { return nil, errors.New("connection refused") },
		"ended": func() (watch.Interface, error) {
			w := watch.NewFake()
			w.Stop()
			return w, nil
		},
	} {
		for _, version := range []string{"", "5"} {
			t.Run(fmt.Sprintf("%s, version %q", name, version), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { listsWithout(t, version, watches) })
			})
		}
	}
}

// listsWithout checks how old reads become in an hour.
func listsWithout(t *testing.T, version string, watches func() (watch.Interface, error)) {
	const most = 40 * time.Second
	lists, last, worst := 0, time.Now(), time.Duration(0)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			lists++
			worst, last = max(worst, time.Since(last)), time.Now()
			return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: version}, Items: []corev1.ConfigMap{*newMap("one", fmt.Sprint(lists))}}, nil
		},
		WatchFuncWithContext: func(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			if opts.SendInitialEvents != nil {
				return nil, apierrors.NewBadRequest("no streaming lists")
			}
			return watches()
		},
	}
	inf, err := informer.New(clientgo.Source[*corev1.ConfigMap]("configmaps", lw), store.ObjectKey, informer.Options[*corev1.ConfigMap]{OnError: func(error) {}})
	check(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	check(t, inf.Run(ctx))
	if worst > most || time.Since(last) > most {
		t.Errorf("%d lists, the longest wait is %v", lists, max(worst, time.Since(last)))
	}
	if one, ok := inf.Get(types.NamespacedName{Namespace: "n", Name: "one"}); !ok || one.Data["v"] != fmt.Sprint(lists) {
		t.Errorf("%d lists, and reads have %v", lists, one)
	}
}
