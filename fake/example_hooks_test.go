package fake_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
)

// A kind with subresources of its own: size can be read and written, log is text, and compact does something.
func ExampleSubresourceHook() {
	size := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Topic"}
	hooks := fake.Hooks[*Topic]{
		Subresources: map[string]fake.SubresourceHook[*Topic]{
			"size": fake.View(size, func(t *Topic) (*Topic, error) { return t, nil },
				func(t, sent *Topic) error { t.Spec.Partitions = sent.Spec.Partitions; return nil }),
			"log": fake.Text(size, func(_ context.Context, t *Topic, query url.Values) (string, error) {
				return "the log of " + t.Name, nil
			}),
			"compact": fake.Action(size, func(_ context.Context, t, _ *Topic, dryRun bool) (metav1.Object, error) { return t, nil }),
		},
		Printer: fake.Printer{ // what kubectl get shows
			Columns: []metav1.TableColumnDefinition{{Name: "Partitions", Type: "integer"}},
			Row: func(obj metav1.Object) (metav1.TableRow, error) {
				return metav1.TableRow{Cells: []any{obj.(*Topic).Spec.Partitions}}, nil
			},
		},
	}
	server := fake.New(fake.Options{
		// Admission sees the writes of clients.
		Validate: func(_ context.Context, a *fake.Admission) error {
			if topic, ok := a.Object.(*Topic); ok && topic.Spec.Partitions > 100 {
				return errors.New("too many partitions")
			}
			return nil
		},
		// The strategies of a resource, as Kubernetes' own kinds have them. See with/strategies.
		Strategy: func(schema.GroupVersionResource, schema.GroupVersionKind) *fake.Strategy { return nil },
	})
	var version fake.Version = fake.Definition[*Topic]{Kind: newTopics, Hooks: hooks}
	if err := fake.Define(server, version.(fake.Definition[*Topic])); err != nil {
		fmt.Println(err)
		return
	}
	fake.Create(server, fake.Object(&Topic{}, "prod", "orders"))

	topics, err := client.New(client.Connection{URL: fake.URL, HTTP: server.Client()}, newTopics, client.Options{Namespace: "prod"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	_, err = topics.Create(ctx, &Topic{ObjectMeta: metav1.ObjectMeta{Name: "huge"}, Spec: TopicSpec{Partitions: 101}}, metav1.CreateOptions{})
	fmt.Println(err != nil)
	_, err = topics.Subresource("size").Patch(ctx, types.NamespacedName{Name: "orders"}, types.MergePatchType, []byte(`{"spec":{"partitions":5}}`), metav1.PatchOptions{})
	fmt.Println(err)
	resp, err := server.Client().Get(fake.URL + "/apis/example.com/v1/namespaces/prod/topics/orders/log")
	fmt.Println(err == nil && resp.StatusCode == http.StatusOK)
	resp.Body.Close()
	topic, _ := fake.Get[*Topic](server, types.NamespacedName{Namespace: "prod", Name: "orders"})
	fmt.Println(topic.Spec.Partitions)
	// Output:
	// true
	// <nil>
	// true
	// 5
}

// A test brings about what is rare on a real server.
func ExampleServer_Restore() {
	server := fake.New(fake.Options{})
	if _, err := fake.Get[*Topic](server, types.NamespacedName{}); errors.Is(err, fake.ErrNotRegistered) {
		fmt.Println("register the kind first")
	}
	if err := fake.Register(server, newTopics, fake.Rules{}); errors.Is(err, fake.ErrInvalid) {
		fmt.Println(err) // a mistake in the test
	}
	// Clients can select by this field.
	if err := fake.AddField(server, "spec.partitions", func(t *Topic) string { return fmt.Sprint(t.Spec.Partitions) }); err != nil {
		fmt.Println(err)
	}
	fake.Create(server, &Topic{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "orders"}, Spec: TopicSpec{Partitions: 3}})
	backup := server.Backup()
	fake.Create(server, &Topic{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "payments"}})
	var source *fake.Source[*Topic]
	source, err := fake.NewSource[*Topic](server, fake.Selection{FieldSelector: "spec.partitions=3"})
	fmt.Println(source.Resource(), err)

	// etcd ends a lease: both objects go at one version. Then somebody restores a backup.
	_, err = fake.Expire[*Topic](server, types.NamespacedName{Namespace: "prod", Name: "orders"}, types.NamespacedName{Namespace: "prod", Name: "payments"})
	fmt.Println(err)
	fmt.Println(server.Restore(backup))
	left, _ := fake.List[*Topic](server, fake.Selection{})
	fmt.Println(len(left), left[0].Name)
	// Output:
	// register the kind first
	// topics.example.com <nil>
	// <nil>
	// <nil>
	// 1 orders
}
