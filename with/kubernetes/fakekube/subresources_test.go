package fakekube_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/fakekube"
)

// step is a request, and what its answer has.
type step struct {
	method, path, body string
	code               int
	want               string
}

// send runs the steps. A PATCH is a merge patch.
func send(t *testing.T, s *fake.Server, steps ...step) (last string) {
	t.Helper()
	for _, x := range steps {
		r, err := http.NewRequestWithContext(t.Context(), x.method, fake.URL+x.path, strings.NewReader(x.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if x.method == http.MethodPatch {
			r.Header.Set("Content-Type", "application/merge-patch+json")
		}
		resp, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if last = string(b); resp.StatusCode != x.code || !strings.Contains(last, x.want) {
			t.Errorf("%s %s %s: %d %s, want %d %s", x.method, x.path, x.body, resp.StatusCode, last, x.code, x.want)
		}
	}
	return last
}

func TestScale(t *testing.T) {
	s := newServer(t)
	create(t, s, &appsv1.Deployment{ObjectMeta: named("web"), Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}})
	create(t, s, &appsv1.StatefulSet{ObjectMeta: named("db")})
	create(t, s, &appsv1.ReplicaSet{ObjectMeta: named("rs")})
	create(t, s, &corev1.ReplicationController{ObjectMeta: named("rc"), Spec: corev1.ReplicationControllerSpec{Selector: map[string]string{"a": "b"}}})
	const apps, core = "/apis/apps/v1/namespaces/default/", "/api/v1/namespaces/default/"
	send(t, s,
		step{"GET", apps + "deployments/web/scale", "", 200, `"spec":{"replicas":1},"status":{"replicas":0,"selector":"app=web"}`},
		step{"PATCH", apps + "deployments/web/scale", `{"spec":{"replicas":3}}`, 200, `"spec":{"replicas":3}`},
		step{"GET", apps + "deployments/web", "", 200, `"replicas":3`},
		step{"PUT", apps + "statefulsets/db/scale", `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"db"},"spec":{"replicas":0}}`, 200, `"spec":{}`},
		step{"PATCH", apps + "replicasets/rs/scale", `{"spec":{"replicas":-1}}`, 422, "must be greater than or equal to 0"},
		step{"GET", core + "replicationcontrollers/rc/scale", "", 200, `"selector":"a=b"`},
		step{"GET", apps + "deployments/gone/scale", "", 404, `deployments.apps \"gone\" not found`},
		step{"GET", apps + "daemonsets/x/scale", "", 404, ""},
	)
}

func TestEviction(t *testing.T) {
	s := newServer(t)
	for _, name := range []string{"a", "b", "c"} {
		p := &corev1.Pod{ObjectMeta: named(name)}
		p.Labels = map[string]string{"app": "web"}
		create(t, s, p)
		p.Status.Phase = corev1.PodRunning
		if _, err := fake.UpdateStatus(s, p); err != nil {
			t.Fatal(err)
		}
	}
	b := &policyv1.PodDisruptionBudget{ObjectMeta: named("one"), Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	create(t, s, b)
	b.Status.DisruptionsAllowed = 1
	if _, err := fake.UpdateStatus(s, b); err != nil {
		t.Fatal(err)
	}
	const pods = "/api/v1/namespaces/default/pods/"
	const eviction = `{"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"a"}}`
	send(t, s,
		step{"POST", pods + "a/eviction", `{"metadata":{"name":"a"},"deleteOptions":{"preconditions":{"uid":"other"}}}`, 409, "UID in the precondition"},
		step{"POST", pods + "a/eviction?dryRun=All", eviction, 201, "Success"},
		step{"POST", pods + "a/eviction", eviction, 201, "Success"},
		step{"GET", pods + "a", "", 404, ""},
		step{"POST", pods + "b/eviction", eviction, 429, "would violate the pod's disruption budget"},
		step{"GET", pods + "b", "", 200, ""},
	)
}

func TestBindingAndPods(t *testing.T) {
	s := newServer(t)
	create(t, s, &corev1.Pod{ObjectMeta: named("a"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}})
	const pod = "/api/v1/namespaces/default/pods/a"
	send(t, s,
		step{"POST", pod + "/binding", `{"metadata":{"name":"a"},"target":{"kind":"Pod","name":"n1"}}`, 422, "target.kind"},
		step{"POST", pod + "/binding", `{"metadata":{"name":"a"},"target":{}}`, 422, "target.name"},
		step{"POST", pod + "/binding", `{"kind":"Binding","apiVersion":"v1","metadata":{"name":"a"},"target":{"kind":"Node","name":"n1"}}`, 201, "Success"},
		step{"GET", pod, "", 200, `"nodeName":"n1"`},
		step{"GET", pod, "", 200, `"type":"PodScheduled"`},
		step{"POST", pod + "/binding", `{"metadata":{"name":"a"},"target":{"name":"n2"}}`, 409, "already assigned"},
		step{"PATCH", pod + "/ephemeralcontainers", `{"spec":{"ephemeralContainers":[{"name":"debug"}]}}`, 200, `"name":"debug"`},
		step{"PATCH", pod + "/ephemeralcontainers", `{"spec":{"nodeName":"n3"}}`, 200, `"nodeName":"n1"`},
		step{"PATCH", pod + "/resize", `{"spec":{"containers":[{"name":"main","resources":{"limits":{"cpu":"2"}}}]}}`, 200, `"cpu":"2"`},
	)
}

func TestToken(t *testing.T) {
	s := newServer(t)
	create(t, s, &corev1.ServiceAccount{ObjectMeta: named("robot")})
	const path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
	body := send(t, s,
		step{"POST", path, `{"spec":{"expirationSeconds":5}}`, 422, "less than 10 minutes"},
		step{"POST", path, `{"spec":{"audiences":["x"]}}`, 201, `"expirationTimestamp"`})
	var r authenticationv1.TokenRequest
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatal(err)
	}
	if who, ok := fakekube.TokenUser(r.Status.Token); !ok || who != (types.NamespacedName{Namespace: "default", Name: "robot"}) {
		t.Errorf("%q is the token of %v", r.Status.Token, who)
	}
	for _, bad := range []string{"", "x", "kinform-fake.", "kinform-fake.%", "kinform-fake.YQ"} {
		if who, ok := fakekube.TokenUser(bad); ok {
			t.Errorf("%q is the token of %v", bad, who)
		}
	}
}

func TestApprovalAndFinalize(t *testing.T) {
	s := newServer(t)
	create(t, s, &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "c"}})
	create(t, s, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	const csr = "/apis/certificates.k8s.io/v1/certificatesigningrequests/c"
	send(t, s,
		step{"PATCH", csr + "/approval", `{"status":{"conditions":[{"type":"Approved","status":"True"}]},"spec":{"signerName":"other"}}`, 200, `"type":"Approved"`},
		step{"GET", csr, "", 200, `"signerName":""`},
		step{"PUT", "/api/v1/namespaces/n/finalize", `{"metadata":{"name":"n"},"spec":{"finalizers":["kubernetes"]}}`, 200, `"finalizers":["kubernetes"]`},
	)
}
