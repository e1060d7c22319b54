package controller_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/store"
)

// Gadgets are reconciled when they change, and when the site changes that they refer to by name, as
// their owner.
func ExampleWatch() {
	server := fake.New(fake.Options{})
	gadgets := watch(server, gadgetKind, byOwner)
	sites := watch(server, siteKinds)
	fake.Create(server, newGadget("one", "blue"))
	fake.Create(server, newGadget("two", "blue"))
	fake.Create(server, newGadget("three", "red"))

	c, runC := delayed[key]("")
	controller.For(c, gadgets)
	controller.Watch(c, sites, func(dst []key, s *site) []key {
		for g := range byOwner.All(gadgets.Store(), s.Name) {
			dst = append(dst, key{Namespace: g.Namespace, Name: g.Name})
		}
		return dst
	})
	reconciled := make(chan string)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- runC(ctx, func(_ context.Context, k key) error {
			reconciled <- k.Name
			return nil
		})
	}()
	for range 3 {
		<-reconciled
	}
	fake.Create(server, &site{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "red"}})
	fmt.Println("red changed:", <-reconciled)
	cancel()
	fmt.Println("ended:", <-ended)
	// Output:
	// red changed: three
	// ended: <nil>
}

var byOwner = index.New("owner", owner)

// watch returns an informer of all objects of a kind on server.
func watch[T metav1.Object](server *fake.Server, k *kind.Kind[T], indexes ...index.Definition[T]) *informer.Informer[key, T] {
	if err := fake.Register(server, k, fake.Rules{}); err != nil {
		panic(err)
	}
	source, err := fake.NewSource[T](server, fake.Selection{})
	if err != nil {
		panic(err)
	}
	inf, err := informer.New(source, store.ObjectKey, informer.Options[T]{Indexes: indexes})
	if err != nil {
		panic(err)
	}
	return inf
}
