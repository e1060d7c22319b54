package kubernetes_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/all"
	"github.com/kinform/kinform/with/kubernetes/apps"
	"github.com/kinform/kinform/with/kubernetes/core"
	"github.com/kinform/kinform/with/kubernetes/fakekube"
)

// TestLinks: a package links the types of its group, and those that they refer to. Of Kinform it links kind, and the
// errors of mistakes, which link nothing.
func TestLinks(t *testing.T) {
	const base = "github.com/kinform/kinform/with/kubernetes/"
	for folder, want := range map[string][]string{
		"core":           {"k8s.io/api/core/v1"},
		"coordination":   {"k8s.io/api/coordination/v1"},
		"rbac":           {"k8s.io/api/rbac/v1"},
		"apps":           {"k8s.io/api/apps/v1", "k8s.io/api/core/v1"},
		"autoscaling/v1": {"k8s.io/api/autoscaling/v1", "k8s.io/api/core/v1"},
	} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", base+folder).Output()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for pkg := range strings.Lines(string(out)) {
			pkg = strings.TrimSpace(pkg)
			own, kinform := strings.CutPrefix(pkg, "github.com/kinform/kinform/")
			allowed := []string{"kind", "internal/mistake", "with/kubernetes/" + folder}
			if strings.HasPrefix(pkg, "k8s.io/api/") || strings.HasPrefix(pkg, "k8s.io/client-go") || kinform && !slices.Contains(allowed, own) {
				got = append(got, pkg)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s links %q, want %q", folder, got, want)
		}
	}
}

// TestKinds: names are complete and unique, and the server keeps what a client writes.
func TestKinds(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range all.Kinds() {
		if err := k.Check(); err != nil || k.Kind == "" || k.Scope == "" {
			t.Errorf("%v %q: %v", k.GroupVersionResource(), k.Kind, err)
		}
		if name := k.GroupVersionResource().String(); seen[name] {
			t.Errorf("%s twice", name)
		} else {
			seen[name] = true
		}
	}
	if !seen[apps.Deployments.GroupVersionResource().String()] || len(seen) < 60 {
		t.Errorf("%d kinds", len(seen))
	}
}

func TestFake(t *testing.T) {
	server := fake.New(fake.Options{})
	if err := fakekube.Register(server); err != nil {
		t.Fatal(err)
	}
	pods, err := client.New(client.Connection{URL: fake.URL, HTTP: server.Client()}, core.Pods, client.Options{Namespace: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	pod, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "one"}}, metav1.CreateOptions{})
	if err != nil || pod.Kind != "Pod" || pod.APIVersion != "v1" {
		t.Fatal(pod, err)
	}
	pod.Status.Phase = corev1.PodRunning
	if pod, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil || pod.Status.Phase != corev1.PodRunning {
		t.Error(pod, err)
	}
}
