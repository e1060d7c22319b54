package apiserver_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/envtest/apiserver"
)

// hook is a webhook that notes what it is asked and answers as a test says.
type hook struct {
	url, ca string
	answer  func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse

	mu    sync.Mutex
	asked []*admissionv1.AdmissionRequest
}

func newHook(t *testing.T, answer func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) *hook {
	h := &hook{answer: answer}
	web := httptest.NewTLSServer(h)
	t.Cleanup(web.Close)
	h.url = web.URL
	h.ca = base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}))
	return h
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	h.asked = append(h.asked, review.Request)
	h.mu.Unlock()
	answer := h.answer(review.Request)
	if answer == nil {
		http.Error(w, "no", http.StatusInternalServerError)
		return
	}
	answer.UID = review.Request.UID
	review.Request, review.Response = nil, answer
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

func (h *hook) requests() []*admissionv1.AdmissionRequest {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked
}

// config registers a webhook for creates, updates and deletes of configmaps; more replaces or adds
// fields.
func (h *hook) config(kind, more string) string {
	if more != "" {
		more = "," + more
	}
	return fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":%q,"metadata":{"name":"mine"},"webhooks":[{"name":"one.example.com",
		"clientConfig":{"url":%q,"caBundle":%q},"sideEffects":"None","admissionReviewVersions":["v1"],
		"rules":[{"operations":["CREATE","UPDATE","DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]%s}]}`, kind, h.url, h.ca, more)
}

const (
	validating = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
	mutating   = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
	configMaps = "/api/v1/namespaces/default/configmaps"
)

func allow(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Allowed: true}
}

func TestValidatingWebhookRefuses(t *testing.T) {
	s := start(t, apiserver.Options{})
	h := newHook(t, func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if r.Operation == admissionv1.Create && strings.Contains(string(r.Object.Raw), `"bad"`) {
			return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden, Message: "Always denied"}}
		}
		return &admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{"careful"}}
	})
	s.must(t, "POST", validating, h.config("ValidatingWebhookConfiguration", ""), nil)
	a := s.as(t, "", "POST", configMaps, `{"metadata":{"name":"bad"}}`)
	if want := `admission webhook "one.example.com" denied the request: Always denied`; a.code != 403 || a.status.Message != want {
		t.Errorf("create: %d %q, want %q", a.code, a.status.Message, want)
	}
	a = s.as(t, "", "POST", configMaps, `{"metadata":{"name":"good"}}`)
	if a.code != 201 || len(a.warnings) != 1 || a.warnings[0] != `299 - "careful"` {
		t.Errorf("create: %d %s, warnings %q", a.code, a.body, a.warnings)
	}
	s.must(t, "PUT", configMaps+"/good", `{"metadata":{"name":"good"},"data":{"a":"b"}}`, nil)
	if a := s.as(t, "", "PATCH", configMaps+"/good", `{"data":{"a":"c"}}`, "Content-Type", "application/merge-patch+json"); a.code != 200 {
		t.Errorf("patch: %d %s", a.code, a.body)
	}
	s.must(t, "DELETE", configMaps+"/good", nil, nil)
	var seen []string
	for _, r := range h.requests() {
		seen = append(seen, fmt.Sprintf("%s %s/%s %t %t", r.Operation, r.Namespace, r.Name, len(r.Object.Raw) > 0, len(r.OldObject.Raw) > 0))
	}
	want := "CREATE default/bad true false|CREATE default/good true false|UPDATE default/good true true|UPDATE default/good true true|DELETE default/good false true"
	if got := strings.Join(seen, "|"); got != want {
		t.Errorf("the webhook was asked\n%s\nwant\n%s", got, want)
	}
}

// TestWebhookSeesManagers: with strategies, objects have managedFields from their first write on. So a webhook
// sees the managedFields of both states.
func TestWebhookSeesManagers(t *testing.T) {
	strategy := func(schema.GroupVersionResource, schema.GroupVersionKind) *fake.Strategy { return nil }
	s := start(t, apiserver.Options{Fake: fake.Options{Strategy: strategy}})
	h := newHook(t, allow)
	s.must(t, "POST", validating, h.config("ValidatingWebhookConfiguration", ""), nil)
	s.must(t, "POST", configMaps, `{"metadata":{"name":"a"},"data":{"a":"b"}}`, nil)
	s.must(t, "PUT", configMaps+"/a", `{"metadata":{"name":"a"},"data":{"a":"c"}}`, nil)
	s.must(t, "DELETE", configMaps+"/a", nil, nil)
	var seen []string
	for _, r := range h.requests() {
		seen = append(seen, fmt.Sprintf("%s%v→%v", r.Operation, managersIn(t, r.OldObject), managersIn(t, r.Object)))
	}
	if got, want := strings.Join(seen, " "), "CREATE[]→[Go-http-client] UPDATE[Go-http-client]→[Go-http-client] DELETE[Go-http-client]→[]"; got != want {
		t.Errorf("the webhook saw %s, want %s", got, want)
	}
}

// managersIn returns the owners of an object's fields, none if there is no object.
func managersIn(t *testing.T, object runtime.RawExtension) (names []string) {
	t.Helper()
	var meta metav1.PartialObjectMetadata
	if len(object.Raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(object.Raw, &meta); err != nil {
		t.Fatal(err)
	}
	for _, entry := range meta.ManagedFields {
		names = append(names, entry.Manager)
	}
	return names
}

func TestMutatingWebhookChanges(t *testing.T) {
	s := start(t, apiserver.Options{})
	patchType := admissionv1.PatchTypeJSONPatch
	h := newHook(t, func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if r.Operation == admissionv1.Delete {
			return allow(r)
		}
		return &admissionv1.AdmissionResponse{Allowed: true, PatchType: &patchType, Patch: []byte(`[{"op":"add","path":"/data","value":{"made":"by webhook"}}]`)}
	})
	s.must(t, "POST", mutating, h.config("MutatingWebhookConfiguration", ""), nil)
	var got corev1.ConfigMap
	s.must(t, "POST", configMaps, `{"metadata":{"generateName":"a-","labels":{"x":"y"}}}`, &got)
	if got.Data["made"] != "by webhook" || got.Labels["x"] != "y" {
		t.Errorf("created %v %v", got.Labels, got.Data)
	}
	s.must(t, "PUT", configMaps+"/"+got.Name, `{"metadata":{"name":"`+got.Name+`"},"data":{"a":"b"}}`, &got)
	if got.Data["made"] != "by webhook" || got.Data["a"] != "" {
		t.Errorf("updated to %v", got.Data)
	}
}

// TestWebhookSelection registers webhooks that do not match, which would refuse everything.
func TestWebhookSelection(t *testing.T) {
	for name, more := range map[string]string{
		"namespace selector": `"namespaceSelector":{"matchLabels":{"env":"prod"}}`,
		"object selector":    `"objectSelector":{"matchLabels":{"env":"prod"}}`,
		"condition":          `"matchConditions":[{"name":"c","expression":"request.name == 'other'"}]`,
		"operation":          `"rules":[{"operations":["DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]`,
		"resource":           `"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["secrets"]}]`,
		"scope":              `"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"],"scope":"Cluster"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, apiserver.Options{})
			h := newHook(t, func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				return &admissionv1.AdmissionResponse{}
			})
			s.must(t, "POST", validating, h.config("ValidatingWebhookConfiguration", more), nil)
			s.must(t, "POST", configMaps, `{"metadata":{"name":"a"}}`, nil)
			if n := len(h.requests()); n > 0 {
				t.Errorf("the webhook was asked %d times", n)
			}
		})
	}
}

// TestWebhookFails registers webhooks that are down, slow or lie.
func TestWebhookFails(t *testing.T) {
	bad := map[string]func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse{
		"500": func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse { return nil },
		"patch": func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			return &admissionv1.AdmissionResponse{Allowed: true, Patch: []byte("x")}
		},
	}
	for name, answer := range bad {
		for _, policy := range []string{"Fail", "Ignore"} {
			t.Run(name+" "+policy, func(t *testing.T) {
				s := start(t, apiserver.Options{})
				h := newHook(t, answer)
				s.must(t, "POST", validating, h.config("ValidatingWebhookConfiguration", `"failurePolicy":"`+policy+`"`), nil)
				a := s.as(t, "", "POST", configMaps, `{"metadata":{"name":"a"}}`)
				if policy == "Ignore" && a.code != 201 {
					t.Errorf("%d %s, want a webhook that is ignored", a.code, a.body)
				}
				if want := `failed calling webhook "one.example.com"`; policy == "Fail" && (a.code != 500 || !strings.Contains(a.status.Message, want)) {
					t.Errorf("%d %q, want %q", a.code, a.status.Message, want)
				}
			})
		}
	}
	t.Run("slow", func(t *testing.T) {
		s := start(t, apiserver.Options{})
		done := make(chan struct{})
		h := newHook(t, func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			select {
			case <-done:
			case <-time.After(time.Minute):
			}
			return allow(r)
		})
		defer close(done)
		s.must(t, "POST", validating, h.config("ValidatingWebhookConfiguration", `"timeoutSeconds":1`), nil)
		if a := s.as(t, "", "POST", configMaps, `{"metadata":{"name":"a"}}`); a.code != 500 || !strings.Contains(a.status.Message, "deadline exceeded") {
			t.Errorf("%d %q, want an exceeded deadline", a.code, a.status.Message)
		}
	})
}

func TestDryRunAsksOnlyWebhooksWithoutSideEffects(t *testing.T) {
	s := start(t, apiserver.Options{})
	h := newHook(t, allow)
	s.must(t, "POST", validating, h.config("ValidatingWebhookConfiguration", `"sideEffects":"Some"`), nil)
	if a := s.as(t, "", "POST", configMaps+"?dryRun=All", `{"metadata":{"name":"a"}}`); a.code != 400 || !strings.Contains(a.status.Message, "does not support dry run") {
		t.Errorf("%d %q", a.code, a.status.Message)
	}
	s.must(t, "POST", configMaps, `{"metadata":{"name":"a"}}`, nil)
}

// TestWebhookRequests shows what webhooks get for requests that are not plain writes of an object.
func TestWebhookRequests(t *testing.T) {
	s := start(t, apiserver.Options{})
	h := newHook(t, allow)
	s.must(t, "POST", validating, h.config("ValidatingWebhookConfiguration", `"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*/*"]}]`), nil)
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/api/v1/namespaces", `{"metadata":{"name":"n"}}`, "CREATE Namespace n/n"},
		{"DELETE", "/api/v1/namespaces/n", ``, "DELETE Namespace n/n"},
		{"POST", "/api/v1/namespaces/default/pods", `{"metadata":{"name":"p"}}`, "CREATE Pod default/p"},
		{"POST", "/api/v1/namespaces/default/pods/p/eviction?dryRun=All", `{"metadata":{"name":"p"}}`, "CREATE Eviction default/p eviction"},
		{"POST", "/api/v1/namespaces/default/pods/p/binding", `{"metadata":{"name":"p"},"target":{"name":"n"}}`, "CREATE Binding default/p binding"},
		{"DELETE", "/api/v1/namespaces/default/pods", ``, "DELETE Pod default/"},
		{"POST", "/apis/apps/v1/namespaces/default/statefulsets", `{"metadata":{"name":"s"}}`, "CREATE StatefulSet default/s"},
		{"PUT", "/apis/apps/v1/namespaces/default/statefulsets/s/scale", `{"metadata":{"name":"s"},"spec":{"replicas":2}}`, "UPDATE Scale default/s scale"},
		{"PUT", "/apis/apps/v1/namespaces/default/statefulsets/s/status", `{"metadata":{"name":"s"}}`, "UPDATE StatefulSet default/s status"},
	} {
		before := len(h.requests())
		a := s.as(t, "", c.method, c.path, c.body)
		var seen []string
		for _, r := range h.requests()[before:] {
			seen = append(seen, strings.TrimSpace(fmt.Sprintf("%s %s %s/%s %s", r.Operation, r.Kind.Kind, r.Namespace, r.Name, r.SubResource)))
		}
		if got := strings.Join(seen, "|"); a.code/100 != 2 || got != c.want {
			t.Errorf("%s %s: %d, the webhook was asked %q, want %q", c.method, c.path, a.code, got, c.want)
		}
	}
}
