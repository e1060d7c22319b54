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
type protobufWatch struct {
	watching *watching
	in       *kubeproto.FrameReader
}

// next implements eventReader.
func (d *protobufWatch) next() (ev event, err error) {
	at := d.in.Offset()
	frame, err := d.in.Next()
	err = protobufEvent(d, frame, at, wireError(err), &ev)
	return ev, err
}

// protobufEvent reads the event in a frame, which began at the offset at, or says why there is none. While next waits
// for one, this is not on the stack.
func protobufEvent(d *protobufWatch, frame []byte, at int64, err error, ev *event) error {
	switch {
	case err == io.EOF:
		return io.EOF
	case err == decode.ErrOverLimit:
		d.watching.events++
		start, _ := kubeproto.ParseWatchEvent(frame)
		*ev, err = oversized(d, start, err)
		return err
	case err != nil:
		return explainWatch(d.watching, err, at)
	}
	got, err := kubeproto.ParseWatchEvent(frame)
	if err == nil && len(got.Type) == 0 && got.Object == nil {
		err = errors.New("an event without type and object")
	}
	if err != nil && d.watching.events == 0 {
		return d.watching.body.unlike(err)
	} else if err != nil {
		return explainWatch(d.watching, err, at) // nothing in the frame can be trusted
	}
	d.watching.events++
	*ev, err = judgeProtobuf(d, got)
	return err
}

func (d *protobufWatch) ready() bool { return d.in.Ready() }

// judgeProtobuf turns a frame into its event, or into an error.
func judgeProtobuf(d *protobufWatch, got kubeproto.WatchEvent) (event, error) {
	var none event
	typ := eventType(got.Type)
	m, err := openEnvelope(got.Object, d.watching.want)
	switch {
	case string(got.Type) == errorEvent:
		st, ok := m.status()
		return none, failure(st, ok, got.Object)
	case typ == 0:
		return none, d.watching.report(0, identityOf(m.header()), unknownType(string(got.Type)))
	case got.Object == nil:
		return none, d.watching.report(typ, identity{}, fmt.Errorf("%s event without an object", typ))
	case err != nil:
		return none, d.watching.report(typ, identityOf(m.header()), err)
	case typ == reflector.Bookmark:
		return bookmark(d.watching, m.header())
	case typ == reflector.Added && decodesAhead(d.watching, inProtobuf):
		return none, give(d.watching, m)
	case typ == reflector.Added:
		obj, err := decodeListedMessage(d.watching.objects, m, nil, d.watching.want, d.watching.work)
		return acceptEvent(d.watching, typ, obj, err)
	}
	d.watching.work.update = true
	obj, err := decodeMessage(d.watching.objects, m, nil, d.watching.want, d.watching.work)
	d.watching.work.update = false
	return acceptEvent(d.watching, typ, obj, err)
}

// oversized returns the error for a frame of which only the beginning was kept.
func oversized(d *protobufWatch, start kubeproto.WatchEvent, cause error) (event, error) {
	if string(start.Type) == errorEvent {
		return event{}, explainWatch(d.watching, cause, d.in.Offset())
	}
	m, _ := openEnvelope(start.Object, d.watching.want)
	obj, err := decodeMessage(d.watching.objects, m, cause, d.watching.want, d.watching.work)
	return acceptEvent(d.watching, typeOfUnread(start.Type), obj, err)
}
