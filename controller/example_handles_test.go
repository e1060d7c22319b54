package controller_test

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
)

// siteNames opens a handle that keeps only the keys of sites, in one namespace. Its requests are about whole sites.
func siteNames(server *fake.Server) *controller.Projected[*site, key] {
	return controller.OpenProjected(client.Connection{URL: fake.URL, HTTP: server.Client()}, siteKinds,
		func(s *site) (key, error) { return key{Namespace: s.Namespace, Name: s.Name}, nil },
		func(k key) (key, error) { return k, nil },
		controller.OpenOptions[key]{Namespaces: informer.NewNamespaces("a")})
}

// sizeOf asks the server. It takes the requests of any handle on sites, whatever its cache holds.
func sizeOf(ctx context.Context, r *controller.Requests[*site], at key) (int64, error) {
	s, err := r.Get(ctx, at, metav1.GetOptions{})
	if errors.Is(err, controller.ErrOutside) {
		return 0, errors.New("another team's namespace") // nothing was sent
	}
	if err != nil {
		return 0, err
	}
	return s.Spec.Size, nil
}

// readStatus reads through a subresource's own requests.
func readStatus(ctx context.Context, status *controller.Subresource[*site], at key) error {
	_, err := status.Get(ctx, at, metav1.GetOptions{})
	return err
}

// Requests and subresources of a handle over namespaces.
func ExampleSubresourceAs() {
	server := fake.New(fake.Options{})
	fake.Register(server, siteKinds, fake.Rules{})
	fake.Create(server, &site{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "blue"}, Spec: siteSpec{Size: 3}})
	names, ctx := siteNames(server), context.Background()
	fmt.Println(sizeOf(ctx, &names.Requests, key{Namespace: "a", Name: "blue"}))
	fmt.Println(sizeOf(ctx, &names.Requests, key{Namespace: "b", Name: "blue"}))
	status, err := controller.SubresourceAs[*site](names, "status")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(readStatus(ctx, status, key{Namespace: "a", Name: "blue"}))
	// Output:
	// 3 <nil>
	// 0 another team's namespace
	// <nil>
}

// A watch is refused once Run has ended. Before, it leaves out what the filter refuses.
func ExampleController_Err() {
	server := fake.New(fake.Options{})
	sites := watch(server, siteKinds)
	c := controller.New("late", func(context.Context, key) error { return nil })
	c.Queue().Add(key{Namespace: "a", Name: "blue"})
	c.Queue().ShutDown()
	fmt.Println(c.Run(context.Background()))
	controller.For(c, sites, controller.AnnotationsChanged[key])
	fmt.Println(errors.Is(c.Err(), controller.ErrStopped))
	var caches []controller.Cache = c.Caches() // a manager runs what controllers share
	fmt.Println(len(caches))
	// Output:
	// <nil>
	// true
	// 0
}
