package strategies_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"
)

// This file holds the scenes of TestDifferential for policies that change objects, for bindings, and for the
// root.

const (
	policies       = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
	policyBindings = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings"
	configMaps     = "/api/v1/namespaces/default/configmaps"
)

// expressions are the expressions of mutations by their types: some fail, some do not compile, and some change
// nothing.
var expressions = map[string][]string{
	"JSONPatch": {
		`[JSONPatch{op: "add", path: "/metadata/labels/by", value: "patch"}]`,
		`[JSONPatch{op: "replace", path: "/metadata/labels/scene", value: object.metadata.labels.scene}]`,
		`[JSONPatch{op: "test", path: "/metadata/labels/by", value: "apply"}, JSONPatch{op: "remove", path: "/metadata/labels/by"}]`,
		`[JSONPatch{op: "add", path: "/metadata/annotations", value: {"a/b": "c"}}]`,
		`[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("x/y"), value: string(variables.n)}]`,
		`[JSONPatch{op: "remove", path: "/none"}]`,
		`request.operation == "UPDATE" ? [JSONPatch{op: "replace", path: "/metadata/name", value: "other"}] : []`,
		`has(object.data) ? [JSONPatch{op: "add", path: "/data/by", value: "patch"}] : []`,
		`[JSONPatch{op: "add", path: "/metadata/ownerReferences", value: 7}]`,
		`[JSONPatch{`,
		`"text"`,
	},
	"ApplyConfiguration": {
		`Object{metadata: Object.metadata{labels: {"by": "apply"}}}`,
		`Object{metadata: Object.metadata{annotations: {"n": string(variables.n), "who": request.operation}}}`,
		`Object{metadata: Object.metadata{labels: {"by": object.metadata.labels.none}}}`,
		`Object{metadata: Object.metadata{finalizers: ["example.com/policy"]}}`,
		`Object{metadata: Object.metadata{lables: {"by": "apply"}}}`,
		`request.operation == "UPDATE" ? Object{metadata: Object.metadata{name: "other"}} : Object{}`,
		`Object{}`,
		`has(oldObject) ? Object{} : Object{metadata: Object.metadata{labels: {"new": "yes"}}}`,
	},
}

// mutates plays scenes with their own policies, which are bound to the objects of the scene. In all orders of
// the policies of a scene the result is the same: the real server has no order.
func (d *differ) mutates(t *testing.T, scenes int) {
	var made []string
	create := func(collection, name string, spec map[string]any) {
		object := map[string]any{"metadata": map[string]any{"name": name}, "spec": spec}
		d.both(t, http.MethodPost, collection, "application/json", object, object)
		made = append(made, collection+"/"+name)
	}
	bound := func(name, scene string, spec, binding map[string]any) {
		spec["matchConstraints"] = map[string]any{
			"resourceRules": []any{map[string]any{
				"apiGroups": []any{"*"}, "apiVersions": []any{"*"}, "operations": []any{"CREATE", "UPDATE"}, "resources": []any{"configmaps", "deployments", "tools", "services"},
			}},
			"objectSelector": map[string]any{"matchLabels": map[string]any{"scene": scene}},
		}
		binding["policyName"] = name
		create(policies, name, spec)
		create(policyBindings, name, binding)
	}
	for i := range scenes {
		scene, binding := fmt.Sprintf("mu%d-0", i), map[string]any{}
		if i%5 == 4 {
			bound(scene+"-b0", scene, chained("first", "scene", "IfNeeded"), binding)
			bound(scene+"-b1", scene, chained("second", "first", "IfNeeded"), map[string]any{})
			continue
		}
		if d.chance(20) {
			binding["matchResources"] = d.pick(map[string]any{}, map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{"a": "b"}}})
		}
		bound(scene, scene, d.policy(), binding)
	}
	// The real server has seen all once it has seen the last.
	bound("last", "last", chained("seen", "scene", "Never"), map[string]any{})
	d.awaitPolicy(t)
	d.owners = true
	for i := range scenes {
		for j, of := range parsed[[]template](t, applicants) {
			if !strings.HasSuffix(of.Path, "poddisruptionbudgets") {
				d.written(t, of, fmt.Sprintf("mw%d-%d", j, i), fmt.Sprintf("mu%d-0", i))
			}
		}
	}
	d.owners = false
	for _, path := range made {
		for _, s := range []side{d.real, d.fake} {
			s.send(t, http.MethodDelete, path, "application/json", nil)
		}
	}
}

// chained is a policy that adds a label to what has another one.
func chained(label, other, reinvocation string) map[string]any {
	return map[string]any{"reinvocationPolicy": reinvocation, "mutations": []any{
		mutationBy("ApplyConfiguration", fmt.Sprintf(`%q in object.metadata.labels ? Object{metadata: Object.metadata{labels: {%q: "yes"}}} : Object{}`, other, label)),
	}}
}

// policy is the random part of the spec of a policy.
func (d *differ) policy() map[string]any {
	spec := map[string]any{
		"reinvocationPolicy": d.pick("Never", "Never", "IfNeeded"), "failurePolicy": d.pick("Fail", "Fail", "Ignore"),
		"variables": []any{map[string]any{"name": "n", "expression": d.pick("1 + 1", "size(object.metadata.labels)", "object.none").(string)}},
	}
	if d.chance(30) {
		spec["matchConditions"] = []any{map[string]any{"name": "c", "expression": d.pick("request.operation == 'CREATE'", "object.metadata.name.contains('0')", "object.none == 1", "has(object.data)")}}
	}
	var all []any
	for range 1 + d.random.IntN(3) {
		of := d.pick("JSONPatch", "ApplyConfiguration").(string)
		all = append(all, mutationBy(of, expressions[of][d.random.IntN(len(expressions[of]))]))
	}
	spec["mutations"] = all
	return spec
}

func mutationBy(patchType, expression string) map[string]any {
	member := map[string]string{"JSONPatch": "jsonPatch", "ApplyConfiguration": "applyConfiguration"}[patchType]
	return map[string]any{"patchType": patchType, member: map[string]any{"expression": expression}}
}

// awaitPolicy asks the real server in dry runs until it has the last policy.
func (d *differ) awaitPolicy(t *testing.T) {
	t.Helper()
	probe := map[string]any{"metadata": map[string]any{"name": "last", "labels": map[string]any{"scene": "last"}}}
	for range 400 {
		_, body := d.real.send(t, http.MethodPost, configMaps+"?dryRun=All", "application/json", probe)
		meta, _ := body["metadata"].(map[string]any)
		labels, _ := meta["labels"].(map[string]any)
		if labels["seen"] == "yes" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the policies do not show")
}

// written creates an object of the scene and writes it in all ways.
func (d *differ) written(t *testing.T, of template, name, scene string) {
	path := of.Path + "/" + name
	fresh := func() map[string]any {
		obj := named(of.Object, name)
		meta := obj["metadata"].(map[string]any)
		meta["labels"] = map[string]any{"scene": scene, "a": "b"}
		return obj
	}
	for i := range 6 {
		sent := fresh()
		if i > 0 && d.chance(40) {
			d.vary(sent)
		}
		differ := false
		switch n := d.random.IntN(6); {
		case i == 0 && d.chance(50):
			differ, _ = d.both(t, http.MethodPost, of.Path+d.query("one"), "application/json", sent, sent)
		case n == 0:
			differ = d.patchTested(t, path)
		case n == 1:
			differ = d.putBack(t, path)
		case n == 2:
			differ, _ = d.both(t, http.MethodPatch, path+d.query("two"), merged, sent, sent)
		default:
			differ, _ = d.both(t, http.MethodPatch, path+d.query(d.pick("one", "two").(string))+d.pick("", "&force=true").(string), applied, sent, sent)
		}
		if differ {
			break
		}
	}
	d.both(t, http.MethodGet, path, "", nil, nil)
	for _, s := range []side{d.real, d.fake} {
		s.send(t, http.MethodPatch, path, merged, map[string]any{"metadata": map[string]any{"finalizers": nil, "labels": map[string]any{"scene": nil}}})
		s.send(t, http.MethodDelete, path, "application/json", nil)
	}
}

// binds schedules pods in all states by both kinds of bindings.
func (d *differ) binds(t *testing.T, name string) {
	const pods, bindings = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/bindings"
	for i := range 4 {
		n := fmt.Sprintf("%s-p%d", name, i)
		at := pods + "/" + n
		pod := map[string]any{"metadata": map[string]any{"name": n}, "spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}}
		if d.chance(20) {
			pod["spec"].(map[string]any)["nodeName"] = "n"
		}
		if d.chance(20) {
			pod["spec"].(map[string]any)["schedulingGates"] = []any{map[string]any{"name": "g"}}
		}
		if d.chance(20) {
			pod["metadata"].(map[string]any)["finalizers"] = []any{"example.com/x"}
		}
		if d.chance(90) {
			d.both(t, http.MethodPost, pods, "application/json", pod, pod)
		}
		if d.chance(20) {
			d.both(t, http.MethodDelete, at, "application/json", nil, nil)
		}
		for range 5 {
			a, b := d.get(t, at)
			seed := d.random.Uint64()
			binding := func(of map[string]any) any { return (&differ{random: rand.New(rand.NewPCG(seed, 7))}).binding(of, n) }
			to := d.pick(bindings, bindings, at+"/binding").(string)
			method := http.MethodPost
			if d.chance(5) {
				method = d.pick(http.MethodGet, http.MethodPut, http.MethodDelete).(string)
			}
			differ, _ := d.both(t, method, to+d.pick("", "", "", "?dryRun=All", "?dryRun=Some", "?fieldManager=x", "?fieldValidation=Strict").(string), "application/json", binding(a), binding(b))
			other, _ := d.both(t, http.MethodGet, at, "", nil, nil)
			if differ || other {
				break
			}
		}
		for _, s := range []side{d.real, d.fake} {
			s.send(t, http.MethodPatch, at, merged, map[string]any{"metadata": map[string]any{"finalizers": nil}})
			s.send(t, http.MethodDelete, at, "application/json", map[string]any{"gracePeriodSeconds": 0})
		}
	}
}

// binding is a random binding of pod, which has the name.
func (d *differ) binding(pod map[string]any, name string) map[string]any {
	of, _ := pod["metadata"].(map[string]any)
	meta := map[string]any{"name": d.pick(name, name, name, name, name, "", "none", "Bad_Name")}
	out := map[string]any{"metadata": meta, "target": map[string]any{"kind": d.pick("Node", "Node", "Node", "", "Pod", nil), "name": d.pick("n", "n", "n", "m", "", "Bad_Name")}}
	if d.chance(20) {
		meta["uid"] = d.pick(of["uid"], "other")
	}
	if d.chance(20) {
		meta["resourceVersion"] = d.pick(of["resourceVersion"], "1", "x")
	}
	if d.chance(20) {
		meta["namespace"] = d.pick("default", "other")
	}
	if d.chance(20) {
		meta["generateName"] = "g-"
	}
	if d.chance(30) {
		meta["labels"] = d.pick(map[string]any{"a": "b"}, map[string]any{"c": "d"}, nil) // the real server stores bad ones in the pod
		meta["annotations"] = d.pick(map[string]any{"a": "b"}, nil)
	}
	if d.chance(50) {
		out["apiVersion"], out["kind"] = d.pick("v1", "v1", "v1", "v2"), d.pick("Binding", "Binding", "Binding", "Pod")
	}
	if d.chance(10) && out["kind"] != "Pod" { // the real server reads what says that it is a pod as one
		d.damage(out)
	}
	return out
}

// roots asks both servers for the paths of their root. The paths of the checks, logs and metrics of the real
// one, which has parts that can fail, and of its aggregation do not count.
func (d *differ) roots(t *testing.T) {
	for _, accept := range []string{"", "application/json", "*/*", "application/yaml", "text/html", "application/vnd.kubernetes.protobuf"} {
		var codes, paths []string
		for _, s := range []side{d.real, d.fake} {
			code, body, raw := s.ask(t, http.MethodGet, "/", accept, nil)
			all, _ := body["paths"].([]any)
			var kept []any
			for _, path := range all {
				if p := fmt.Sprint(path); strings.HasPrefix(p, "/api") && !strings.HasPrefix(p, "/apis/apiregistration.k8s.io") || strings.HasPrefix(p, "/openapi/v") || p == "/version" || p == "/healthz" || p == "/livez" || p == "/readyz" {
					kept = append(kept, p)
				}
			}
			if body == nil {
				kept = []any{strings.Fields(string(raw) + " ")}
			}
			codes, paths = append(codes, fmt.Sprint(code)), append(paths, fmt.Sprint(kept))
		}
		d.sent++
		if codes[0] == codes[1] && paths[0] == paths[1] {
			d.accepted++
			d.alike++
			continue
		}
		d.classes[fmt.Sprintf("GET / as %q: %v", accept, codes)]++
		if *show > 0 {
			*show--
			t.Logf("GET / as %q\nreal %s %s\nfake %s %s", accept, codes[0], paths[0], codes[1], paths[1])
		}
	}
}
