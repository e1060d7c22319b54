package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/with/kubernetes/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const pods = 1000

// newServer has pods that differ in their names alone, as the pods of a ReplicaSet do.
func newServer(t *testing.T) (*fake.Server, client.Connection) {
	t.Helper()
	s := fake.New(fake.Options{})
	check(t, fake.Register(s, core.Pods, fake.Rules{}))
	check(t, fake.Register(s, core.Secrets, fake.Rules{}))
	for n := range pods {
		pod := fake.Object(&corev1.Pod{}, "prod", fmt.Sprintf("web-%d", n))
		for _, manager := range []string{"kube-controller-manager", "kube-scheduler", "kubelet"} {
			pod.ManagedFields = append(pod.ManagedFields, metav1.ManagedFieldsEntry{
				Manager: manager, Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1", Time: &metav1.Time{Time: time.Unix(int64(n), 0)},
				FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{".":{},"f:app":{},"f:tier":{}}},"f:spec":{"f:containers":{}}}`),
			})
		}
		for c := range 3 {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
				Name: fmt.Sprint(c), Image: "registry.example.com/web:1", Args: []string{"--a", "--b", "--c"},
				Env: []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}},
			})
		}
		_, err := fake.Create(s, pod)
		check(t, err)
	}
	return s, client.Connection{URL: fake.URL, HTTP: s.Client()}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMeasure(t *testing.T) {
	_, server := newServer(t)
	c := of(core.Pods)(t.Context(), server, pods/2)
	check(t, c.err)
	if c.objects != pods || c.sampled != pods/2 {
		t.Errorf("%d objects, of them %d measured", c.objects, c.sampled)
	}
	for o := range options - 1 {
		if c.bytes[o+1] > 0.95*c.bytes[o] || c.bytes[o+1] < 100 {
			t.Errorf("option %d takes %.0f bytes, and the one before %.0f", o+1, c.bytes[o+1], c.bytes[o])
		}
	}
	if got, want := c.total(whole), c.bytes[whole]*pods; got != want {
		t.Errorf("the total is %f, want %f", got, want)
	}
}

func TestReport(t *testing.T) {
	s, server := newServer(t)
	refused := faults.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, 0)
	check(t, s.Inject(faults.Fault{Verb: faults.VerbList, Resource: core.Secrets.GroupResource(), Times: -1, Status: refused}))
	var out bytes.Buffer
	check(t, report(t.Context(), &out, server, []measurer{of(core.Secrets), of(core.Pods)}, 100))
	lines := strings.Split(out.String(), "\n")
	for n, want := range []string{"RESOURCE", "secrets ", "pods ", "all "} {
		if !strings.HasPrefix(lines[n], want) {
			t.Errorf("line %d is %q, want %q", n, lines[n], want)
		}
	}
	if !strings.Contains(lines[1], "refused by a fault") || strings.Fields(lines[2])[1] != fmt.Sprint(pods) || strings.Fields(lines[3])[1] != fmt.Sprint(pods) {
		t.Errorf("the report is\n%s", out.String())
	}
	if err := report(t.Context(), &out, server, nil, 0); err == nil {
		t.Error("an empty sample has no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := report(ctx, &out, server, usual(), 1); err == nil {
		t.Error("the end of the context is no error")
	}
}

// A kind without objects, and one that is named on the command line.
func TestResources(t *testing.T) {
	_, server := newServer(t)
	if c := of(core.Secrets)(t.Context(), server, 10); c.err != nil || c.objects != 0 || c.total(whole) != 0 {
		t.Errorf("%+v", c)
	}
	var r resources
	for _, bad := range []string{"pods", "v1/pods", "a/b/c/d"} {
		if err := r.Set(bad); err == nil {
			t.Errorf("%q has no error", bad)
		}
	}
	check(t, r.Set("core/v1/pods"))
	if c := r[0](t.Context(), server, 10); c.err != nil || c.resource != "pods" || c.objects != pods || c.bytes[whole] < 100 {
		t.Errorf("%+v", c)
	}
}
