package fake

import (
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake/internal/answer"
	"github.com/kinform/kinform/fake/internal/wire"
)

// body returns one object as the client asked for it.
func (t *table) body(v *revision, m wire.Media) ([]byte, error) {
	out, err := lean(v, m)
	var b []byte
	if err == nil {
		b, err = t.encodeBody(out, m)
	}
	if err != nil {
		return nil, errEncoding(t.res.Kind, v.key, err)
	}
	return b, nil
}

// lean returns v without managed fields if the client asked for that.
func lean(v *revision, m wire.Media) (*revision, error) {
	if !m.Lean || len(v.obj.GetManagedFields()) == 0 {
		return v, nil
	}
	obj, err := clone(v.obj)
	if err != nil {
		return nil, err
	}
	obj.SetManagedFields(nil)
	return &revision{key: v.key, rv: v.rv, obj: obj, of: v.of}, nil
}

func (t *table) encodeBody(v *revision, m wire.Media) ([]byte, error) {
	switch {
	case m.Form == wire.Table:
		row, err := t.row(v, m)
		if err != nil {
			return nil, err
		}
		head, err := wire.TableHead(metav1.ListMeta{ResourceVersion: formatRV(v.rv)}, t.printer().Columns)
		if err != nil {
			return nil, err
		}
		return append(append(head, row...), "]}"...), nil
	case m.Protobuf && m.Form == wire.Partial:
		return wire.Envelope(wire.PartialKind, func() ([]byte, error) { return wire.PartialProtobuf(v.obj) })
	case m.Protobuf:
		return wire.Envelope(t.res.typeMeta(), func() ([]byte, error) { return wire.MarshalProtobuf(v.obj) })
	}
	b, err := v.json(&t.res)
	if err == nil && m.Form == wire.Partial {
		b, err = wire.PartialJSON(b)
	}
	return b, err
}

func (t *table) row(v *revision, m wire.Media) ([]byte, error) {
	row := wire.PlainRow(v.obj)
	if p := t.printer(); p.Columns != nil {
		var err error
		if row, err = p.row(v.obj); err != nil {
			return nil, err
		}
	}
	return wire.TableRow(row, v.obj, m.Include, func() ([]byte, error) { return v.json(&t.res) })
}

// listBody is an encoded list in pieces, so that a fault can cut it between objects.
type listBody struct {
	head  []byte
	items [][]byte // each but the first begins with its separator
	tail  string
}

// listBody encodes all of a page, so that an object that cannot be encoded is an error before
// anything was sent.
func (t *table) listBody(p page, m wire.Media) (listBody, error) {
	b := listBody{items: make([][]byte, len(p.items))}
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
	if !m.Protobuf {
		b.tail = "]}\n"
	}
	var err error
	b.head, err = t.listHead(p.meta, m, b.items)
	return b, err
}

// item encodes one item of a list. As in the API server, an item of Kubernetes' own resources
// does not state its kind in JSON, so that clients do not come to rely on it. Unstructured
// objects, whose JSON does not begin with the kind, keep it.
func (t *table) item(v *revision, m wire.Media) ([]byte, error) {
	v, err := lean(v, m)
	if err != nil {
		return nil, err
	}
	encode := t.encodeBody
	switch {
	case m.Form == wire.Table:
		encode = t.row
	case m.Protobuf && m.Form == wire.Partial:
		b, err := wire.PartialProtobuf(v.obj)
		return wire.ProtobufItem(b), err
	case m.Protobuf:
		b, err := wire.MarshalProtobuf(v.obj)
		return wire.ProtobufItem(b), err
	}
	b, err := encode(v, m)
	if m.Form != wire.Table && !t.res.custom() {
		b = wire.WithoutKind(b, t.res.typeMeta())
	}
	return b, err
}

// listHead encodes a list up to its items.
func (t *table) listHead(list metav1.ListMeta, m wire.Media, items [][]byte) ([]byte, error) {
	kind := metav1.TypeMeta{Kind: t.res.ListKind, APIVersion: t.res.groupVersion().String()}
	if m.Form == wire.Partial {
		kind = wire.PartialListKind
	}
	switch {
	case m.Form == wire.Table:
		return wire.TableHead(list, t.printer().Columns)
	case m.Protobuf:
		size := 0
		for _, item := range items {
			size += len(item)
		}
		return wire.ProtobufListHead(kind, list, size)
	}
	return wire.ListHead(kind, list)
}

// send writes the list, and breaks the connection after cut objects (-1: never).
func (b listBody) send(w *answer.Writer, m wire.Media, cut int) error {
	if m.YAML && (cut < 0 || cut >= len(b.items)) { // else the pieces stay JSON, which the cut makes no less useless
		return w.Bytes(http.StatusOK, m.ContentType(), slices.Concat(b.head, slices.Concat(b.items...), []byte(b.tail)))
	}
	if err := w.Bytes(http.StatusOK, m.ContentType(), b.head); err != nil {
		return err
	}
	for i, item := range b.items {
		if i == cut {
			w.BreakOff()
		}
		if _, err := w.Write(item); err != nil {
			return err
		}
	}
	_, err := w.Write([]byte(b.tail))
	return err
}

// printer returns the hooks' printer or, if they have none, the strategy's.
func (t *table) printer() Printer {
	if t.strategy != nil && t.hooks.printer.Columns == nil {
		return t.strategy.Printer
	}
	return t.hooks.printer
}
