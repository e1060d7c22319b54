package client

import (
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/reflector"
)

// watchDecoder reads the events of one watch body in JSON. If an event's type comes
// first, as the API server sends it, the decoder decodes the object while reading it.
// Otherwise it keeps the object's bytes until the type is known.
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes)
type watchDecoder struct {
	watching *watching
	in       *decode.Reader
	kept     []byte // an object

	// Of a value that is no event so far: its kind, and other members of a Status.
	foreign string
	status  *statusMembers // nil if there are none
}

// eventEnvelope is one event as far as it has been read.
type eventEnvelope struct {
	kind    string // the wire's "type"
	typ     reflector.EventType
	late    []byte // the object, if it came before the type, or may be given to a decoder
	fault   error  // a known problem of late
	object  bool   // the event has an object
	event   event
	problem error // an *reflector.ObjectError, or an error that ends the stream
}

// next implements eventReader.
func (d *watchDecoder) next() (event, error) {
	var none event
	if err := d.in.Open('{'); err == io.EOF {
		return none, io.EOF
	} else if err != nil && d.watching.events == 0 && decode.IsForeign(err) {
		return none, d.watching.body.unlike(err)
	} else if err != nil {
		return none, explainWatch(d.watching, err, d.in.Offset())
	}
	return jsonEvent(d)
}

// jsonEvent reads the rest of an event. While next waits for one, this frame is not on the stack.
func jsonEvent(d *watchDecoder) (event, error) {
	var none event
	var e eventEnvelope
	d.foreign, d.status = "", nil
	for {
		more, err := d.in.More('}')
		if err == nil && more {
			err = eventMember(d, &e)
		}
		if err != nil {
			return none, explainWatch(d.watching, err, d.in.Offset())
		}
		if !more {
			break
		}
	}
	if e.kind == "" && !e.object {
		return none, notAnEvent(d)
	}
	d.watching.events++
	if e.late != nil && e.typ == reflector.Added && e.fault == nil && d.watching.crew != nil {
		return none, give(d.watching, rawMessage{raw: e.late})
	}
	if e.late != nil {
		judgeJSON(d, &e, e.late, e.fault)
	}
	if e.kind == errorEvent && !e.object {
		return none, failure(metav1.Status{}, false, nil)
	}
	if e.problem == nil && !e.object {
		e.problem = d.watching.report(e.typ, identity{}, fmt.Errorf("%s event without an object", e.kind))
	}
	if e.problem != nil {
		return none, e.problem
	}
	return e.event, nil
}

func (d *watchDecoder) ready() bool { return d.in.Ready() }

// eventMember reads one member of an event, name and value.
func eventMember(d *watchDecoder, e *eventEnvelope) error {
	name, err := d.in.Name()
	if err != nil {
		return err
	}
	switch string(name) {
	case "type":
		return readType(d, e)
	case "object":
		return readWatched(d, e)
	case "kind":
		return readKind(d, e)
	}
	if e.kind != "" || e.object {
		return d.in.Skip()
	}
	if d.status == nil {
		d.status = new(statusMembers)
	}
	return d.status.keep(d.in, string(name))
}

// notAnEvent returns the error for a value without type and object.
func notAnEvent(d *watchDecoder) error {
	if d.status != nil {
		if err := refusalIn(d.watching.objects, "", d.foreign, d.status); err != nil {
			return err
		}
	}
	if d.foreign != "" {
		return d.watching.body.unlike(fmt.Errorf("got a %s, want watch events", d.foreign))
	}
	return d.watching.body.unlike(errors.New(`neither "type" nor "object" in an event`))
}

func readType(d *watchDecoder, e *eventEnvelope) error {
	raw, err := d.in.Value()
	if err != nil {
		return err
	}
	text, ok := decode.Text(raw)
	if !ok {
		return d.watching.body.unlike(&decode.ShapeError{Want: '"', Got: raw[0]})
	}
	if e.typ = eventType(text); e.typ == 0 {
		e.kind = string(text)
	} else {
		e.kind = e.typ.String()
	}
	return nil
}

func readWatched(d *watchDecoder, e *eventEnvelope) error {
	var known decoded
	var raw []byte
	var fault, err error
	if e.typ == reflector.Added {
		known, raw, fault, err = readListed(d.watching.objects, d.in, d.watching.want, d.watching.work)
	} else {
		raw, fault, err = decode.ReadObject(d.in, nil)
	}
	if err != nil {
		return err
	}
	if e.object, e.late = true, nil; known.known {
		e.event, e.problem = acceptEvent(d.watching, reflector.Added, known, nil)
		return nil
	}
	if e.kind == "" || decodesAhead(d.watching, inJSON) {
		d.kept = append(d.kept[:0], raw...)
		e.late, e.fault = d.kept, fault
		return nil
	}
	judgeJSON(d, e, raw, fault)
	return nil
}

// readKind reads a member that no event has but every other answer of the API has: the body
// may be a Status, or a list from a server that cannot watch. Of anything but a Status, the rest is
// not worth reading.
func readKind(d *watchDecoder, e *eventEnvelope) error {
	raw, err := d.in.Value()
	if err != nil {
		return err
	}
	kind, ok := decode.Text(raw)
	if !ok || e.object || e.kind != "" {
		return nil
	}
	switch d.foreign = string(kind); d.foreign {
	case statusKind:
		return nil
	case tableKind:
		return errTable
	}
	return notAnEvent(d)
}

// judgeJSON turns the object into the event or its problem.
func judgeJSON(d *watchDecoder, e *eventEnvelope, raw []byte, fault error) {
	e.event, e.problem = event{}, nil
	switch {
	case e.kind == errorEvent && fault == decode.ErrOverLimit:
		e.problem = explainWatch(d.watching, fault, d.in.Offset())
	case fault == decode.ErrOverLimit:
		obj, err := decodeObject(d.watching.objects, raw, fault, d.watching.want, d.watching.work)
		e.event, e.problem = acceptEvent(d.watching, typeOfUnread([]byte(e.kind)), obj, err)
	case e.kind == errorEvent:
		st, ok := jsonStatus(d.watching.objects, raw)
		e.problem = failure(st, ok, raw)
	case e.typ == 0:
		e.problem = d.watching.report(0, identityOf(d.watching.work.codec.Header(raw)), unknownType(e.kind))
	case e.typ == reflector.Bookmark:
		e.event, e.problem = bookmark(d.watching, d.watching.work.codec.Header(raw))
	default:
		obj, err := decodeObject(d.watching.objects, raw, fault, d.watching.want, d.watching.work)
		e.event, e.problem = acceptEvent(d.watching, e.typ, obj, err)
	}
}
