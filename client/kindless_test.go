package client_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
)

type gadget struct {
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

// TestKindOfType: a custom resource needs its kind, also before the client's first list.
func TestKindOfType(t *testing.T) {
	s := fake.New(fake.Options{})
	if err := fake.Register[*gadget](s, fake.Resource{Group: "example.com"}); err != nil {
		t.Fatal(err)
	}
	gadgets, err := client.New[*gadget](client.Connection{URL: fake.URL, HTTP: s.Client()},
		schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}, client.Options{Namespace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gadgets.Create(t.Context(), &gadget{ObjectMeta: metav1.ObjectMeta{Name: "g"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
