package clientgo_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/clientgo"
)

// A controller that has moved opens the typed cache, and a lister that has not reads it too.
func ExampleInformer() {
	server := fake.New(fake.Options{})
	must(fake.Register(server, configMaps, fake.Rules{}))
	_, err := fake.Create(server, fake.Object(&corev1.ConfigMap{}, "prod", "settings"))
	must(err)

	maps := kinform.Open(client.Connection{URL: fake.URL, HTTP: server.Client()}, configMaps)
	shared, err := clientgo.Informer(maps)
	must(err)
	lister := corelisters.NewConfigMapLister(shared.GetIndexer())

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- maps.Run(ctx) }()
	cache.WaitFor(ctx, "the ConfigMaps", shared.HasSyncedChecker())
	found, err := lister.ConfigMaps("prod").List(labels.Everything())
	must(err)
	fmt.Println(len(found), found[0].Name)
	stop()
	must(<-ended)
	// Output: 1 settings
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
