package informer_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// A projection of the widgets of three namespaces in one cache. One of them is left out later.
func ExampleUnion() {
	server := fake.New(fake.Options{})
	fake.Register(server, kind.Of[*widget](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets"), fake.Rules{})
	for _, ns := range []string{"dev", "prod", "test", "other"} {
		_, _ = fake.Create(server, newWidget(ns, "w", "node of "+ns))
	}

	type place struct{ namespace, node string }
	keyOf := func(p place) (string, error) { return p.namespace, nil }
	placeOf := func(w *widget) (place, error) { return place{w.Namespace, w.Spec.Node}, nil }
	places, err := informer.NewUnion("places of widgets", keyOf, informer.Options[place]{})
	if err != nil {
		panic(err)
	}
	for _, ns := range []string{"dev", "prod", "test"} {
		source, err := fake.NewSource[*widget](server, fake.Selection{Namespace: ns}) // or client.New
		if err != nil {
			panic(err)
		}
		covers := func(key string) bool { return key == ns }
		if _, err := places.Add(ns, reflector.Map(source, placeOf), covers); err != nil {
			panic(err)
		}
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- places.Run(ctx) }()
	if err := places.WaitForSync(ctx); err != nil {
		panic(err)
	}
	fmt.Println(slices.Sorted(places.Store().Keys()))

	places.Remove("test")
	_ = places.WaitFor(ctx, "test", func(_ place, exists bool) bool { return !exists })
	fmt.Println(slices.Sorted(places.Store().Keys()))
	cancel()
	<-ended
	// Output:
	// [dev prod test]
	// [dev prod]
}
