package fakecrd_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/apiextensions/fakecrd"
)

// A test loads the program's own manifest, here from text, and the server refuses what its schema
// refuses.
func ExampleServe() {
	server := fake.New(fake.Options{})
	if err := fakecrd.Serve(server); err != nil {
		panic(err)
	}
	if err := server.LoadYAML("crd.yaml", widgets); err != nil {
		panic(err)
	}
	w := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "prod", "name": "door"},
		"spec": map[string]any{"color": "red"},
	}}
	at := server.Resource(schema.GroupResource{Group: "example.com", Resource: "widgets"})
	stored, err := fake.Create(at, w)
	if err != nil {
		panic(err)
	}
	fmt.Println(stored.Object["spec"])
	_ = unstructured.SetNestedField(stored.Object, "green", "spec", "color")
	_, err = fake.Update(at, stored)
	fmt.Println(err)
	// Output:
	// map[color:red high:10 low:1]
	// Widget.example.com "door" is invalid: spec: Invalid value: color is immutable
}
