package fake_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/fake"
)

// TestMutatedMetadata holds the answers to an API server's where admission gives a member of metadata another type:
// what the server sets itself it sets, and all else is a 422 that shows the metadata.
func TestMutatedMetadata(t *testing.T) {
	const (
		path = "/apis/example.com/v1/namespaces/a/tools"
		head = `{"apiVersion":"example.com/v1","kind":"Tool","metadata":{"name":"x"`
		text = "cannot convert int64 to string"
		odd  = "unrecognized type: string"
	)
	member, value := "", any(nil)
	s := fake.New(fake.Options{Mutate: func(_ context.Context, a *fake.Admission) error {
		if u, ok := a.Object.(*unstructured.Unstructured); ok && member != "" {
			u.Object["metadata"].(map[string]any)[member] = value
		}
		return nil
	}})
	check(t, fake.Register(s, kindOf("example.com", "Tool"), fake.Rules{}))
	for _, c := range []struct {
		member string
		value  any
		cause  string // of the 422; "" for none
	}{
		{"namespace", int64(7), ""},
		{"namespace", nil, ""},
		{"uid", []any{"x"}, ""},
		{"generation", "x", ""},
		{"creationTimestamp", "x", ""},
		{"creationTimestamp", map[string]any{}, ""},
		{"generateName", int64(7), text},
		{"generateName", []any{int64(7)}, odd},
		{"selfLink", map[string]any{}, odd},
		{"deletionTimestamp", "x", `parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"`},
		{"deletionTimestamp", int64(7), "json: cannot unmarshal number into Go value of type string"},
		{"deletionGracePeriodSeconds", "x", "unrecognized type: int64"},
		{"labels", int64(7), "cannot restore map from int64"},
		{"labels", []any{"x"}, "cannot restore map from slice"},
		{"labels", map[string]any{"a": int64(7)}, text},
		{"annotations", "x", "cannot restore map from string"},
		{"ownerReferences", int64(7), "cannot restore slice from int64"},
		{"ownerReferences", []any{"x"}, "cannot restore struct from: string"},
		{"ownerReferences", map[string]any{}, "cannot restore slice from map"},
		{"finalizers", []any{int64(7)}, text},
		{"finalizers", true, "cannot restore slice from bool"},
		{"managedFields", []any{int64(7)}, "cannot restore struct from: int64"},
	} {
		for _, method := range []string{"POST", "PATCH"} {
			member, value = "", nil
			at, contentType, ok := path, jsonType, 201
			if method == "PATCH" {
				at, contentType, ok = path+"/x", mergeType, 200
				request(t, s, "POST", path, jsonType, head+`}}`)
			}
			member, value = c.member, c.value
			code, body := request(t, s, method, at, contentType, head+`,"annotations":{"n":"1"}}}`)
			var st metav1.Status
			check(t, json.Unmarshal(body, &st))
			switch {
			case c.cause == "" && (code != ok || !strings.Contains(string(body), `"namespace":"a"`) || !strings.Contains(string(body), `"uid":"`)):
				t.Errorf("%s %s %v: %d %s", method, c.member, c.value, code, body)
			case c.cause != "" && (code != 422 || !strings.HasPrefix(st.Message, `Tool.example.com "x" is invalid: metadata: Invalid value: {"`) || !strings.HasSuffix(st.Message, "}: "+c.cause)):
				t.Errorf("%s %s %v: %d %s, want %s", method, c.member, c.value, code, st.Message, c.cause)
			case c.cause != "" && (!strings.Contains(st.Message, `"uid":"`) || !strings.Contains(st.Message, `"generation":1`) || !strings.Contains(st.Message, `"creationTimestamp":"`)):
				t.Errorf("%s %s: the metadata of the server is not in %s", method, c.member, st.Message)
			}
			member = ""
			request(t, s, "DELETE", path+"/x", "", "")
		}
	}
}

// TestMutatedAway: admission that takes the version, the name or all of the metadata away from an object.
func TestMutatedAway(t *testing.T) {
	const path, object = "/apis/example.com/v1/namespaces/a/tools", `{"apiVersion":"example.com/v1","kind":"Tool","metadata":{"name":"x","labels":{"a":"b"}}}`
	change := func(map[string]any) {}
	s := fake.New(fake.Options{Mutate: func(_ context.Context, a *fake.Admission) error {
		if u, ok := a.Object.(*unstructured.Unstructured); ok {
			change(u.Object)
		}
		return nil
	}})
	check(t, fake.Register(s, kindOf("example.com", "Tool"), fake.Rules{}))
	const blind = `tools.example.com "x" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`
	all := func(o map[string]any) { o["metadata"] = int64(7) }
	in := func(name string, value any) func(map[string]any) {
		return func(o map[string]any) { o["metadata"].(map[string]any)[name] = value }
	}
	for _, c := range []struct {
		method  string
		change  func(map[string]any)
		code    int
		message string
	}{
		{"POST", all, 500, "Internal error occurred: system metadata was not initialized"},
		{"POST", in("name", int64(7)), 422, "cannot convert int64 to string"},
		{"POST", in("resourceVersion", int64(7)), 422, "cannot convert int64 to string"},
		{"POST", in("namespace", "b"), 400, "the namespace of the provided object does not match the namespace sent on the request"},
		{"POST", func(map[string]any) {}, 201, ""},
		{"PATCH", all, 422, blind},
		{"PATCH", in("resourceVersion", int64(7)), 422, blind},
		{"PATCH", in("namespace", "b"), 400, "the namespace of the provided object does not match the namespace sent on the request"},
		{"PATCH", in("name", int64(7)), 422, "metadata.name: Required value: name or generateName is required"},
	} {
		change = c.change
		at, contentType := path, jsonType
		if c.method == "PATCH" {
			at, contentType = path+"/x", mergeType
		}
		code, body := request(t, s, c.method, at, contentType, object)
		var st metav1.Status
		check(t, json.Unmarshal(body, &st))
		if code != c.code || !strings.Contains(st.Message, c.message) {
			t.Errorf("%s: %d %s, want %d %s", c.method, code, body, c.code, c.message)
		}
	}
}
