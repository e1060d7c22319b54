package fakecrd_test

import (
	"strings"
	"testing"
)

func TestScale(t *testing.T) {
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
	s := newServer(t)
	expect(t, s, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd, "application/yaml", 201)
	const farms, scale = "/apis/example.com/v1/namespaces/a/farms", "/apis/example.com/v1/namespaces/a/farms/one/scale"
	const asJSON, merge = "application/json", "application/merge-patch+json"
	expect(t, s, "POST", farms, `{"apiVersion":"example.com/v1","kind":"Farm","metadata":{"name":"one"},"spec":{"cows":2}}`, asJSON, 201)
	expect(t, s, "PATCH", farms+"/one/status", `{"status":{"cows":1,"selector":"app=cow"}}`, merge, 200)
	expect(t, s, "GET", scale, "", "", 200, `"spec":{"replicas":2},"status":{"replicas":1,"selector":"app=cow"}`)
	expect(t, s, "PATCH", scale, `{"spec":{"replicas":5}}`, merge, 200, `"spec":{"replicas":5}`)
	expect(t, s, "POST", farms+"?fieldManager=x", `{"apiVersion":"example.com/v1","kind":"Farm","metadata":{"name":"owned"},"spec":{"cows":2}}`, asJSON, 201)
	expect(t, s, "PATCH", farms+"/owned/scale?fieldManager=y", `{"spec":{"replicas":5}}`, merge, 200)
	expect(t, s, "GET", farms+"/owned", "", "", 200, `"f:spec":{"f:cows":{}}}`, `"subresource":"scale"`)
	const scaled, apply = `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"owned"},"spec":{"replicas":6}}`, "application/apply-patch+yaml"
	expect(t, s, "PATCH", farms+"/owned/scale?fieldManager=z", scaled, apply, 409, `conflict with \"y\" with subresource \"scale\"`)
	// The API server does not get further either: it finds no conversion.
	expect(t, s, "PATCH", farms+"/owned/scale?fieldManager=z&force=true", scaled, apply, 500, "request to convert CR to an invalid group/version: autoscaling/v1")
	expect(t, s, "GET", farms+"/owned", "", "", 200, `"cows":5`)
	expect(t, s, "PUT", scale, `{"metadata":{"name":"one"},"spec":{"replicas":3}}`, asJSON, 200, `"spec":{"replicas":3}`)
	expect(t, s, "PATCH", scale, `{"spec":{"replicas":-1}}`, merge, 422, `.spec.cows: Invalid value: -1: should be a non-negative integer`)
	expect(t, s, "PATCH", scale, `{"spec":{"replicas":10}}`, merge, 422, "spec.cows")
	expect(t, s, "GET", scale, "", "", 200, `"spec":{"replicas":3}`)
	expect(t, s, "POST", farms, `{"apiVersion":"example.com/v1","kind":"Farm","metadata":{"name":"two"},"spec":{}}`, asJSON, 201)
	expect(t, s, "GET", farms+"/two/scale", "", "", 500, ".spec.cows")
	expect(t, s, "PATCH", farms+"/two/scale", `{"metadata":{"labels":{}}}`, merge, 400, `the spec replicas field ".spec.cows" cannot be empty`)
	expect(t, s, "PATCH", farms+"/two/scale?fieldManager=z&force=true", strings.ReplaceAll(scaled, "owned", "two"), apply, 500,
		"failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid")
	expect(t, s, "PATCH", farms+"/two/scale?fieldManager=z", `{"apiVersion":"v1","kind":"Scale","metadata":{"name":"two"}}`, apply, 500,
		`/v1, Kind=Scale is unstructured and is not suitable for converting to "autoscaling/v1"`)
	expect(t, s, "GET", farms+"/two", "", "", 200, `"spec":{}`)
	expect(t, s, "PATCH", farms+"/two/scale", `{"spec":{"replicas":0}}`, merge, 200, `"spec":{}`)
	expect(t, s, "GET", farms+"/two", "", "", 200, `"cows":0`)
	expect(t, s, "PUT", farms+"/two/scale", `{"metadata":{"name":"two"}}`, asJSON, 200, `"spec":{}`)
}
