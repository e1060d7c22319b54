package client

import "github.com/kinform/kinform/reflector"

// event is an event whose object is decoded's.
type event = reflector.Event[any]

// typed returns an object of the core as a T: the zero T if there is none.
func typed[T any](object any) (t T) {
	if object == nil {
		return t
	}
	if p, ok := object.(*T); ok { // T is a struct or a map: the core points to it
		return *p
	}
	return object.(T) // the core does not name T, so that users' packages do not compile the core
}

// typedAnswer is typed for the results of a call.
//
//go:noinline
func typedAnswer[T any](object any, err error) (T, error) { return typed[T](object), err }

// typedYield returns the core's form of a yield function.
//
//go:noinline
func typedYield[T any](yield func(reflector.Event[T], error) bool) func(event, error) bool {
	return func(ev event, err error) bool {
		return yield(reflector.Event[T]{
			Type:             ev.Type,
			InitialEventsEnd: ev.InitialEventsEnd,
			Omitted:          ev.Omitted,
			Recalled:         ev.Recalled,
			Idle:             ev.Idle,
			ResourceVersion:  ev.ResourceVersion,
			Sum:              ev.Sum,
			Object:           typed[T](ev.Object),
		}, err)
	}
}
