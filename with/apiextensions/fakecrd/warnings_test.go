package fakecrd_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kinform/kinform/fake"
)

const oldTools = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tools.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: tools, kind: Tool}
  versions:
  - {name: v1alpha1, served: true, storage: false, deprecated: true, deprecationWarning: use hammers, schema: &schema {openAPIV3Schema: {type: object, properties: {a: {type: string, format: colour}, b: {type: array, x-kubernetes-list-type: set, items: {type: object, x-kubernetes-map-type: atomic}}}}}}
  - {name: v1beta1, served: true, storage: false, deprecated: true, schema: *schema}
  - {name: v1beta2, served: true, storage: false, schema: *schema}
  - {name: v1, served: true, storage: true, schema: *schema}
  - {name: v2, served: false, storage: false, schema: *schema}
  - {name: v3, served: true, storage: false, deprecated: true, schema: *schema}
`

// Clients get the warnings of an API server.
func TestWarnings(t *testing.T) {
	const (
		base   = "/apis/example.com/"
		tools  = base + "v1/namespaces/a/tools"
		set    = `x-kubernetes-list-type: set for items of type \"object\" is not supported by server-side apply or CEL validation rules`
		path   = "prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers"
		domain = "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
	)
	s := newServer(t)
	tool := func(name, finalizers string) string {
		return `{"apiVersion":"example.com/v1","kind":"Tool","metadata":{"name":"` + name + `","finalizers":` + finalizers + `}}`
	}
	for _, c := range []struct {
		line, body string
		code       int
		want       []string
	}{
		{"POST " + definitionsPath, oldTools, 201, []string{`unrecognized format \"colour\"`, set}},
		{"PATCH " + definitionsPath + "/tools.example.com", `{"metadata":{"labels":{"a":"b"}}}`, 200, nil},
		{"PATCH " + definitionsPath + "/tools.example.com", `{"spec":{"versions":null}}`, 422, nil},
		{"GET " + base + "v1alpha1/namespaces/a/tools", "", 200, []string{"use hammers"}},
		{"GET " + base + "v1beta1/namespaces/a/tools", "", 200, []string{"example.com/v1beta1 Tool is deprecated; use example.com/v1 Tool"}},
		{"GET " + base + "v1beta1/namespaces/a/tools/none", "", 404, []string{"example.com/v1beta1 Tool is deprecated; use example.com/v1 Tool"}},
		{"GET " + base + "v1beta2/namespaces/a/tools", "", 200, nil},
		{"GET " + tools, "", 200, nil},
		{"GET " + base + "v3/namespaces/a/tools", "", 200, []string{"example.com/v3 Tool is deprecated"}},
		{"POST " + tools, tool("a", `["plain","example.com/x","orphan","kubernetes","a.b","plain"]`), 201, []string{
			`metadata.finalizers: \"a.b\": ` + path, `metadata.finalizers: \"plain\": ` + domain,
		}},
		{"PATCH " + tools + "/a", `{"metadata":{"finalizers":["plain","other"]}}`, 200, []string{`metadata.finalizers: \"other\": ` + domain}},
		{"PATCH " + tools + "/a", `{"metadata":{"finalizers":["plain"]}}`, 200, nil},
		{"PATCH " + tools + "/a", `{"metadata":{"finalizers":["more"],"uid":"x"}}`, 422, nil},
	} {
		if got := warnings(t, s, c.line, c.body, c.code); !slices.Equal(got, c.want) {
			t.Errorf("%s %s:\n%s\nwant\n%s", c.line, c.body, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// warnings sends a request, and returns the texts of the warnings.
func warnings(t *testing.T, s *fake.Server, line, body string, code int) (texts []string) {
	t.Helper()
	method, path, _ := strings.Cut(line, " ")
	req, err := http.NewRequestWithContext(t.Context(), method, fake.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/yaml")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != code {
		t.Errorf("%s: %d, want %d", line, resp.StatusCode, code)
	}
	for _, header := range resp.Header.Values("Warning") {
		texts = append(texts, strings.TrimSuffix(strings.TrimPrefix(header, `299 - "`), `"`))
	}
	return texts
}
