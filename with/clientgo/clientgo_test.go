package clientgo_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/with/clientgo"
)

func TestTransformingInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, lw := newServer(t)
		_, err := fake.Create(server, newMap("one", "1"))
		check(t, err)
		mark := func(obj any) (any, error) { obj.(*corev1.ConfigMap).Data["v"] += "!"; return obj, nil }
		plain, one := clientgo.NewTransformingInformer(lw, &corev1.ConfigMap{}, 0, cache.ResourceEventHandlerFuncs{}, mark)
		indexed, two := clientgo.NewTransformingIndexerInformer(lw, &corev1.ConfigMap{}, 0, cache.ResourceEventHandlerFuncs{}, cache.Indexers{"value": byValue}, mark)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{}, 2)
		for _, c := range []cache.Controller{one, two} {
			go func() { c.RunWithContext(ctx); ended <- struct{}{} }()
		}
		synctest.Wait()
		obj, _, err := plain.GetByKey("n/one")
		keys, failed := indexed.IndexKeys("value", "1!")
		if err != nil || failed != nil || obj.(*corev1.ConfigMap).Data["v"] != "1!" || len(keys) != 1 {
			t.Errorf("the stores have %v and %q, %v, %v", obj, keys, err, failed)
		}
		cancel()
		<-ended
		<-ended
	})
}

// A panic of a handler goes on with its own value, and a handler that comes too late is refused in
// client-go's words.
func TestPanicValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, lw := newServer(t)
		_, err := fake.Create(server, newMap("one", "1"))
		check(t, err)
		inf := clientgo.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, nil)
		_, err = inf.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { panic("its value") }})
		check(t, err)
		func() {
			defer func() {
				if got := recover(); got != "its value" {
					t.Errorf("the panic has %v", got)
				}
			}()
			inf.RunWithContext(t.Context())
		}()
		_, err = inf.AddEventHandler(cache.ResourceEventHandlerFuncs{})
		if err == nil || !strings.HasSuffix(err.Error(), "has stopped already") {
			t.Errorf("after the end: %v", err)
		}
	})
}

// ShutDown ends the wait for keys that nobody finishes.
func TestShutDownEndsDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := clientgo.Queue(queue.New[string](queue.Options[string]{}))
		q.Add("a")
		q.Get()
		drained := make(chan struct{})
		go func() { q.ShutDownWithDrain(); close(drained) }()
		synctest.Wait()
		q.ShutDown()
		<-drained
	})
}
