package apiserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/kinform/kinform/with/envtest/apiserver"
)

const (
	oldAutoscalers = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
	autoscalerRule = `"rules":[{"operations":["*"],"apiGroups":["autoscaling"],"apiVersions":["v2"],"resources":["horizontalpodautoscalers"]}]`
)

// TestMatchPolicy: a webhook for one version gets the writes of the other in its own form, and
// changes them, unless it asks for exact matches.
func TestMatchPolicy(t *testing.T) {
	patchType := admissionv1.PatchTypeJSONPatch
	for policy, asked := range map[string]int{"": 2, `,"matchPolicy":"Equivalent"`: 2, `,"matchPolicy":"Exact"`: 0} {
		t.Run(policy, func(t *testing.T) {
			s := start(t, apiserver.Options{})
			h := newHook(t, func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				return &admissionv1.AdmissionResponse{Allowed: true, PatchType: &patchType, Patch: []byte(`[{"op":"replace","path":"/spec/maxReplicas","value":9}]`)}
			})
			s.must(t, "POST", mutating, h.config("MutatingWebhookConfiguration", autoscalerRule+policy), nil)
			var got autoscalingv1.HorizontalPodAutoscaler
			s.must(t, "POST", oldAutoscalers, `{"metadata":{"name":"a"},"spec":{"maxReplicas":3,"targetCPUUtilizationPercentage":50}}`, &got)
			s.must(t, "PUT", oldAutoscalers+"/a", `{"metadata":{"name":"a"},"spec":{"maxReplicas":4,"targetCPUUtilizationPercentage":50}}`, &got)
			want := map[int]int32{0: 4, 2: 9}[asked]
			if got.Spec.MaxReplicas != want || got.Spec.TargetCPUUtilizationPercentage == nil || *got.Spec.TargetCPUUtilizationPercentage != 50 || got.APIVersion != "autoscaling/v1" {
				t.Errorf("stored %+v, want %d replicas", got, want)
			}
			if len(h.requests()) != asked {
				t.Fatalf("the webhook was asked %d times, want %d", len(h.requests()), asked)
			}
			for _, r := range h.requests() {
				var sent autoscalingv2.HorizontalPodAutoscaler
				if err := json.Unmarshal(r.Object.Raw, &sent); err != nil {
					t.Fatal(err)
				}
				if r.Kind.Version != "v2" || r.Resource.Version != "v2" || r.RequestKind.Version != "v1" || r.RequestResource.Version != "v1" ||
					sent.APIVersion != "autoscaling/v2" || len(sent.Spec.Metrics) != 1 || r.Operation == admissionv1.Update && !strings.Contains(string(r.OldObject.Raw), "autoscaling/v2") {
					t.Errorf("the webhook was asked %+v about %s", r, r.Object.Raw)
				}
			}
		})
	}
}

// TestPolicyOfAnotherVersion: expressions see an object in the version, and group, that the policy
// names.
func TestPolicyOfAnotherVersion(t *testing.T) {
	s := start(t, apiserver.Options{})
	const paths = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
	s.must(t, "POST", paths+"ies", `{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[
		{"operations":["CREATE"],"apiGroups":["events.k8s.io"],"apiVersions":["v1"],"resources":["events"]},
		{"operations":["CREATE"],"apiGroups":["autoscaling"],"apiVersions":["v2"],"resources":["horizontalpodautoscalers"]}]},
		"validations":[{"expression":"object.metadata.name != 'bad'","messageExpression":"request.kind.version + ' asked as ' + request.requestKind.version + ' ' + object.apiVersion + (has(object.note) ? object.note : '')"}]}}`, nil)
	s.must(t, "POST", paths+"ybindings", `{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"]}}`, nil)
	for _, c := range []struct{ path, body, want string }{
		{"/api/v1/namespaces/default/events", `{"metadata":{"name":"bad"},"message":"m"}`, `events "bad" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: v1 asked as v1 events.k8s.io/v1m`},
		{oldAutoscalers, `{"metadata":{"name":"bad"}}`, `horizontalpodautoscalers.autoscaling "bad" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: v2 asked as v1 autoscaling/v2`},
	} {
		if a := s.as(t, "", "POST", c.path, c.body); a.code != 422 || !strings.Contains(a.status.Message, c.want) {
			t.Errorf("%s: %d %s, want %s", c.path, a.code, a.body, c.want)
		}
		s.must(t, "POST", c.path, strings.Replace(c.body, "bad", "good", 1), nil)
	}
}

// TestPolicyOfOldObject: expressions see the old object in the policy's version, too, and not the
// new one in its place.
func TestPolicyOfOldObject(t *testing.T) {
	s := start(t, apiserver.Options{})
	const paths = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
	s.must(t, "POST", paths+"ies", `{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[
		{"operations":["UPDATE"],"apiGroups":["autoscaling"],"apiVersions":["v2"],"resources":["horizontalpodautoscalers"]}]},
		"validations":[{"expression":"object.spec.maxReplicas >= oldObject.spec.maxReplicas","messageExpression":"oldObject.apiVersion + ': ' + string(oldObject.spec.maxReplicas) + ' before'"}]}}`, nil)
	s.must(t, "POST", paths+"ybindings", `{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"]}}`, nil)
	s.must(t, "POST", oldAutoscalers, `{"metadata":{"name":"a"},"spec":{"maxReplicas":3}}`, nil)
	s.must(t, "PUT", oldAutoscalers+"/a", `{"metadata":{"name":"a"},"spec":{"maxReplicas":4}}`, nil)
	const want = "denied request: autoscaling/v2: 4 before"
	if a := s.as(t, "", "PUT", oldAutoscalers+"/a", `{"metadata":{"name":"a"},"spec":{"maxReplicas":2}}`); a.code != 422 || !strings.Contains(a.status.Message, want) {
		t.Errorf("%d %s, want %s", a.code, a.body, want)
	}
}
