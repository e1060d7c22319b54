package client

import (
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/reflector"
)

// listing is the common part of reading a list in any encoding: it judges the list by its
// kind, and delivers its objects one by one. It belongs to one goroutine.
type listing struct {
	objects *objectCodec
	work    *workspace
	body    *answer
	want    expectation
	report  func(reflector.EventType, identity, error) error
	yield   func(event, error) bool

	decoders int   // the largest number of goroutines
	crew     *crew // nil until there are many objects

	apiVersion, kind string // the list's own, as far as they were read
	meta             metav1.ListMeta
	// held are objects without a kind that came before the list's kind.
	held []decoded
	// wrong says that the list is of another kind, so that no object can be used.
	wrong error
}

// deriveKind derives the kind of the items from the list's kind. The list kind of a custom resource
// may be any word ("listKind"), so an item's own kind takes precedence.
func deriveKind(l *listing) error {
	switch l.kind {
	case tableKind:
		return errTable
	case statusKind:
		return nil // completeList returns the error after the whole body
	}
	if err := checkHeader(l); err != nil {
		return err
	}
	if !l.want.partial || l.kind != partialKind+"List" {
		l.want.guess = itemKind(l.kind)
	}
	return releaseHeld(l)
}

// checkHeader judges kind and apiVersion together, once both are read.
func checkHeader(l *listing) error {
	switch {
	case l.kind == "", l.apiVersion == "", l.apiVersion == l.want.apiVersion:
	case l.apiVersion == "v1" && l.kind == "List", mayBeStatus(l.apiVersion, l.kind):
	case l.want.partial && isMeta(l.apiVersion) && l.kind == partialKind+"List":
	default:
		return fmt.Errorf("%w: got %s, want a list of %s", errWrongKind,
			kindName(l.apiVersion, l.kind), kindName(l.want.apiVersion, l.want.kind))
	}
	return nil
}

// addListed delivers an object or its error, once the list's kind is known or not needed. It returns
// false to stop.
func addListed(l *listing, obj decoded, err error) bool {
	if err == nil && l.objects.kinded && l.kind == "" && l.want.kind == "" && obj.id.kind == "" {
		l.held = append(l.held, obj)
		return true
	}
	return deliverListed(l, obj, err)
}

// deliverListed passes on an object or its error. It returns false to stop.
func deliverListed(l *listing, obj decoded, err error) bool {
	if err == nil && !obj.known {
		err = complete(l.objects, obj, l.want)
	}
	if l.want.misled() && obj.id.kind == "" && errors.Is(err, errWrongKind) {
		l.wrong = err
		return false
	}
	if err != nil {
		return l.yield(event{}, l.report(0, obj.id, err))
	}
	l.want.settle(obj.id)
	return l.yield(event{
		Type:            reflector.Added,
		ResourceVersion: obj.id.resourceVersion,
		Sum:             obj.sum,
		Recalled:        obj.known,
		Object:          obj.object,
	}, nil)
}

// delivery is deliverListed for the objects of a crew.
func delivery(l *listing) func(decoded, error) bool {
	return func(obj decoded, err error) bool { return deliverListed(l, obj, err) }
}

// take decodes an object and delivers it, now or later. It returns false to stop.
func take(l *listing, e encoding, index int, m rawMessage, problem error) bool {
	if l.crew == nil && index == crewSoon && l.decoders > 1 && l.want.kind != "" && l.work.inquiry.known == nil {
		l.crew = newCrew(l.decoders, l.objects, e, l.want, l.work)
	}
	switch {
	case l.crew != nil:
		return toCrew(l.crew, m, problem, delivery(l))
	case e == inProtobuf:
		obj, err := decodeListedMessage(l.objects, m, problem, l.want, l.work)
		return deliverListed(l, obj, err)
	}
	obj, err := decodeObject(l.objects, m.raw, problem, l.want, l.work)
	return addListed(l, obj, err)
}

// endedListing delivers the objects that were not delivered, before the items end with err.
func endedListing(l *listing, err error) error {
	if !flushCrew(l.crew, delivery(l)) {
		return reflector.ErrListStopped
	}
	return err
}

// releaseHeld delivers the held objects after the list's kind became known.
func releaseHeld(l *listing) error {
	held := l.held
	l.held = nil
	for _, obj := range held {
		if !deliverListed(l, obj, nil) {
			return reflector.ErrListStopped
		}
	}
	return nil
}

// withoutItems returns the error for an object that is not a list.
func withoutItems(l *listing) error {
	return fmt.Errorf("%w: got %s without items (%s)", errWrongKind, kindName(l.apiVersion, l.kind), l.body.excerpt())
}

// explainListing completes an error with the part that was being read and its position, if the error
// lacks them. foreign says that nothing read so far belongs to a list.
func explainListing(l *listing, err error, at string, offset int64, foreign bool) error {
	var st *apierrors.StatusError
	switch {
	case err == reflector.ErrListStopped && l.wrong != nil:
		return l.wrong
	case err == reflector.ErrListStopped, errors.Is(err, errNotKubernetes), errors.Is(err, errTable), errors.As(err, &st):
		return err
	case err == io.EOF: // an empty body: everywhere else an end is unexpected
		return l.body.unlike(io.ErrUnexpectedEOF)
	case foreign && decode.IsForeign(err):
		return l.body.unlike(err)
	}
	return fmt.Errorf("reading %s at byte %d: %w", at, offset, marked(err))
}

// marked marks the error of a body that begins correctly and is malformed later, not just
// truncated.
func marked(err error) error {
	if decode.IsForeign(err) || isForeignMessage(err) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return remark{err, reflector.ErrUnusable}
	}
	return err
}

// itemKind returns the kind of the objects in a list of this kind, or empty text if that is
// unknown.
func itemKind(listKind string) string {
	kind, _ := strings.CutSuffix(listKind, "List")
	if kind == listKind {
		return ""
	}
	return kind
}
