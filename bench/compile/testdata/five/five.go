// Package five opens five kinds.
package five

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
)

var version = schema.GroupVersion{Group: "example.com", Version: "v1"}

// A is a kind with a small spec.
type A struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec struct {
		Text   string
		Number int
	}
}

// OpenA opens the kind A.
func OpenA(server client.Connection) *kinform.Handle[*A] {
	return kinform.Open(server, kinform.KindOf[*A](version, "as"))
}

// B is a kind with a small spec.
type B struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec struct {
		Text   string
		Number int
	}
}

// OpenB opens the kind B.
func OpenB(server client.Connection) *kinform.Handle[*B] {
	return kinform.Open(server, kinform.KindOf[*B](version, "bs"))
}

// C is a kind with a small spec.
type C struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec struct {
		Text   string
		Number int
	}
}

// OpenC opens the kind C.
func OpenC(server client.Connection) *kinform.Handle[*C] {
	return kinform.Open(server, kinform.KindOf[*C](version, "cs"))
}

// D is a kind with a small spec.
type D struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec struct {
		Text   string
		Number int
	}
}

// OpenD opens the kind D.
func OpenD(server client.Connection) *kinform.Handle[*D] {
	return kinform.Open(server, kinform.KindOf[*D](version, "ds"))
}

// E is a kind with a small spec.
type E struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec struct {
		Text   string
		Number int
	}
}

// OpenE opens the kind E.
func OpenE(server client.Connection) *kinform.Handle[*E] {
	return kinform.Open(server, kinform.KindOf[*E](version, "es"))
}
