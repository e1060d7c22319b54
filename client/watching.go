package client

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/reflector"
)

// watching is what reading a watch comes to, whatever its encoding. It belongs to one
// goroutine.
type watching[T any] struct {
	objects *objectCodec[T]
	work    *workspace
	body    *answer
	want    expectation
	report  func(reflector.EventType, identity, error) error

	events int // read so far
}

// eventType returns the type that a word on the wire stands for; 0 if it is none of those
// that carry an object of the collection.
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

// typeOfUnread is the type that an event of an object over the limit is reported with. One
// that is not known may be that of a deletion, which must not go unseen.
func typeOfUnread(text []byte) reflector.EventType {
	if len(text) == 0 {
		return reflector.Deleted
	}
	return eventType(text)
}

// errorEvent is the type of the event that ends a watch.
const errorEvent = "ERROR"

// unknownType is the error for an event whose type says nothing.
func unknownType(text string) error {
	if text == "" {
		return errors.New("watch event without a type")
	}
	return fmt.Errorf("unknown watch event type %q", text)
}

// accept makes the event of a decoded object, or the error in place of it.
func (w *watching[T]) accept(typ reflector.EventType, obj decoded[T], err error) (reflector.Event[T], error) {
	if err == nil {
		err = w.objects.complete(&obj, w.want)
	}
	if err != nil {
		return reflector.Event[T]{}, w.problem(typ, obj.id, err)
	}
	w.want.settle(obj.id)
	return reflector.Event[T]{Type: typ, ResourceVersion: obj.id.resourceVersion, Object: obj.object}, nil
}

// problem is an *reflector.ObjectError, or what ends the stream.
func (w *watching[T]) problem(typ reflector.EventType, id identity, err error) error {
	if errors.Is(err, ErrTable) {
		return err // no event of this stream will be better
	}
	return w.report(typ, id, err)
}

// bookmark reads a Bookmark: its object has nothing but kind and resourceVersion, and the
// annotation that ends initial events (KEP-3157).
func (w *watching[T]) bookmark(h decode.Header) (reflector.Event[T], error) {
	id := identityOf(h)
	err := w.want.check(id)
	if err == nil && id.resourceVersion == "" {
		err = errors.New("bookmark without a resourceVersion")
	}
	if err != nil {
		return reflector.Event[T]{}, w.problem(reflector.Bookmark, id, err)
	}
	return reflector.Event[T]{
		Type:             reflector.Bookmark,
		ResourceVersion:  id.resourceVersion,
		InitialEventsEnd: h.Metadata.Annotations.InitialEventsEnd == "true",
	}, nil
}

// failure is the error of an ERROR event, which ends the stream.
func failure(st metav1.Status, ok bool, raw []byte) error {
	if !ok {
		return fmt.Errorf("ERROR event: %w: it carries no Status but %q", ErrNotKubernetes, raw[:min(len(raw), 160)])
	}
	return &apierrors.StatusError{ErrStatus: st}
}

// explain adds what was being read to an error that does not say so.
func (w *watching[T]) explain(err error, offset int64) error {
	if errors.Is(err, ErrNotKubernetes) || errors.Is(err, ErrTable) {
		return err
	}
	return fmt.Errorf("reading event %d at byte %d: %w", w.events+1, offset, marked(err))
}
