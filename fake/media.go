package fake

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
