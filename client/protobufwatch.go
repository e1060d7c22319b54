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
	watching *watching[T]
	in       *kubeproto.FrameReader
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
		d.watching.events++
		start, _ := kubeproto.ParseWatchEvent(frame)
		return oversized(d, start, err)
	case err != nil:
		return none, explainWatch(d.watching, err, at)
	}
	return protobufEvent(d, frame, at)
}

// protobufEvent reads the event in a frame, which began at the offset at. While next waits for one, this is
// not on the stack.
func protobufEvent[T any](d *protobufWatch[T], frame []byte, at int64) (reflector.Event[T], error) {
	var none reflector.Event[T]
	event, err := kubeproto.ParseWatchEvent(frame)
	if err == nil && len(event.Type) == 0 && event.Object == nil {
		err = errors.New("an event without type and object")
	}
	if err != nil && d.watching.events == 0 {
		return none, d.watching.body.unlike(err)
	} else if err != nil {
		return none, explainWatch(d.watching, err, at) // nothing in the frame can be trusted
	}
	d.watching.events++
	return judgeProtobuf(d, event)
}

func (d *protobufWatch[T]) ready() bool { return d.in.Ready() }

// judgeProtobuf turns a frame into its event, or into an error.
func judgeProtobuf[T any](d *protobufWatch[T], event kubeproto.WatchEvent) (reflector.Event[T], error) {
	var none reflector.Event[T]
	typ := eventType(event.Type)
	m, err := openEnvelope(event.Object, d.watching.want)
	switch {
	case string(event.Type) == errorEvent:
		st, ok := m.status()
		return none, failure(st, ok, event.Object)
	case typ == 0:
		return none, d.watching.report(0, identityOf(m.header()), unknownType(string(event.Type)))
	case event.Object == nil:
		return none, d.watching.report(typ, identity{}, fmt.Errorf("%s event without an object", typ))
	case err != nil:
		return none, d.watching.report(typ, identityOf(m.header()), err)
	case typ == reflector.Bookmark:
		return bookmark(d.watching, m.header())
	case typ == reflector.Added && ahead(d.watching, Protobuf):
		return none, give(d.watching, m)
	case typ == reflector.Added:
		obj, err := decodeListedMessage(d.watching.objects, m, nil, d.watching.want, d.watching.work)
		return acceptEvent(d.watching, typ, obj, err)
	}
	obj, err := decodeMessage(d.watching.objects, m, nil, d.watching.want, d.watching.work)
	return acceptEvent(d.watching, typ, obj, err)
}

// oversized returns the error for a frame of which only the beginning was kept.
func oversized[T any](d *protobufWatch[T], start kubeproto.WatchEvent, cause error) (reflector.Event[T], error) {
	if string(start.Type) == errorEvent {
		return reflector.Event[T]{}, explainWatch(d.watching, cause, d.in.Offset())
	}
	m, _ := openEnvelope(start.Object, d.watching.want)
	obj, err := decodeMessage(d.watching.objects, m, cause, d.watching.want, d.watching.work)
	return acceptEvent(d.watching, typeOfUnread(start.Type), obj, err)
}
