package fake_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/kind"
)

// Topic is a custom resource as users write them.
type Topic struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              TopicSpec `json:"spec"`
}

type TopicSpec struct {
	Partitions int `json:"partitions"`
}

func Example() {
	server := fake.New(fake.Options{})
	if err := fake.Register(server, kind.Of[*Topic](exampleV1, "topics"), fake.Rules{}); err != nil {
		fmt.Println(err)
		return
	}
	topic := &Topic{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "orders"}}
	topic, err := fake.Create(server, topic)
	fmt.Println(topic.ResourceVersion, topic.Generation, err)

	topic.Spec.Partitions = 3
	topic, err = fake.Update(server, topic)
	fmt.Println(topic.ResourceVersion, topic.Generation, err)

	topic.ResourceVersion = "2"
	_, err = fake.Update(server, topic)
	fmt.Println(err)
	// Output:
	// 2 1 <nil>
	// 3 2 <nil>
	// Operation cannot be fulfilled on topics.example.com "orders": the object has been modified; please apply your changes to the latest version and try again
}

// A source lists and watches without sockets. Here a watch resumes from the past.
func ExampleNewSource() {
	server := fake.New(fake.Options{})
	if err := fake.Register(server, kind.Of[*Topic](exampleV1, "topics"), fake.Rules{}); err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"orders", "payments"} {
		if _, err := fake.Create(server, &Topic{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name}}); err != nil {
			fmt.Println(err)
		}
	}
	if _, err := fake.Delete[*Topic](server, types.NamespacedName{Namespace: "prod", Name: "orders"}); err != nil {
		fmt.Println(err)
	}
	server.Bookmark()

	source, err := fake.NewSource[*Topic](server, fake.Selection{Namespace: "prod"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for event, err := range source.Watch(context.Background(), metav1.ListOptions{ResourceVersion: "2", AllowWatchBookmarks: true}) {
		if err != nil || event.Object == nil {
			fmt.Println(event.Type, event.ResourceVersion, err)
			break
		}
		fmt.Println(event.Type, event.ResourceVersion, event.Object.Name)
	}
	// Output:
	// ADDED 3 payments
	// DELETED 4 orders
	// BOOKMARK 4 <nil>
}

// The code under test gets the client that it has in production, here without a socket. The test sets the stage with
// the functions, which no fault strikes.
func ExampleServer_Client() {
	topics := kind.Of[*Topic](exampleV1, "topics")
	server := fake.New(fake.Options{})
	if err := fake.Register(server, topics, fake.Rules{}); err != nil {
		fmt.Println(err)
		return
	}
	conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
	prod, err := client.New(conn, topics, client.Options{Namespace: "prod"})
	if err != nil {
		fmt.Println(err)
		return
	}
	orders := types.NamespacedName{Namespace: "prod", Name: "orders"}
	fmt.Println(grow(context.Background(), prod, orders))

	if _, err := fake.Create(server, fake.Object(&Topic{}, "prod", "orders")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(grow(context.Background(), prod, orders))
	topic, err := fake.Get[*Topic](server, orders)
	fmt.Println(topic.Spec.Partitions, err)
	// Output:
	// get topics.example.com in namespace prod "prod/orders": topics.example.com "orders" not found
	// <nil>
	// 1 <nil>
}

// grow is code under test.
func grow(ctx context.Context, c *client.Resource[*Topic], key types.NamespacedName) error {
	topic, err := c.Get(ctx, key, metav1.GetOptions{})
	if err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"spec":{"partitions":%d}}`, topic.Spec.Partitions+1)
	_, err = c.Patch(ctx, key, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// Faults are lines of text. A run in which some struck by chance is repeated by the
// script of those that did.
func ExampleServer_Struck() {
	server := fake.New(fake.Options{})
	if err := fake.Register(server, kind.Of[*pod](v1, "pods"), fake.Rules{}); err != nil {
		panic(err)
	}
	list, err := faults.Parse("refuse get pods code=429 retry-after=1 chance=0.4 seed=2 # flaky")
	if err != nil {
		panic(err)
	}
	if err := server.Inject(list...); err != nil {
		panic(err)
	}
	var codes []int
	for range 5 {
		resp, err := server.Client().Get(fake.URL + "/api/v1/namespaces/a/pods/p")
		if err != nil {
			panic(err)
		}
		resp.Body.Close()
		codes = append(codes, resp.StatusCode)
	}
	fmt.Println(codes)
	fmt.Print(faults.Script(server.Struck()))
	// Output:
	// [404 404 429 429 429]
	// refuse get pods code=429 retry-after=1 call=3
	// refuse get pods code=429 retry-after=1 call=4
	// refuse get pods code=429 retry-after=1 call=5
}
