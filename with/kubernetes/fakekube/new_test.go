package fakekube_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/fakekube"
)

func newServer(t *testing.T) *fake.Server {
	t.Helper()
	s, err := fakekube.New(fake.Options{KeepNamespaces: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNewHasWhatAClusterBeginsWith(t *testing.T) {
	s := newServer(t)
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		ns, err := fake.Get[*corev1.Namespace](s, types.NamespacedName{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if ns.Status.Phase != corev1.NamespaceActive || ns.Labels[corev1.LabelMetadataName] != name {
			t.Errorf("namespace %s: phase %q, labels %v", name, ns.Status.Phase, ns.Labels)
		}
	}
	if _, err := fake.Get[*corev1.Service](s, types.NamespacedName{Namespace: "default", Name: "kubernetes"}); err != nil {
		t.Error(err)
	}
	if _, err := fake.Create(s, fake.Object(&corev1.ConfigMap{}, "nowhere", "a")); err == nil {
		t.Error("an object can be created in a namespace that does not exist")
	}
}

// TestFields selects by each field over HTTP: one object has the value, another has not.
func TestFields(t *testing.T) {
	s := newServer(t)
	one := &corev1.Pod{ObjectMeta: named("one"), Spec: corev1.PodSpec{NodeName: "n1", HostNetwork: true, RestartPolicy: "Never", SchedulerName: "mine", ServiceAccountName: "sa"},
		Status: corev1.PodStatus{Phase: "Running", PodIPs: []corev1.PodIP{{IP: "10.1.1.1"}}, NominatedNodeName: "n2"}}
	create(t, s, one)
	if _, err := fake.UpdateStatus(s, one); err != nil {
		t.Fatal(err)
	}
	create(t, s, &corev1.Pod{ObjectMeta: named("two"), Spec: corev1.PodSpec{NodeName: "n3"}})
	create(t, s, &corev1.Secret{ObjectMeta: named("one"), Type: "kubernetes.io/tls"})
	create(t, s, &corev1.Secret{ObjectMeta: named("two"), Type: "Opaque"})
	create(t, s, &corev1.Service{ObjectMeta: named("one"), Spec: corev1.ServiceSpec{Type: "NodePort"}})
	create(t, s, &corev1.Event{ObjectMeta: named("one"), InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "one", UID: "u"}, Reason: "Started", Source: corev1.EventSource{Component: "kubelet"}})
	create(t, s, &corev1.Event{ObjectMeta: named("two"), InvolvedObject: corev1.ObjectReference{Kind: "Node"}, ReportingController: "kubelet"})
	create(t, s, &eventsv1.Event{ObjectMeta: named("three"), Regarding: corev1.ObjectReference{Kind: "Job", Name: "one"}, ReportingController: "mine"})
	for _, c := range []struct {
		path, selector string
		want           int
	}{
		{"/api/v1/namespaces/default/pods", "spec.nodeName=n1", 1},
		{"/api/v1/namespaces/default/pods", "spec.nodeName!=n1", 1},
		{"/api/v1/namespaces/default/pods", "status.phase=Running,spec.hostNetwork=true,status.podIP=10.1.1.1", 1},
		{"/api/v1/namespaces/default/pods", "spec.hostNetwork=false", 1},
		{"/api/v1/namespaces/default/pods", "spec.restartPolicy=Never,spec.schedulerName=mine,spec.serviceAccountName=sa,status.nominatedNodeName=n2", 1},
		{"/api/v1/namespaces/default/secrets", "type=kubernetes.io/tls", 1},
		{"/api/v1/namespaces/default/services", "spec.type=NodePort", 1},
		{"/api/v1/namespaces/default/services", "spec.clusterIP=10.0.0.1", 1},
		{"/api/v1/namespaces/default/events", "involvedObject.kind=Pod,involvedObject.name=one,involvedObject.uid=u,reason=Started", 1},
		{"/api/v1/namespaces/default/events", "source=kubelet", 2},
		{"/apis/events.k8s.io/v1/namespaces/default/events", "regarding.kind=Job,regarding.name=one,reportingController=mine", 1},
		{"/api/v1/namespaces", "status.phase=Active", 4},
		{"/api/v1/namespaces", "status.phase=Terminating", 0},
		{"/api/v1/namespaces/default/configmaps", "data.a=b", -1},
	} {
		resp, err := s.Client().Get(fake.URL + c.path + "?fieldSelector=" + url.QueryEscape(c.selector))
		if err != nil {
			t.Fatal(err)
		}
		var list metav1.PartialObjectMetadataList
		err = json.NewDecoder(resp.Body).Decode(&list)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		got := len(list.Items)
		if resp.StatusCode != http.StatusOK {
			got = -1
		}
		if got != c.want {
			t.Errorf("%s of %s: %d objects (status %d), want %d", c.selector, c.path, got, resp.StatusCode, c.want)
		}
	}
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name}
}

func create[T metav1.Object](t *testing.T, s *fake.Server, obj T) {
	t.Helper()
	if _, err := fake.Create(s, obj); err != nil {
		t.Fatal(err)
	}
}

// TestTimesAreStored: the parts of a second that no client sees are no change.
func TestTimesAreStored(t *testing.T) {
	s := newServer(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Status: corev1.PodStatus{StartTime: &metav1.Time{Time: now}}}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: now}}}
	_, err := fake.Create(s, pod)
	_, failed := fake.Create(s, lease)
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/v1/namespaces/default/pods/a", "/apis/coordination.k8s.io/v1/namespaces/default/leases/a"} {
		was := send(t, s, step{"GET", path, "", 200, `"resourceVersion"`})
		if now := send(t, s, step{"PATCH", path, `{"metadata":{"labels":null}}`, 200, `"resourceVersion"`}); now != was {
			t.Errorf("%s: a write of nothing made %s of %s", path, now, was)
		}
	}
}
