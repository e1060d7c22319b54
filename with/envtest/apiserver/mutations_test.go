package apiserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/with/envtest/apiserver"
)

const mutations = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolic"

// bindMutation makes a policy for creates and updates of a resource, and its binding.
func (s server) bindMutation(t *testing.T, name, group, version, resource, spec, binding string) {
	t.Helper()
	s.must(t, "POST", mutations+"ies", `{"metadata":{"name":"`+name+`"},"spec":{"matchConstraints":{"resourceRules":[{"operations":["CREATE","UPDATE"],
		"apiGroups":["`+group+`"],"apiVersions":["`+version+`"],"resources":["`+resource+`"]}]},`+spec+`}}`, nil)
	s.must(t, "POST", mutations+"ybindings", `{"metadata":{"name":"`+name+`"},"spec":{"policyName":"`+name+`"`+binding+`}}`, nil)
}

func jsonPatch(expression string) string {
	return `"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":` + quote(expression) + `}}]`
}

func applyConfiguration(expression string) string {
	return `"reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":` + quote(expression) + `}}]`
}

func quote(text string) string {
	b, _ := json.Marshal(text) // a string always has a JSON form
	return string(b)
}

// TestMutatingPolicies: what policies make of a new ConfigMap.
func TestMutatingPolicies(t *testing.T) {
	const label = `Object{metadata: Object.metadata{labels: {"by": "policy"}}}`
	for name, c := range map[string]struct {
		spec, binding string
		code          int
		want          string // the labels, or a part of the message
	}{
		"apply":             {applyConfiguration(label), "", 201, `{"by":"policy","own":"x"}`},
		"patch":             {jsonPatch(`[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b"), value: object.data.a}]`), "", 201, `{"a/b":"b","own":"x"}`},
		"patch of a test":   {jsonPatch(`[JSONPatch{op: "test", path: "/data/a", value: "other"}, JSONPatch{op: "remove", path: "/metadata/labels"}]`), "", 201, `{"own":"x"}`},
		"variables":         {`"variables":[{"name":"v","expression":"object.metadata.name + '-v'"}],` + applyConfiguration(`Object{metadata: Object.metadata{labels: {"by": variables.v}}}`), "", 201, `{"by":"a-v","own":"x"}`},
		"condition":         {`"matchConditions":[{"name":"c","expression":"object.metadata.name == 'b'"}],` + applyConfiguration(label), "", 201, `{"own":"x"}`},
		"other namespace":   {applyConfiguration(label), `,"matchResources":{"namespaceSelector":{"matchLabels":{"a":"b"}}}`, 201, `{"own":"x"}`},
		"parameter":         {`"paramKind":{"apiVersion":"v1","kind":"Namespace"},` + applyConfiguration(`Object{metadata: Object.metadata{labels: {"by": params.metadata.name}}}`), `,"paramRef":{"name":"kube-system","parameterNotFoundAction":"Deny"}`, 201, `{"by":"kube-system","own":"x"}`},
		"absent parameter":  {`"paramKind":{"apiVersion":"v1","kind":"Namespace"},` + applyConfiguration(label), `,"paramRef":{"name":"none","parameterNotFoundAction":"Deny"}`, 403, "no params found for policy binding"},
		"fails":             {applyConfiguration(`Object{metadata: Object.metadata{labels: {"by": object.data.none}}}`), "", 403, "no such key: none"},
		"fails, ignored":    {`"failurePolicy":"Ignore",` + applyConfiguration(`Object{metadata: Object.metadata{labels: {"by": object.data.none}}}`), "", 201, `{"own":"x"}`},
		"unknown field":     {applyConfiguration(`Object{metadata: Object.metadata{lables: {"by": "policy"}}}`), "", 403, "field not declared in schema"},
		"does not compile":  {jsonPatch(`[JSONPatch{`), "", 403, "compilation"},
		"no object after":   {jsonPatch(`[JSONPatch{op: "replace", path: "/data", value: 1}]`), "", 500, "cannot unmarshal"},
		"two mutations":     {`"reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":` + quote(label) + `}},{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'copy', from: '/metadata/labels/by', path: '/metadata/labels/again'}]"}}]`, "", 201, `{"again":"policy","by":"policy","own":"x"}`},
		"another operation": {`"matchConditions":[{"name":"c","expression":"request.operation == 'UPDATE'"}],` + applyConfiguration(label), "", 201, `{"own":"x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, apiserver.Options{})
			s.bindMutation(t, "p", "", "v1", "configmaps", c.spec, c.binding)
			got := s.as(t, "", "POST", configMaps, `{"metadata":{"name":"a","labels":{"own":"x"}},"data":{"a":"b"}}`)
			if got.code != c.code {
				t.Fatalf("%d %s, want %d", got.code, got.body, c.code)
			}
			if c.code != 201 {
				if !strings.Contains(got.status.Message, c.want) {
					t.Errorf("%s, want %s", got.status.Message, c.want)
				}
				return
			}
			var stored corev1.ConfigMap
			s.must(t, "GET", configMaps+"/a", nil, &stored)
			if b, err := json.Marshal(stored.Labels); err != nil || string(b) != c.want || len(stored.Data) != 1 {
				t.Errorf("stored %s %v, want labels %s", b, stored.Data, c.want)
			}
		})
	}
}

// TestMutationOfLists: an apply configuration merges the items of a list by their keys, and an
// update is changed as a create is.
func TestMutationOfLists(t *testing.T) {
	s := start(t, apiserver.Options{})
	s.bindMutation(t, "p", "apps", "v1", "deployments", applyConfiguration(`Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
		containers: object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{name: c.name, imagePullPolicy: "Never"})}}}}`), "")
	const path = "/apis/apps/v1/namespaces/default/deployments"
	var d appsv1.Deployment
	s.must(t, "POST", path, `{"metadata":{"name":"d"},"spec":{"template":{"spec":{"containers":[{"name":"a","image":"i","env":[{"name":"x"}]},{"name":"b","image":"j"}]}}}}`, &d)
	check := func(when string, n int) {
		t.Helper()
		all := d.Spec.Template.Spec.Containers
		if len(all) != n || all[0].Image != "i" || len(all[0].Env) != 1 {
			t.Fatalf("%s: %+v", when, all)
		}
		for _, c := range all {
			if c.ImagePullPolicy != corev1.PullNever {
				t.Errorf("%s: %s has %q", when, c.Name, c.ImagePullPolicy)
			}
		}
	}
	check("created", 2)
	d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers[:1], corev1.Container{Name: "c", Image: "k"})
	s.must(t, "PUT", path+"/d", d, &d)
	check("updated", 2)
}

// TestMutationOfAnotherVersion: a policy for one version sees and changes the writes of the other.
func TestMutationOfAnotherVersion(t *testing.T) {
	for name, spec := range map[string]string{
		"apply": applyConfiguration(`Object{spec: Object.spec{maxReplicas: object.spec.metrics.size() + 8}}`),
		"patch": jsonPatch(`[JSONPatch{op: "replace", path: "/spec/maxReplicas", value: object.spec.metrics.size() + 8}]`),
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, apiserver.Options{})
			s.bindMutation(t, "p", "autoscaling", "v2", "horizontalpodautoscalers", spec, "")
			var got autoscalingv1.HorizontalPodAutoscaler
			s.must(t, "POST", oldAutoscalers, `{"metadata":{"name":"a"},"spec":{"maxReplicas":3,"targetCPUUtilizationPercentage":50}}`, &got)
			if got.Spec.MaxReplicas != 9 || got.Spec.TargetCPUUtilizationPercentage == nil || got.APIVersion != "autoscaling/v1" {
				t.Errorf("stored %+v", got)
			}
		})
	}
}

// TestMutationOfCustomResource: policies change custom resources, and schemas check the result.
func TestMutationOfCustomResource(t *testing.T) {
	s := start(t, apiserver.Options{})
	s.must(t, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"tools.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
		"names":{"plural":"tools","kind":"Tool"},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.size"}},
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"status":{"type":"object","properties":{"size":{"type":"integer"}}},"spec":{"type":"object","properties":{"size":{"type":"integer","maximum":10},"words":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}}}}}}]}}`, nil)
	s.bindMutation(t, "p", "example.com", "v1", "tools", applyConfiguration(`Object{spec: Object.spec{size: object.spec.size + 1, words: ["policy"]}}`), "")
	const path = "/apis/example.com/v1/namespaces/default/tools"
	got := s.as(t, "", "POST", path, `{"apiVersion":"example.com/v1","kind":"Tool","metadata":{"name":"a"},"spec":{"size":1,"words":["own"]}}`)
	if got.code != 201 || !strings.Contains(string(got.body), `"spec":{"size":2,"words":["own","policy"]}`) {
		t.Errorf("%d %s", got.code, got.body)
	}
	got = s.as(t, "", "POST", path, `{"apiVersion":"example.com/v1","kind":"Tool","metadata":{"name":"b"},"spec":{"size":10}}`)
	if got.code != 422 {
		t.Errorf("%d %s", got.code, got.body)
	}
	s.bindMutation(t, "scale", "example.com", "v1", "tools/scale", jsonPatch(`[JSONPatch{op: "replace", path: "/spec/replicas", value: 5}]`), "")
	got = s.as(t, "", "PUT", path+"/a/scale", `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"},"spec":{"replicas":7}}`)
	if got.code != 200 || !strings.Contains(string(got.body), `"replicas":5`) {
		t.Errorf("%d %s", got.code, got.body)
	}
}

// TestReinvokedPolicy: a policy that asks for it sees what a webhook has changed after it, and so
// does the webhook.
func TestReinvokedPolicy(t *testing.T) {
	for policy, want := range map[string]string{"Never": "1", "IfNeeded": "2"} {
		s := start(t, apiserver.Options{})
		patchType := admissionv1.PatchTypeJSONPatch
		h := newHook(t, func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			return &admissionv1.AdmissionResponse{Allowed: true, PatchType: &patchType, Patch: []byte(`[{"op":"add","path":"/data/hook","value":"x"}]`)}
		})
		s.must(t, "POST", mutating, h.config("MutatingWebhookConfiguration", `"rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]`), nil)
		spec := strings.Replace(applyConfiguration(`Object{metadata: Object.metadata{labels: {"n": string(object.data.size())}}}`), "Never", policy, 1)
		s.bindMutation(t, "p", "", "v1", "configmaps", spec, "")
		var got corev1.ConfigMap
		s.must(t, "POST", configMaps, `{"metadata":{"name":"a"},"data":{"own":"x"}}`, &got)
		if got.Labels["n"] != want || got.Data["hook"] != "x" {
			t.Errorf("%s: %v %v", policy, got.Labels, got.Data)
		}
	}
}
