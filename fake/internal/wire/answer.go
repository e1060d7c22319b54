package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The kinds of bodies that hold no object of a resource.
var (
	PartialKind     = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}
	PartialListKind = metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"}
	tableKind       = metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"}
	statusKind      = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
)

// Status encodes a Status, as JSON or as protobuf.
func Status(st metav1.Status, protobuf bool) ([]byte, error) {
	if protobuf {
		return Envelope(statusKind, st.Marshal)
	}
	return json.Marshal(st)
}

// PartialJSON cuts the JSON of an object down to its metadata.
func PartialJSON(b []byte) ([]byte, error) {
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
	}{PartialKind.Kind, PartialKind.APIVersion, in.Metadata})
}

// PartialProtobuf encodes the metadata of an object, without an envelope.
func PartialProtobuf(obj metav1.Object) ([]byte, error) {
	return meta.AsPartialObjectMetadata(obj).Marshal()
}

// ListHead returns the JSON of a list up to and with the bracket of its items.
func ListHead(kind metav1.TypeMeta, list metav1.ListMeta) ([]byte, error) {
	b, err := json.Marshal(struct {
		Kind       string          `json:"kind"`
		APIVersion string          `json:"apiVersion"`
		Metadata   metav1.ListMeta `json:"metadata"`
	}{kind.Kind, kind.APIVersion, list})
	if err != nil {
		return nil, err
	}
	return append(b[:len(b)-1], `,"items":[`...), nil
}

// ProtobufListHead returns the protobuf of a list up to its items, which come last. The items
// have n bytes in all. In every list type of Kubernetes field 1 is the ListMeta.
func ProtobufListHead(kind metav1.TypeMeta, list metav1.ListMeta, n int) ([]byte, error) {
	lm, err := list.Marshal()
	if err != nil {
		return nil, err
	}
	raw := AppendBytes(nil, 1, lm)
	return append(EnvelopeHead(kind, len(raw)+n), raw...), nil
}

// ProtobufItem returns one item of a list. In every list type of Kubernetes it is field 2.
func ProtobufItem(object []byte) []byte { return AppendBytes(nil, 2, object) }

// WithoutKind removes the kind from the JSON of an object that begins with it.
func WithoutKind(b []byte, kind metav1.TypeMeta) []byte {
	stated := fmt.Sprintf(`{"kind":%q,"apiVersion":%q,`, kind.Kind, kind.APIVersion)
	if rest, ok := bytes.CutPrefix(b, []byte(stated)); ok {
		return append([]byte{'{'}, rest...)
	}
	return b
}

// tableColumns returns the columns that the API server gives every resource that has no printer.
func tableColumns() []metav1.TableColumnDefinition {
	meta := metav1.ObjectMeta{}.SwaggerDoc()
	return []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name", Description: meta["name"]},
		{Name: "Created At", Type: "date", Description: meta["creationTimestamp"]},
	}
}

// TableHead returns the JSON of a Table up to and with the bracket of its rows. Nil columns are
// those that a kind without a printer has.
func TableHead(list metav1.ListMeta, columns []metav1.TableColumnDefinition) ([]byte, error) {
	if columns == nil {
		columns = tableColumns()
	}
	b, err := json.Marshal(struct {
		metav1.TypeMeta
		Metadata metav1.ListMeta                `json:"metadata"`
		Columns  []metav1.TableColumnDefinition `json:"columnDefinitions"`
	}{tableKind, list, columns})
	if err != nil {
		return nil, err
	}
	return append(b[:len(b)-1], `,"rows":[`...), nil
}

// PlainRow returns the row of an object of a kind without a printer.
func PlainRow(obj metav1.Object) metav1.TableRow {
	return metav1.TableRow{Cells: []any{obj.GetName(), obj.GetCreationTimestamp().UTC().Format(time.RFC3339)}}
}

// TableRow returns a row of a Table with its object, or with the metadata of the one that the row
// has. whole returns the JSON of the object.
func TableRow(row metav1.TableRow, obj metav1.Object, include metav1.IncludeObjectPolicy, whole func() ([]byte, error)) ([]byte, error) {
	if own, ok := row.Object.Object.(metav1.Object); ok {
		obj = own
	}
	row.Object = runtime.RawExtension{}
	switch include {
	case metav1.IncludeObject:
		b, err := whole()
		if err != nil {
			return nil, err
		}
		row.Object = runtime.RawExtension{Raw: b}
	case metav1.IncludeMetadata:
		partial := meta.AsPartialObjectMetadata(obj)
		partial.TypeMeta = PartialKind
		row.Object = runtime.RawExtension{Object: partial}
	}
	return json.Marshal(row)
}

// WatchFrame returns one event of a watch. object is its encoded object, with an envelope if m is
// protobuf. A frame of protobuf begins with its length.
func WatchFrame(m Media, typ string, object []byte) ([]byte, error) {
	if m.Protobuf {
		ev := metav1.WatchEvent{Type: typ, Object: runtime.RawExtension{Raw: object}}
		b, err := ev.Marshal()
		if err != nil {
			return nil, err
		}
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...), nil
	}
	frame := make([]byte, 0, len(object)+len(typ)+len(`{"type":"","object":}`)+1)
	frame = append(append(frame, `{"type":"`...), typ...)
	frame = append(append(frame, `","object":`...), object...)
	return append(frame, "}\n"...), nil
}
