// Package informer makes an informer of one type.
package informer

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
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

// Inform makes an informer.
func Inform(source reflector.Source[*Object]) (*kinform.Informer[*Object], error) {
	return kinform.NewInformer(source, informer.Options[*Object]{})
}
