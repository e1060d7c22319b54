package metadatainformer_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata/fake"

	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/with/clientgo/internal/stock"
	"github.com/kinform/kinform/with/clientgo/metadatainformer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func about(namespace, name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Site"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}
}

func TestFactory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "sites"}
		scheme := fake.NewTestScheme()
		if err := metav1.AddMetaToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		one, two := about("prod", "one"), about("test", "two")
		one.UID, two.UID = "one", "b" // their hashes are in either half
		clients := fake.NewSimpleMetadataClient(scheme, one, two)
		half, err := shard.Even(0, 2)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		mark := metadatainformer.WithTransform(func(obj any) (any, error) {
			obj.(metav1.Object).SetLabels(map[string]string{"seen": "yes"})
			return obj, nil
		})
		for name, made := range map[string]struct {
			factory      metadatainformer.SharedInformerFactory
			found, marks int
		}{
			"plain":    {metadatainformer.NewSharedInformerFactory(clients, 0), 2, 0},
			"filtered": {metadatainformer.NewFilteredSharedInformerFactory(clients, 0, "prod", func(*metav1.ListOptions) {}), 1, 0},
			"options":  {metadatainformer.NewSharedInformerFactoryWithOptions(clients, 0, mark), 2, 2},
			"shard":    {metadatainformer.NewSharedInformerFactoryWithOptions(clients, 0, mark, metadatainformer.WithShardSelector(half)), 1, 1},
		} {
			generic := made.factory.ForResource(sites)
			if got := fmt.Sprintf("%T", stock.Untyped(generic.Informer())); got != "*clientgo.sharedInformer" {
				t.Errorf("%s: the informer is a %s", name, got)
			}
			made.factory.Start(ctx.Done())
			if synced := made.factory.WaitForCacheSync(ctx.Done()); len(synced) != 1 || !synced[sites] {
				t.Errorf("%s: synced %v", name, synced)
			}
			found, err := generic.Lister().List(labels.Everything())
			marked, _ := generic.Lister().List(labels.SelectorFromSet(labels.Set{"seen": "yes"}))
			if err != nil || len(found) != made.found || len(marked) != made.marks {
				t.Errorf("%s: the lister has %v and %v, %v", name, found, marked, err)
			}
			defer made.factory.Shutdown()
		}
		cancel()
	})
}
