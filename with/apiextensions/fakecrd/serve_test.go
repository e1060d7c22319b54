package fakecrd_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/apiextensions/fakecrd"
)

// widgets is a manifest with most of what a schema can say.
const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    selectableFields: [{jsonPath: .spec.color}]
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [color]
            x-kubernetes-validations:
            - {rule: "self.low <= self.high", message: low is above high}
            - {rule: "self.color == oldSelf.color", message: color is immutable}
            properties:
              color: {type: string, enum: [red, green], description: The colour of all of it.}
              low: {type: integer, default: 1}
              high: {type: integer, default: 10, maximum: 100}
              replicas: {type: integer}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, port: {type: integer, default: 80}}
              template:
                type: object
                x-kubernetes-embedded-resource: true
                x-kubernetes-preserve-unknown-fields: true
          status:
            type: object
            properties:
              replicas: {type: integer}
              phase: {type: string, maxLength: 5}
`

const (
	definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	widgetsPath     = "/apis/example.com/v1/namespaces/a/widgets"
)

var widgetsName = schema.GroupResource{Group: "example.com", Resource: "widgets"}

func newServer(t testing.TB, manifests ...string) *fake.Server {
	t.Helper()
	s := fake.New(fake.Options{})
	if err := fakecrd.Serve(s); err != nil {
		t.Fatal(err)
	}
	for _, m := range manifests {
		if err := s.LoadYAML("crd.yaml", m); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// call makes a request and returns the answer. The body is YAML or, for a patch, JSON.
func call(t testing.TB, s *fake.Server, method, path, body, contentType string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, fake.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if contentType == "" {
		contentType = "application/yaml"
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// expect is a call whose answer has a code and contains texts.
func expect(t testing.TB, s *fake.Server, method, path, body, contentType string, code int, texts ...string) string {
	t.Helper()
	got, answer := call(t, s, method, path, body, contentType)
	if got != code {
		t.Errorf("%s %s: %d %s, want %d", method, path, got, answer, code)
	}
	message := answer
	var status metav1.Status
	if json.Unmarshal([]byte(answer), &status) == nil && status.Kind == "Status" {
		message = status.Message
	}
	for _, text := range texts {
		if !strings.Contains(answer, text) && !strings.Contains(message, text) {
			t.Errorf("%s %s: %s\nwant %s", method, path, message, text)
		}
	}
	return answer
}

func widget(name, spec string) string {
	return fmt.Sprintf("{apiVersion: example.com/v1, kind: Widget, metadata: {name: %s}, spec: %s}", name, spec)
}

func condition(t testing.TB, s *fake.Server, name string, kind apiextensionsv1.CustomResourceDefinitionConditionType) apiextensionsv1.CustomResourceDefinitionCondition {
	t.Helper()
	d, err := fake.Get[*apiextensionsv1.CustomResourceDefinition](s, types.NamespacedName{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range d.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return apiextensionsv1.CustomResourceDefinitionCondition{}
}

// TestServed: a definition is served as soon as it is there, in whichever way it came.
func TestServed(t *testing.T) {
	for name, make := range map[string]func(s *fake.Server){
		"load": func(s *fake.Server) {
			if err := s.LoadYAML("x.yaml", widget("w", "{color: red}")+"\n---"+widgets); err != nil {
				t.Error(err)
			}
		},
		"POST": func(s *fake.Server) {
			expect(t, s, "POST", definitionsPath, widgets, "", 201, `"storedVersions":["v1"]`)
		},
		"apply": func(s *fake.Server) {
			expect(t, s, "PATCH", definitionsPath+"/widgets.example.com?fieldManager=m", widgets, "application/apply-patch+yaml", 201)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			make(s)
			for _, c := range []apiextensionsv1.CustomResourceDefinitionConditionType{apiextensionsv1.Established, apiextensionsv1.NamesAccepted} {
				if got := condition(t, s, "widgets.example.com", c); got.Status != apiextensionsv1.ConditionTrue {
					t.Errorf("%+v", got)
				}
			}
			expect(t, s, "GET", "/apis/example.com/v1", "", "", 200, `"name":"widgets","singularName":"widget","namespaced":true,"kind":"Widget"`,
				`"shortNames":["wd"],"categories":["all"]`, `"name":"widgets/status"`)
			expect(t, s, "GET", widgetsPath, "", "", 200, `"kind":"WidgetList"`)
			expect(t, s, "GET", "/openapi/v3/apis/example.com/v1", "", "", 200, "The colour of all of it.", `"x-kubernetes-group-version-kind"`)
		})
	}
}

// TestSchema: the server prunes, completes and refuses as the schema says.
func TestSchema(t *testing.T) {
	s := newServer(t, widgets)
	answer := expect(t, s, "POST", widgetsPath, widget("w", `{color: red, colour: blue, free: {any: 1}, ports: [{name: a, x: 1}], template: {apiVersion: v1, kind: Pod, metadata: {name: p, wrong: 1}, spec: {}}}`), "", 201,
		`"low":1`, `"high":10`, `"free":{"any":1}`, `"ports":[{"name":"a","port":80}]`, `"template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{}}`)
	if strings.Contains(answer, "colour") {
		t.Errorf("not pruned: %s", answer)
	}
	expect(t, s, "POST", widgetsPath+"?fieldValidation=Strict", widget("x", `{color: red, colour: blue, ports: [{name: a, x: 1}]}`), "", 400, `strict decoding error: `, `unknown field "spec.colour"`, `unknown field "spec.ports[0].x"`)
	for spec, want := range map[string]string{
		`{}`:                         `Widget.example.com "x" is invalid: [spec.color: Required value, <nil>: Invalid value: null: some validation rules`,
		`{color: blue}`:              `spec.color: Unsupported value: "blue": supported values: "red", "green"`,
		`{color: red, high: 101}`:    `spec.high: Invalid value: 101: spec.high in body should be less than or equal to 100`,
		`{color: red, low: a}`:       `spec.low: Invalid value: "string": spec.low in body must be of type integer: "string"`,
		`{color: red, low: 20}`:      `spec: Invalid value: low is above high`,
		`{color: red, replicas: -1}`: `.spec.replicas: Invalid value: -1: should be a non-negative integer`,
		`{color: red, ports: [{name: a}, {name: a}]}`:                                `spec.ports[1]: Duplicate value: {"name":"a"}`,
		`{color: red, template: {apiVersion: v1, kind: Pod, metadata: {name: a/b}}}`: `spec.template.metadata.name: Invalid value: "a/b": may not contain '/'`,
		`{color: blue, low: 20}`:                                                     `some validation rules were not checked because the object was invalid; correct the existing errors to complete validation`,
	} {
		expect(t, s, "POST", widgetsPath, widget("x", spec), "", 422, want, `"reason":"Invalid"`)
	}
	const merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
	expect(t, s, "PATCH", widgetsPath+"/w", `{"spec":{"color":"green"}}`, merge, 422, "color is immutable")
	expect(t, s, "PATCH", widgetsPath+"/w", `{"spec":{"low":20}}`, merge, 422, "low is above high")
	expect(t, s, "PATCH", widgetsPath+"/w/status", `{"status":{"phase":"too long"}}`, merge, 422, "status.phase: Too long: may not be more than 5")
	expect(t, s, "PATCH", widgetsPath+"/w/status", `{"status":{"phase":"ok","other":1}}`, merge, 200, `"status":{"phase":"ok"}`)
	expect(t, s, "PATCH", widgetsPath+"/w", `{"spec":{"low":2,"status":{"phase":"no"}}}`, merge, 200, `"generation":2`, `"low":2`, `"phase":"ok"`)
	// Two managers own an item each of a list that is a map.
	for _, m := range []string{"one", "two"} {
		body := fmt.Sprintf("{apiVersion: example.com/v1, kind: Widget, metadata: {name: applied}, spec: {color: red, ports: [{name: %s}]}}", m)
		if code, answer := call(t, s, "PATCH", widgetsPath+"/applied?fieldManager="+m, body, apply); code/100 != 2 {
			t.Errorf("apply: %d %s", code, answer)
		}
	}
	expect(t, s, "GET", widgetsPath+"/applied", "", "", 200, `"ports":[{"name":"one","port":80},{"name":"two","port":80}]`)
	expect(t, s, "PATCH", widgetsPath+"/applied?fieldManager=one", widget("applied", "{color: red, wrong: 1}"), apply, 500, `.spec.wrong: field not declared in schema`)
	expect(t, s, "GET", widgetsPath+"?fieldSelector=spec.color%3Dred", "", "", 200, `"name":"w"`)
	if answer := expect(t, s, "GET", widgetsPath+"?fieldSelector=spec.color%3Dgreen", "", "", 200); strings.Contains(answer, `"name":"w"`) {
		t.Errorf("selected by another colour: %s", answer)
	}
	expect(t, s, "GET", widgetsPath+"?fieldSelector=spec.low%3D1", "", "", 400, "field label not supported: spec.low")
}

// TestRefused: definitions that an API server refuses.
func TestRefused(t *testing.T) {
	s := newServer(t, widgets)
	for change, want := range map[string][2]string{
		"name":           {"name: widgets.example.com", `metadata.name: Invalid value: "wrong.example.com": must be spec.names.plural+"."+spec.group`},
		"no type":        {"low: {type: integer, default: 1}", `properties[low].type: Required value: must not be empty for specified object fields`},
		"bad default":    {"low: {type: integer, default: 1}", `properties[low].default: Invalid value`},
		"no CEL":         {`"self.low <= self.high"`, `compilation failed`},
		"CEL costs much": {`"self.low <= self.high"`, `estimated rule cost exceeds budget`},
	} {
		to := map[string]string{
			"name": "name: wrong.example.com", "no type": "low: {default: 1}", "bad default": "low: {type: integer, default: x}", "no CEL": `"self.low <="`,
			"CEL costs much": `"self.ports.all(a, self.ports.all(b, self.ports.all(c, a.name != b.name + c.name)))"`,
		}[change]
		expect(t, s, "POST", definitionsPath, strings.Replace(widgets, want[0], to, 1), "", 422, want[1], `"reason":"Invalid"`)
	}
	// Once established, names are fixed.
	expect(t, s, "PATCH", definitionsPath+"/widgets.example.com", `{"spec":{"names":{"kind":"Gadget"}}}`, "application/merge-patch+json", 422, "spec.names.kind: Invalid value: \"Gadget\": field is immutable")
	expect(t, s, "PATCH", definitionsPath+"/widgets.example.com", `{"spec":{"scope":"Cluster"}}`, "application/merge-patch+json", 422, "spec.scope")
}

// TestChanged: a change of a definition applies to what is there, and ends the watches.
func TestChanged(t *testing.T) {
	s := newServer(t, widgets)
	expect(t, s, "POST", widgetsPath, widget("w", "{color: red, replicas: 3}"), "", 201)
	resp, err := s.Client().Get(fake.URL + widgetsPath + "?watch=1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	changed := strings.NewReplacer("replicas: {type: integer}\n              free", "size: {type: integer, default: 7}\n              free",
		"shortNames: [wd]", "shortNames: [wd, wid]").Replace(widgets)
	expect(t, s, "PATCH", definitionsPath+"/widgets.example.com?fieldManager=m&force=true", changed, "application/apply-patch+yaml", 200)
	if events, err := io.ReadAll(resp.Body); err != nil || strings.Count(string(events), "\n") != 1 {
		t.Errorf("the watch got %s, %v", events, err)
	}
	answer := expect(t, s, "GET", widgetsPath+"/w", "", "", 200, `"size":7`)
	if strings.Contains(answer, "replicas") {
		t.Errorf("not pruned: %s", answer)
	}
	expect(t, s, "GET", "/apis/example.com/v1", "", "", 200, `"shortNames":["wd","wid"]`)
	// The next change of something else alone ends nothing.
	before := condition(t, s, "widgets.example.com", apiextensionsv1.Established)
	resp, err = s.Client().Get(fake.URL + widgetsPath + "?watch=1&timeoutSeconds=1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	expect(t, s, "PATCH", definitionsPath+"/widgets.example.com", `{"metadata":{"labels":{"l":"1"}}}`, "application/merge-patch+json", 200)
	expect(t, s, "POST", widgetsPath, widget("x", "{color: red}"), "", 201)
	if events, err := io.ReadAll(resp.Body); err != nil || strings.Count(string(events), "\n") != 2 {
		t.Errorf("the watch got %s, %v", events, err)
	}
	if after := condition(t, s, "widgets.example.com", apiextensionsv1.Established); after != before {
		t.Errorf("%+v, before %+v", after, before)
	}
}

// TestDeleted: objects go before their definition, and hold it back by their finalizers.
func TestDeleted(t *testing.T) {
	s := newServer(t, widgets)
	expect(t, s, "POST", widgetsPath, widget("w", "{color: red}"), "", 201)
	expect(t, s, "POST", widgetsPath, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: held, finalizers: [example.com/f]}, spec: {color: red}}", "", 201)
	resp, err := s.Client().Get(fake.URL + widgetsPath + "?watch=1&resourceVersion=1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	expect(t, s, "DELETE", definitionsPath+"/widgets.example.com", "", "", 200, apiextensionsv1.CustomResourceCleanupFinalizer)
	if c := condition(t, s, "widgets.example.com", apiextensionsv1.Terminating); c.Status != apiextensionsv1.ConditionTrue {
		t.Errorf("%+v", c)
	}
	expect(t, s, "GET", widgetsPath+"/w", "", "", 404)
	expect(t, s, "GET", widgetsPath+"/held", "", "", 200, "deletionTimestamp")
	expect(t, s, "PATCH", widgetsPath+"/held", `{"metadata":{"finalizers":null}}`, "application/merge-patch+json", 200)
	expect(t, s, "GET", definitionsPath+"/widgets.example.com", "", "", 404)
	expect(t, s, "GET", widgetsPath, "", "", 404)
	expect(t, s, "GET", "/apis/example.com", "", "", 404)
	events, err := io.ReadAll(resp.Body)
	if err != nil || strings.Count(string(events), `"type":"DELETED"`) != 2 {
		t.Errorf("%s, %v", events, err)
	}
	// It can come back, and does not bring old objects with it.
	expect(t, s, "POST", definitionsPath, widgets, "", 201)
	expect(t, s, "GET", widgetsPath, "", "", 200, `"items":[]`)
}

// TestConflicts: a definition whose names another one has is not served, until they are free.
func TestConflicts(t *testing.T) {
	s := newServer(t, widgets)
	other := strings.NewReplacer("widgets", "gadgets", "kind: Widget,", "kind: Gadget,").Replace(widgets)
	expect(t, s, "POST", definitionsPath, other, "", 201)
	if c := condition(t, s, "gadgets.example.com", apiextensionsv1.NamesAccepted); c.Reason != "ShortNamesConflict" || c.Message != `"wd" is already in use` {
		t.Errorf("%+v", c)
	}
	if c := condition(t, s, "gadgets.example.com", apiextensionsv1.Established); c.Status != apiextensionsv1.ConditionFalse || c.Reason != "NotAccepted" {
		t.Errorf("%+v", c)
	}
	expect(t, s, "GET", "/apis/example.com/v1/gadgets", "", "", 404)
	expect(t, s, "DELETE", definitionsPath+"/widgets.example.com", "", "", 200)
	expect(t, s, "GET", "/apis/example.com/v1/gadgets", "", "", 200)
	if c := condition(t, s, "gadgets.example.com", apiextensionsv1.Established); c.Status != apiextensionsv1.ConditionTrue {
		t.Errorf("%+v", c)
	}
}

// TestVersions: every version sees all objects, with its own schema.
func TestVersions(t *testing.T) {
	beta := `  - name: v1beta1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {color: {type: string}, old: {type: string, default: o}}}}}}
`
	s := newServer(t, widgets+beta)
	expect(t, s, "GET", "/apis/example.com", "", "", 200, `"versions":[{"groupVersion":"example.com/v1","version":"v1"},{"groupVersion":"example.com/v1beta1","version":"v1beta1"}]`)
	const betaPath = "/apis/example.com/v1beta1/namespaces/a/widgets"
	expect(t, s, "POST", betaPath, "{apiVersion: example.com/v1beta1, kind: Widget, metadata: {name: b}, spec: {color: blue, old: x}}", "", 201, `"apiVersion":"example.com/v1beta1"`)
	answer := expect(t, s, "GET", widgetsPath+"/b", "", "", 200, `"apiVersion":"example.com/v1"`, `"low":1`)
	if strings.Contains(answer, `"old"`) {
		t.Errorf("stored in another version: %s", answer)
	}
	expect(t, s, "GET", betaPath+"/b", "", "", 200, `"spec":{"color":"blue"}`)
	expect(t, s, "POST", widgetsPath, "{apiVersion: example.com/v1beta1, kind: Widget, metadata: {name: c}, spec: {color: red}}", "", 400, "the API version in the data (example.com/v1beta1) does not match the expected API version (example.com/v1)")
	// A version that is served no more is gone; what it wrote stays.
	expect(t, s, "PATCH", definitionsPath+"/widgets.example.com?fieldManager=m&force=true", widgets+strings.Replace(beta, "served: true", "served: false", 1), "application/apply-patch+yaml", 200)
	expect(t, s, "GET", betaPath, "", "", 404)
	expect(t, s, "GET", widgetsPath+"/b", "", "", 200)
}

// TestRegistered: the test's own registration with a Go type stays.
func TestRegistered(t *testing.T) {
	s := newServer(t)
	if err := fakecrd.Serve(s); !errors.Is(err, fake.ErrInvalid) {
		t.Errorf("second Serve: %v", err)
	}
	if err := fake.Register(s, typedWidgets, fake.Rules{}); err != nil {
		t.Fatal(err)
	}
	expect(t, s, "POST", definitionsPath, widgets, "", 201)
	if c := condition(t, s, "widgets.example.com", apiextensionsv1.NamesAccepted); c.Status != apiextensionsv1.ConditionFalse || !strings.Contains(c.Message, "registered for another type") {
		t.Errorf("%+v", c)
	}
	if _, err := fake.List[*unstructured.Unstructured](s.Resource(widgetsName), fake.Selection{}); !errors.Is(err, fake.ErrInvalid) {
		t.Error(err)
	}
}
