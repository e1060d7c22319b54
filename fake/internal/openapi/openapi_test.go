package openapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

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

var widget = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

// schemas has a kind with everything that version 2 has differently.
var schemas = openapi.Schemas{widget: {
	Patches: []types.PatchType{types.MergePatchType},
	All: func() map[string]any {
		return map[string]any{
			"Size": map[string]any{"oneOf": []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}},
			"Widget": map[string]any{
				"description": "D", "type": "object", "required": []any{"size"},
				"properties": map[string]any{
					"size":   map[string]any{"allOf": []any{map[string]any{"$ref": "#/components/schemas/Size"}}, "default": map[string]any{}},
					"note":   map[string]any{"type": "string", "nullable": true},
					"colour": map[string]any{"type": "string", "enum": []any{"red"}, "default": "red"},
					"counts": map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "integer", "format": "int32"}},
					"parts":  map[string]any{"type": "array", "items": map[string]any{"$ref": "#/components/schemas/Size"}, "x-kubernetes-list-type": "atomic"},
				},
			},
		}
	},
}}

func TestPatches(t *testing.T) {
	served := []metav1.APIResource{
		{Group: "example.com", Version: "v1", Name: "widgets", Kind: "Widget"},
		{Group: "example.com", Version: "v1", Name: "others", Kind: "Other"},
	}
	doc := openapi.Find(served, schemas, &http.Request{}, []string{"v3", "apis", "example.com", "v1"})
	b, err := json.Marshal(doc.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"application/merge-patch+json":{}}`, `"requestBody":{"content":{}}`, `"Widget":{"description":"D"`, `"example.com.v1.Other":{"type":"object"`} {
		if n := strings.Count(string(b), want); n != 1 {
			t.Errorf("%s is there %d times:\n%s", want, n, b)
		}
	}
}

func TestVersion2(t *testing.T) {
	doc := openapi.Find(nil, schemas, &http.Request{}, []string{"v2"})
	b, err := json.Marshal(doc.Body.(map[string]any)["definitions"])
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"Size":{"type":"string"},"Widget":{"description":"D","properties":{` +
		`"colour":{"enum":["red"],"type":"string"},` +
		`"counts":{"additionalProperties":{"format":"int32","type":"integer"},"type":"object"},` +
		`"note":{},` +
		`"parts":{"items":{"$ref":"#/definitions/Size"},"type":"array","x-kubernetes-list-type":"atomic"},` +
		`"size":{"$ref":"#/definitions/Size"}},"required":["size"],"type":"object"}}`
	if string(b) != want {
		t.Errorf("%s\n, want\n%s", b, want)
	}
}

func TestVersion2InProtobuf(t *testing.T) {
	r := &http.Request{Header: http.Header{"Accept": {"text/html, application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}}}
	doc := openapi.Find(nil, nil, r, []string{"v2"})
	b, ok := doc.Body.([]byte)
	const empty = "\n\x032.0\x12\"\n\nKubernetes\x12\x14v1.37.0+kinform-fake\x42\x00"
	if want := empty + "\x4a\x00"; !ok || string(b) != want || strings.Contains(doc.ContentType, "@") {
		t.Errorf("%s %q, want %q", doc.ContentType, doc.Body, want)
	}
	b = openapi.Find(nil, schemas, r, []string{"v2"}).Body.([]byte)
	for _, want := range []string{
		"\n\x04Size\x12\x0b\xb2\x01\x08\n\x06string",                            // a named schema: field 22 has the types
		"\n\x06colour\x12\x14\xa2\x01\x06\x12\x04red\n\xb2\x01\x08\n\x06string", // 20 the values of an enumeration, as YAML
		"\n\x04size\x12\x14\n\x12#/definitions/Size",                            // 1 a reference
		"\x9a\x01\x04size", // 19 what is required
		"\xaa\x01\x15\n\x13\x12\x05int32\xb2\x01\x09\n\x07integer",         // 21 the schema of other properties, 2 the format
		"\xba\x01\x16\n\x14\n\x12#/definitions/Size",                       // 23 that of items
		"\xfa\x01\x23\n\x16x-kubernetes-list-type\x12\x09\x12\x07atomic\n", // 31 extensions
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%q lacks %q", b, want)
		}
	}
}
