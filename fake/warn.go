package fake

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Warn adds a warning to the answer of the request over HTTP, for the people behind the client. An answer has each text
// once. Only the goroutine of a hook may call it, before the hook returns.
func (a *Admission) Warn(text string) {
	if a.warn != nil {
		a.warn(text)
	}
}

// warnOf asks the hook Warn about a state that is valid; old is nil for a create.
func (t *table) warnOf(obj, old metav1.Object, w write) {
	if t.hooks.warn == nil || w.warn == nil || w.subresource != "" {
		return
	}
	for _, text := range t.hooks.warn(obj, old) {
		w.warn(text)
	}
}
