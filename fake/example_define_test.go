package fake_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// OldTopic is a Topic of v1beta1, where the partitions had another name.
type OldTopic struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              OldTopicSpec `json:"spec"`
}

type OldTopicSpec struct {
	Shards int `json:"shards"`
}

var (
	newTopics = kind.Of[*Topic](exampleV1, "topics")
	oldTopics = kind.Of[*OldTopic](schema.GroupVersion{Group: "example.com", Version: "v1beta1"}, "topics").Named("Topic")
)

// A custom resource in two versions of different Go types. The fake stores v1. Each Convert gets an
// object of the other version, and the fake sets the apiVersion and the kind of the result.
func ExampleDefine() {
	server := fake.New(fake.Options{})
	err := fake.Define(server,
		fake.Definition[*Topic]{Kind: newTopics, Hooks: fake.Hooks[*Topic]{Convert: func(obj metav1.Object) (*Topic, error) {
			old := obj.(*OldTopic)
			return &Topic{ObjectMeta: old.ObjectMeta, Spec: TopicSpec{Partitions: old.Spec.Shards}}, nil
		}}},
		fake.Definition[*OldTopic]{Kind: oldTopics, Hooks: fake.Hooks[*OldTopic]{Convert: func(obj metav1.Object) (*OldTopic, error) {
			topic := obj.(*Topic)
			return &OldTopic{ObjectMeta: topic.ObjectMeta, Spec: OldTopicSpec{Shards: topic.Spec.Partitions}}, nil
		}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = fake.Create(server, &OldTopic{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "orders"}, Spec: OldTopicSpec{Shards: 3}})
	fmt.Println(err)
	topic, err := fake.Get[*Topic](server, types.NamespacedName{Namespace: "prod", Name: "orders"})
	fmt.Println(topic.APIVersion, topic.Spec.Partitions, err)
	// Output:
	// <nil>
	// example.com/v1 3 <nil>
}
