package strategies_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	kubeapps "github.com/kinform/kinform/with/kubernetes/apps"
	"github.com/kinform/kinform/with/kubernetes/fakekube"
	"github.com/kinform/kinform/with/strategies"
)

func newServer(t testing.TB) *fake.Server {
	t.Helper()
	s, err := fakekube.New(fake.Options{Strategy: strategies.New(), KeepNamespaces: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// request is one of a script, and what its answer has: the code, and texts in its body.
type request struct {
	line, body string
	code       int
	has        []string
}

func send(t testing.TB, s *fake.Server, r request) map[string]any {
	t.Helper()
	method, path, _ := strings.Cut(r.line, " ")
	req, err := http.NewRequestWithContext(t.Context(), method, fake.URL+path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != r.code {
		t.Errorf("%s: %d, want %d: %s", r.line, resp.StatusCode, r.code, &b)
	}
	for _, text := range r.has {
		if absent := strings.HasPrefix(text, "!"); strings.Contains(b.String(), strings.TrimPrefix(text, "!")) == absent {
			t.Errorf("%s: want %s in %s", r.line, text, &b)
		}
	}
	var out map[string]any
	if err := json.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

const (
	pod     = `"containers":[{"name":"a","image":"i"}]`
	sized   = `"containers":[{"name":"a","image":"i","resources":{"requests":{"cpu":"100m"}}}]`
	resized = `"containers":[{"name":"a","image":"i","resources":{"requests":{"cpu":"2"}}}]`
	spec    = `{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{` + pod + `}}}`
	ns      = "/api/v1/namespaces/default/"
	apps    = "/apis/apps/v1/namespaces/default/"
)

func TestWrites(t *testing.T) {
	for name, script := range map[string][]request{
		"secret": {
			{"POST " + ns + "secrets", `{"metadata":{"name":"s"},"stringData":{"a":"b"},"immutable":true}`, 201, []string{`"a":"Yg=="`, `"type":"Opaque"`, "!stringData"}},
			{"PATCH " + ns + "secrets/s", `{"data":{"a":"Yw=="}}`, 422, []string{"field is immutable when `immutable` is set"}},
			{"POST " + ns + "secrets", `{"metadata":{"name":"t"},"type":"kubernetes.io/tls"}`, 422, []string{`data[tls.crt]`}},
		},
		"resize": {
			{"POST /api/v1/nodes", `{"metadata":{"name":"small"},"status":{"allocatable":{"cpu":"1","memory":"1Gi"}}}`, 201, nil},
			{"POST " + ns + "pods", `{"metadata":{"name":"p"},"spec":{"nodeName":"none",` + sized + `}}`, 201, nil},
			{"PATCH " + ns + "pods/p/resize", `{"spec":{` + resized + `}}`, 403, []string{`node \"none\" not found`}},
			{"POST " + ns + "pods", `{"metadata":{"name":"q"},"spec":{"nodeName":"small",` + sized + `}}`, 201, nil},
			{"PATCH " + ns + "pods/q/resize", `{"spec":{` + resized + `}}`, 403, []string{"node didn't have enough allocatable resources: cpu, requested: 2000, allocatable: 1000"}},
			{"POST " + ns + "pods", `{"metadata":{"name":"r"},"spec":{` + sized + `}}`, 201, nil},
			{"PATCH " + ns + "pods/r/resize", `{"spec":{` + resized + `}}`, 200, []string{`"cpu":"2"`}},
		},
		"deployment": {
			{"POST " + apps + "deployments", `{"metadata":{"name":"d"},"spec":{}}`, 422, []string{"spec.selector: Required value", "spec.template.spec.containers: Required value"}},
			{"POST " + apps + "deployments", `{"metadata":{"name":"d","generation":7},"spec":` + spec + `,"status":{"replicas":3}}`, 201, []string{`"replicas":1`, `"type":"RollingUpdate"`, `"generation":1`, `"imagePullPolicy":"Always"`, `"status":{}`}},
			{"PATCH " + apps + "deployments/d", `{"spec":{"selector":{"matchLabels":{"a":"c"}}}}`, 422, []string{"field is immutable"}},
			{"PATCH " + apps + "deployments/d", `{"spec":{"replicas":2}}`, 200, []string{`"generation":2`}},
			{"PATCH " + apps + "deployments/d/scale", `{"spec":{"replicas":4}}`, 200, nil},
			{"PATCH " + apps + "deployments/d/status", `{"spec":{"replicas":9},"status":{"replicas":4,"readyReplicas":1}}`, 200, []string{`"replicas":4`, `"readyReplicas":1`, `"generation":3`, `!"replicas":9`}},
			{"PATCH " + apps + "deployments/d/status", `{"status":{"readyReplicas":-1}}`, 422, []string{"status.readyReplicas"}},
			{"GET " + apps + "deployments/d", "", 200, []string{`"replicas":4`}},
			{"PATCH " + apps + "deployments/d", `{"metadata":{"finalizers":["orphan"]}}`, 200, nil},
			{"DELETE " + apps + "deployments/d?dryRun=All&propagationPolicy=Background", "", 200, []string{`"metadata":{}`, `"replicas":0`, `"containers":null`}},
		},
		"pod": {
			{"POST /apis/scheduling.k8s.io/v1/priorityclasses", `{"metadata":{"name":"high"},"value":5}`, 201, []string{`"preemptionPolicy":"PreemptLowerPriority"`}},
			{"POST " + ns + "limitranges", `{"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","default":{"cpu":"1"},"max":{"cpu":"2"}}]}}`, 201, nil},
			{"POST " + ns + "pods", `{"metadata":{"name":"p"},"spec":{"priorityClassName":"high",` + pod + `}}`, 201,
				[]string{`"priority":5`, `"phase":"Pending"`, `"qosClass":"Burstable"`, `"restartPolicy":"Always"`, "node.kubernetes.io/not-ready", `"cpu":"1"`}},
			{"POST " + ns + "pods", `{"metadata":{"name":"q"},"spec":{"priorityClassName":"none",` + pod + `}}`, 403, []string{"no PriorityClass with name none was found"}},
			{"POST " + ns + "pods", `{"metadata":{"name":"q"},"spec":{"containers":[{"name":"a","image":"i","resources":{"limits":{"cpu":"3"}}}]}}`, 403, []string{"maximum cpu usage per Container is 2, but limit is 3"}},
			{"PATCH " + ns + "pods/p", `{"spec":{"nodeName":"n"}}`, 422, []string{"pod updates may not change fields other than"}},
			{"POST " + ns + "pods/p/binding", `{"metadata":{"name":"p"},"target":{"kind":"Node","name":"n"}}`, 201, nil},
			{"PATCH " + ns + "pods/p/ephemeralcontainers", `{"spec":{"ephemeralContainers":[{"name":"e","image":"i"}]}}`, 200, []string{`"terminationMessagePath":"/dev/termination-log"`}},
			{"PATCH " + ns + "pods/p", `{"spec":{"ephemeralContainers":[]}}`, 422, nil},
			{"PATCH " + ns + "pods/p/status", `{"status":{"phase":"Running"}}`, 200, []string{`"phase":"Running"`, `"nodeName":"n"`}},
		},
		"service": {
			{"POST " + ns + "services", `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}}`, 201, []string{`"clusterIP":"10.0.0.2"`, `"ipFamilyPolicy":"SingleStack"`, `"targetPort":80`}},
			{"POST " + ns + "services", `{"metadata":{"name":"t"},"spec":{"clusterIP":"10.0.0.2","ports":[{"port":80}]}}`, 422, []string{"provided IP is already allocated"}},
			{"POST " + ns + "services", `{"metadata":{"name":"t"},"spec":{"clusterIP":"10.1.0.2","ports":[{"port":80}]}}`, 422, []string{"not in the valid range"}},
			{"PATCH " + ns + "services/s", `{"spec":{"type":"NodePort"}}`, 200, []string{`"nodePort":30000`}},
			{"PATCH " + ns + "services/s", `{"spec":{"type":"ExternalName","externalName":"e"}}`, 200, []string{"!clusterIP", "!nodePort"}},
			{"POST " + ns + "services", `{"metadata":{"name":"u"},"spec":{"clusterIP":"10.0.0.2","ports":[{"port":80}]}}`, 201, nil},
		},
		"claims": {
			{"POST /apis/storage.k8s.io/v1/storageclasses", `{"metadata":{"name":"c","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"p"}`, 201, nil},
			{"POST " + ns + "persistentvolumeclaims", `{"metadata":{"name":"p"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`, 201, []string{`"storageClassName":"c"`, "pvc-protection", `"phase":"Pending"`}},
		},
		"autoscaler in two versions": {
			{"POST /apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", `{"metadata":{"name":"h"},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},"maxReplicas":3,"metrics":[
				{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}},{"type":"Resource","resource":{"name":"memory","target":{"type":"Utilization","averageUtilization":60}}}]}}`, 201, []string{`"generation":1`}},
			{"PATCH /apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers/h/status", `{"status":{"currentReplicas":2}}`, 200, []string{`"generation":1`}},
			{"GET /apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/h", ``, 200, []string{`"metrics":[{"type":"Resource","resource":{"name":"cpu"`}},
			{"PATCH /apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers/h", `{}`, 200, []string{`"generation":2`}}, // the CPU is last in version 1
			{"PATCH /apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers/h", `{}`, 200, []string{`"generation":2`}},
			{"GET /apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/h", ``, 200, []string{`"metrics":[{"type":"Resource","resource":{"name":"memory"`}},
		},
		"policies": {
			{"POST /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", `{"metadata":{"name":"p"},"spec":{"validations":[{"expression":"("}]}}`, 422, []string{"spec.validations[0].expression: Invalid value"}},
			{"POST /apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", `{"metadata":{"name":"p"},"spec":{"policyName":"p","validationActions":["Deny"],"paramRef":{"name":"x"}}}`, 422, []string{"spec.paramRef.parameterNotFoundAction: Required value"}},
		},
		"job": {
			{"POST /apis/batch/v1/namespaces/default/jobs", `{"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never",` + pod + `}}}}`, 201, []string{"batch.kubernetes.io/controller-uid"}},
			{"POST /apis/batch/v1/namespaces/default/cronjobs", `{"metadata":{"name":"j"},"spec":{"schedule":"x","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never",` + pod + `}}}}}}`, 422, []string{"spec.schedule"}},
		},
		"others": {
			{"POST " + ns + "configmaps", `{"metadata":{"name":"Bad"}}`, 422, []string{"metadata.name"}},
			{"POST " + ns + "configmaps", `{"metadata":{"generateName":"g-"},"data":{"a b":"c"}}`, 422, []string{"data[a b]"}},
			{"POST " + ns + "configmaps", `{"metadata":{"generateName":"g-"},"data":{}}`, 201, []string{`"name":"g-`, `!"data"`}},
			{"POST /api/v1/namespaces", `{"metadata":{"name":"n"}}`, 201, []string{`"finalizers":["kubernetes"]`, `"phase":"Active"`}},
			{"DELETE /api/v1/namespaces/n", "", 200, []string{"Terminating"}},
			{"GET /api/v1/namespaces/n", "", 404, nil},
			{"POST /api/v1/nodes", `{"metadata":{"name":"n"},"status":{"capacity":{"cpu":"4"}}}`, 201, []string{"node.kubernetes.io/not-ready", `"allocatable":{"cpu":"4"}`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			for _, r := range script {
				send(t, s, r)
			}
		})
	}
}

// TestEvictionWithoutPhase: a new pod is pending and no budget counts for it. One whose phase somebody has removed
// is not pending.
func TestEvictionWithoutPhase(t *testing.T) {
	s := newServer(t)
	for _, r := range []request{
		{"POST /apis/policy/v1/namespaces/default/poddisruptionbudgets", `{"metadata":{"name":"none"},"spec":{"maxUnavailable":0,"selector":{"matchLabels":{"a":"b"}}}}`, 201, nil},
		{"POST " + ns + "pods", `{"metadata":{"name":"new","labels":{"a":"b"}},"spec":{` + pod + `}}`, 201, []string{`"phase":"Pending"`}},
		{"POST " + ns + "pods/new/eviction", `{"metadata":{"name":"new"}}`, 201, nil},
		{"POST " + ns + "pods", `{"metadata":{"name":"p","labels":{"a":"b"}},"spec":{` + pod + `}}`, 201, nil},
		{"PATCH " + ns + "pods/p/status", `{"status":{"phase":null}}`, 200, []string{`!"phase"`}},
		{"POST " + ns + "pods/p/eviction", `{"metadata":{"name":"p"}}`, 429, []string{"disruption budget"}},
	} {
		send(t, s, r)
	}
}

// TestOwnFunctions stores what a test says, with defaults.
func TestOwnFunctions(t *testing.T) {
	s := newServer(t)
	d, err := fake.Create(s, fake.Object(&appsv1.Deployment{}, "default", "d"))
	if err != nil || *d.Spec.Replicas != 1 {
		t.Error(d, err)
	}
	secret := fake.Object(&corev1.Secret{}, "default", "s")
	secret.StringData = map[string]string{"a": "b"}
	if secret, err = fake.Create(s, secret); err != nil || string(secret.Data["a"]) != "b" || secret.StringData != nil {
		t.Error(secret, err)
	}
}

// TestClient has the strategies of requests over HTTP.
func TestClient(t *testing.T) {
	s := newServer(t)
	c, err := client.New(client.Connection{URL: fake.URL, HTTP: s.Client()}, kubeapps.Deployments, client.Options{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.Create(t.Context(), fake.Object(&appsv1.Deployment{}, "default", "d"), metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "spec.selector: Required value") {
		t.Error(err)
	}
	if _, err := fake.Get[*appsv1.Deployment](s, types.NamespacedName{Namespace: "default", Name: "d"}); err == nil {
		t.Error("it was stored")
	}
}

// TestAddressesAreUnique creates services at one time.
func TestAddressesAreUnique(t *testing.T) {
	s := newServer(t)
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			send(t, s, request{"POST " + ns + "services", fmt.Sprintf(`{"metadata":{"name":"s%d"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`, i), 201, nil})
		})
	}
	all.Wait()
	list, err := fake.List[*corev1.Service](s, fake.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[any]bool{}
	for _, svc := range list {
		for _, x := range []any{svc.Spec.ClusterIP, svc.Spec.Ports[0].NodePort, svc.UID} {
			if seen[x] && x != int32(0) {
				t.Errorf("%v is there twice", x)
			}
			seen[x] = true
		}
	}
}

func BenchmarkCreateDeployment(b *testing.B) {
	s := newServer(b)
	c, err := client.New(client.Connection{URL: fake.URL, HTTP: s.Client()}, kubeapps.Deployments, client.Options{Namespace: "default"})
	if err != nil {
		b.Fatal(err)
	}
	obj := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{GenerateName: "d-"}}
	if err := json.Unmarshal([]byte(spec), &obj.Spec); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Create(b.Context(), obj, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestQuotaOfRefusedWrite: a write that a webhook refuses, which Options.Validate stands for, is
// not charged: ResourceQuota is the last plugin of an API server.
func TestQuotaOfRefusedWrite(t *testing.T) {
	s, err := fakekube.New(fake.Options{Strategy: strategies.New(), KeepNamespaces: true, Validate: func(_ context.Context, a *fake.Admission) error {
		if a.Object != nil && a.Object.GetName() == "refused" {
			return errors.New("denied by a webhook")
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	quota := `{"metadata":{"name":"q"},"spec":{"hard":{"count/configmaps":"1"}},"status":{"hard":{"count/configmaps":"1"},"used":{"count/configmaps":"0"}}}`
	send(t, s, request{"POST /api/v1/namespaces/default/resourcequotas", quota, 201, nil})
	send(t, s, request{"PATCH /api/v1/namespaces/default/resourcequotas/q/status", quota, 200, nil})
	for range 2 {
		send(t, s, request{"POST /api/v1/namespaces/default/configmaps", `{"metadata":{"name":"refused"}}`, 403, []string{"denied by a webhook"}})
	}
	send(t, s, request{"GET /api/v1/namespaces/default/resourcequotas/q", "", 200, []string{`"used":{"count/configmaps":"0"}`}})
	send(t, s, request{"POST /api/v1/namespaces/default/configmaps", `{"metadata":{"name":"a"}}`, 201, nil})
	send(t, s, request{"POST /api/v1/namespaces/default/configmaps", `{"metadata":{"name":"b"}}`, 403, []string{"exceeded quota"}})
	send(t, s, request{"GET /api/v1/namespaces/default/resourcequotas/q", "", 200, []string{`"used":{"count/configmaps":"1"}`}})
}

// TestWarnings: clients get the warnings of the strategies, whoever serves the requests.
func TestWarnings(t *testing.T) {
	s := newServer(t)
	body := `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"i","env":[{"name":"A","value":"1"},{"name":"A","value":"2"}]}]}}`
	resp, err := s.Client().Post(fake.URL+ns+"pods", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	want := []string{`299 - "spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped when using apply"`}
	if got := resp.Header.Values("Warning"); resp.StatusCode != http.StatusCreated || !slices.Equal(got, want) {
		t.Errorf("%d %q, want %q", resp.StatusCode, got, want)
	}
}
