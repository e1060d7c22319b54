//go:build e2e

package chaos_test

import (
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/beside"
	"github.com/kinform/kinform/e2e/converter"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

const group = "chaos.example.com"

// gadget is a custom resource with a Go type.
type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   gadgetSpec   `json:"spec"`
	Status gadgetStatus `json:"status"`
}

type gadgetSpec struct {
	Size int64             `json:"size"`
	Tags map[string]string `json:"tags,omitempty"`
	// Grades has the newest default of the definition.
	Grades map[string]string `json:"grades,omitempty"`
	// Shade is added by the conversion to v2.
	Shade string `json:"shade,omitempty"`
}

// gadgetStatus is what the copier writes.
type gadgetStatus struct {
	Copied string `json:"copied,omitempty"` // the size, in words
	Sizes  int64  `json:"sizes,omitempty"`  // that were copied
}

// nodeSize is a projection of a Node.
type nodeSize struct {
	Key     beside.Key
	Version string
	Images  int
	Ready   bool
}

func sizeOf(n *corev1.Node) (nodeSize, error) {
	s := nodeSize{Key: beside.Key{Name: n.Name}, Version: n.ResourceVersion, Images: len(n.Status.Images)}
	for _, c := range n.Status.Conditions {
		s.Ready = s.Ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	return s, nil
}

var (
	secrets = beside.Kind{
		GVR: corev1.SchemeGroupVersion.WithResource("secrets"), Name: "Secret",
		Body: map[string]any{"stringData": map[string]any{"password": strings.Repeat("x", 200)}},
	}
	nodes = beside.Kind{
		GVR: corev1.SchemeGroupVersion.WithResource("nodes"), Name: "Node",
		Body: map[string]any{"status": nodeStatus(0)},
	}
	leases = beside.Kind{
		GVR: coordinationv1.SchemeGroupVersion.WithResource("leases"), Name: "Lease",
		Body: map[string]any{"spec": map[string]any{"holderIdentity": "nobody", "leaseDurationSeconds": 40}},
	}
	gadgets       = gadgetKind("v1")
	gadgetsV2     = gadgetKind("v2")
	secretsByMeta = beside.Kind{GVR: secrets.GVR, Name: secrets.Name, Body: secrets.Body, Way: beside.Metadata}

	// stored are the kinds that objects are made of, watched those that client-go has informers of.
	stored  = []beside.Kind{secrets, nodes, leases, gadgets}
	watched = []beside.Kind{secrets, nodes, leases, gadgets, gadgetsV2, secretsByMeta}
)

func gadgetKind(version string) beside.Kind {
	return beside.Kind{
		GVR: schema.GroupVersionResource{Group: group, Version: version, Resource: "gadgets"}, Name: "Gadget",
		Body: map[string]any{"spec": map[string]any{"size": 1, "tags": map[string]any{"a": "b"}}}, Way: beside.Dynamic,
	}
}

// nodeStatus is about as large as the status of a node with many images, and differs with n.
func nodeStatus(n int) map[string]any {
	var images []any
	for i := range 40 + n%10 {
		image := fmt.Sprintf("registry.example.com/some/team/some-application-%03d", i)
		images = append(images, map[string]any{
			"names":     []any{image + "@sha256:" + strings.Repeat(fmt.Sprintf("%04x", i), 16), image + ":v1." + fmt.Sprint(n)},
			"sizeBytes": 1_000_000 * (i + n),
		})
	}
	ready := "True"
	if n%3 == 0 {
		ready = "False"
	}
	return map[string]any{
		"images":      images,
		"capacity":    map[string]any{"cpu": "64", "memory": fmt.Sprintf("%dKi", 1_000_000+n), "pods": "110"},
		"allocatable": map[string]any{"cpu": "63500m", "memory": "250Gi", "pods": "110"},
		"conditions": []any{map[string]any{
			"type": "Ready", "status": ready, "reason": "Kubelet", "message": fmt.Sprint("heartbeat ", n), "lastHeartbeatTime": "2026-01-02T03:04:05Z",
		}},
	}
}

const (
	definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	definitionPath  = definitionsPath + "/gadgets." + group
)

// contents says what gadgets have in which nobody has written it, so that they change without a new
// version.
type contents struct {
	// grade is the key in spec.grades that has a default. A write keeps defaults for good, so each one
	// has another key.
	grade string
	// shade is spec.shade in v2, which the webhook of that path adds.
	shade string
}

// definition is the CustomResourceDefinition of gadgets, with both versions.
func (c contents) definition(hook *converter.Converter) map[string]any {
	object := func(properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": properties}
	}
	grades := object(map[string]any{c.grade: map[string]any{"type": "string", "default": "by default"}})
	grades["default"] = map[string]any{}
	whole := object(map[string]any{"spec": object(map[string]any{"grades": grades})})
	version := func(name string, storage bool) map[string]any {
		return map[string]any{"name": name, "served": true, "storage": storage, "schema": map[string]any{"openAPIV3Schema": whole}, "subresources": map[string]any{"status": map[string]any{}}}
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "gadgets." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
			"versions": []any{version("v1", true), version("v2", false)}, "conversion": hook.Conversion("/" + c.shade),
		},
	}
}

// shade is the conversion of the webhook.
func shade(path, version string, obj map[string]any) {
	spec, ok := obj["spec"].(map[string]any)
	if !ok {
		return
	}
	delete(spec, "shade")
	if version == "v2" {
		spec["shade"] = strings.TrimPrefix(path, "/")
	}
}

// in reports whether a gadget of a version has c.
func (c contents) in(version string, g *gadget) bool {
	return g.Spec.Grades[c.grade] != "" && (version == "v1" || g.Spec.Shade == c.shade)
}

// inMap is in for v2.
func (c contents) inMap(u *unstructured.Unstructured) bool {
	grade, _, _ := unstructured.NestedString(u.Object, "spec", "grades", c.grade)
	shade, _, _ := unstructured.NestedString(u.Object, "spec", "shade")
	return grade != "" && shade == c.shade
}

// kinformCaches returns an informer of each kind that Kinform can cache in its own way.
// now are the contents that gadgets have.
func kinformCaches(conn client.Connection, now *contents) (all []checkedCache, err error) {
	add := func(c checkedCache, e error) {
		all = append(all, c)
		if err == nil {
			err = e
		}
	}
	add(objects[*corev1.Secret](conn, secrets, "secrets", false, nil))
	add(objects[*corev1.Node](conn, nodes, "nodes", false, nil))
	add(objects[*coordinationv1.Lease](conn, leases, "leases", false, nil))
	add(objects[*gadget](conn, gadgets, "gadgets with a Go type", false, func(g *gadget) bool { return now.in("v1", g) }))
	add(objects[*unstructured.Unstructured](conn, gadgetsV2, "gadgets without a Go type", false, func(u *unstructured.Unstructured) bool { return now.inMap(u) }))
	add(objects[*metav1.PartialObjectMetadata](conn, secretsByMeta, "metadata of secrets", false, nil))
	add(objects[*corev1.Secret](conn, secrets, "packed secrets", true, nil))
	add(objects[*gadget](conn, gadgets, "packed gadgets with a Go type", true, func(g *gadget) bool { return now.in("v1", g) }))
	add(objects[*unstructured.Unstructured](conn, gadgetsV2, "packed gadgets without a Go type", true, func(u *unstructured.Unstructured) bool { return now.inMap(u) }))
	add(projection(conn))
	return all, err
}

// objects returns a cache of a type with metadata. current, if not nil, reports whether an object has
// the contents that change without a version.
func objects[T metav1.Object](conn client.Connection, k beside.Kind, name string, packed bool, current func(T) bool) (checkedCache, error) {
	source, err := client.New(conn, kind.OfResource[T](k.GVR), client.Options{})
	if err != nil {
		return nil, err
	}
	decode := func(data []byte) (obj T, err error) {
		err = utiljson.Unmarshal(data, &obj)
		return obj, err
	}
	c, err := newChecked(k, name, source, packed, store.ObjectKey, func(obj T) string { return obj.GetResourceVersion() }, decode)
	if err != nil {
		return nil, err
	}
	c.fresh = current
	return c, nil
}

func projection(conn client.Connection) (checkedCache, error) {
	source, err := client.New(conn, kind.OfResource[*corev1.Node](nodes.GVR), client.Options{})
	if err != nil {
		return nil, err
	}
	key := func(s nodeSize) (beside.Key, error) { return s.Key, nil }
	decode := func(data []byte) (nodeSize, error) {
		var n corev1.Node
		if err := utiljson.Unmarshal(data, &n); err != nil {
			return nodeSize{}, err
		}
		return sizeOf(&n)
	}
	return newChecked(nodes, "projection of nodes", reflector.Map(source, sizeOf), false, key, func(s nodeSize) string { return s.Version }, decode)
}

// older reports whether version a is before b. No version is before all.
func older(a, b string) bool {
	if a == "" || b == "" {
		return a == "" && b != ""
	}
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}
