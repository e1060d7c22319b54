package clientgo_test

import (
	"context"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
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
