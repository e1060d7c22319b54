// Package removal has the answer to a deletion, which package client gives package controller.
package removal

import "k8s.io/apimachinery/pkg/types"

// Answer is the answer to a deletion, as far as it concerns the object. It is zero if the answer
// cannot be read.
type Answer[T any] struct {
	// UID is the object's UID.
	UID types.UID
	// Object is the object in the answer, if Answered is true. Servers answer with the object while
	// something holds it, such as a finalizer, and for some resources even when it is gone.
	Object   T
	Answered bool
}
