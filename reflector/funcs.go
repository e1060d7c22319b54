package reflector

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/internal/objmeta"
)

// SourceFuncs makes a [Source] of the two functions that a client of another library has, such as
// a typed client of client-go, its fakes included:
//
//	pods := clientset.CoreV1().Pods("prod")
//	source := reflector.SourceFuncs[*corev1.Pod]{
//		Name:      "pods in namespace prod",
//		ListFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
//		WatchFunc: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return pods.Watch(ctx, o) },
//	}
//
// T is the type of the objects in the list and in the watch, a pointer to a struct as a rule.
// client.Resource is a Source by itself and costs less: it decodes objects one by one, while the
// functions return whole lists.
type SourceFuncs[T runtime.Object] struct {
	// Name names the collection in errors and logs; see [Source].
	Name string

	// ListFunc returns a list, and passes the options on to the server. Its error is the server's.
	ListFunc func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error)

	// WatchFunc begins a watch with these options, which may ask for a streaming list
	// (SendInitialEvents): see NoWatchList. The watch is stopped when it is left, and when ctx is
	// done, so each call returns a new one. An event after which the watch's channel is empty has
	// the mark Event.Idle. After a channel without a buffer, that is each event: another goroutine
	// decodes the next one meanwhile.
	WatchFunc func(ctx context.Context, opts metav1.ListOptions) (apiwatch.Interface, error)

	// NoWatchList says that the server, or a fake of it, knows no streaming lists. The
	// reflector then lists by ListFunc without having tried. client-go's fake clientsets need
	// it, and so do functions of your own that answer with a plain watch: the reflector would wait
	// for a streaming list for a minute first.
	NoWatchList bool
}

// errNoFunc and errNil are the programmer's mistakes. They are reported as the failure of a
// request.
var (
	errNoFunc = errors.New("reflector: SourceFuncs lacks ListFunc or WatchFunc")
	errNil    = errors.New("reflector: a function of SourceFuncs returned nil without an error")
)

// Resource implements [Source].
func (s SourceFuncs[T]) Resource() string { return s.Name }

// List implements [Source]. Each object is copied out of the list, so that one object does not
// keep the others in memory.
func (s SourceFuncs[T]) List(ctx context.Context, opts metav1.ListOptions, yield func(Event[T], error) bool) (metav1.ListMeta, error) {
	if s.ListFunc == nil {
		return metav1.ListMeta{}, errNoFunc
	}
	list, err := s.ListFunc(ctx, opts)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	if mistake.IsNil(list) {
		return metav1.ListMeta{}, errNil
	}
	about, err := meta.ListAccessor(list)
	if err != nil {
		return metav1.ListMeta{}, fmt.Errorf("reflector: %T is no list: %w", list, err)
	}
	err = meta.EachListItemWithAlloc(list, func(object runtime.Object) error {
		if !yield(eventOf(s, Added, object)) {
			return ErrListStopped
		}
		return nil
	})
	return metav1.ListMeta{
		ResourceVersion: about.GetResourceVersion(), Continue: about.GetContinue(), RemainingItemCount: about.GetRemainingItemCount(),
	}, err
}

// Watch implements [Source].
func (s SourceFuncs[T]) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[T], error] {
	return func(yield func(Event[T], error) bool) {
		fail := func(err error) { yield(Event[T]{}, err) }
		switch {
		case s.WatchFunc == nil:
			fail(errNoFunc)
			return
		case s.NoWatchList && opts.SendInitialEvents != nil && *opts.SendInitialEvents:
			fail(errors.ErrUnsupported)
			return
		}
		w, err := s.WatchFunc(ctx, opts)
		if err != nil {
			fail(err)
			return
		}
		if mistake.IsNil(w) {
			fail(errNil)
			return
		}
		defer w.Stop()
		for {
			results := w.ResultChan()
			select {
			case <-ctx.Done():
				fail(ctx.Err())
				return
			case got, open := <-results:
				if !open {
					return
				}
				if got.Type == apiwatch.Error {
					fail(apierrors.FromObject(got.Object))
					return
				}
				ev, err := eventOf(s, eventTypes[got.Type], got.Object)
				ev.Idle = err == nil && len(results) == 0
				if !yield(ev, err) {
					return
				}
			}
		}
	}
}

// eventTypes are the types of the watch protocol that are about objects.
var eventTypes = map[apiwatch.EventType]EventType{
	apiwatch.Added: Added, apiwatch.Modified: Modified, apiwatch.Deleted: Deleted, apiwatch.Bookmark: Bookmark,
}

// eventOf returns an event, or a *ObjectError. It takes a bookmark of any type.
func eventOf[T runtime.Object](s SourceFuncs[T], typ EventType, object runtime.Object) (Event[T], error) {
	if mistake.IsNil(object) {
		return s.bad(typ, nil, errors.New("the object is nil"))
	}
	about, err := meta.Accessor(object)
	if err != nil {
		return s.bad(typ, nil, err)
	}
	ev := Event[T]{Type: typ, ResourceVersion: about.GetResourceVersion()}
	if typ == Bookmark {
		ev.InitialEventsEnd = about.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
		return ev, nil
	}
	if typ == 0 {
		return s.bad(typ, about, errors.New("the event has a type that the watch protocol does not have"))
	}
	var ok bool
	if ev.Object, ok = object.(T); !ok {
		return s.bad(typ, about, wrongType(object, (*T)(nil)))
	}
	return ev, nil
}

// wrongType says that an object is no T, for a nil *T.
//
//go:noinline
func wrongType(object, pointer any) error {
	return fmt.Errorf("it is a %T and no %v", object, reflect.TypeOf(pointer).Elem())
}

// bad returns the error about an object. about is nil if it has no metadata.
func (s SourceFuncs[T]) bad(typ EventType, about metav1.Object, err error) (Event[T], error) {
	bad := &ObjectError{Resource: s.Name, Type: typ, Err: err}
	if about != nil {
		bad.Key, bad.ResourceVersion = objmeta.KeyText(about), about.GetResourceVersion()
	}
	return Event[T]{}, bad
}
