package fakecrd_test

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform"
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

// A definition gets a default while the test runs. Objects without the field have it from now on, at the versions
// that they had.
func ExampleServe_change() {
	server := fake.New(fake.Options{})
	if err := fakecrd.Serve(server); err != nil {
		panic(err)
	}
	if err := server.LoadYAML("crd.yaml", widgets); err != nil {
		panic(err)
	}
	if err := server.LoadYAML("door.yaml", "{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: prod, name: door}, spec: {color: red}}"); err != nil {
		panic(err)
	}
	at, door := server.Resource(schema.GroupResource{Group: "example.com", Resource: "widgets"}), kinform.Key{Namespace: "prod", Name: "door"}
	before, err := fake.Get[*unstructured.Unstructured](at, door)
	if err != nil {
		panic(err)
	}
	_, err = fake.Change(server, kinform.Key{Name: "widgets.example.com"}, func(crd *apiextensionsv1.CustomResourceDefinition) error {
		spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		replicas := spec.Properties["replicas"]
		replicas.Default = &apiextensionsv1.JSON{Raw: []byte("2")}
		spec.Properties["replicas"] = replicas
		return nil
	})
	if err != nil {
		panic(err)
	}
	after, err := fake.Get[*unstructured.Unstructured](at, door)
	if err != nil {
		panic(err)
	}
	fmt.Println(before.Object["spec"])
	fmt.Println(after.Object["spec"], after.GetResourceVersion() == before.GetResourceVersion())
	// Output:
	// map[color:red high:10 low:1]
	// map[color:red high:10 low:1 replicas:2] true
}
