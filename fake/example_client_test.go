package fake_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// topics has the methods that a controller needs. client.Resource and fake.Client both have them.
type topics interface {
	Get(context.Context, types.NamespacedName, metav1.GetOptions) (*Topic, error)
	Patch(context.Context, types.NamespacedName, types.PatchType, []byte, metav1.PatchOptions) (*Topic, error)
}

// grow is code under test.
func grow(ctx context.Context, c topics, key types.NamespacedName) error {
	topic, err := c.Get(ctx, key, metav1.GetOptions{})
	if err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"spec":{"partitions":%d}}`, topic.Spec.Partitions+1)
	_, err = c.Patch(ctx, key, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// The code under test gets a Client; the test sets the stage with the functions, which no
// fault strikes.
func ExampleNewClient() {
	server := fake.New(fake.Options{})
	if err := fake.Register(server, kind.Of[*Topic](exampleV1, "topics"), fake.Rules{}); err != nil {
		fmt.Println(err)
		return
	}
	client, err := fake.NewClient[*Topic](server, fake.Selection{Namespace: "prod"})
	if err != nil {
		fmt.Println(err)
		return
	}
	orders := types.NamespacedName{Namespace: "prod", Name: "orders"}
	fmt.Println(grow(context.Background(), client, orders))

	if _, err := fake.Create(server, &Topic{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "orders"}}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(grow(context.Background(), client, orders))
	topic, err := fake.Get[*Topic](server, orders)
	fmt.Println(topic.Spec.Partitions, err)
	// Output:
	// topics.example.com "orders" not found
	// <nil>
	// 1 <nil>
}
