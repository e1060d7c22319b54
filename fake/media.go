package fake

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/fake/internal/wire"
)

// body returns one object as the client asked for it.
func (t *table[T]) body(v *version[T], m wire.Media) ([]byte, error) {
	b, err := t.encodeBody(v, m)
	if err != nil {
		return nil, errEncoding(t.res.Kind, v.key, err)
	}
	return b, nil
}

func (t *table[T]) encodeBody(v *version[T], m wire.Media) ([]byte, error) {
	switch {
	case m.Form == wire.Table:
		row, err := t.row(v, m)
		if err != nil {
			return nil, err
		}
		list, err := tableHead(metav1.ListMeta{ResourceVersion: formatRV(v.rv)})
		if err != nil {
			return nil, err
		}
		return append(append(list, row...), "]}"...), nil
	case m.Form == wire.Partial && m.Protobuf:
		return wire.Envelope(partialKind, meta.AsPartialObjectMetadata(v.obj).Marshal)
	case m.Protobuf:
		b, err := wire.MarshalProtobuf(v.obj)
		if err != nil {
			return nil, err
		}
		return wire.Envelope(t.res.typeMeta(), func() ([]byte, error) { return b, nil })
	}
	b, err := v.json(&t.res)
	if err == nil && m.Form == wire.Partial {
		b, err = partial(b)
	}
	return b, err
}

// partial cuts an encoded object down to its metadata.
func partial(b []byte) ([]byte, error) {
	var in struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return nil, err
	}
	if in.Metadata == nil {
		in.Metadata = json.RawMessage("{}")
	}
	return json.Marshal(struct {
		Kind       string          `json:"kind"`
		APIVersion string          `json:"apiVersion"`
		Metadata   json.RawMessage `json:"metadata"`
	}{partialKind.Kind, partialKind.APIVersion, in.Metadata})
}

var (
	partialKind     = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}
	partialListKind = metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"}
	tableKind       = metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"}
	statusKind      = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
)

func (r *Resource) typeMeta() metav1.TypeMeta {
	return metav1.TypeMeta{Kind: r.Kind, APIVersion: r.groupVersion().String()}
}

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
