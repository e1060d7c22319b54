package openapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake/internal/openapi"
)

func TestFind(t *testing.T) {
	served := []metav1.APIResource{
		{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true},
		{Version: "v1", Name: "pods/status", Kind: "Pod", Namespaced: true},
		{Group: "apps", Version: "v1", Name: "sets", Kind: "Set"},
	}
	for path, want := range map[string][]string{
		"v2":              {`"swagger":"2.0"`},
		"v3":              {`"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1"}`, `"apis/apps/v1":`},
		"v3/api/v1":       {`"/api/v1/namespaces/{namespace}/pods/{name}":`, `"name":"fieldValidation"`, `".v1.Pod":{`},
		"v3/apis/apps/v1": {`"/apis/apps/v1/sets":`},
		"v3/apis/apps/v2": nil,
		"v3/api":          nil,
		"v4":              nil,
	} {
		doc := openapi.Find(served, nil, &http.Request{}, strings.Split(path, "/"))
		if (doc == nil) != (want == nil) {
			t.Errorf("%s: %v", path, doc)
		}
		if doc == nil {
			continue
		}
		b, err := json.Marshal(doc.Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(b), w) {
				t.Errorf("%s lacks %s:\n%s", path, w, b)
			}
		}
		if strings.Contains(string(b), "status") {
			t.Errorf("%s has a path for a subresource:\n%s", path, b)
		}
	}
}

func TestVersion2InProtobuf(t *testing.T) {
	r := &http.Request{Header: http.Header{"Accept": {"text/html, application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}}}
	doc := openapi.Find(nil, nil, r, []string{"v2"})
	b, ok := doc.Body.([]byte)
	if want := "\n\x032.0\x12\"\n\nKubernetes\x12\x14v1.37.0+kinform-fake\x42\x00"; !ok || string(b) != want || strings.Contains(doc.ContentType, "@") {
		t.Errorf("%s %q, want %q", doc.ContentType, doc.Body, want)
	}
}
