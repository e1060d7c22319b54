package fakekube_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// send runs the steps. A PATCH is a merge patch, and an APPLY a server-side apply.
func send(t *testing.T, s *fake.Server, steps ...step) (last string) {
	t.Helper()
	for _, x := range steps {
		r, err := http.NewRequestWithContext(t.Context(), x.method, fake.URL+x.path, strings.NewReader(x.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		switch x.method {
		case http.MethodPatch:
			r.Header.Set("Content-Type", "application/merge-patch+json")
		case "APPLY":
			r.Method = http.MethodPatch
			r.Header.Set("Content-Type", "application/apply-patch+yaml")
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

// TestManagersOfSubresources: the entry of a manager that wrote through a subresource states it.
func TestManagersOfSubresources(t *testing.T) {
	s := newServer(t)
	const apps, core, by = "/apis/apps/v1/namespaces/default/", "/api/v1/", "?fieldManager=one"
	const object = `{"metadata":{"name":"a"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}}}}}`
	for _, kind := range []string{"deployments", "statefulsets", "replicasets"} {
		send(t, s,
			step{"POST", apps + kind + by, object, 201, `"manager":"one"`},
			step{"PATCH", apps + kind + "/a/scale?fieldManager=two", `{"spec":{"replicas":3}}`, 200, ""},
			step{"GET", apps + kind + "/a", "", 200, `"fieldsV1":{"f:spec":{"f:replicas":{}}},"subresource":"scale"`},
			step{"PUT", apps + kind + "/a/scale" + by, `{"metadata":{"name":"a"},"spec":{"replicas":4}}`, 200, ""},
		)
		if got := send(t, s, step{"GET", apps + kind + "/a", "", 200, `"fieldsV1":{"f:spec":{"f:replicas":{}}},"subresource":"scale"`}); strings.Contains(got, `"two"`) {
			t.Errorf("%s: the manager keeps what another has changed: %s", kind, got)
		}
		send(t, s, step{"PUT", apps + kind + "/a/scale" + by, `{"metadata":{"name":"a"},"spec":{"replicas":0}}`, 200, ""})
		if got := send(t, s, step{"GET", apps + kind + "/a", "", 200, `"replicas":0`}); strings.Contains(got, `"f:replicas"`) {
			t.Errorf("%s: somebody owns replicas that a Scale leaves out: %s", kind, got)
		}
		send(t, s, step{"PUT", apps + kind + "/a/scale" + by, `{"metadata":{"name":"a"},"spec":{"replicas":2}}`, 200, ""})
		if got := send(t, s, step{"GET", apps + kind + "/a", "", 200, `"replicas":2`}); strings.Contains(got, `"f:replicas"`) {
			t.Errorf("%s: a Scale owns replicas that nobody owned: %s", kind, got)
		}
	}
	send(t, s,
		step{"POST", core + "namespaces/default/pods" + by, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`, 201, ""},
		step{"PATCH", core + "namespaces/default/pods/p/ephemeralcontainers?fieldManager=two", `{"spec":{"ephemeralContainers":[{"name":"d","image":"i"}]}}`, 200, `"subresource":"ephemeralcontainers"`},
		step{"POST", core + "namespaces" + by, `{"metadata":{"name":"n","labels":{"a":"b"}}}`, 201, `"manager":"one"`},
		step{"PUT", core + "namespaces/n/finalize?fieldManager=two", `{"metadata":{"name":"n"},"spec":{"finalizers":["kubernetes","example.com/x"]}}`, 200, `"subresource":"finalize"`},
	)
}

// TestApplyScale: the owners of replicas are the Scale's owners, and the other way round.
func TestApplyScale(t *testing.T) {
	const path = "/apis/apps/v1/namespaces/default/deployments"
	const template = `"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}}}`
	scale := func(n int) string {
		return fmt.Sprintf(`{"kind":"Scale","apiVersion":"autoscaling/v1","spec":{"replicas":%d}}`, n)
	}
	object := func(spec string) string {
		return `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a"},"spec":{` + spec + `}}`
	}
	s := newServer(t)
	send(t, s,
		step{"APPLY", path + "/a?fieldManager=one", object(`"replicas":2,` + template), 201, ""},
		step{"APPLY", path + "/a/scale?fieldManager=two", scale(3), 409, `conflict with \"one\": .spec.replicas`},
		step{"APPLY", path + "/a/scale?fieldManager=two", scale(2), 200, `"replicas":2`},
		step{"APPLY", path + "/a/scale?fieldManager=two", scale(3), 409, `conflict with \"one\": .spec.replicas`},
		step{"APPLY", path + "/a/scale?fieldManager=two&force=true", scale(3), 200, `"replicas":3`},
		step{"APPLY", path + "/a?fieldManager=one", object(`"replicas":2,` + template), 409, `conflict with \"two\" with subresource \"scale\": .spec.replicas`},
		step{"APPLY", path + "/a?fieldManager=one", object(template), 200, `"replicas":3`},
		step{"PATCH", path + "/a/scale?fieldManager=three", scale(4), 200, `"replicas":4`},
		step{"APPLY", path + "/a/scale?fieldManager=two", scale(5), 409, `conflict with \"three\" with subresource \"scale\"`},
		step{"APPLY", path + "/a/scale?fieldManager=two", `{"kind":"Scale","apiVersion":"autoscaling/v1","spec":{"replicas":"x"}}`, 500, "expected numeric"},
		step{"APPLY", path + "/a/scale?fieldManager=two", `{"kind":"Scale","apiVersion":"autoscaling/v1","spec":{"none":1}}`, 500, "field not declared in schema"},
	)
	created := send(t, s, step{"POST", path, strings.Replace(object(`"replicas":1,`+template), `"a"`, `"b"`, 1), 201, ""})
	send(t, s, step{"APPLY", path + "/b/scale?fieldManager=two", scale(2), 409, `conflict with`})
	if strings.Contains(created, "managedFields") {
		t.Errorf("the object had owners before: %s", created)
	}
}

func TestEviction(t *testing.T) {
	s := newServer(t)
	running(t, s, "a", "b", "c")
	budget(t, s, "one", 2) // the first eviction that is refused takes one, as in the API server
	const pods = "/api/v1/namespaces/default/pods/"
	const eviction = `{"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"a"}}`
	send(t, s,
		step{"POST", pods + "a/eviction", `{"metadata":{"name":"a"},"deleteOptions":{"preconditions":{"uid":"other"}}}`, 409, "UID in the precondition"},
		step{"POST", pods + "a/eviction?dryRun=All", eviction, 201, "Success"},
		step{"POST", pods + "a/eviction", eviction, 201, "Success"},
		step{"GET", pods + "a", "", 404, ""},
		step{"POST", pods + "b/eviction", eviction, 400, "name in URL does not match"},
		step{"POST", pods + "b/eviction", `{"metadata":{"name":"b"}}`, 429, "would violate the pod's disruption budget"},
		step{"GET", pods + "b", "", 200, ""},
	)
}

// TestEvictionOfScheduled: a pod that a node runs is left to its kubelet, with a condition. One that
// has not begun goes at once.
func TestEvictionOfScheduled(t *testing.T) {
	s := newServer(t)
	create(t, s, &corev1.Pod{ObjectMeta: named("a"), Spec: corev1.PodSpec{NodeName: "n", TerminationGracePeriodSeconds: new(int64(7))}})
	create(t, s, &corev1.Pod{ObjectMeta: named("b")})
	const pods = "/api/v1/namespaces/default/pods/"
	send(t, s,
		step{"POST", pods + "a/eviction", `{"metadata":{"name":"a"}}`, 201, "Success"},
		step{"GET", pods + "a", "", 200, `"deletionGracePeriodSeconds":7`},
		step{"GET", pods + "a", "", 200, `"type":"DisruptionTarget","status":"True"`},
		step{"POST", pods + "a/eviction", `{"metadata":{"name":"a"},"deleteOptions":{"gracePeriodSeconds":3}}`, 201, "Success"},
		step{"GET", pods + "a", "", 200, `"deletionGracePeriodSeconds":3`},
		step{"POST", pods + "a/eviction", `{"metadata":{"name":"a"},"deleteOptions":{"gracePeriodSeconds":0}}`, 201, "Success"},
		step{"GET", pods + "a", "", 404, ""},
		step{"POST", pods + "b/eviction", `{"metadata":{"name":"b"}}`, 201, "Success"},
		step{"GET", pods + "b", "", 404, ""},
	)
}

// TestEvictionTakesTime: on a server with strategies a pod that an eviction removes is there for a millisecond with
// its deletion mark, as after any deletion.
func TestEvictionTakesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := fakekube.New(fake.Options{Strategy: func(schema.GroupVersionResource, schema.GroupVersionKind) *fake.Strategy { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		create(t, s, &corev1.Pod{ObjectMeta: named("a")})
		began, took := time.Now(), make(chan time.Duration)
		go func() {
			send(t, s, step{"POST", "/api/v1/namespaces/default/pods/a/eviction", `{"metadata":{"name":"a"}}`, 201, "Success"})
			took <- time.Since(began)
		}()
		synctest.Wait()
		send(t, s, step{"GET", "/api/v1/namespaces/default/pods/a", "", 200, `"deletionTimestamp"`})
		if d := <-took; d != time.Millisecond {
			t.Errorf("took %v", d)
		}
		send(t, s, step{"GET", "/api/v1/namespaces/default/pods/a", "", 404, ""})
	})
}

// TestBindings: a Binding can also be created as an object, which nobody can read.
func TestBindings(t *testing.T) {
	s := newServer(t)
	create(t, s, &corev1.Pod{ObjectMeta: named("a")})
	const bindings = "/api/v1/namespaces/default/bindings"
	const binding = `{"kind":"Binding","apiVersion":"v1","metadata":{"name":"a"},"target":{"kind":"Node","name":"n"}}`
	send(t, s,
		step{"POST", bindings + "?dryRun=All", binding, 201, "Success"},
		step{"POST", bindings, `{"metadata":{"name":"a","resourceVersion":"1"},"target":{"name":"n"}}`, 409, "ResourceVersion in precondition"},
		step{"POST", bindings, `{"metadata":{"name":"a"},"target":{}}`, 500, "target.name"},
		step{"POST", bindings, `{"metadata":{"name":"a"},"target":{"name":"Bad_Name"}}`, 500, `target.name: Invalid value: \"Bad_Name\"`},
		step{"POST", bindings, `{"metadata":{"name":"a"},"target":{"kind":"Pod","name":"Bad_Name"}}`, 500, `"target.kind: Unsupported value: \"Pod\": supported values: \"Node\", \"\u003cempty\u003e\""`},
		step{"POST", "/api/v1/namespaces/default/pods/a/binding", `{"kind":"Binding","apiVersion":"v2","metadata":{"name":"a"},"target":{"name":"n"}}`, 400, `no kind \"Binding\" is registered for version \"v2\"`},
		step{"POST", bindings, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}`, 400, `converting (v1.Pod) to (core.Binding): unknown conversion`},
		step{"POST", bindings, `{"target":{"name":"n"}}`, 400, "Name parameter required"},
		step{"POST", bindings, binding, 201, "Success"},
		step{"GET", "/api/v1/namespaces/default/pods/a", "", 200, `"generation":1`},
		step{"POST", bindings + "?dryRun=All", binding, 409, "already assigned"},
		step{"GET", bindings + "/a", "", 404, "could not find the requested resource"},
		step{"POST", "/api/v1/bindings", binding, 404, "could not find the requested resource"},
		step{"GET", "/api/v1/namespaces/default/pods/a", "", 200, `"nodeName":"n"`},
		step{"POST", bindings, binding, 409, "already assigned"},
		step{"POST", bindings, `{"metadata":{"name":"b"},"target":{"name":"n"}}`, 404, `pods \"b\" not found`},
		step{"GET", bindings, "", 405, ""},
		step{"GET", "/api/v1", "", 200, `{"name":"bindings","singularName":"binding","namespaced":true,"kind":"Binding","verbs":["create"]}`},
	)
}

// running creates pods with the label app=web that run.
func running(t *testing.T, s *fake.Server, names ...string) {
	t.Helper()
	for _, name := range names {
		p := &corev1.Pod{ObjectMeta: named(name)}
		p.Labels = map[string]string{"app": "web"}
		create(t, s, p)
		p.Status.Phase = corev1.PodRunning
		if _, err := fake.UpdateStatus(s, p); err != nil {
			t.Fatal(err)
		}
	}
}

func budget(t *testing.T, s *fake.Server, name string, allowed int32) {
	t.Helper()
	b := &policyv1.PodDisruptionBudget{ObjectMeta: named(name), Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	create(t, s, b)
	b.Status.DisruptionsAllowed, b.Status.ObservedGeneration = allowed, 1 // as its controller would
	if _, err := fake.UpdateStatus(s, b); err != nil {
		t.Fatal(err)
	}
}

// left returns the disruptions that a budget has left.
func left(t *testing.T, s *fake.Server, name string) int32 {
	t.Helper()
	b, err := fake.Get[*policyv1.PodDisruptionBudget](s, types.NamespacedName{Namespace: "default", Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return b.Status.DisruptionsAllowed
}

// TestEvictionOptions: the deleteOptions of an eviction count.
func TestEvictionOptions(t *testing.T) {
	s := newServer(t)
	running(t, s, "a")
	budget(t, s, "one", 3)
	const pod = "/api/v1/namespaces/default/pods/a"
	send(t, s,
		step{"POST", pod + "/eviction", `{"metadata":{"name":"a"},"deleteOptions":{"dryRun":["All"]}}`, 201, "Success"},
		step{"POST", pod + "/eviction?dryRun=All", `{"metadata":{"name":"a"}}`, 201, "Success"},
		step{"POST", pod + "/eviction?dryRun=All", `{"metadata":{"name":"a"},"deleteOptions":{"preconditions":{"resourceVersion":"1"}}}`, 409, "ResourceVersion in the precondition"},
		step{"POST", pod + "/eviction", `{"metadata":{"name":"a"},"deleteOptions":{"dryRun":["Some"]}}`, 422, "dryRun"},
		step{"GET", pod, "", 200, ""},
	)
	if n := left(t, s, "one"); n != 3 {
		t.Errorf("%d disruptions left after dry runs", n)
	}
	// The budget comes before the preconditions: this eviction counts although the pod stays.
	send(t, s, step{"POST", pod + "/eviction", `{"metadata":{"name":"a"},"deleteOptions":{"preconditions":{"resourceVersion":"1"}}}`, 409, "ResourceVersion in the precondition"})
	if n := left(t, s, "one"); n != 2 {
		t.Errorf("%d disruptions left", n)
	}
	budget(t, s, "two", 0)
	send(t, s,
		step{"POST", pod + "/eviction", `{"metadata":{"name":"a"}}`, 500, "more than one PodDisruptionBudget"},
		step{"GET", pod, "", 200, ""},
	)
	if n := left(t, s, "one"); n != 2 {
		t.Errorf("a refused eviction leaves %d disruptions", n)
	}
}

// TestEvictionsAtOnce: each of many evictions takes one disruption, and none fails because of the
// others.
func TestEvictionsAtOnce(t *testing.T) {
	s := newServer(t)
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("p%d", i))
	}
	running(t, s, names...)
	budget(t, s, "one", 15)
	var all sync.WaitGroup
	var done, refused atomic.Int32
	for _, name := range names {
		all.Go(func() {
			resp, err := s.Client().Post(fake.URL+"/api/v1/namespaces/default/pods/"+name+"/eviction", "application/json", strings.NewReader(`{"metadata":{"name":"`+name+`"}}`))
			if err != nil {
				t.Error(err)
				return
			}
			b, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			switch resp.StatusCode {
			case 201:
				done.Add(1)
			case 429:
				refused.Add(1)
			default:
				t.Errorf("%d %s", resp.StatusCode, b)
			}
		})
	}
	all.Wait()
	if done.Load() != 15 || refused.Load() != 5 || left(t, s, "one") != 0 {
		t.Errorf("%d evicted, %d refused, %d left", done.Load(), refused.Load(), left(t, s, "one"))
	}
}

// TestBindingPreconditions: a binding is for one pod in one state.
func TestBindingPreconditions(t *testing.T) {
	s := newServer(t)
	running(t, s, "a")
	create(t, s, &corev1.Pod{ObjectMeta: named("gated"), Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "g"}}}})
	const pods = "/api/v1/namespaces/default/pods/"
	send(t, s,
		step{"POST", pods + "a/binding", `{"metadata":{"name":"b"},"target":{"name":"n1"}}`, 400, "name in URL does not match"},
		step{"POST", pods + "a/binding", `{"metadata":{"name":"a","uid":"other"},"target":{"name":"n1"}}`, 409, "UID"},
		step{"POST", pods + "a/binding", `{"metadata":{"name":"a","resourceVersion":"1"},"target":{"name":"n1"}}`, 409, "ResourceVersion"},
		step{"POST", pods + "gated/binding", `{"metadata":{"name":"gated"},"target":{"name":"n1"}}`, 409, "schedulingGates"},
		step{"POST", pods + "a/binding", `{"metadata":{"name":"a","annotations":{"k":"v"}},"target":{"name":"n1"}}`, 201, "Success"},
		step{"GET", pods + "a", "", 200, `"annotations":{"k":"v"}`},
	)
}

// TestBindingAmongWriters: neither the binding nor the writes of others get lost.
func TestBindingAmongWriters(t *testing.T) {
	for range 20 {
		s := newServer(t)
		running(t, s, "a")
		at := types.NamespacedName{Namespace: "default", Name: "a"}
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				for n := 0; n < 10; {
					p, err := fake.Get[*corev1.Pod](s, at)
					if err != nil {
						t.Error(err)
						return
					}
					p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodConditionType(fmt.Sprintf("C%d-%d", i, n)), Status: "True"})
					if _, err := fake.UpdateStatus(s, p); err == nil {
						n++
					}
				}
			})
		}
		all.Go(func() {
			send(t, s, step{"POST", "/api/v1/namespaces/default/pods/a/binding", `{"metadata":{"name":"a"},"target":{"name":"n1"}}`, 201, ""})
		})
		all.Wait()
		p, err := fake.Get[*corev1.Pod](s, at)
		if err != nil || p.Spec.NodeName != "n1" || len(p.Status.Conditions) != 41 {
			t.Fatalf("%q, %d conditions, %v", p.Spec.NodeName, len(p.Status.Conditions), err)
		}
	}
}

func TestBindingAndPods(t *testing.T) {
	s := newServer(t)
	create(t, s, &corev1.Pod{ObjectMeta: named("a"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}})
	const pod = "/api/v1/namespaces/default/pods/a"
	send(t, s,
		step{"POST", pod + "/binding", `{"metadata":{"name":"a"},"target":{"kind":"Pod","name":"n1"}}`, 500, "target.kind"},
		step{"POST", pod + "/binding", `{"metadata":{"name":"a"},"target":{}}`, 500, "target.name"},
		step{"POST", pod + "/binding", `{"kind":"Binding","apiVersion":"v1","metadata":{"name":"a"},"target":{"kind":"Node","name":"n1"}}`, 201, "Success"},
		step{"GET", pod, "", 200, `"nodeName":"n1"`},
		step{"GET", pod, "", 200, `"type":"PodScheduled"`},
		step{"POST", pod + "/binding", `{"metadata":{"name":"a"},"target":{"name":"n2"}}`, 409, "already assigned"},
		step{"PATCH", pod + "/ephemeralcontainers", `{"spec":{"ephemeralContainers":[{"name":"debug"}]}}`, 200, `"name":"debug"`},
		step{"PATCH", pod + "/ephemeralcontainers", `{"spec":{"nodeName":"n3"}}`, 200, `"nodeName":"n1"`},
		step{"PATCH", pod + "/resize", `{"spec":{"containers":[{"name":"main","resources":{"limits":{"cpu":"2"}}}]}}`, 200, `"cpu":"2"`},
		step{"PATCH", pod + "/resize", `{"spec":{"containers":[{"name":"other"}]}}`, 422, "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize"},
		step{"PATCH", pod + "/resize", `{"spec":{"containers":[{"name":"main"},{"name":"other"}]}}`, 422, "spec.containers: Forbidden: containers may not be added or removed on resize"},
	)
}

func TestLog(t *testing.T) {
	s := newServer(t)
	pod := &corev1.Pod{ObjectMeta: named("p")}
	pod.Spec.Containers = []corev1.Container{{Name: "a"}, {Name: "b"}}
	pod.Spec.InitContainers = []corev1.Container{{Name: "i"}}
	create(t, s, pod)
	const path = "/api/v1/namespaces/default/pods/p/log"
	send(t, s,
		step{"GET", path + "?container=a", "", 204, ""},
		step{"GET", path + "?container=i", "", 204, ""},
		step{"GET", path + "?container=z", "", 400, "container z is not valid for pod p"},
		step{"GET", path, "", 400, "a container name must be specified for pod p, choose one of: [a b]"},
		step{"GET", "/api/v1/namespaces/default/pods/q/log", "", 404, "not found"})
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
		step{"GET", "/api/v1/namespaces/n/finalize", "", 405, ""},
		step{"PATCH", "/api/v1/namespaces/n/finalize", `{}`, 405, ""},
	)
}
