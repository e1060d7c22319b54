package fakecrd_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
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
	c, err := client.New(client.Connection{URL: fake.URL, HTTP: s.Client()},
		kind.Of[*unstructured.Unstructured](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets").Named("Widget"), client.Options{Namespace: "default"})
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

// TestAppliesThatChangeNothing: the second apply of the same writes nothing, even if it has a status,
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

// TestAppliesWithoutVersion: an apply with an empty resourceVersion creates an object and is refused
// for one that exists, as an update without a version is.
func TestAppliesWithoutVersion(t *testing.T) {
	for _, version := range []string{"null", `""`} {
		s := newServer(t)
		expect(t, s, "POST", definitionsPath, filled, "", 201)
		const path = "/apis/example.com/v1/namespaces/default/tools/a"
		apply := func(path string, code int, want string) {
			t.Helper()
			body := "{apiVersion: example.com/v1, kind: Tool, metadata: {name: a, resourceVersion: " + version + "}, spec: {size: 1}}"
			expect(t, s, "PATCH", path+"?fieldManager=one&force=true", body, string(types.ApplyYAMLPatchType), code, want)
		}
		const refusal = `tools.example.com "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`
		apply(path, 201, `"size":1`)
		apply(path, 422, refusal)
		apply(path+"/status", 422, refusal)
	}
}

// TestAppliesOfHiddenNulls: the server stores some nulls and shows none of them, so each apply of them
// is a write, and the next write without them is one, too.
func TestAppliesOfHiddenNulls(t *testing.T) {
	for _, of := range []struct{ meta, rest, path, clean string }{
		{", labels: {a: null}", "spec: {size: 1}", "", `{"metadata":{"labels":{"b":null}}}`},
		{", annotations: {a: null, b: c}", "spec: {size: 1}", "", `{"metadata":{"labels":{"b":null}}}`},
		{", deletionTimestamp: null", "spec: {size: 1}", "", `{"metadata":{"deletionTimestamp":null}}`},
		{", deletionGracePeriodSeconds: null", "spec: {size: 1}", "", `{}`},
		{", generateName: null", "spec: {size: 1}", "", `{}`},
		{"", "status: null", "/status", `{"status":null}`},
	} {
		s := newServer(t)
		expect(t, s, "POST", definitionsPath, filled, "", 201)
		const path = "/apis/example.com/v1/namespaces/default/tools"
		expect(t, s, "POST", path, "{apiVersion: example.com/v1, kind: Tool, metadata: {name: a}, spec: {size: 1}}", "", 201)
		var versions []string
		wrote := func() bool {
			versions = append(versions, s.ResourceVersion())
			return len(versions) < 2 || versions[len(versions)-1] != versions[len(versions)-2]
		}
		wrote()
		for range 3 {
			body := "apiVersion: example.com/v1\nkind: Tool\nmetadata: {name: a" + of.meta + "}\n" + of.rest
			answer := expect(t, s, "PATCH", path+"/a"+of.path+"?fieldManager=one", body, string(types.ApplyYAMLPatchType), 200)
			if strings.Contains(answer, "null") || !wrote() {
				t.Errorf("%s, %s: versions %v, answer %s", of.meta, of.rest, versions, answer)
			}
		}
		for _, want := range []bool{true, false} {
			if expect(t, s, "PATCH", path+"/a?fieldManager=two", of.clean, "application/merge-patch+json", 200); wrote() != want {
				t.Errorf("%s, %s: versions %v after a merge patch", of.meta, of.rest, versions)
			}
		}
	}
}

// TestListsOfLostVersion: the server's cache cannot begin while there are objects that cannot be read, so
// lists and watches are refused with 429. A list with a limit and without selectors, by which the server
// also deletes a collection, reads the storage, and names each of them.
func TestListsOfLostVersion(t *testing.T) {
	s := newServer(t)
	const olds = "/apis/example.com/v2/namespaces/default/olds"
	const merge, jsonPatch = "application/merge-patch+json", "application/json-patch+json"
	expect(t, s, "POST", definitionsPath, fmt.Sprintf(free, versionText("v1", true)+","+versionText("v2", false)), "application/json", 201)
	for _, name := range []string{"a", "b", "c", "d"} {
		expect(t, s, "POST", strings.Replace(olds, "v2", "v1", 1), `{"apiVersion":"example.com/v1","kind":"Old","metadata":{"name":"`+name+`"}}`, "application/json", 201)
	}
	expect(t, s, "PATCH", definitionsPath+"/olds.example.com", `[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`, jsonPatch, 200)
	expect(t, s, "PATCH", olds+"/a", `{"metadata":{"labels":{"x":"y"}}}`, merge, 200)
	expect(t, s, "PATCH", definitionsPath+"/olds.example.com/status", `{"status":{"storedVersions":["v2"]}}`, merge, 200)
	expect(t, s, "PATCH", definitionsPath+"/olds.example.com", `[{"op":"remove","path":"/spec/versions/0"}]`, jsonPatch, 200)

	const failed = "failed to read one or more olds.example.com from the storage: StorageError: corrupt object, Code: 7, Key: /registry/example.com/olds/default/b, "
	const lost = "request to convert CR from an invalid group/version: example.com/v1"
	const watch = "&watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
	for _, query := range []string{"?", "?labelSelector=x", "?limit=2&labelSelector=x", "?labelSelector=x" + watch, "?" + watch} {
		expect(t, s, "GET", olds+query, "", "", 429, "storage is (re)initializing: failed to list <unspecified>: "+failed, lost+" (and 2 more)")
	}
	expect(t, s, "DELETE", olds+"?labelSelector=x", "", "", 429, lost+" (and 2 more)")
	expect(t, s, "GET", olds+"?limit=1", "", "", 200, `"name":"a"`, `"remainingItemCount":3`)
	answer := expect(t, s, "GET", olds+"?limit=3", "", "", 500, failed, lost+" (and 1 more)", `"reason":"StorageReadError"`,
		`"details":{"name":"list","group":"example.com","kind":"olds","causes":[{"reason":"UnexpectedServerResponse","message":"StorageError: corrupt object`,
		`"field":"/registry/example.com/olds/default/c"`)
	if strings.Contains(answer, "default/d") {
		t.Errorf("a page names an object that is not in it: %s", answer)
	}
	expect(t, s, "DELETE", olds, "", "", 500, failed, lost+" (and 2 more)", `"field":"/registry/example.com/olds/default/d"`)
	for _, name := range []string{"b", "c", "d"} {
		expect(t, s, "DELETE", olds+"/"+name+"?ignoreStoreReadErrorWithClusterBreakingPotential=true", "", "", 200)
	}
	expect(t, s, "GET", olds, "", "", 200, `"name":"a"`)
}
