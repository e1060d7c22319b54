package apiserver_test

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/envtest/apiserver"
)

// TestEscalation has alice, who may write roles and bindings and read pods, grant rights.
func TestEscalation(t *testing.T) {
	const (
		of       = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/"
		clusters = "/apis/rbac.authorization.k8s.io/v1/"
		pods     = `"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]`
		more     = `"rules":[{"apiGroups":[""],"resources":["pods","secrets"],"verbs":["get","list"]}]`
		alice    = `"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"alice"}]`
		missing  = "is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\", \"list\"]}"
	)
	binding := func(name, kind, role string) string {
		return `{"metadata":{"name":"` + name + `"},` + alice + `,"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"` + kind + `","name":"` + role + `"}}`
	}
	for _, verb := range []string{"", "escalate", "bind"} {
		s := withUsers(t)
		rules := []rbacv1.PolicyRule{
			{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}},
			{Verbs: []string{"create", "update", "patch", verb}, APIGroups: []string{rbacv1.GroupName}, Resources: []string{"*"}},
		}
		must(t)(fake.Create(s.Fake(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "writer"}, Rules: rules}))
		must(t)(fake.Create(s.Fake(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "writer"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "writer"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "alice"}},
		}))
		for _, c := range []struct {
			method, path, body string
			by                 string // the verb that allows it; - for always, empty for never
			message            string
		}{
			{"POST", of + "roles", `{"metadata":{"name":"own"},` + pods + `}`, "-", ""},
			{"POST", of + "roles", `{"metadata":{"name":"more"},` + more + `}`, "escalate", `roles.rbac.authorization.k8s.io "more" is forbidden: user "alice" (groups=["dev" "ops" "system:authenticated"]) ` + missing},
			{"PATCH", of + "roles/own", `{` + more + `}`, "escalate", missing},
			{"PATCH", of + "roles/own", `{"metadata":{"labels":{"a":"b"}}}`, "-", ""},
			{"POST", clusters + "clusterroles", `{"metadata":{"name":"all"},"aggregationRule":{"clusterRoleSelectors":[{}]},"rules":null}`, "escalate", `Resources:["*"], Verbs:["*"]`},
			{"POST", of + "rolebindings", binding("own", "ClusterRole", "writer"), "-", ""},
			{"POST", of + "rolebindings", binding("admin", "ClusterRole", "cluster-admin"), "bind", "rolebindings.rbac.authorization.k8s.io"},
			{"POST", clusters + "clusterrolebindings", binding("admin", "ClusterRole", "cluster-admin"), "bind", `{NonResourceURLs:["*"], Verbs:["*"]}`},
		} {
			headers := []string{}
			if c.method == "PATCH" {
				headers = []string{"Content-Type", "application/merge-patch+json"}
			}
			got := s.as(t, "alice-token", c.method, c.path, c.body, headers...)
			if allowed := c.by == "-" || c.by == verb; allowed != (got.code < 300) || !allowed && (got.code != 403 || !strings.Contains(got.status.Message, c.message)) {
				t.Errorf("with %q, %s %s: %d %s", verb, c.method, c.path, got.code, got.body)
			}
		}
	}
}

// TestReinvocation has a webhook that changes what an earlier one has seen.
func TestReinvocation(t *testing.T) {
	for policy, want := range map[string]int{"Never": 1, "IfNeeded": 2} {
		s := start(t, apiserver.Options{})
		patchType := admissionv1.PatchTypeJSONPatch
		first := newHook(t, allow)
		second := newHook(t, func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			return &admissionv1.AdmissionResponse{Allowed: true, PatchType: &patchType, Patch: []byte(`[{"op":"add","path":"/data","value":{"made":"by webhook"}}]`)}
		})
		s.must(t, "POST", mutating, first.config("MutatingWebhookConfiguration", `"reinvocationPolicy":"`+policy+`"`), nil)
		s.must(t, "POST", mutating, strings.Replace(second.config("MutatingWebhookConfiguration", `"reinvocationPolicy":"IfNeeded"`), `"mine"`, `"other"`, 1), nil)
		var got corev1.ConfigMap
		s.must(t, "POST", configMaps, `{"metadata":{"name":"a"}}`, &got)
		asked := first.requests()
		if len(asked) != want || len(second.requests()) != 1 || got.Data["made"] != "by webhook" {
			t.Errorf("%s: the first was asked %d times, want %d, the second %d times; %v", policy, len(asked), want, len(second.requests()), got.Data)
		}
		if want == 2 && len(asked) == 2 && !strings.Contains(string(asked[1].Object.Raw), "by webhook") {
			t.Errorf("it was asked again about %s", asked[1].Object.Raw)
		}
	}
}
