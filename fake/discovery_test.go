package fake_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// TestAggregatedDiscovery checks the whole of both documents: clients build their map of
// kinds from nothing else.
func TestAggregatedDiscovery(t *testing.T) {
	s := newServer(t, fake.Options{})
	check(t, fake.Register(s, kind.Of[*pod](schema.GroupVersion{Group: "apps", Version: "v1"}, "sets").Named("Set").WithSubresources("status").WithShortNames("s").WithCategories("all"), fake.Rules{}))
	const verbs = `"verbs":["create","delete","deletecollection","get","list","patch","update","watch"]`
	for path, want := range map[string]string{
		"/api": `{"metadata":{},"versions":[{"version":"v1","resources":[` +
			`{"resource":"pods","responseKind":{"group":"","version":"v1","kind":"Pod"},"scope":"Namespaced","singularResource":"pod",` + verbs + `},` +
			`{"resource":"nodes","responseKind":{"group":"","version":"v1","kind":"Node"},"scope":"Cluster","singularResource":"node",` + verbs + `}` +
			`],"freshness":"Current"}]}`,
		"/apis": `{"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[` +
			`{"resource":"sets","responseKind":{"group":"apps","version":"v1","kind":"Set"},"scope":"Namespaced","singularResource":"set",` + verbs + `,"shortNames":["s"],"categories":["all"],` +
			`"subresources":[{"subresource":"status","responseKind":{"group":"apps","version":"v1","kind":"Set"},"verbs":["get","patch","update"]}]}` +
			`],"freshness":"Current"}]},{"metadata":{"name":"example.com"},"versions":[{"version":"v1","resources":[` +
			`{"resource":"widgets","responseKind":{"group":"example.com","version":"v1","kind":"Widget"},"scope":"Namespaced","singularResource":"widget",` + verbs + `}` +
			`],"freshness":"Current"}]}`,
	} {
		want = `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[` + want + `]}`
		code, body, header := call(t, s, "GET", path, "", "Accept", aggregated+",application/json")
		if code != 200 || body != want || header.Get("Content-Type") != aggregated {
			t.Errorf("%s: %d %v\n%s\nwant\n%s", path, code, header, body, want)
		}
		for _, accept := range []string{"application/json," + aggregated, "", strings.Replace(aggregated, "v=v2", "v=v1", 1) + ",application/json"} {
			if _, body, header := call(t, s, "GET", path, "", "Accept", accept); strings.Contains(body, "Discovery") || header.Get("Content-Type") != "application/json" {
				t.Errorf("%s, Accept %q: %s", path, accept, body)
			}
		}
		if code, _, header := call(t, s, "POST", path, "", "Accept", aggregated); code != 405 || header.Get("Content-Type") != "application/json" {
			t.Errorf("POST %s: %d %v", path, code, header)
		}
	}
	if _, body, _ := call(t, s, "GET", "/apis/apps/v1", ""); !strings.Contains(body, `"shortNames":["s"],"categories":["all"]}`) {
		t.Errorf("no short name: %s", body)
	}
	if _, body, _ := call(t, s, "GET", "/apis/apps/v1", ""); !strings.Contains(body, `{"name":"sets/status","singularName":"","namespaced":true,"kind":"Set","verbs":["get","patch","update"]}`) {
		t.Errorf("no subresource: %s", body)
	}
}

func TestOpenAPI(t *testing.T) {
	s := newServer(t, fake.Options{})
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	_, body, _ := call(t, s, "GET", "/openapi/v3", "")
	check(t, json.Unmarshal([]byte(body), &index))
	if len(index.Paths) != 2 || index.Paths["apis/example.com/v1"].ServerRelativeURL == "" {
		t.Errorf("index %s", body)
	}
	for _, p := range index.Paths {
		var doc struct {
			Paths      map[string]map[string]any
			Components struct{ Schemas map[string]any }
		}
		_, body, _ := call(t, s, "GET", p.ServerRelativeURL, "")
		check(t, json.Unmarshal([]byte(body), &doc))
		if len(doc.Paths) != 2*len(doc.Components.Schemas) || len(doc.Paths) == 0 || !strings.Contains(body, `"name":"fieldValidation"`) {
			t.Errorf("%s: %s", p.ServerRelativeURL, body)
		}
	}
	_, body, header := call(t, s, "GET", "/openapi/v2", "", "Accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
	if !strings.HasPrefix(body, "\n\x032.0") || header.Get("Content-Type") != "application/com.github.proto-openapi.spec.v2.v1.0+protobuf" {
		t.Errorf("version 2: %q %v", body, header)
	}
	if _, body, _ := call(t, s, "GET", "/openapi/v2", ""); !strings.HasPrefix(body, `{"definitions":{}`) || !strings.Contains(body, `"swagger":"2.0"`) {
		t.Errorf("version 2 in JSON: %s", body)
	}
	for _, path := range []string{"/openapi", "/openapi/v1", "/openapi/v3/apis/apps/v1", "/openapi/v3/api", "/openapi/v3/pods/v1"} {
		if code, _, _ := call(t, s, "GET", path, ""); code != 404 {
			t.Errorf("%s: %d", path, code)
		}
	}
	// As in the API server, the documents that are no discovery do not look at the method.
	for path, want := range map[string]int{"/openapi/v2": 200, "/": 200, "/healthz": 200, "/api": 405, "/apis": 405, "/version": 405} {
		if code, _, _ := call(t, s, "PUT", path, ""); code != want {
			t.Errorf("PUT %s: %d, want %d", path, code, want)
		}
	}
}

// TestVerbs: discovery shows the verbs of a resource, and requests with others are refused.
func TestVerbs(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Register(s, podKind, fake.Rules{Verbs: []string{"create", "get"}}))
	if _, body, _ := call(t, s, "GET", "/api/v1", ""); !strings.Contains(body, `"verbs":["create","get"]`) {
		t.Error(body)
	}
	const pods = "/api/v1/namespaces/a/pods"
	for _, c := range []struct {
		method, path, body string
		code               int
	}{
		{"POST", pods, `{"metadata":{"name":"x"}}`, 201},
		{"GET", pods + "/x", "", 200},
		{"GET", pods, "", 405},
		{"GET", pods + "?watch=1", "", 405},
		{"PUT", pods + "/x", `{"metadata":{"name":"x"}}`, 405},
		{"PATCH", pods + "/x", `{}`, 405},
		{"DELETE", pods + "/x", "", 405},
		{"DELETE", pods, "", 405},
		{"GET", "/api/v1/pods", "", 404}, // no verb has the path
		{"POST", "/api/v1/pods", `{"metadata":{"name":"x","namespace":"a"}}`, 404},
	} {
		if code, body, _ := call(t, s, c.method, c.path, c.body); code != c.code {
			t.Errorf("%s %s: %d %s", c.method, c.path, code, body)
		}
	}
}

// TestGroupsAreOrdered: the order of registration does not matter.
func TestGroupsAreOrdered(t *testing.T) {
	s := fake.New(fake.Options{})
	want := []string{"apps", "events.k8s.io", "policy", "a.example.com", "b.example.com"}
	for _, i := range []int{3, 1, 4, 0, 2} {
		k := kind.Of[*pod](schema.GroupVersion{Group: want[i], Version: "v1"}, "things"+strconv.Itoa(i)).Named("Thing" + strconv.Itoa(i))
		check(t, fake.Register(s, k, fake.Rules{}))
	}
	var list metav1.APIGroupList
	_, body, _ := call(t, s, "GET", "/apis", "")
	check(t, json.Unmarshal([]byte(body), &list))
	var got []string
	for _, g := range list.Groups {
		got = append(got, g.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("groups %v, want %v", got, want)
	}
}
