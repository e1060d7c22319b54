package informer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// A projection of the widgets of three namespaces in one cache. One of them is left out later.
func ExampleNewNamespaced() {
	server := fake.New(fake.Options{})
	fake.Register(server, kind.Of[*widget](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets"), fake.Rules{})
	for _, ns := range []string{"dev", "prod", "test", "other"} {
		_, _ = fake.Create(server, newWidget(ns, "w", "node of "+ns))
	}

	placeOf := func(w *widget) (projection, error) {
		return &projected{Key: key{Namespace: w.Namespace, Name: w.Name}, Text: w.Spec.Node}, nil
	}
	namespaces := informer.NewNamespaces("dev", "prod", "test")
	places, err := informer.NewNamespaced("places of widgets", namespaces, func(namespace string) (reflector.Source[projection], error) {
		source, err := fake.NewSource[*widget](server, fake.Selection{Namespace: namespace}) // or client.InNamespace
		return reflector.Map(source, placeOf), err
	}, projection.key, informer.Options[projection]{})
	if err != nil {
		panic(err)
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- places.Run(ctx) }()
	if err := places.WaitForSync(ctx); err != nil {
		panic(err)
	}
	fmt.Println(len(places.List()), "nodes")

	namespaces.Remove("test")
	left := key{Namespace: "test", Name: "w"}
	_ = places.WaitFor(ctx, left, func(_ projection, exists bool) bool { return !exists })
	for _, place := range slices.SortedFunc(slices.Values(places.List()), func(a, b projection) int { return strings.Compare(a.Text, b.Text) }) {
		fmt.Println(place.Key, place.Text)
	}
	cancel()
	<-ended
	// Output:
	// 3 nodes
	// dev/w node of dev
	// prod/w node of prod
}
