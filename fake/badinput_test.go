package fake_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// TestBadBodies holds the refusals of bodies to the API server's words.
func TestBadBodies(t *testing.T) {
	s := statusServer(t, fake.Options{})
	must(fake.Create(s, newPod("a", "p")))(t)
	const pods, widgets = "/api/v1/namespaces/a/pods", "/apis/example.com/v1/namespaces/a/widgets"
	const strict = "?fieldValidation=Strict"
	for _, c := range []struct {
		method, path, body, message string
		code                        int
	}{
		{"POST", pods, "", `the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)`, 400},
		{"POST", pods, "{", `the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: unexpected end of JSON input ({)`, 400},
		{"POST", pods, "[]", `the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: ` +
			`json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (5b5d)`, 400},
		{"POST", pods, `{"kind":` + strings.Repeat("x", 40), `the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: ` +
			`invalid character 'x' looking for beginning of value ({"kind":xxxxxxxxxxxxxxxxxxxxxx ...)`, 400},
		{"POST", pods, `{"spec":7}`, `Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field pod.spec of type fake_test.podSpec`, 400},
		{"POST", pods + strict, `{"metadata":{"name":"q"},"spec":{"nod":1},"spec":{}}`,
			`Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.nod", duplicate field "spec"`, 400},
		{"POST", widgets + strict, `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"q"},"siz":1}`,
			`Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "siz"`, 400},
		{"POST", widgets + strict, `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"q"},"size":1}`, "", 201},
		{"POST", "/apis/example.com/v1/namespaces/a/jobs" + strict, `{"kind":"Job","apiVersion":"example.com/v1","metadata":{"name":"q"},"a":{"b":1,"b":2}}`,
			`Job in version "v1" cannot be handled as a Job: strict decoding error: duplicate field "a.b"`, 400},
		{"POST", "/apis/example.com/v1/namespaces/a/jobs", `{"kind":"Job","apiVersion":"example.com/v1","metadata":{"name":"q","namespace":7}}`,
			`Job in version "v1" cannot be handled as a Job: json: cannot unmarshal number into Go struct field ObjectMeta.namespace of type string`, 400},
		{"POST", pods, `{"apiVersion":"v2","kind":"Pod"}`, `Pod in version "v2" cannot be handled as a Pod: no kind "Pod" is registered for version "v2" in scheme "pkg/runtime/scheme.go:111"`, 400},
		{"POST", pods, `{"apiVersion":"apps/v1","kind":"Pod"}`, `Pod in version "v1" cannot be handled as a Pod: no kind "Pod" is registered for version "apps/v1" in scheme "pkg/runtime/scheme.go:111"`, 400},
		{"DELETE", pods + "/p", `{"apiVersion":"v1","kind":"Pod"}`, `no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"`, 400},
		{"POST", pods, `{"metadata":{"name":"No"}}`, `Pod "No" is invalid: metadata.name: Invalid value: "No": a lowercase RFC 1123 subdomain must consist of lower case ` +
			`alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is ` +
			`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`, 422},
		{"POST", pods, `{}`, `Pod "" is invalid: metadata.name: Required value: name or generateName is required`, 422},
		{"PUT", pods + "/p", `{}`, `the name of the object (p based on URL) was undeterminable: name must be provided`, 400},
		{"DELETE", pods + "/p", `{`, `couldn't get version/kind; json parse error: unexpected end of JSON input`, 400},
		{"GET", pods + "?labelSelector=a%20in", "", `unable to parse requirement: found '' expected: '('`, 400},
		{"GET", pods + "?fieldSelector=a", "", `invalid selector: 'a'; can't understand 'a'`, 400},
		{"GET", pods + "?continue=x", "", `invalid continue token: continue key is not valid: illegal base64 data at input byte 0`, 400},
	} {
		t.Run(c.method+c.path+c.body[:min(len(c.body), 40)], func(t *testing.T) {
			code, body := request(t, s, c.method, c.path, "", c.body)
			var st metav1.Status
			check(t, json.Unmarshal(body, &st))
			if code != c.code || st.Message != c.message {
				t.Errorf("%d %q\nwant %d %q", code, st.Message, c.code, c.message)
			}
		})
	}
}

// TestStrictYAML: YAML and applies that state a member twice are refused by fieldValidation=Strict
// alone.
func TestStrictYAML(t *testing.T) {
	s := statusServer(t, fake.Options{})
	const pods = "/api/v1/namespaces/a/pods"
	const twice = "yaml: unmarshal errors:\n  line 1: key \"node\" already set in map"
	for _, c := range []struct{ method, path, contentType, body, message string }{
		{"POST", pods, "application/yaml", `{metadata: {name: q}, spec: {node: x, node: z}}`, `Pod in version "v1" cannot be handled as a Pod: strict decoding error: ` + twice},
		{"POST", pods, "application/yaml", `{"metadata":{"name":"q"},"spec":{"node":"x","node":"z"}}`, `Pod in version "v1" cannot be handled as a Pod: strict decoding error: ` + twice},
		{"POST", pods, "application/yaml", `{metadata: {name: q}, spec: {nod: x}}`, `Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.nod"`},
		{"POST", pods, "application/yaml", `{metadata: {name: q}, spec: {node: x}}`, ""},
		{"PATCH", pods + "/q", "application/apply-patch+yaml", `{apiVersion: v1, kind: Pod, metadata: {name: q}, spec: {node: z, node: x}}`,
			"error strict decoding patch: error converting YAML to JSON: " + twice},
		{"PATCH", pods + "/new", "application/apply-patch+yaml", `{apiVersion: v1, kind: Pod, metadata: {name: new}, spec: {node: x, node: z}}`,
			"error strict decoding patch: error converting YAML to JSON: " + twice},
		{"PATCH", pods + "/q", "application/apply-patch+yaml", `{apiVersion: v1, kind: Pod, metadata: {name: q}, spec: {node: x}}`, ""},
	} {
		code, body, _ := call(t, s, c.method, c.path+"?fieldManager=m&fieldValidation=Strict", c.body, "Content-Type", c.contentType)
		var st metav1.Status
		check(t, json.Unmarshal([]byte(body), &st))
		if (code == http.StatusBadRequest) != (c.message != "") || st.Message != c.message {
			t.Errorf("%s: %d %q, want %q", c.body, code, st.Message, c.message)
		}
		if code, body, _ := call(t, s, c.method, c.path+"?fieldManager=m&dryRun=All", c.body, "Content-Type", c.contentType); code >= 300 && code != http.StatusConflict {
			t.Errorf("%s is refused without Strict: %d %s", c.body, code, body)
		}
	}
	wantStatus(t, second(fake.Get[*pod](s, key("a", "new"))), http.StatusNotFound, metav1.StatusReasonNotFound)
}

// TestNameRules: what names may be differs between resources.
func TestNameRules(t *testing.T) {
	type U = *unstructured.Unstructured
	for _, c := range []struct {
		kind      *kind.Kind[U]
		check     func(name string, prefix bool) []string
		name      string
		want      int32
		generated bool
	}{
		{kindOf("", "ConfigMap"), nil, "a.b", 0, false},
		{kindOf("", "ConfigMap"), nil, "a_b", 422, false},
		{kindOf("", "ConfigMap"), nil, "a.b-", 0, true},
		{kindOf("", "ConfigMap"), nil, "a_b-", 422, true},
		{kindOf("", "Namespace").Cluster(), nil, "a.b", 422, false},
		{kindOf("", "Service"), nil, "a.b", 422, false},
		{kindOf("", "Service"), nil, "1a", 0, false},
		{kindOf("apps", "StatefulSet"), nil, "a.b", 422, false},
		{kindOf("apps", "Deployment"), nil, "a.b", 0, false},
		{kindOf("rbac.authorization.k8s.io", "Role"), nil, "System:Admin_1", 0, false},
		{kindOf("rbac.authorization.k8s.io", "Role"), nil, "a/b", 422, false},
		{kindOf("rbac.authorization.k8s.io", "Role"), nil, "System:", 0, true},
		{kindOf("x.example.com", "Thing"), func(string, bool) []string { return []string{"is not wanted"} }, "a", 422, false},
	} {
		s := fake.New(fake.Options{})
		check(t, fake.Register(s, c.kind, fake.Rules{CheckName: c.check}))
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		if !(c.kind.Scope == kind.ClusterScoped) {
			obj.SetNamespace("a")
		}
		if c.generated {
			obj.SetGenerateName(c.name)
		} else {
			obj.SetName(c.name)
		}
		if st := statusOf(second(fake.Create(s, obj))); st.Code != c.want {
			t.Errorf("%s %q: %d %s, want %d", c.kind.Kind, c.name, st.Code, st.Message, c.want)
		}
	}
}
