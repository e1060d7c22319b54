package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinform/kinform/reflector"
)

// watchDecoder reads the events of one watch body, in one goroutine. It decodes the
// object of an event while it passes, if the type comes first, as the API server sends
// it; else it keeps the object's bytes until the type is known.
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes)
type watchDecoder[T any] struct {
	objects *objectCodec[T]
	in      *jsonReader
	body    *answer
	want    expectation
	report  func(reflector.EventType, identity, error) error

	events int // read so far
}

// envelope is one event as far as it is read.
type envelope[T any] struct {
	kind    string // the wire's "type"
	typ     reflector.EventType
	late    []byte // the object's JSON, if it came before the type
	object  bool   // there is one
	event   reflector.Event[T]
	problem error // an *reflector.ObjectError, or what ends the stream
}

// next returns the next event. The error is io.EOF at an orderly end, a
// *reflector.ObjectError if the event cannot be used but the stream goes on, and
// otherwise ends the stream.
func (d *watchDecoder[T]) next() (reflector.Event[T], error) {
	var none reflector.Event[T]
	if err := d.in.open('{'); err == io.EOF {
		return none, io.EOF
	} else if err != nil && d.events == 0 && isForeign(err) {
		return none, d.unlike(err)
	} else if err != nil {
		return none, d.explain(err)
	}
	var e envelope[T]
	for {
		more, err := d.in.more('}')
		if err == nil && more {
			err = d.member(&e)
		}
		if err != nil {
			return none, d.explain(err)
		}
		if !more {
			break
		}
	}
	if e.kind == "" && !e.object {
		return none, d.unlike(errors.New(`neither "type" nor "object" in an event`))
	}
	d.events++
	if e.late != nil {
		d.judge(&e, e.late)
	}
	if e.problem == nil && !e.object {
		e.problem = d.report(e.typ, identity{}, fmt.Errorf("%s event without an object", e.kind))
	}
	if e.problem != nil {
		return none, e.problem
	}
	return e.event, nil
}

// member reads one member of an event, name and value.
func (d *watchDecoder[T]) member(e *envelope[T]) error {
	raw, err := d.in.value()
	if err != nil {
		return err
	}
	name, _ := jsonText(raw)
	switch string(name) {
	case "type":
		return d.readType(e)
	case "object":
		if raw, err = d.in.value(); err != nil {
			return err
		}
		e.object = true
		if e.kind == "" {
			e.late = bytes.Clone(raw)
			return nil
		}
		d.judge(e, raw)
		return nil
	case "kind":
		return d.readKind(e)
	}
	return d.in.skip()
}

func (d *watchDecoder[T]) readType(e *envelope[T]) error {
	raw, err := d.in.value()
	if err != nil {
		return err
	}
	text, ok := jsonText(raw)
	if !ok {
		return d.unlike(&shapeError{want: '"', got: raw[0]})
	}
	switch string(text) {
	case "ADDED":
		e.typ = reflector.Added
	case "MODIFIED":
		e.typ = reflector.Modified
	case "DELETED":
		e.typ = reflector.Deleted
	case "BOOKMARK":
		e.typ = reflector.Bookmark
	default:
		e.typ, e.kind = 0, string(text)
		return nil
	}
	e.kind = e.typ.String()
	return nil
}

// readKind looks at a member that no event has, and that every other answer of the API
// has: this may be a Status, or a list from a server that cannot watch. What the body
// holds beside is not worth reading.
func (d *watchDecoder[T]) readKind(e *envelope[T]) error {
	raw, err := d.in.value()
	if err != nil {
		return err
	}
	kind, ok := jsonText(raw)
	if !ok || e.object || e.kind != "" {
		return nil
	}
	if string(kind) == tableKind {
		return ErrTable
	}
	return d.unlike(fmt.Errorf("got a %s, want watch events", kind))
}

// judge turns the object's JSON into the event, or the problem with it.
func (d *watchDecoder[T]) judge(e *envelope[T], raw []byte) {
	e.event, e.problem = reflector.Event[T]{}, nil
	switch {
	case e.kind == "ERROR":
		e.problem = d.failure(raw)
	case e.typ == 0:
		err := fmt.Errorf("unknown watch event type %q", e.kind)
		if e.kind == "" {
			err = errors.New("watch event without a type")
		}
		e.problem = d.report(0, d.objects.scan(raw).identity(), err)
	case e.typ == reflector.Bookmark:
		d.bookmark(e, raw)
	default:
		obj, err := d.objects.decode(raw, d.want)
		if err == nil {
			err = d.objects.complete(&obj, d.want)
		}
		if err != nil {
			e.problem = d.problem(e.typ, obj.id, err)
			return
		}
		if d.want.kind == "" && !isMeta(obj.id.apiVersion) {
			d.want.kind = obj.id.kind
		}
		e.event = reflector.Event[T]{Type: e.typ, ResourceVersion: obj.id.resourceVersion, Object: obj.object}
	}
}

func (d *watchDecoder[T]) problem(typ reflector.EventType, id identity, err error) error {
	if errors.Is(err, ErrTable) {
		return err // no event of this stream will be better
	}
	return d.report(typ, id, err)
}

// bookmark reads a Bookmark: its object has nothing but kind and resourceVersion, and the
// annotation that ends initial events (KEP-3157).
func (d *watchDecoder[T]) bookmark(e *envelope[T], raw []byte) {
	h := d.objects.scan(raw)
	id := h.identity()
	err := d.want.check(id)
	if err == nil && id.resourceVersion == "" {
		err = errors.New("bookmark without a resourceVersion")
	}
	if err != nil {
		e.problem = d.problem(e.typ, id, err)
		return
	}
	e.event = reflector.Event[T]{
		Type:             reflector.Bookmark,
		ResourceVersion:  id.resourceVersion,
		InitialEventsEnd: h.Metadata.Annotations.InitialEventsEnd == "true",
	}
}

// failure is the error of an ERROR event, which ends the stream.
func (d *watchDecoder[T]) failure(raw []byte) error {
	st, ok := d.objects.status(raw)
	if !ok {
		return fmt.Errorf("ERROR event: %w: it carries no Status but %q", ErrNotKubernetes, raw[:min(len(raw), 160)])
	}
	return &apierrors.StatusError{ErrStatus: st}
}

// unlike marks an error as one about the whole body: it is no watch.
func (d *watchDecoder[T]) unlike(err error) error {
	return fmt.Errorf("%w: %w (%s)", ErrNotKubernetes, err, d.body.excerpt())
}

// explain adds what was being read to an error that does not say so.
func (d *watchDecoder[T]) explain(err error) error {
	if errors.Is(err, ErrNotKubernetes) || errors.Is(err, ErrTable) {
		return err
	}
	return fmt.Errorf("reading event %d at byte %d: %w", d.events+1, d.in.offset(), err)
}
