package client

import (
	"context"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/reflector"
)

// watching is the common part of reading a watch in any encoding. It belongs to one goroutine.
type watching struct {
	objects *objectCodec
	work    *workspace
	body    *answer
	want    expectation
	report  func(reflector.EventType, identity, error) error

	events int // read so far

	decoders int                      // the largest number of goroutines for initial events; zero after these
	crew     *crew                    // nil until there are many of them
	pass     func(event, error) error // passes on an event
	stopped  error                    // pass's
}

// errAhead is in place of an event whose object is given to the crew.
var errAhead = errors.New("the object is given to a decoder")

// eventReader is the decoder of a watch.
type eventReader interface {
	// next returns the next event. The error is io.EOF at a proper end, a *reflector.ObjectError if
	// only the event cannot be used, and errAhead if watching passes it on. Any other error ends
	// the stream.
	next() (event, error)
	// ready reports whether the next event was read ahead.
	ready() bool
}

// closeWatch closes the stream.
func closeWatch(w *watching) {
	closeCrew(w.crew)
	w.work.close()
	w.body.abandon()
}

// runWatch passes on the events until the stream ends.
func runWatch(ctx context.Context, w *watching, d eventReader) error {
	for {
		ev, err := d.next()
		if err == errAhead {
			if w.stopped != nil {
				return w.stopped
			}
			continue
		}
		if err == nil && ev.Type != reflector.Added {
			w.decoders = 0 // the initial events have ended, or the server does not mark their end
		}
		if err := flushWatch(w); err != nil {
			return err
		}
		if err == io.EOF && ctx.Err() == nil {
			return nil
		}
		ev.Idle = err == nil && !d.ready()
		if err := w.pass(ev, err); err != nil {
			return err
		}
	}
}

// decodesAhead reports whether added objects are given to the crew.
func decodesAhead(w *watching, e encoding) bool {
	if w.crew == nil && w.decoders > 1 && w.events >= crewSoon && w.want.kind != "" {
		w.crew = newCrew(w.decoders, w.objects, e, w.want, w.work)
	}
	return w.crew != nil
}

// give gives an added object to the crew.
func give(w *watching, m rawMessage) error {
	toCrew(w.crew, m, nil, passAdded(w))
	return errAhead
}

// flushWatch passes on all that was given to the crew, and ends the crew after the initial events.
func flushWatch(w *watching) error {
	flushCrew(w.crew, passAdded(w))
	if w.decoders == 0 {
		closeCrew(w.crew)
		w.crew = nil
	}
	return w.stopped
}

// passAdded returns the function that passes on the objects of the crew.
func passAdded(w *watching) func(decoded, error) bool {
	return func(obj decoded, err error) bool {
		w.stopped = w.pass(acceptEvent(w, reflector.Added, obj, err))
		return w.stopped == nil
	}
}

// eventType returns the event type for a word on the wire; 0 if the word is not the type of an
// event with an object of the collection.
func eventType(text []byte) reflector.EventType {
	switch string(text) {
	case "ADDED":
		return reflector.Added
	case "MODIFIED":
		return reflector.Modified
	case "DELETED":
		return reflector.Deleted
	case "BOOKMARK":
		return reflector.Bookmark
	}
	return 0
}

// typeOfUnread returns the type to report for an event whose object is over the limit. An
// unknown type counts as a deletion, because a deletion must not go unseen.
func typeOfUnread(text []byte) reflector.EventType {
	if len(text) == 0 {
		return reflector.Deleted
	}
	return eventType(text)
}

// errorEvent is the type of the event that ends a watch.
const errorEvent = "ERROR"

// unknownType returns the error for an event of an unknown type.
func unknownType(text string) error {
	if text == "" {
		return errors.New("watch event without a type")
	}
	return fmt.Errorf("unknown watch event type %q", text)
}

// acceptEvent makes the event for a decoded object, or the error for it.
func acceptEvent(w *watching, typ reflector.EventType, obj decoded, err error) (event, error) {
	if err == nil && !obj.known {
		err = complete(w.objects, obj, w.want)
	}
	if err != nil {
		return event{}, watchProblem(w, typ, obj.id, err)
	}
	w.want.settle(obj.id)
	return event{Type: typ, ResourceVersion: obj.id.resourceVersion, Sum: obj.sum, Recalled: obj.known, Object: obj.object}, nil
}

// watchProblem returns an *reflector.ObjectError, or an error that ends the stream.
func watchProblem(w *watching, typ reflector.EventType, id identity, err error) error {
	if errors.Is(err, errTable) {
		return err // every later event of this stream would fail, too
	}
	return w.report(typ, id, err)
}

// bookmark reads a Bookmark: its object only has kind, resourceVersion, and the annotation
// that ends initial events (KEP-3157).
func bookmark(w *watching, h decode.Header) (event, error) {
	id := identityOf(h)
	err := w.want.check(id)
	end := h.Metadata.Annotations.InitialEventsEnd == "true"
	if err != nil && end {
		return event{}, err // of a whole list of another kind, which no later event ends
	}
	if err == nil && id.resourceVersion == "" && !end {
		err = errors.New("bookmark without a resourceVersion")
	}
	if err != nil {
		return event{}, watchProblem(w, reflector.Bookmark, id, err)
	}
	if end {
		w.work.inquiry = inquiry{}
	}
	return event{
		Type:             reflector.Bookmark,
		ResourceVersion:  id.resourceVersion,
		InitialEventsEnd: end,
	}, nil
}

// failure returns the error for an ERROR event, which ends the stream.
func failure(st metav1.Status, ok bool, raw []byte) error {
	if ok {
		return failed(st)
	}
	shown := beginning(raw[:min(len(raw), excerptLimit)], int64(len(raw)))
	text := fmt.Sprintf("ERROR event: %v: it carries no Status (%s)", errNotKubernetes, shown)
	return remark{failed(metav1.Status{Status: metav1.StatusFailure, Message: text}), errNotKubernetes}
}

// explainWatch adds the part that was being read to an error without it.
func explainWatch(w *watching, err error, offset int64) error {
	if errors.Is(err, errNotKubernetes) || errors.Is(err, errTable) {
		return err
	}
	return fmt.Errorf("reading event %d at byte %d: %w", w.events+1, offset, marked(err))
}
