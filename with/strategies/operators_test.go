package strategies_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// This file holds the scenes of TestDifferential that play operators: appliers that repeat
// themselves, drainers, deletions of last resort, and definitions that lose a version.

const (
	applied   = "application/apply-patch+yaml"
	merged    = "application/merge-patch+json"
	jsonPatch = "application/json-patch+json"
	strategic = "application/strategic-merge-patch+json"
)

// toolSchema has defaults, nullable members, and lists of all kinds.
const toolSchema = `
type: object
properties:
  spec:
    type: object
    properties:
      size: {type: integer, default: 5}
      plain: {type: string}
      maybe: {type: string, nullable: true}
      list: {type: array, nullable: true, items: {type: string}}
      inner: {type: object, properties: {deep: {type: string}, more: {type: object, default: {}, properties: {x: {type: string, default: "z"}}}}}
      parts: {type: array, items: {type: object, properties: {name: {type: string}, kind: {type: string, default: k}}}}
      keyed: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, kind: {type: string, default: k}}}}
      set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true}
  status: {type: object, properties: {phase: {type: string, default: new}, extra: {type: string}}}
`

// applicants are objects that are applied, and the paths of their collections.
const applicants = `
- path: /api/v1/namespaces/default/configmaps
  object: {apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: b}}, data: {x: "1", y: "2"}, binaryData: {z: AAEC}}
- path: /apis/apps/v1/namespaces/default/deployments
  object:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {annotations: {a: b}}
    spec:
      replicas: 2
      selector: {matchLabels: {a: b}}
      strategy: {}
      template:
        metadata: {labels: {a: b}, creationTimestamp: null}
        spec:
          tolerations: [{key: a, operator: Exists}]
          containers: [{name: c, image: i, args: [a, b], resources: {}, ports: [{containerPort: 80}], env: [{name: A, value: b}]}]
    status: {replicas: 3, conditions: [{type: Available, status: "True"}]}
- path: /api/v1/namespaces/default/services
  object: {apiVersion: v1, kind: Service, metadata: {labels: {a: b}}, spec: {clusterIP: None, selector: {a: b}, ports: [{name: http, port: 80}, {name: dns, port: 53, protocol: UDP}]}, status: {loadBalancer: {}}}
- path: /apis/policy/v1/namespaces/default/poddisruptionbudgets
  object: {apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}, status: {disruptionsAllowed: 1, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1}}
- path: /apis/diff.example.com/v1/namespaces/default/tools
  object:
    apiVersion: diff.example.com/v1
    kind: Tool
    metadata: {labels: {a: b}}
    spec: {size: 1, plain: p, maybe: null, list: [a], inner: {deep: d}, parts: [{name: a}, {name: b, kind: x}], keyed: [{name: a}, {name: b}], set: [a, b], free: {a: 1}}
    status: {phase: x, extra: e}
`

func parsed[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// definition is a CustomResourceDefinition with the versions, of which the first is stored.
func definition(group, plural, kind string, schema map[string]any, versions ...string) map[string]any {
	var all []any
	for i, v := range versions {
		all = append(all, map[string]any{
			"name": v, "served": true, "storage": i == 0, "deprecated": i < len(versions)-1, "subresources": map[string]any{"status": map[string]any{}},
			"schema": map[string]any{"openAPIV3Schema": schema},
		})
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{"group": group, "scope": "Namespaced", "names": map[string]any{"plural": plural, "kind": kind}, "versions": all},
	}
}

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// define makes a definition on both sides and waits until both serve path.
func (d *differ) define(t *testing.T, crd map[string]any, path string) {
	t.Helper()
	var warned []any
	for _, s := range []side{d.real, d.fake} {
		code, body := s.send(t, http.MethodPost, definitions, "application/json", crd)
		if code != http.StatusCreated {
			t.Fatalf("%d %v", code, body)
		}
		warned = append(warned, body["warnings"])
	}
	if !reflect.DeepEqual(warned[0], warned[1]) {
		t.Errorf("the definition at %s: warnings %v, fake %v", path, warned[0], warned[1])
	}
	d.await(t, path, func(code int, _ map[string]any) bool { return code == http.StatusOK })
}

// await asks the real server until it answers as the fake, which takes no time, already does.
func (d *differ) await(t *testing.T, path string, is func(code int, body map[string]any) bool) {
	t.Helper()
	for range 400 {
		if code, body, _ := d.real.ask(t, http.MethodGet, path, "", nil); is(code, body) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s: the change of the definition does not show", path)
}

func (d *differ) pick(values ...any) any { return values[d.random.IntN(len(values))] }

func (d *differ) chance(percent int) bool { return d.random.IntN(100) < percent }

// operators plays one round of all scenes.
func (d *differ) operators(t *testing.T, round int) {
	d.owners = true
	defer func() { d.owners = false }()
	for i, of := range parsed[[]template](t, applicants) {
		d.applies(t, of, fmt.Sprintf("ap%d-%d", i, round))
	}
	d.evictions(t, fmt.Sprintf("ev0-%d", round))
	d.resizes(t, fmt.Sprintf("re0-%d", round))
	for i, of := range parsed[[]template](t, applicants) {
		d.deletions(t, of, fmt.Sprintf("de%d-%d", i, round))
	}
}

// applies writes an object again and again, mostly with the same contents.
func (d *differ) applies(t *testing.T, of template, name string) {
	path := of.Path + "/" + name
	for range 10 {
		sent := named(of.Object, name)
		if d.chance(60) {
			d.vary(sent)
		}
		var differ bool
		switch d.random.IntN(11) {
		case 0:
			differ = d.patchTested(t, path)
		case 1:
			differ, _ = d.both(t, http.MethodPatch, path+d.query("four"), merged, sent, sent)
		case 2:
			differ = d.resetManagers(t, path)
		case 3:
			differ = d.putBack(t, path)
		case 4:
			differ, _ = d.both(t, http.MethodPatch, path+"/status"+d.query("two"), applied, sent, sent)
		case 5:
			differ = d.scale(t, path)
		default:
			differ, _ = d.both(t, http.MethodPatch, path+d.query(fmt.Sprint(d.pick("one", "one", "two")))+d.pick("", "", "&force=true").(string), applied, sent, sent)
		}
		if differ {
			break
		}
	}
	for _, s := range []side{d.real, d.fake} {
		s.send(t, http.MethodPatch, path, merged, map[string]any{"metadata": map[string]any{"finalizers": nil}})
		s.send(t, http.MethodDelete, path, "application/json", nil)
	}
}

// resetManagers writes managedFields as a client does that wants to have them cleared, and others that are none.
func (d *differ) resetManagers(t *testing.T, path string) bool {
	t.Helper()
	fields := d.pick([]any{map[string]any{}}, []any{}, nil, []any{map[string]any{"manager": "x"}}, []any{map[string]any{}, map[string]any{"manager": "x"}})
	contentType := d.pick(merged, merged, jsonPatch, strategic).(string)
	var patch any = map[string]any{"metadata": map[string]any{"managedFields": fields}}
	if contentType == jsonPatch {
		patch = []any{map[string]any{"op": d.pick("replace", "add", "remove"), "path": "/metadata/managedFields", "value": fields}}
		if d.chance(20) {
			patch = []any{}
		}
	}
	differ, _ := d.both(t, http.MethodPatch, path+d.query("three"), contentType, patch, patch)
	return differ
}

// scale writes the replicas of an object through its subresource, and reads their owners.
func (d *differ) scale(t *testing.T, path string) bool {
	t.Helper()
	if !strings.Contains(path, "/deployments/") && !strings.Contains(path, "/tools/") {
		return false
	}
	var replicas any = d.random.IntN(5) - 1
	scale := map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": map[string]any{"name": path[strings.LastIndex(path, "/")+1:]}, "spec": map[string]any{"replicas": replicas}}
	switch d.random.IntN(12) {
	case 0:
		delete(scale, d.pick("apiVersion", "kind", "metadata").(string))
	case 1:
		scale["spec"] = map[string]any{}
	case 2:
		scale["status"] = map[string]any{"replicas": 3, "selector": "a=b"}
	case 3:
		scale["spec"] = map[string]any{"replicas": d.pick(nil, "1", true)}
	}
	at, sent := path+"/scale"+d.query(fmt.Sprint(d.pick("one", "two", "five"))), any(scale)
	method, contentType := http.MethodPatch, d.pick(merged, strategic, jsonPatch, "application/json", applied, applied, applied).(string)
	switch contentType {
	case "application/json":
		method = http.MethodPut
	case jsonPatch:
		sent = []any{map[string]any{"op": "replace", "path": "/spec/replicas", "value": replicas}}
	case applied:
		at += d.pick("", "&force=true").(string)
	}
	differ, _ := d.both(t, method, at, contentType, sent, sent)
	owned, _ := d.both(t, http.MethodGet, path, "", nil, nil)
	return differ || owned
}

// nodes makes the nodes of resizes.
func (d *differ) nodes(t *testing.T) {
	t.Helper()
	for name, system := range map[string]string{"linux": "linux", "other": "windows"} {
		node := map[string]any{
			"metadata": map[string]any{"name": name, "labels": map[string]any{"kubernetes.io/os": system}},
			"status":   map[string]any{"allocatable": map[string]any{"cpu": "2", "memory": "1Gi"}},
		}
		d.both(t, http.MethodPost, "/api/v1/nodes", "application/json", node, node)
	}
}

// resizes changes the resources of a pod on a node that may be missing, small, or of another system.
func (d *differ) resizes(t *testing.T, name string) {
	const pods = "/api/v1/namespaces/default/pods"
	path := pods + "/" + name
	pod := func() map[string]any {
		resources := map[string]any{"requests": map[string]any{"cpu": d.pick("100m", "200m", "3", "x"), "memory": d.pick("64Mi", "64Mi", "2Gi")}}
		if d.chance(30) {
			resources["limits"] = map[string]any{"cpu": d.pick("500m", "4")}
		}
		container := map[string]any{"name": d.pick("c", "c", "c", "c", "d"), "image": d.pick("i", "i", "i", "j"), "resources": resources}
		return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name}, "spec": map[string]any{"containers": []any{container}}}
	}
	first := pod()
	if node := d.pick(nil, "none", "linux", "linux", "other"); node != nil {
		first["spec"].(map[string]any)["nodeName"] = node
	}
	if differ, refused := d.both(t, http.MethodPost, pods+"?fieldManager=one", "application/json", first, first); differ || refused {
		return
	}
	for range 4 {
		contentType := d.pick(merged, strategic, strategic, applied, applied).(string)
		at, sent := path+"/resize"+d.query(fmt.Sprint(d.pick("one", "two"))), pod()
		if contentType == applied {
			at += d.pick("", "&force=true").(string)
		}
		differ, _ := d.both(t, http.MethodPatch, at, contentType, sent, sent)
		other, _ := d.both(t, http.MethodGet, path, "", nil, nil)
		if differ || other {
			break
		}
	}
	for _, s := range []side{d.real, d.fake} {
		s.send(t, http.MethodDelete, path, "application/json", map[string]any{"gracePeriodSeconds": 0})
	}
}

func (d *differ) query(manager string) string {
	return "?fieldManager=" + manager + d.pick("", "", "", "", "", "&dryRun=All").(string)
}

func named(obj map[string]any, name string) map[string]any {
	obj = clone(obj)
	meta, _ := obj["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		obj["metadata"] = meta
	}
	meta["name"] = name
	return obj
}

// vary adds what should change nothing, or damages one member.
func (d *differ) vary(obj map[string]any) {
	meta, _ := obj["metadata"].(map[string]any)
	switch d.random.IntN(10) {
	case 0:
		meta[d.pick("creationTimestamp", "deletionTimestamp").(string)] = d.pick(nil, "2020-01-01T00:00:00Z")
	case 1:
		meta["generation"] = d.random.IntN(9)
	case 2:
		meta["selfLink"] = "/x"
	case 3:
		obj["status"] = d.pick(nil, map[string]any{}, map[string]any{"phase": nil}, map[string]any{"extra": "y"})
	case 4:
		meta["ownerReferences"] = d.ownerReferences()
	case 5:
		meta["labels"], meta["annotations"] = d.pick(nil, map[string]any{}, map[string]any{"a": nil}), d.pick(nil, map[string]any{})
	case 6:
		d.nullify(obj)
	case 7:
		meta["resourceVersion"] = d.pick(nil, "")
	case 8:
		meta["finalizers"] = d.pick([]any{"plain"}, []any{"a.b", "plain", "a.b"}, []any{"example.com/x"}, []any{"-/x", "orphan"})
	default:
		d.damage(obj)
	}
}

// nullify makes one member null.
func (d *differ) nullify(obj map[string]any) {
	in, key := obj, ""
	for {
		keys := slices.DeleteFunc(slices.Sorted(maps.Keys(in)), func(k string) bool { return k == "apiVersion" || k == "kind" || k == "metadata" })
		if len(keys) == 0 {
			break
		}
		key = keys[d.random.IntN(len(keys))]
		next := in[key]
		if list, ok := next.([]any); ok && len(list) > 0 {
			next = list[d.random.IntN(len(list))]
		}
		m, ok := next.(map[string]any)
		if !ok || len(m) == 0 || d.chance(20) {
			in[key] = nil
			return
		}
		in = m
	}
}

// ownerReferences are up to four, of which some are equal.
func (d *differ) ownerReferences() []any {
	var out []any
	for range d.random.IntN(4) + 1 {
		ref := map[string]any{"apiVersion": "v1", "kind": "Pod", "name": d.pick("x", "x", "y"), "uid": d.pick("u", "u", "v")}
		if d.chance(50) {
			ref["controller"] = d.pick(true, true, false)
		}
		out = append(out, ref)
	}
	return out
}

// get returns the object as each side has it.
func (d *differ) get(t *testing.T, path string) (a, b map[string]any) {
	t.Helper()
	_, a = d.real.send(t, http.MethodGet, path, "", nil)
	_, b = d.fake.send(t, http.MethodGet, path, "", nil)
	return a, b
}

// patchTested sends a JSON patch under a test of the resourceVersion or of another member.
func (d *differ) patchTested(t *testing.T, path string) bool {
	t.Helper()
	a, b := d.get(t, path)
	seed := d.random.Uint64()
	patch := func(obj map[string]any) []any {
		r := &differ{random: rand.New(rand.NewPCG(seed, 3))}
		meta, _ := obj["metadata"].(map[string]any)
		rv := r.pick(meta["resourceVersion"], meta["resourceVersion"], meta["resourceVersion"], "1", nil, 7)
		ops := []any{map[string]any{"op": "test", "path": "/metadata/resourceVersion", "value": rv}}
		if r.chance(20) {
			ops = append(ops, map[string]any{"op": "test", "path": r.pick("/metadata/name", "/metadata/labels", "/none", "/metadata/uid"), "value": r.pick(meta["name"], nil, map[string]any{"a": "b"})})
		}
		for range r.random.IntN(3) {
			op := map[string]any{
				"op": r.pick("add", "add", "replace", "remove", "copy"), "from": "/metadata/name", "value": r.pick(values...),
				"path": r.pick("/metadata/labels/a", "/metadata/annotations", "/metadata/annotations/x", "/data/x", "/spec/plain", "/spec/size", "/spec/parts/0/kind", "/spec/parts/-",
					"/spec/replicas", "/spec/template/spec/containers/0/image", "/spec/keyed/1/name", "/spec/list/0", "/metadata/ownerReferences", "/metadata/selfLink", "/status/phase"),
			}
			if op["op"] != "copy" {
				delete(op, "from")
			}
			ops = append(ops, op)
		}
		return ops
	}
	differ, _ := d.both(t, http.MethodPatch, path+d.query("four"), jsonPatch, patch(a), patch(b))
	return differ
}

// putBack writes the object as it is, with equal owners, or with damage.
func (d *differ) putBack(t *testing.T, path string) bool {
	t.Helper()
	a, b := d.get(t, path)
	seed := d.random.Uint64()
	for _, obj := range []map[string]any{a, b} {
		r := &differ{random: rand.New(rand.NewPCG(seed, 4))}
		meta, _ := obj["metadata"].(map[string]any)
		if meta == nil || obj["kind"] == "Status" {
			return false
		}
		switch r.random.IntN(5) {
		case 0:
			r.damage(obj)
		case 1:
			meta["ownerReferences"] = r.ownerReferences()
		case 2:
			delete(meta, "managedFields")
		case 3:
			meta["creationTimestamp"], meta["selfLink"] = nil, "/x"
		}
	}
	differ, _ := d.both(t, http.MethodPut, path+d.query("three"), "application/json", a, b)
	return differ
}

// evictions drains pods under budgets whose status says all kinds of things.
func (d *differ) evictions(t *testing.T, name string) {
	const pods, budgets = "/api/v1/namespaces/default/pods", "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
	labels := map[string]any{"app": name}
	var made []string
	for i := range 3 {
		pod := map[string]any{"metadata": map[string]any{"name": fmt.Sprintf("%s-p%d", name, i), "labels": labels}, "spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}}
		if d.chance(60) {
			pod["spec"].(map[string]any)["nodeName"] = "n"
		}
		d.both(t, http.MethodPost, pods, "application/json", pod, pod)
		made = append(made, fmt.Sprintf("%s/%s-p%d", pods, name, i))
		status := map[string]any{"status": map[string]any{"phase": d.pick("Running", "Running", "Running", "Pending", "Failed", "Succeeded", nil), "conditions": []any{map[string]any{"type": "Ready", "status": d.pick("True", "True", "False", "Unknown")}}}}
		d.both(t, http.MethodPatch, made[i]+"/status", merged, status, status)
	}
	for i := range d.pick(1, 1, 1, 1, 2, 0).(int) {
		spec := map[string]any{"selector": map[string]any{"matchLabels": labels}, "minAvailable": d.pick(1, "50%")}
		if policy := d.pick(nil, "IfHealthyBudget", "AlwaysAllow"); policy != nil {
			spec["unhealthyPodEvictionPolicy"] = policy
		}
		budget := map[string]any{"metadata": map[string]any{"name": fmt.Sprintf("%s-b%d", name, i)}, "spec": spec}
		d.both(t, http.MethodPost, budgets, "application/json", budget, budget)
		made = append(made, fmt.Sprintf("%s/%s-b%d", budgets, name, i))
	}
	for range 10 {
		at := made[d.random.IntN(3)]
		differ := false
		switch budget := made[len(made)-1]; {
		case len(made) > 3 && d.chance(35):
			status := map[string]any{"status": map[string]any{
				"disruptionsAllowed": d.pick(-1, 0, 0, 1, 1, 2), "currentHealthy": d.random.IntN(4), "desiredHealthy": d.random.IntN(4), "expectedPods": 3,
				"observedGeneration": d.pick(0, 1, 1, 1, 2, 3), "conditions": d.budgetConditions(), "disruptedPods": d.pick(nil, map[string]any{}, map[string]any{"x": "2026-01-01T00:00:00Z"}),
			}}
			differ, _ = d.both(t, http.MethodPatch, budget+"/status", merged, status, status)
		case len(made) > 3 && d.chance(10):
			spec := map[string]any{"spec": map[string]any{"unhealthyPodEvictionPolicy": d.pick("AlwaysAllow", "IfHealthyBudget", nil, "Never"), "minAvailable": d.pick(1, 2)}}
			differ, _ = d.both(t, http.MethodPatch, budget, merged, spec, spec)
		default:
			differ = d.evict(t, at)
		}
		for _, path := range []string{at, made[len(made)-1]} {
			other, _ := d.both(t, http.MethodGet, path, "", nil, nil)
			differ = differ || other
		}
		if differ {
			break
		}
	}
	for _, path := range made {
		for _, s := range []side{d.real, d.fake} {
			s.send(t, http.MethodDelete, path, "application/json", map[string]any{"gracePeriodSeconds": 0})
		}
	}
}

func (d *differ) budgetConditions() any {
	if d.chance(50) {
		return nil
	}
	return []any{map[string]any{
		"type": "DisruptionAllowed", "status": d.pick("True", "False"), "reason": d.pick("SyncFailed", "InsufficientPods", "SufficientPods"),
		"message": d.pick("", "why"), "lastTransitionTime": "2026-01-01T00:00:00Z",
	}}
}

// evict sends an eviction of the pod at path with random options.
func (d *differ) evict(t *testing.T, path string) bool {
	t.Helper()
	a, b := d.get(t, path)
	seed := d.random.Uint64()
	eviction := func(pod map[string]any) map[string]any {
		r := &differ{random: rand.New(rand.NewPCG(seed, 5))}
		out := map[string]any{"apiVersion": r.pick("policy/v1", "policy/v1", "policy/v1beta1"), "kind": "Eviction", "metadata": map[string]any{"name": path[strings.LastIndex(path, "/")+1:]}}
		if r.chance(50) {
			out["deleteOptions"] = r.deleteOptions(pod)
		}
		return out
	}
	differ, _ := d.both(t, http.MethodPost, path+"/eviction"+d.pick("", "", "", "?dryRun=All").(string), "application/json", eviction(a), eviction(b))
	return differ
}

// deleteOptions are random options for the deletion of obj.
func (d *differ) deleteOptions(obj map[string]any) map[string]any {
	out := map[string]any{}
	meta, _ := obj["metadata"].(map[string]any)
	if d.chance(30) {
		out["gracePeriodSeconds"] = d.pick(0, 1, 7, -1)
	}
	if d.chance(20) {
		out["propagationPolicy"] = d.pick("Background", "Foreground", "Orphan", "Nothing")
	}
	if d.chance(10) {
		out["orphanDependents"] = d.pick(true, false)
	}
	if d.chance(20) {
		out["dryRun"] = d.pick([]any{"All"}, []any{"All"}, []any{}, []any{"Some"})
	}
	if d.chance(20) {
		out["preconditions"] = map[string]any{"uid": d.pick(meta["uid"], meta["uid"], "other")}
	}
	if d.chance(20) {
		out["preconditions"] = map[string]any{"resourceVersion": d.pick(meta["resourceVersion"], meta["resourceVersion"], "1")}
	}
	if d.chance(10) {
		out["ignoreStoreReadErrorWithClusterBreakingPotential"] = d.pick(true, false)
	}
	return out
}

// deletions deletes an object that can be read, also as if it could not.
func (d *differ) deletions(t *testing.T, of template, name string) {
	path := of.Path + "/" + name
	for range 4 {
		good := named(of.Object, name)
		good["metadata"].(map[string]any)["labels"] = map[string]any{"scene": name}
		if d.chance(40) {
			good["metadata"].(map[string]any)["finalizers"] = d.pick([]any{"example.com/x"}, []any{"orphan"}, []any{"foregroundDeletion", "example.com/x"})
		}
		d.both(t, http.MethodPost, of.Path, "application/json", good, good)
		a, b := d.get(t, path)
		seed := d.random.Uint64()
		options := func(obj map[string]any) map[string]any {
			out := (&differ{random: rand.New(rand.NewPCG(seed, 6))}).deleteOptions(obj)
			out["apiVersion"], out["kind"] = "v1", "DeleteOptions"
			if seed%2 == 0 {
				out["ignoreStoreReadErrorWithClusterBreakingPotential"] = true
			}
			return out
		}
		differ := false
		switch d.random.IntN(6) {
		case 0:
			version := d.pick("", "", "&resourceVersion=1", "&resourceVersion=1&resourceVersionMatch=NotOlderThan", "&resourceVersion=0", "&resourceVersion=1&resourceVersionMatch=Exact", "&limit=1").(string)
			differ, _ = d.both(t, http.MethodDelete, of.Path+"?labelSelector=scene="+name+version, "application/json", options(a), options(b))
		case 1:
			at := path + "?ignoreStoreReadErrorWithClusterBreakingPotential=" + d.pick("true", "false", "x").(string) + d.pick("", "&dryRun=All", "&gracePeriodSeconds=0").(string)
			differ, _ = d.both(t, http.MethodDelete, at, "", nil, nil)
		default:
			differ, _ = d.both(t, http.MethodDelete, path, "application/json", options(a), options(b))
		}
		other, _ := d.both(t, http.MethodGet, path, "", nil, nil)
		for _, s := range []side{d.real, d.fake} {
			s.send(t, http.MethodPatch, path, merged, map[string]any{"metadata": map[string]any{"finalizers": nil}})
			s.send(t, http.MethodDelete, path, "application/json", nil)
		}
		if differ || other {
			return
		}
	}
}

// versions plays a definition whose first version goes while objects and managers still have it,
// and whose schema gets a default that old objects lack.
func (d *differ) versions(t *testing.T, round int) {
	group := fmt.Sprintf("v%d.example.com", round)
	crd, v1, v2 := definitions+"/olds."+group, "/apis/"+group+"/v1/namespaces/default/olds", "/apis/"+group+"/v2/namespaces/default/olds"
	schema := parsed[map[string]any](t, `{type: object, properties: {spec: {type: object, properties: {a: {type: integer}, b: {type: integer}, c: {type: string, format: odd}}}}}`)
	d.define(t, definition(group, "olds", "Old", schema, "v1", "v2"), v2)
	names := []string{"o0-0", "o0-1", "o0-2", "o0-3"}
	write := func(base, version string) {
		name := names[d.random.IntN(len(names))]
		sent := map[string]any{"apiVersion": group + "/" + version, "kind": "Old", "metadata": map[string]any{"name": name}, "spec": map[string]any{d.pick("a", "b").(string): d.random.IntN(3)}}
		at := base + "/" + name
		switch d.random.IntN(5) {
		case 0:
			d.both(t, http.MethodPatch, at+d.query("three"), merged, sent, sent)
		case 1:
			d.patchTested(t, at)
		case 2:
			d.putBack(t, at)
		default:
			d.both(t, http.MethodPatch, at+d.query(d.pick("one", "two").(string))+d.pick("", "&force=true").(string), applied, sent, sent)
		}
	}
	change := func(contentType string, patch any, settled func() bool) {
		for _, s := range []side{d.real, d.fake} {
			if code, body := s.send(t, http.MethodPatch, crd, contentType, patch); code != http.StatusOK {
				t.Fatalf("%d %v", code, body)
			}
		}
		for range 400 {
			if settled() {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(1200 * time.Millisecond) // the handlers of the old definition may still answer
	}
	gets := func(base string) {
		for _, name := range names {
			d.both(t, http.MethodGet, base+"/"+name, "", nil, nil)
		}
	}
	d.owners = true
	defer func() { d.owners = false }()
	for range 8 {
		write(v1, "v1")
	}
	// A default that the objects lack, at the versions that they have.
	withDefault := `[{"op":"add","path":"/spec/versions/%d/schema/openAPIV3Schema/properties/spec/properties/c/default","value":"new"}]`
	for i := range 2 {
		change(jsonPatch, json.RawMessage(fmt.Sprintf(withDefault, i)), func() bool { return true })
	}
	gets(v1)
	gets(v2)
	d.both(t, http.MethodGet, v1, "", nil, nil)
	d.watch(t, v1+"?watch=1&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan")
	for range 4 {
		write(v1, "v1")
	}
	change(jsonPatch, json.RawMessage(`[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`), func() bool { return true })
	for range 6 {
		write(v2, "v2")
	}
	change(jsonPatch, json.RawMessage(`[{"op":"replace","path":"/spec/versions/0/served","value":false}]`), func() bool {
		code, _, _ := d.real.ask(t, http.MethodGet, v1+"/"+names[0], "", nil)
		return code == http.StatusNotFound
	})
	for range 4 {
		write(v2, "v2")
	}
	for _, s := range []side{d.real, d.fake} {
		s.send(t, http.MethodPatch, crd+"/status", merged, map[string]any{"status": map[string]any{"storedVersions": []any{"v2"}}})
	}
	change(jsonPatch, json.RawMessage(`[{"op":"remove","path":"/spec/versions/0"}]`), func() bool { return true })
	gets(v2)
	for range 8 {
		write(v2, "v2")
	}
	// Objects that cannot be read. A list without a limit has another message while the server's cache is new.
	for _, query := range []string{"?limit=1", "?limit=2", "?limit=10", "?limit=2&labelSelector=none"} {
		d.both(t, http.MethodGet, v2+query, "", nil, nil)
	}
	for _, name := range names {
		options := map[string]any{"ignoreStoreReadErrorWithClusterBreakingPotential": d.pick(true, false), "apiVersion": "v1", "kind": "DeleteOptions"}
		d.both(t, http.MethodDelete, v2+"/"+name, "application/json", options, options)
		d.both(t, http.MethodGet, v2+"/"+name, "", nil, nil)
	}
	for _, s := range []side{d.real, d.fake} {
		s.send(t, http.MethodDelete, crd, "application/json", nil)
	}
}

// watch compares the events of a watch that ends by itself, whatever their order, and whether they are gzipped.
func (d *differ) watch(t *testing.T, path string) {
	t.Helper()
	events := func(s side) (out []string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", "gzip")
		resp, err := s.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		stream := io.Reader(resp.Body)
		if resp.Header.Get("Content-Encoding") == "gzip" {
			out = append(out, "gzip")
			if stream, err = gzip.NewReader(stream); err != nil {
				t.Fatal(err)
			}
		}
		raw, err := io.ReadAll(stream)
		if err != nil {
			t.Fatal(err)
		}
		for dec := json.NewDecoder(bytes.NewReader(raw)); dec.More(); {
			var ev map[string]any
			if err := dec.Decode(&ev); err != nil {
				t.Fatal(err)
			}
			normal(ev)
			if object, _ := ev["object"].(map[string]any); ev["type"] == "BOOKMARK" && len(object["metadata"].(map[string]any)) == 0 {
				continue // the server's choice
			}
			b, _ := json.Marshal(ev)
			out = append(out, string(b))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	a, b := events(d.real), events(d.fake)
	d.sent++
	d.accepted++
	if reflect.DeepEqual(a, b) {
		d.alike++
		return
	}
	d.classes["WATCH: "+path]++
	if *show > 0 {
		*show--
		t.Logf("WATCH %s\nreal %v\nfake %v", path, a, b)
	}
}
