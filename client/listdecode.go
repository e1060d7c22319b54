package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/reflector"
)

// listDecoder reads one list body, in one goroutine. The members may come in any order;
// the API server sends kind, apiVersion, metadata, items.
type listDecoder[T any] struct {
	objects *objectCodec[T]
	in      *jsonReader
	body    *answer
	want    expectation
	report  func(reflector.EventType, identity, error) error
	yield   func(reflector.Event[T], error) bool

	apiVersion, kind string // the list's own, as far as read
	itemKind         string // from kind; empty if it does not tell
	meta             metav1.ListMeta
	items            bool // seen
	at               string
	index            int
	// held are objects without a kind that were read before the list's kind was.
	held []decoded[T]
	// status collects the members that a Status has and a list has not.
	status bytes.Buffer
}

// run reads the whole body. It returns reflector.ErrStopped as it is; other errors say
// what was being read.
func (d *listDecoder[T]) run() error {
	d.at = "the start"
	if err := d.in.open('{'); err != nil {
		return d.explain(err)
	}
	for {
		more, err := d.in.more('}')
		if err == nil && more {
			err = d.member()
		}
		if err != nil {
			return d.explain(err)
		}
		if !more {
			break
		}
		d.at = "the members of the list"
	}
	if err := d.complete(); err != nil {
		return d.explain(err)
	}
	d.at = "the end"
	if k, err := d.in.peek(); err != io.EOF {
		if err == nil {
			err = fmt.Errorf("%s after the list", jsonKind(k))
		}
		return d.explain(err)
	}
	return nil
}

// member reads one member of the list, name and value.
func (d *listDecoder[T]) member() error {
	raw, err := d.in.value()
	if err != nil {
		return err
	}
	name, _ := jsonText(raw)
	switch d.at = string(name); d.at {
	case "kind":
		return d.text(&d.kind, d.readKind)
	case "apiVersion":
		return d.text(&d.apiVersion, d.checkHeader)
	case "metadata":
		return d.metadata()
	case "items":
		return d.readItems()
	case "status", "message", "reason", "details", "code":
		return d.keep(d.at)
	}
	return d.in.skip()
}

// text reads a string member into *s and has it checked.
func (d *listDecoder[T]) text(s *string, check func() error) error {
	raw, err := d.in.value()
	if err != nil {
		return err
	}
	text, ok := jsonText(raw)
	if !ok {
		return d.unlike(&shapeError{want: '"', got: raw[0]})
	}
	*s = string(text)
	return check()
}

// readKind learns from the list's kind what its items are. The kind of a custom resource's
// list may be any word, so that only "items" makes a list of it for certain.
func (d *listDecoder[T]) readKind() error {
	switch d.kind {
	case tableKind:
		return ErrTable
	case statusKind:
		return nil // complete makes an error of it when all of it is read
	}
	d.itemKind = itemKind(d.kind)
	if d.want.partial && d.itemKind == partialKind {
		d.itemKind = ""
	}
	if d.itemKind != "" && d.want.kind != "" && d.itemKind != d.want.kind {
		return d.wrongKind()
	}
	if err := d.checkHeader(); err != nil {
		return err
	}
	if d.want.kind == "" {
		d.want.kind = d.itemKind
	}
	return d.release()
}

// checkHeader judges kind and apiVersion together, when both are read.
func (d *listDecoder[T]) checkHeader() error {
	switch {
	case d.kind == "", d.apiVersion == "", d.apiVersion == d.want.apiVersion:
	case d.apiVersion == "v1" && (d.kind == "List" || d.kind == statusKind):
	case d.want.partial && isMeta(d.apiVersion) && d.kind == partialKind+"List":
	default:
		return d.wrongKind()
	}
	return nil
}

func (d *listDecoder[T]) wrongKind() error {
	return fmt.Errorf("%w: got %s, want a list of %s", ErrWrongKind,
		kindName(d.apiVersion, d.kind), kindName(d.want.apiVersion, d.want.kind))
}

func (d *listDecoder[T]) metadata() error {
	raw, err := d.in.value()
	if err != nil {
		return err
	}
	if err := d.objects.json.unmarshal(raw, &d.meta); err != nil {
		return d.unlike(err)
	}
	return nil
}

func (d *listDecoder[T]) readItems() error {
	d.items = true
	d.index = -1
	if k, err := d.in.peek(); err == nil && k == 'n' {
		return d.in.skip() // a nil slice of a Go server
	}
	if err := d.in.open('['); err != nil {
		return err
	}
	for d.index = 0; ; d.index++ {
		more, err := d.in.more(']')
		if err != nil || !more {
			return err
		}
		raw, err := d.in.value()
		if err != nil {
			return err
		}
		if !d.item(raw) {
			return reflector.ErrStopped
		}
	}
}

// item decodes and yields one object. It returns false to stop.
func (d *listDecoder[T]) item(raw []byte) bool {
	obj, err := d.objects.decode(raw, d.want)
	if err == nil && d.objects.kinded && d.kind == "" && d.want.kind == "" && obj.id.kind == "" {
		d.held = append(d.held, obj)
		return true
	}
	return d.deliver(obj, err)
}

func (d *listDecoder[T]) deliver(obj decoded[T], err error) bool {
	if err == nil {
		err = d.objects.complete(&obj, d.want)
	}
	if err != nil {
		return d.yield(reflector.Event[T]{}, d.report(0, obj.id, err))
	}
	return d.yield(reflector.Event[T]{
		Type:            reflector.Added,
		ResourceVersion: obj.id.resourceVersion,
		Object:          obj.object,
	}, nil)
}

// release yields the held objects now that the list's kind is known.
func (d *listDecoder[T]) release() error {
	held := d.held
	d.held = nil
	for _, obj := range held {
		if !d.deliver(obj, nil) {
			return reflector.ErrStopped
		}
	}
	return nil
}

// keep holds on to a member of a Status.
func (d *listDecoder[T]) keep(name string) error {
	raw, err := d.in.value()
	if err != nil {
		return err
	}
	if d.status.Len()+len(raw) < statusLimit {
		fmt.Fprintf(&d.status, `,%q:%s`, name, raw)
	}
	return nil
}

// complete judges the body by all of its members.
func (d *listDecoder[T]) complete() error {
	if d.kind == statusKind && !d.items {
		var st metav1.Status
		_ = d.objects.json.unmarshalExact([]byte(`{"kind":"Status","apiVersion":"v1"`+d.status.String()+"}"), &st)
		if st.Status != metav1.StatusSuccess {
			return &apierrors.StatusError{ErrStatus: st}
		}
	}
	d.at = "the members of the list"
	switch {
	case d.kind == "":
		return d.unlike(errors.New(`no "kind"`))
	case d.apiVersion == "":
		return d.unlike(errors.New(`no "apiVersion"`))
	case !d.items:
		return fmt.Errorf("%w: got %s without items (%s)", ErrWrongKind, kindName(d.apiVersion, d.kind), d.body.excerpt())
	}
	return d.release()
}

// unlike marks an error as one about the whole body: it is no list.
func (d *listDecoder[T]) unlike(err error) error {
	return fmt.Errorf("%w: %w (%s)", ErrNotKubernetes, err, d.body.excerpt())
}

// explain adds what was being read to an error that does not say so.
func (d *listDecoder[T]) explain(err error) error {
	var st *apierrors.StatusError
	switch {
	case err == reflector.ErrStopped, errors.Is(err, ErrNotKubernetes), errors.Is(err, ErrTable), errors.As(err, &st):
		return err
	case err == io.EOF: // an empty body: at every other place an end is unexpected
		return d.unlike(io.ErrUnexpectedEOF)
	case isForeign(err) && d.kind == "" && d.apiVersion == "" && !d.items:
		return d.unlike(err) // nothing of a list so far
	}
	at := d.at
	if at == "items" && d.index >= 0 {
		at = fmt.Sprintf("items[%d]", d.index)
	}
	return fmt.Errorf("reading %s at byte %d: %w", at, d.in.offset(), err)
}
