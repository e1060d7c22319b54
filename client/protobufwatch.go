package client

import (
	"errors"
	"fmt"
	"io"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/kubeproto"
	"github.com/kinform/kinform/reflector"
)

// protobufWatch reads the events of one watch body in protobuf.
type protobufWatch[T any] struct {
	*watching[T]
	in *kubeproto.FrameReader
}

// next implements eventReader.
func (d *protobufWatch[T]) next() (reflector.Event[T], error) {
	var none reflector.Event[T]
	at := d.in.Offset()
	frame, err := d.in.Next()
	switch err = wireError(err); {
	case err == io.EOF:
		return none, io.EOF
	case err == decode.ErrOverLimit:
		d.events++
		start, _ := kubeproto.ParseWatchEvent(frame)
		return d.oversized(start, err)
	case err != nil:
		return none, d.explain(err, at)
	}
	return d.event(frame, at)
}

// event reads the event in a frame, which began at the offset at. While next waits for one, this is
// not on the stack.
func (d *protobufWatch[T]) event(frame []byte, at int64) (reflector.Event[T], error) {
	var none reflector.Event[T]
	event, err := kubeproto.ParseWatchEvent(frame)
	if err == nil && len(event.Type) == 0 && event.Object == nil {
		err = errors.New("an event without type and object")
	}
	if err != nil && d.events == 0 {
		return none, d.body.unlike(err)
	} else if err != nil {
		return none, d.explain(err, at) // nothing in the frame can be trusted
	}
	d.events++
	return d.judge(event)
}

func (d *protobufWatch[T]) ready() bool { return d.in.Ready() }

// judge turns a frame into its event, or into an error.
func (d *protobufWatch[T]) judge(event kubeproto.WatchEvent) (reflector.Event[T], error) {
	var none reflector.Event[T]
	typ := eventType(event.Type)
	m, err := openEnvelope(event.Object, d.want)
	switch {
	case string(event.Type) == errorEvent:
		st, ok := m.status()
		return none, failure(st, ok, event.Object)
	case typ == 0:
		return none, d.report(0, identityOf(m.header()), unknownType(string(event.Type)))
	case event.Object == nil:
		return none, d.report(typ, identity{}, fmt.Errorf("%s event without an object", typ))
	case err != nil:
		return none, d.report(typ, identityOf(m.header()), err)
	case typ == reflector.Bookmark:
		return d.bookmark(m.header())
	case typ == reflector.Added && d.ahead(Protobuf):
		return none, d.give(m)
	case typ == reflector.Added:
		obj, err := d.objects.decodeListedMessage(m, nil, d.want, d.work)
		return d.accept(typ, obj, err)
	}
	obj, err := d.objects.decodeMessage(m, nil, d.want, d.work)
	return d.accept(typ, obj, err)
}

// oversized returns the error for a frame of which only the beginning was kept.
func (d *protobufWatch[T]) oversized(start kubeproto.WatchEvent, cause error) (reflector.Event[T], error) {
	if string(start.Type) == errorEvent {
		return reflector.Event[T]{}, d.explain(cause, d.in.Offset())
	}
	m, _ := openEnvelope(start.Object, d.want)
	obj, err := d.objects.decodeMessage(m, cause, d.want, d.work)
	return d.accept(typeOfUnread(start.Type), obj, err)
}
