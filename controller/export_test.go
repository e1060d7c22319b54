package controller

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Awaits reports whether a Controller puts the keys of a namespace off, which is empty for a key of
// none.
func Awaits[T metav1.Object](r *Requests[T], namespace string) bool { return r.awaits(namespace) }
