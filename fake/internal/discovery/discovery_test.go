package discovery_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake/internal/discovery"
)

var served = []metav1.APIResource{
	{Version: "v1", Name: "pods", SingularName: "pod", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"get"}},
	{Version: "v1", Name: "pods/status", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"patch"}},
	{Group: "apps", Version: "v1", Name: "sets", SingularName: "set", Kind: "Set"},
	{Group: "apps", Version: "v2", Name: "sets", SingularName: "set", Kind: "Set"},
	{Group: "batch", Version: "v1", Name: "jobs", SingularName: "job", Kind: "Job"},
}

// find returns the document as JSON or text; empty for none.
func find(t *testing.T, path, accept string) (contentType, body string) {
	t.Helper()
	doc := discovery.Find(served, &http.Request{Header: http.Header{"Accept": {accept}}}, strings.Split(path, "/"))
	if doc == nil {
		return "", ""
	}
	if text, ok := doc.Body.(string); ok {
		return doc.ContentType, text
	}
	b, err := json.Marshal(doc.Body)
	if err != nil {
		t.Fatal(err)
	}
	return doc.ContentType, string(b)
}

func TestFind(t *testing.T) {
	for path, want := range map[string]string{
		"livez":         "ok",
		"readyz/etcd":   "ok",
		"readyz/a/b":    "",
		"metrics":       "",
		"version":       `{"major":"1","minor":"37","gitVersion":"v1.37.0+kinform-fake","gitCommit":"","gitTreeState":"","buildDate":"","goVersion":"","compiler":"","platform":"go/memory"}`,
		"api":           `{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":null}`,
		"api/v2":        "",
		"apis/none":     "",
		"apis/apps/v3":  "",
		"apis/apps":     `{"kind":"APIGroup","apiVersion":"v1","name":"apps","versions":[{"groupVersion":"apps/v2","version":"v2"},{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v2","version":"v2"}}`,
		"apis/batch/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"batch/v1","resources":[{"name":"jobs","singularName":"job","namespaced":false,"kind":"Job","verbs":null}]}`,
		"api/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get"]},` +
			`{"name":"pods/status","singularName":"","namespaced":true,"kind":"Pod","verbs":["patch"]}]}`,
	} {
		if _, got := find(t, path, ""); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", path, got, want)
		}
	}
}

// TestAggregated: the first choice decides, and subresources stand with their resource.
func TestAggregated(t *testing.T) {
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	kind, body := find(t, "api", aggregated+",application/json")
	want := `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[{"metadata":{},"versions":[{"version":"v1","resources":[` +
		`{"resource":"pods","responseKind":{"group":"","version":"v1","kind":"Pod"},"scope":"Namespaced","singularResource":"pod","verbs":["get"],` +
		`"subresources":[{"subresource":"status","responseKind":{"group":"","version":"v1","kind":"Pod"},"verbs":["patch"]}]}],"freshness":"Current"}]}]}`
	if kind != aggregated || body != want {
		t.Errorf("%s\n%s\nwant\n%s", kind, body, want)
	}
	if _, body := find(t, "apis", aggregated); strings.Count(body, `"name":"apps"`) != 1 || !strings.Contains(body, `"name":"batch"`) {
		t.Errorf("groups: %s", body)
	}
	if kind, body := find(t, "api", "application/json,"+aggregated); kind != "application/json" || strings.Contains(body, "Discovery") {
		t.Errorf("second choice: %s %s", kind, body)
	}
}
