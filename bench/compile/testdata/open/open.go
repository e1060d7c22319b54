// Package open opens one kind.
package open

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
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

// Open opens the kind.
func Open(server client.Connection) *kinform.Handle[*Object] {
	return kinform.Open(server, kinform.KindOf[*Object](schema.GroupVersion{Group: "example.com", Version: "v1"}, "objects"))
}
