package fake

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/fake/internal/wire"
)

// tableColumns are those that the API server gives every resource that has no printer of
// its own.
func tableColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name", Description: "Name must be unique within a namespace."},
		{Name: "Created At", Type: "date", Description: "When the server made the object."},
	}
}

// tableHead returns a Table up to and with the bracket of its rows.
func tableHead(list metav1.ListMeta) ([]byte, error) {
	b, err := json.Marshal(struct {
		metav1.TypeMeta
		Metadata metav1.ListMeta                `json:"metadata"`
		Columns  []metav1.TableColumnDefinition `json:"columnDefinitions"`
	}{tableKind, list, tableColumns()})
	if err != nil {
		return nil, err
	}
	return append(b[:len(b)-1], `,"rows":[`...), nil
}

// row returns one object as a row of a Table.
func (t *table[T]) row(v *version[T], m wire.Media) ([]byte, error) {
	row := metav1.TableRow{Cells: []any{v.obj.GetName(), v.obj.GetCreationTimestamp().UTC().Format(time.RFC3339)}}
	switch m.Include {
	case metav1.IncludeObject:
		b, err := v.json(&t.res)
		if err != nil {
			return nil, err
		}
		row.Object = runtime.RawExtension{Raw: b}
	case metav1.IncludeMetadata:
		partial := meta.AsPartialObjectMetadata(v.obj)
		partial.TypeMeta = partialKind
		row.Object = runtime.RawExtension{Object: partial}
	}
	return json.Marshal(row)
}
