package fakecrd_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// TestNewDefault: objects that were stored before a definition got a default show it in all
// versions, at the resourceVersion that they have. A write that changes nothing else stores it.
func TestNewDefault(t *testing.T) {
	const definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"olds.example.com"},
		"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"olds","kind":"Old"},"versions":[
		{"name":"v1","served":true,"storage":%[1]t,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"integer"},"c":{"type":"string"%[2]s}}}}}}},
		{"name":"v2","served":true,"storage":%[3]t,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"integer"},"c":{"type":"string"%[2]s}}}}}}}]}}`
	s := newServer(t, fmt.Sprintf(definition, true, "", false))
	v1, v2 := "/apis/example.com/v1/namespaces/n/olds", "/apis/example.com/v2/namespaces/n/olds"
	expect(t, s, http.MethodPost, v1, `{"apiVersion":"example.com/v1","kind":"Old","metadata":{"name":"o"},"spec":{"a":1}}`, "application/json", 201)
	before := s.ResourceVersion()
	const patch, merge = "application/json-patch+json", "application/merge-patch+json"
	const crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/olds.example.com"
	for i := range 2 {
		expect(t, s, http.MethodPatch, crd, fmt.Sprintf(`[{"op":"add","path":"/spec/versions/%d/schema/openAPIV3Schema/properties/spec/properties/c/default","value":"new"}]`, i), patch, 200)
	}
	version := fmt.Sprintf(`"resourceVersion":"%s"`, before)
	for _, path := range []string{v1 + "/o", v2 + "/o", v1, v2} {
		expect(t, s, http.MethodGet, path, "", "", 200, `"c":"new"`, version)
	}
	if answer := expect(t, s, http.MethodPatch, v2+"/o", `{}`, merge, 200, `"c":"new"`); strings.Contains(answer, version) {
		t.Errorf("a write of nothing leaves the object without the default: %s", answer)
	}
	written := s.ResourceVersion()
	expect(t, s, http.MethodPatch, v2+"/o", `{}`, merge, 200, fmt.Sprintf(`"resourceVersion":"%s"`, written))
	// A write of nothing also moves an object to a new version of the storage.
	expect(t, s, http.MethodPatch, crd, `[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`, patch, 200)
	expect(t, s, http.MethodPatch, v2+"/o", `{}`, merge, 200)
	expect(t, s, http.MethodPatch, crd+"/status", `{"status":{"storedVersions":["v2"]}}`, merge, 200)
	expect(t, s, http.MethodPatch, crd, `[{"op":"remove","path":"/spec/versions/0"}]`, patch, 200)
	expect(t, s, http.MethodGet, v2+"/o", "", "", 200, `"a":1`)
}

// TestPatchOfBadMetadata: a patch whose result is no object of the kind is an invalid patch.
func TestPatchOfBadMetadata(t *testing.T) {
	s := newServer(t)
	expect(t, s, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"olds.example.com"},
		"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"olds","kind":"Old"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, "application/json", 201)
	const path = "/apis/example.com/v1/namespaces/n/olds"
	expect(t, s, http.MethodPost, path, `{"apiVersion":"example.com/v1","kind":"Old","metadata":{"name":"o"}}`, "application/json", 201)
	expect(t, s, http.MethodPatch, path+"/o", `[{"op":"copy","from":"/metadata/name","path":"/metadata/annotations"}]`, "application/json-patch+json", 422,
		"patch: Invalid value", "cannot unmarshal string into Go struct field ObjectMeta.annotations")
}

// TestNewDefaultReachesCaches: an informer has the new default within five seconds, without a socket, and
// even for an object that is not the newest. Its handlers get an update at an unchanged version.
func TestNewDefaultReachesCaches(t *testing.T) {
	sources := map[string]func(s *fake.Server) (reflector.Source[*unstructured.Unstructured], error){
		"source": func(s *fake.Server) (reflector.Source[*unstructured.Unstructured], error) {
			return fake.NewSource[*unstructured.Unstructured](s.Resource(widgetsName), fake.Selection{})
		},
		"HTTP": func(s *fake.Server) (reflector.Source[*unstructured.Unstructured], error) {
			of := kind.OfResource[*unstructured.Unstructured](schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"})
			return client.New(client.Connection{URL: fake.URL, HTTP: s.Client()}, of, client.Options{})
		},
	}
	for name, open := range sources {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, widgets)
				for _, w := range []string{"old", "new"} {
					expect(t, s, http.MethodPost, widgetsPath, widget(w, "{color: red}"), "", 201)
				}
				source, err := open(s)
				if err != nil {
					t.Fatal(err)
				}
				inf, err := informer.New(source, store.ObjectKey, informer.Options[*unstructured.Unstructured]{OnError: func(error) {}})
				if err != nil {
					t.Fatal(err)
				}
				updated := 0
				_, err = inf.AddHandler(kinform.HandlerFuncs[*unstructured.Unstructured]{Updated: func(ev kinform.Event[*unstructured.Unstructured]) {
					n, _, _ := unstructured.NestedInt64(ev.Object.Object, "spec", "replicas")
					if updated++; n != 2 || ev.Object.GetResourceVersion() != ev.Old.GetResourceVersion() {
						t.Errorf("updated to %v", ev.Object)
					}
				}}, kinform.HandlerOptions[*unstructured.Unstructured]{})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- inf.Run(ctx) }()
				time.Sleep(time.Hour)
				_, err = fake.Change(s, kinform.Key{Name: "widgets.example.com"}, func(crd *apiextensionsv1.CustomResourceDefinition) error {
					spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
					replicas := spec.Properties["replicas"]
					replicas.Default = &apiextensionsv1.JSON{Raw: []byte("2")}
					spec.Properties["replicas"] = replicas
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
				synctest.Wait()
				if updated != 2 {
					t.Errorf("%d updates, want 2", updated)
				}
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
