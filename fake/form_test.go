package fake_test

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
)

// scale is the Scale of autoscaling/v1.
type scale struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas int32 `json:"replicas,omitempty"`
	} `json:"spec"`
}

func scaled[T metav1.Object]() map[string]fake.SubresourceHook[T] {
	return map[string]fake.SubresourceHook[T]{"scale": fake.View(schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"},
		func(obj T) (*scale, error) {
			return &scale{ObjectMeta: metav1.ObjectMeta{Name: obj.GetName(), Namespace: obj.GetNamespace()}}, nil
		}, func(T, *scale) error { return nil })}
}

// TestBadForms holds the refusals of forms to the API server's words. Of a Scale of a custom resource that it cannot
// read it says one thing, whatever the cause.
func TestBadForms(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Define(s, fake.Definition[*pod]{Kind: podKind, Hooks: fake.Hooks[*pod]{Subresources: scaled[*pod]()}}))
	check(t, fake.Define(s, fake.Definition[*unstructured.Unstructured]{Kind: kindOf("example.com", "Tool"), Hooks: fake.Hooks[*unstructured.Unstructured]{Subresources: scaled[*unstructured.Unstructured]()}}))
	must(fake.Create(s, newPod("a", "x")))(t)
	if code, body := request(t, s, "POST", "/apis/example.com/v1/namespaces/a/tools", jsonType, `{"apiVersion":"example.com/v1","kind":"Tool","metadata":{"name":"x"}}`); code != 201 {
		t.Fatalf("%d %s", code, body)
	}
	const (
		tool   = `no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"`
		none   = `the object provided is unrecognized (must be of type Scale): `
		noJSON = none + `couldn't get version/kind; json parse error: `
		head   = `Scale in version "v1" cannot be handled as a Scale: `
		struc  = `Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`
	)
	for _, c := range []struct{ contentType, query, body, message string }{
		{jsonType, "", ``, noJSON + `unexpected end of JSON input (<empty>)`},
		{jsonType, "", `{`, noJSON + `unexpected end of JSON input ({)`},
		{jsonType, "", `[]`, noJSON + `json: cannot unmarshal array into ` + struc + ` (5b5d)`},
		{jsonType, "", `{"apiVersion":7,"kind":"Scale"}`, noJSON + `json: cannot unmarshal number into Go struct field .apiVersion of type string ({"apiVersion":7,"kind":"Scale" ...)`},
		{"application/yaml", "", `{`, none + `yaml: line 1: did not find expected node content ({)`},
		{jsonType, "", `{"spec":{"replicas":"1"}}`, head + `json: cannot unmarshal string into Go struct field .spec.replicas of type int32`},
		{jsonType, "", `{"metadata":{"name":7}}`, head + `json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string`},
		{jsonType, "", `{"apiVersion":"autoscaling/v2","kind":"Scale"}`,
			`Scale in version "v2" cannot be handled as a Scale: no kind "Scale" is registered for version "autoscaling/v2" in scheme "pkg/runtime/scheme.go:111"`},
		{jsonType, "?fieldValidation=Strict", `{"metadata":{"name":"x"},"spec":{"x":1}}`, head + `strict decoding error: unknown field "spec.x"`},
	} {
		for path, want := range map[string]string{"/api/v1/namespaces/a/pods/x/scale": c.message, "/apis/example.com/v1/namespaces/a/tools/x/scale": tool} {
			code, body := request(t, s, "PUT", path+c.query, c.contentType, c.body)
			var st metav1.Status
			check(t, json.Unmarshal(body, &st))
			if code != 400 || st.Reason != metav1.StatusReasonBadRequest || st.Message != want {
				t.Errorf("%s %s: %d %s\nwant %s", path, c.body, code, st.Message, want)
			}
		}
	}
}

// TestStrictForms: unknown members of a form that a patch makes are refused, warned of or ignored as the client asks.
func TestStrictForms(t *testing.T) {
	s, send := withSubresources(t)
	must(fake.Create(s, newPod("a", "x")))(t)
	for query, want := range map[string]int{"?fieldValidation=Strict": 422, "?fieldValidation=Warn": 200, "?fieldValidation=Ignore": 200, "": 200} {
		for _, contentType := range []string{mergeType, "application/strategic-merge-patch+json"} {
			code, body := send("PATCH", sizePath+query, `{"prots":1}`, "Content-Type", contentType)
			if code != want {
				t.Errorf("%s%s: %d %s, want %d", contentType, query, code, body, want)
			}
		}
	}
}
