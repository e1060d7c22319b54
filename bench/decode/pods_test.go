package decode

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// benchPods is how many pods are decoded in a row. Interning is not flattered by it: these
// are 50 applications in 25 namespaces.
const benchPods = 5000

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

func podsOf(list *corev1.PodList) []runtime.Object {
	out := make([]runtime.Object, len(list.Items))
	for i := range out {
		out[i] = &list.Items[i]
	}
	return out
}

// requirePods checks a sample of what was decoded, so that no benchmark measures an error.
func requirePods(t testing.TB, got []*corev1.Pod, list *corev1.PodList) {
	t.Helper()
	want := list.Items
	if len(got) != len(want) {
		t.Fatalf("%d pods, want %d", len(got), len(want))
	}
	for i := 0; i < len(got); i += 61 {
		g, w := got[i].DeepCopy(), want[i].DeepCopy()
		g.TypeMeta = metav1.TypeMeta{}
		requireEqual(t, fmt.Sprintf("pod %d", i), g, w)
	}
}
