package fakecrd_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/apiextensions/fakecrd"
)

func TestScale(t *testing.T) {
	s := fake.New(fake.Options{})
	if err := fakecrd.Serve(s); err != nil {
		t.Fatal(err)
	}
	send := func(method, path, contentType, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, fake.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", contentType)
		resp, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: farms.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: farms, kind: Farm}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {cows: {type: integer, maximum: 9}}},
      status: {type: object, properties: {cows: {type: integer}, selector: {type: string}}}}}}
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.cows, statusReplicasPath: .status.cows, labelSelectorPath: .status.selector}
`
	const farms = "/apis/example.com/v1/namespaces/a/farms"
	if code, body := send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/yaml", crd); code != 201 {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := send("POST", farms, "application/json", `{"apiVersion":"example.com/v1","kind":"Farm","metadata":{"name":"one"},"spec":{"cows":2}}`); code != 201 {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := send("PATCH", farms+"/one/status", "application/merge-patch+json", `{"status":{"cows":1,"selector":"app=cow"}}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	for _, c := range []struct {
		method, contentType, body string
		code                      int
		want                      string
	}{
		{"GET", "", "", 200, `"spec":{"replicas":2},"status":{"replicas":1,"selector":"app=cow"}`},
		{"PATCH", "application/merge-patch+json", `{"spec":{"replicas":5}}`, 200, `"spec":{"replicas":5}`},
		{"PUT", "application/json", `{"metadata":{"name":"one"},"spec":{"replicas":3}}`, 200, `"spec":{"replicas":3}`},
		{"PATCH", "application/merge-patch+json", `{"spec":{"replicas":-1}}`, 422, "must be greater than or equal to 0"},
		{"PATCH", "application/merge-patch+json", `{"spec":{"replicas":10}}`, 422, "spec.cows"},
		{"GET", "", "", 200, `"spec":{"replicas":3}`},
	} {
		if code, body := send(c.method, farms+"/one/scale", c.contentType, c.body); code != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.body, code, body, c.code, c.want)
		}
	}
	if code, body := send("POST", farms, "application/json", `{"apiVersion":"example.com/v1","kind":"Farm","metadata":{"name":"two"},"spec":{}}`); code != 201 {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := send("GET", farms+"/two/scale", "", ""); code != 500 || !strings.Contains(body, `.spec.cows`) {
		t.Errorf("an object without the field: %d %s", code, body)
	}
}
