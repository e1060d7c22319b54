package fakecrd

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/fake"
)

// age is the column of definitions that define none.
var age = apiextensionsv1.CustomResourceColumnDefinition{
	Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp", Description: "The time since the object was made.",
}

// printerOf returns the printer of a version. Columns that cannot be made are left out together, as
// by the API server.
func printerOf(columns []apiextensionsv1.CustomResourceColumnDefinition) (fake.Printer, error) {
	if len(columns) == 0 {
		columns = []apiextensionsv1.CustomResourceColumnDefinition{age}
	}
	tables, err := tableconvertor.New(columns)
	if err != nil {
		if tables, err = tableconvertor.New([]apiextensionsv1.CustomResourceColumnDefinition{age}); err != nil {
			return fake.Printer{}, err
		}
	}
	head, err := tables.ConvertToTable(context.Background(), &object{Object: map[string]any{}}, nil)
	if err != nil {
		return fake.Printer{}, err
	}
	return fake.Printer{
		Columns: head.ColumnDefinitions,
		Row: func(obj metav1.Object) (metav1.TableRow, error) {
			t, err := tables.ConvertToTable(context.Background(), obj.(runtime.Object), nil)
			if err != nil {
				return metav1.TableRow{}, err
			}
			return t.Rows[0], nil
		},
	}, nil
}
