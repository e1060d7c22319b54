package reflector

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// keptObjects are the objects whose contents may have to be compared, as recentEvents.keptIn says. The others
// are zero.
type keptObjects[T any] [maxRecent]T

// knownFrom describes the object of an event.
func knownFrom[T any](rv string, object T) knownObject {
	about, _ := any(object).(metav1.Object)
	return describeObject(rv, about)
}

// noticeOf is the notice of an event without what is known of its object.
func noticeOf[T any](ev *Event[T]) notice {
	return notice{typ: ev.Type, initialEnds: ev.InitialEventsEnd, omitted: ev.Omitted, rv: ev.ResourceVersion}
}

// compareKept adds to e what is known of its object, and how it differs from those kept.
func compareKept[T any](k *keptObjects[T], s *recentEvents, e *notice, object T) {
	e.object = knownFrom(e.rv, object)
	for slot := range k {
		o := s.keptIn(slot)
		e.differs[slot] = o != nil && o.is(e.object) && !reflect.DeepEqual(k[slot], object)
	}
}

// keepNewest keeps the object of the newest event, and lets go of those that are not needed any more.
func keepNewest[T any](k *keptObjects[T], s *recentEvents, object T) {
	k[(s.n-1)%maxRecent] = object
	for slot := range k {
		if s.keptIn(slot) == nil {
			k[slot] = *new(T)
		}
	}
}
