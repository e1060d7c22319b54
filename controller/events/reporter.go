package events

import (
	"fmt"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/internal/logs"
	"github.com/kinform/kinform/kind"
)

// The limits of the API server, in bytes.
const (
	maxWord = 128 // reason, action, reporting instance
	maxNote = 1024
)

// Object is a pointer to an object with metadata.
type Object interface {
	comparable
	metav1.Object
}

// Reporter records events about objects of one kind. It is a value; copy it freely. The zero
// Reporter records nothing.
type Reporter[T Object] struct {
	recorder *Recorder
	kind     schema.GroupVersionKind
}

// For returns a Reporter for objects of the kind k. If k has no name, as with kind.OfResource,
// each object must have its kind. If k is not valid, [Recorder.Err] and Run return the error of kind.Kind.Check; after
// the beginning of Run, OnError gets it. The Reporter then records nothing. The Reporter of a nil Recorder records
// nothing either; that is logged at level Warn.
func For[T Object](r *Recorder, k *kind.Kind[T]) Reporter[T] {
	if r == nil {
		logs.New(nil, "events", "").Error(fmt.Errorf("events: %s: the recorder is nil, so nothing is recorded", k))
		return Reporter[T]{}
	}
	if err := k.Check(); err != nil {
		r.wrong(fmt.Errorf("events: For of %T: %w", *new(T), err))
		return Reporter[T]{}
	}
	return Reporter[T]{recorder: r, kind: k.GroupVersionKind}
}

// Normal records that something went as it should. Reason says why the event is recorded, and
// action what the controller did: both are words such as "Deployed" and "Deploy", not empty, and at
// most 128 bytes long
// (https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/). The note is
// formatted as by fmt.Sprintf, and cut after 1024 bytes.
//
// It never waits for a request. An event that is not valid is dropped and reported to OnError,
// with the object's name.
func (r Reporter[T]) Normal(object T, reason, action, note string, args ...any) {
	r.record(object, key{kind: normal, reason: reason, action: action, note: fmt.Sprintf(note, args...)})
}

// Warning is [Reporter.Normal] for something that a person may have to look at.
func (r Reporter[T]) Warning(object T, reason, action, note string, args ...any) {
	r.record(object, key{kind: warning, reason: reason, action: action, note: fmt.Sprintf(note, args...)})
}

func (r Reporter[T]) record(object T, k key) {
	if r.recorder == nil {
		return
	}
	var faults []string
	if object == *new(T) {
		faults = append(faults, "the object is nil")
	} else {
		k.about, faults = r.refer(object)
	}
	faults = append(append(faults, wordFault("reason", k.reason)...), wordFault("action", k.action)...)
	if faults != nil {
		r.recorder.refuse(k, fmt.Errorf("%w: %s", ErrInvalid, strings.Join(faults, "; ")))
		return
	}
	k.note = cut(strings.ToValidUTF8(k.note, "\ufffd"), maxNote)
	r.recorder.record(k)
}

// refer returns a reference to object, and the fault of the object if it has one.
func (r Reporter[T]) refer(object T) (ref Reference, faults []string) {
	is := r.kind
	if is.Kind == "" {
		if typed, ok := any(object).(interface{ GetObjectKind() schema.ObjectKind }); ok {
			is = typed.GetObjectKind().GroupVersionKind()
		}
	}
	ref.APIVersion, ref.Kind = is.ToAPIVersionAndKind()
	ref.Namespace, ref.Name, ref.UID = object.GetNamespace(), object.GetName(), object.GetUID()
	if ref.Kind == "" {
		faults = append(faults, "the kind of the object is not known: name it with kind.Kind.Named")
	}
	if ref.Name == "" {
		faults = append(faults, "the object has no name")
	}
	return ref, faults
}

// wordFault returns the fault of a reason or an action.
func wordFault(what, word string) []string {
	switch {
	case word == "":
		return []string{what + " is empty"}
	case len(word) > maxWord:
		return []string{fmt.Sprintf("%s %q has %d bytes, more than %d", what, cut(word, maxWord), len(word), maxWord)}
	case !utf8.ValidString(word):
		return []string{fmt.Sprintf("%s %q is not UTF-8", what, word)}
	}
	return nil
}

// cut returns the beginning of text, at most limit bytes and, if it is UTF-8, of whole runes. The
// last rune tells if something is left out.
func cut(text string, limit int) string {
	const more = "…"
	if len(text) <= limit {
		return text
	}
	end := limit - len(more)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}
