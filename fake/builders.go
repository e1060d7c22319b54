package fake

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Object names obj, changes its metadata and returns it, so that a test can make an
// object in one expression:
//
//	fake.Object(&corev1.Pod{Spec: spec}, "prod", "web-0", fake.Labels("app", "web"))
//
// changes may also be functions of your own. namespace is empty for cluster-scoped kinds.
func Object[T metav1.Object](obj T, namespace, name string, changes ...func(metav1.Object)) T {
	obj.SetNamespace(namespace)
	obj.SetName(name)
	for _, change := range changes {
		change(obj)
	}
	return obj
}

// Labels adds labels, given as keys and values in turn. A last key without a value gets
// the empty one.
func Labels(pairs ...string) func(metav1.Object) {
	return func(obj metav1.Object) { obj.SetLabels(withPairs(obj.GetLabels(), pairs)) }
}

// withPairs leaves m unchanged, because objects may share it.
func withPairs(m map[string]string, pairs []string) map[string]string {
	out := make(map[string]string, len(m)+len(pairs)/2)
	for k, v := range m {
		out[k] = v
	}
	for i := 0; i < len(pairs); i += 2 {
		value := ""
		if i+1 < len(pairs) {
			value = pairs[i+1]
		}
		out[pairs[i]] = value
	}
	return out
}
