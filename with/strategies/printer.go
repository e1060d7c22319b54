package strategies

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/printers"

	"github.com/kinform/kinform/fake"
)

// printer makes tables by the API server's code. It has no columns if that code has none for the
// kind.
func (s *set) printer(kind schema.GroupVersionKind) fake.Printer {
	empty, err := legacyscheme.Scheme.New(kind.GroupKind().WithVersion(runtime.APIVersionInternal))
	if err != nil {
		return fake.Printer{}
	}
	head, err := s.table(empty)
	if err != nil {
		return fake.Printer{}
	}
	return fake.Printer{Columns: head.ColumnDefinitions, Row: func(obj metav1.Object) (metav1.TableRow, error) {
		own, err := internal(obj.(runtime.Object).DeepCopyObject()) // a conversion shares parts
		if err != nil {
			return metav1.TableRow{}, err
		}
		t, err := s.table(own)
		if err != nil {
			return metav1.TableRow{}, err
		}
		return t.Rows[0], nil
	}}
}

// table returns the table of one object.
func (s *set) table(obj runtime.Object) (*metav1.Table, error) {
	t, err := s.tables.GenerateTable(obj, printers.GenerateOptions{Wide: true})
	if err == nil && len(t.Rows) != 1 {
		err = fmt.Errorf("%d rows for one %T", len(t.Rows), obj)
	}
	return t, err
}
