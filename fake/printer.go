package fake

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake/internal/refusal"
)

// Printer makes the tables that kubectl get prints. Nil columns mean the name and the age.
type Printer struct {
	Columns []metav1.TableColumnDefinition
	// Row returns the row of an object, which is read-only. A table shows the metadata of the row's
	// Object.Object in place of the object's, if it is a metav1.Object: the API server takes them
	// from an internal form. Nothing else of the row's Object is used. An error refuses the
	// request. It runs as [Hooks] do.
	Row func(obj metav1.Object) (metav1.TableRow, error)
}

func (p Printer) row(obj metav1.Object) (row metav1.TableRow, err error) {
	defer refusal.Recover(&err)
	return p.Row(obj)
}
