package dynamicinformer_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"

	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/with/clientgo/dynamicinformer"
	"github.com/kinform/kinform/with/clientgo/internal/stock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	sites = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "sites"}
	pages = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "pages"}
)

func site(namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Site", "metadata": map[string]any{"namespace": namespace, "name": name},
	}}
}

func TestFactory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clients := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{sites: "SiteList", pages: "PageList"}, site("prod", "one"), site("test", "two"))
		ctx, cancel := context.WithCancel(t.Context())
		all := dynamicinformer.NewDynamicSharedInformerFactory(clients, 0)
		prod := dynamicinformer.NewFilteredDynamicSharedInformerFactory(clients, 0, "prod", nil)
		for factory, want := range map[dynamicinformer.DynamicSharedInformerFactory]int{all: 2, prod: 1} {
			generic := factory.ForResource(sites)
			if got := fmt.Sprintf("%T", stock.Untyped(generic.Informer())); got != "*clientgo.sharedInformer" {
				t.Errorf("the informer is a %s", got)
			}
			if generic.Informer() != factory.ForResource(sites).Informer() {
				t.Error("the resource has two informers")
			}
			factory.Start(ctx.Done())
			late := factory.ForResource(pages)
			if synced := factory.WaitForCacheSync(ctx.Done()); len(synced) != 1 || !synced[sites] || late.Informer().HasSynced() {
				t.Errorf("synced %v, the late one: %v", synced, late.Informer().HasSynced())
			}
			found, err := generic.Lister().List(labels.Everything())
			if err != nil || len(found) != want {
				t.Errorf("the lister has %v, %v", found, err)
			}
			if _, err := generic.Lister().ByNamespace("prod").Get("one"); err != nil {
				t.Error(err)
			}
			factory.Start(ctx.Done()) // the late one
			if synced := factory.WaitForCacheSync(ctx.Done()); len(synced) != 2 || !synced[pages] {
				t.Errorf("synced %v", synced)
			}
		}
		cancel()
		for _, factory := range []dynamicinformer.DynamicSharedInformerFactory{all, prod} {
			factory.Shutdown()
			last := factory.ForResource(pages.GroupVersion().WithResource("none")).Informer()
			factory.Start(nil) // does nothing
			if synced := factory.WaitForCacheSync(ctx.Done()); len(synced) != 2 || last.HasSynced() {
				t.Errorf("started after Shutdown: %v", synced)
			}
		}
	})
}

// Two shards have each object once.
func TestShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []runtime.Object
		for i := range 20 {
			one := site("prod", fmt.Sprint("s", i))
			one.SetUID(types.UID(fmt.Sprint(i, " of a factory")))
			all = append(all, one)
		}
		clients := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{sites: "SiteList"}, all...)
		ctx, cancel := context.WithCancel(t.Context())
		seen := map[string]int{}
		for n := range 2 {
			selector, err := shard.Even(n, 2)
			if err != nil {
				t.Fatal(err)
			}
			factory := dynamicinformer.NewDynamicSharedInformerFactoryWithOptions(clients, 0, dynamicinformer.WithShardSelector(selector))
			inf := factory.ForResource(sites).Informer()
			factory.Start(ctx.Done())
			defer func() { cancel(); factory.Shutdown() }()
			factory.WaitForCacheSync(ctx.Done())
			keys := inf.GetStore().ListKeys()
			for _, key := range keys {
				seen[key]++
			}
			if len(keys) == 0 || len(keys) == len(all) {
				t.Errorf("shard %d has %q", n, keys)
			}
		}
		for _, n := range seen {
			if n != 1 || len(seen) != len(all) {
				t.Fatalf("the shards have %v", seen)
			}
		}
		cancel()
	})
}
