// Package hold names a handle in a field of a struct and does nothing with it, as a package main does that
// runs an operator.
package hold

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
)

// Object is a kind with a small spec.
type Object struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec struct {
		Text   string
		Number int
	}
}

// Operator holds a handle.
type Operator struct{ Objects *kinform.Handle[*Object] }
