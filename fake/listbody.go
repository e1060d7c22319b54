package fake

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake/internal/wire"
)

// listBody is an encoded list in pieces, so that a fault can cut it between objects.
type listBody struct {
	head  []byte
	items [][]byte // each with what separates it from the one before
	tail  string
}

// listBody encodes all of a page: an object that cannot be encoded is an error before
// anything was sent.
func (t *table[T]) listBody(p page[T], m wire.Media) (listBody, error) {
	b := listBody{tail: "]}\n", items: make([][]byte, len(p.items))}
	for i, v := range p.items {
		item, err := t.item(v, m)
		if err != nil {
			return b, errEncoding(t.res.Kind, v.key, err)
		}
		if i > 0 && !m.Protobuf {
			item = append([]byte{','}, item...)
		}
		b.items[i] = item
	}
	var err error
	if m.Protobuf {
		b.tail = ""
		b.head, err = t.protobufListHead(p.meta, m, b.items)
	} else {
		b.head, err = t.listHead(p.meta, m)
	}
	return b, err
}

func (t *table[T]) item(v *version[T], m wire.Media) ([]byte, error) {
	switch {
	case m.Form == wire.Table:
		return t.row(v, m)
	case m.Protobuf:
		var b []byte
		var err error
		if m.Form == wire.Partial {
			b, err = meta.AsPartialObjectMetadata(v.obj).Marshal()
		} else {
			b, err = wire.MarshalProtobuf(v.obj)
		}
		return wire.AppendBytes(nil, 2, b), err
	}
	b, err := t.encodeBody(v, m)
	return t.itemBody(b), err
}

// itemBody leaves the kind out where the API server does: in the items of lists of its
// own resources, so that clients do not come to rely on it. Unstructured objects, whose
// JSON does not begin with it, keep it.
func (t *table[T]) itemBody(b []byte) []byte {
	if t.res.custom() {
		return b
	}
	stated := fmt.Sprintf(`{"kind":%q,"apiVersion":%q,`, t.res.Kind, t.res.groupVersion())
	if rest, ok := bytes.CutPrefix(b, []byte(stated)); ok {
		return append([]byte{'{'}, rest...)
	}
	return b
}

// listHead returns a list object up to and with the bracket of its items.
func (t *table[T]) listHead(list metav1.ListMeta, m wire.Media) ([]byte, error) {
	if m.Form == wire.Table {
		return tableHead(list)
	}
	kind := t.listKind(m)
	head := struct {
		Kind       string          `json:"kind"`
		APIVersion string          `json:"apiVersion"`
		Metadata   metav1.ListMeta `json:"metadata"`
	}{kind.Kind, kind.APIVersion, list}
	b, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	return append(b[:len(b)-1], `,"items":[`...), nil
}

func (t *table[T]) listKind(m wire.Media) metav1.TypeMeta {
	if m.Form == wire.Partial {
		return partialListKind
	}
	return metav1.TypeMeta{Kind: t.res.ListKind, APIVersion: t.res.groupVersion().String()}
}

// protobufListHead returns all of a list but its items, which end it. In every list type
// of Kubernetes field 1 is the ListMeta and field 2 an item.
func (t *table[T]) protobufListHead(list metav1.ListMeta, m wire.Media, items [][]byte) ([]byte, error) {
	lm, err := list.Marshal()
	if err != nil {
		return nil, err
	}
	raw := wire.AppendBytes(nil, 1, lm)
	size := len(raw)
	for _, item := range items {
		size += len(item)
	}
	return append(wire.EnvelopeHead(t.listKind(m), size), raw...), nil
}

// send writes the list, and breaks the connection after cut objects (-1: never).
func (b listBody) send(w *response, m wire.Media, cut int) error {
	if err := w.bytes(200, m.ContentType(), b.head); err != nil {
		return err
	}
	for i, item := range b.items {
		if i == cut {
			w.breakOff()
		}
		if _, err := w.buf.Write(item); err != nil {
			return err
		}
	}
	_, err := w.buf.WriteString(b.tail)
	return err
}
