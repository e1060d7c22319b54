package fakecrd_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/apiextensions/fakecrd"
)

// free is a definition of a kind without a schema, with the versions of the argument.
const free = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"olds.example.com"},
	"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"olds","kind":"Old"},"versions":[%s]}}`

func versionText(name string, storage bool) string {
	return fmt.Sprintf(`{"name":%q,"served":true,"storage":%v,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`, name, storage)
}

// TestLostVersion: what was stored in a version that the definition no longer has cannot be read,
// and a manager of that version makes applies fail and keeps its fields.
func TestLostVersion(t *testing.T) {
	s := newServer(t)
	send := func(method, path, contentType, body string, code int, want string) {
		t.Helper()
		expect(t, s, method, path, body, contentType, code, want)
	}
	const crds, objects = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/example.com/%s/namespaces/default/olds/%s?fieldManager=%s"
	const apply, merge, jsonPatch = "application/apply-patch+yaml", "application/merge-patch+json", "application/json-patch+json"
	send("POST", crds, "application/json", fmt.Sprintf(free, versionText("v1", true)+","+versionText("v2", false)), 201, "")
	for _, name := range []string{"stays", "moves"} {
		send("PATCH", fmt.Sprintf(objects, "v1", name, "one"), apply, `{"apiVersion":"example.com/v1","kind":"Old","metadata":{"name":"`+name+`"},"spec":{"a":1}}`, 201, "")
	}
	send("PATCH", crds+"/olds.example.com", jsonPatch, `[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`, 200, "")
	send("PATCH", fmt.Sprintf(objects, "v2", "moves", "two"), merge, `{"spec":{"b":1}}`, 200, `"manager":"one"`)
	send("PATCH", crds+"/olds.example.com/status", merge, `{"status":{"storedVersions":["v2"]}}`, 200, "")
	// Not served yet, the version is still known.
	send("PATCH", crds+"/olds.example.com", jsonPatch, `[{"op":"replace","path":"/spec/versions/0/served","value":false}]`, 200, "")
	send("GET", "/apis/example.com/v1/namespaces/default/olds", "", "", 404, "")
	send("GET", fmt.Sprintf(objects, "v2", "stays", ""), "", "", 200, `"a":1`)
	send("PATCH", fmt.Sprintf(objects, "v2", "moves", "three"), apply, `{"apiVersion":"example.com/v2","kind":"Old","metadata":{"name":"moves"},"spec":{"a":2}}`, 409, `conflict with \"one\"`)

	send("PATCH", crds+"/olds.example.com", jsonPatch, `[{"op":"remove","path":"/spec/versions/0"}]`, 200, "")
	const lost = "request to convert CR from an invalid group/version: example.com/v1"
	send("GET", fmt.Sprintf(objects, "v2", "stays", ""), "", "", 500, lost)
	send("PATCH", fmt.Sprintf(objects, "v2", "stays", "two"), merge, `{"spec":{"b":1}}`, 500, lost)
	send("PATCH", fmt.Sprintf(objects, "v2", "stays", "two"), apply, `{"apiVersion":"example.com/v2","kind":"Old","metadata":{"name":"stays"},"spec":{"b":1}}`, 500, lost)
	for _, contentType := range []string{apply, merge} { // a dry run begins with a read, which has another error
		send("PATCH", fmt.Sprintf(objects, "v2", "stays", "two")+"&dryRun=All", contentType, `{"apiVersion":"example.com/v2","kind":"Old","metadata":{"name":"stays"},"spec":{"b":1}}`, 500,
			"Internal error occurred: StorageError: corrupt object, Code: 7, Key: /example.com/olds/default/stays")
	}
	send("DELETE", fmt.Sprintf(objects, "v2", "stays", "")+"&ignoreStoreReadErrorWithClusterBreakingPotential=true", "", "", 200, "Success")
	send("GET", "/apis/example.com/v2/namespaces/default/olds", "", "", 200, `"moves"`)

	send("PATCH", fmt.Sprintf(objects, "v2", "moves", "two"), apply, `{"apiVersion":"example.com/v2","kind":"Old","metadata":{"name":"moves"},"spec":{"c":1}}`, 500, "request to convert CR to an invalid group/version: example.com/v1")
	send("PATCH", fmt.Sprintf(objects, "v2", "moves", "two"), merge, `{"spec":{"a":3}}`, 200, `"manager":"one"`)
}

// TestNullsOfApplies: an apply with a null that the schema does not allow is refused; other writes
// drop it. A null for a field with a default stands for the default, and changes nothing.
func TestNullsOfApplies(t *testing.T) {
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := fake.New(fake.Options{Now: func() time.Time { return clock }})
	if err := errors.Join(fakecrd.Serve(s), s.LoadYAML("widgets", widgets)); err != nil {
		t.Fatal(err)
	}
	c, err := fake.NewClient[*unstructured.Unstructured](s.Resource(widgetsName), fake.Selection{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(spec string) (*unstructured.Unstructured, error) {
		clock = clock.Add(time.Minute)
		return c.Patch(t.Context(), types.NamespacedName{Name: "a"}, types.ApplyYAMLPatchType,
			[]byte("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: "+spec), metav1.PatchOptions{FieldManager: "one"})
	}
	for _, spec := range []string{"{color: red, replicas: null}", "{color: red, free: null}", "{color: red, ports: [{name: null}]}"} {
		if _, err := apply(spec); err == nil || !strings.Contains(err.Error(), "is invalid") {
			t.Errorf("%s: %v", spec, err)
		}
	}
	var versions []string
	for range 3 {
		o, err := apply("{color: red, low: null}")
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, o.GetResourceVersion())
		if low, _, _ := unstructured.NestedInt64(o.Object, "spec", "low"); low != 1 {
			t.Errorf("low is %d", low)
		}
	}
	if versions[0] != versions[2] {
		t.Errorf("an apply of the same wrote %v", versions)
	}
}

// filled is a definition whose defaults reach into lists: parts is atomic, and keyed is not.
const filled = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tools.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: tools, kind: Tool}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, default: 5}
              parts: {type: array, items: {type: object, properties: {name: {type: string}, kind: {type: string, default: k}}}}
              keyed: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, kind: {type: string, default: k}}}}
          status: {type: object, properties: {phase: {type: string, default: new}}}
`

// TestAppliesThatChangeNothing: the second apply of the same writes nothing, also if it has a status,
// which the server leaves out, or if the server has filled in what it lacks.
func TestAppliesThatChangeNothing(t *testing.T) {
	for _, rest := range []string{
		"spec: {size: 1}\nstatus: {phase: x}",
		"spec: {size: null}",
		"spec: {parts: [{name: a}, {name: b, kind: x}]}",
		"spec: {parts: [{name: a, kind: null}], keyed: [{name: a}, {name: b, kind: null}]}\nstatus: {}",
		"spec: {}\nstatus: null",
	} {
		clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		s := fake.New(fake.Options{Now: func() time.Time { return clock }})
		if err := errors.Join(fakecrd.Serve(s), s.LoadYAML("tools", filled)); err != nil {
			t.Fatal(err)
		}
		var versions []string
		for n := range 3 {
			clock = clock.Add(time.Minute)
			expect(t, s, "PATCH", "/apis/example.com/v1/namespaces/default/tools/a?fieldManager=one",
				"apiVersion: example.com/v1\nkind: Tool\nmetadata: {name: a, creationTimestamp: null}\n"+rest, string(types.ApplyYAMLPatchType), []int{201, 200, 200}[n])
			versions = append(versions, s.ResourceVersion())
		}
		if versions[1] != versions[0] || versions[2] != versions[0] {
			t.Errorf("%q: written at %v", rest, versions)
		}
	}
}
